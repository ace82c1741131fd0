#include "tests/support/made/shipped_index.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "core/base/check.h"
#include "core/base/common.h"
#include "core/tokenizer/tokenizer.h"
#include "core/tokenizer/vocabulary.h"
#include "experiments/makers/documents.h"
#include "experiments/makers/index/index_builder.h"
#include "tests/core/checkpoint/files.h"

namespace banyan {
namespace {

// Tests run in the project's root.
constexpr char kTokenizer[] = "models/pycode-target";

void Build(const std::string& folder) {
  const auto tokenizer = Tokenizer::Load(kTokenizer);
  Check(tokenizer.ok(), tokenizer.status().message());
  const auto builder =
      IndexBuilder::Open(folder, {.tokenizer = NameOfTokens(**tokenizer),
                                  .vocab_size = (*tokenizer)->vocab_size()});
  Check(builder.ok(), builder.status().message());
  std::vector<std::string> files;
  for (const char* place : {"training", "scripts", "tests"})
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(place))
      if (entry.path().extension() == ".py")
        files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  const auto add = [&](absl::string_view text, std::int64_t /*bytes*/) {
    return (*builder)->Add(text, [&] {
      return (*tokenizer)
          ->Encode(text, {.add_special = false, .parse_special = false});
    });
  };
  for (const std::string& file : files) {
    const absl::Status added = ForEachDocument(file, add);
    Check(added.ok(), added.message());
  }
  const auto built = (*builder)->Finish();
  Check(built.ok(), built.status().message());
}

}  // namespace

const std::string& ShippedIndex() {
  static const TestFolder folder;
  static const auto& path = *new std::string([] {
    const std::string index = folder.path() + "/index";
    Build(index);
    return index;
  }());
  return path;
}

}  // namespace banyan
