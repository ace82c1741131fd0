#include "tests/support/made/made_index.h"

#include <cstdint>
#include <utility>

#include "core/base/check.h"
#include "tests/support/mix.h"

namespace banyan {

absl::Status AddDocument(IndexBuilder& builder, const MadeDocument& document) {
  return builder.Add(absl::StrJoin(document, ","), [&document] {
    return absl::StatusOr<std::vector<TokenId>>(document);
  });
}

absl::StatusOr<IndexManifest> TryBuildIndex(
    const std::string& folder, const std::vector<MadeDocument>& documents,
    const IndexBuilderOptions& options) {
  BANYAN_ASSIGN_OR_RETURN(const std::unique_ptr<IndexBuilder> builder,
                          IndexBuilder::Open(folder, options));
  for (const MadeDocument& document : documents)
    BANYAN_RETURN_IF_ERROR(AddDocument(*builder, document));
  return builder->Finish();
}

std::unique_ptr<CorpusIndex> MustBuildIndex(
    const std::string& folder, const std::vector<MadeDocument>& documents,
    const IndexBuilderOptions& options) {
  const auto built = TryBuildIndex(folder, documents, options);
  Check(built.ok(), built.status().message());
  auto index = CorpusIndex::Open(folder);
  Check(index.ok(), index.status().message());
  return *std::move(index);
}

std::vector<MadeDocument> RandomDocuments(const MadeDocument& letters,
                                          int count, int longest) {
  std::uint64_t draw = 1;
  const auto below = [&draw](std::size_t limit) { return Mix(++draw) % limit; };
  std::vector<MadeDocument> documents(static_cast<std::size_t>(count));
  for (MadeDocument& document : documents) {
    document.resize(below(static_cast<std::size_t>(longest) + 1));
    for (TokenId& token : document) token = letters[below(letters.size())];
  }
  return documents;
}

std::vector<MadeDocument> StringsOf(const MadeDocument& letters,
                                    std::size_t length) {
  std::vector<MadeDocument> strings = {{}};
  for (std::size_t i = 0; i < strings.size(); ++i) {
    if (strings[i].size() == length) break;
    for (const TokenId letter : letters) {
      MadeDocument longer = strings[i];
      longer.push_back(letter);
      strings.push_back(std::move(longer));
    }
  }
  return strings;
}

}  // namespace banyan
