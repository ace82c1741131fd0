#include "drafters/draft_vocabulary.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/params.h"
#include "core/base/read_file.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/json/json_at.h"
#include "core/json/json_value.h"
#include "core/tokenizer/token_names.h"
#include "drafters/workbench.h"

namespace banyan {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 26;
constexpr std::int64_t kMostTokens = std::int64_t{1} << 24;
constexpr char kKey[] = "vocabulary";
constexpr absl::string_view kKeys[] = {"tokenizer", "vocab_size", "tokens"};

}  // namespace

absl::StatusOr<DraftVocabulary> ReadDraftVocabulary(const std::string& path) {
  BANYAN_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMostBytes));
  BANYAN_ASSIGN_OR_RETURN(const JsonTree tree, JsonTree::Parse(text, path));
  BANYAN_RETURN_IF_ERROR(tree.root().HasOnly(kKeys));
  DraftVocabulary vocabulary;
  BANYAN_ASSIGN_OR_RETURN(vocabulary.tokenizer,
                          tree.root().At("tokenizer").String());
  const JsonAt size = tree.root().At("vocab_size");
  BANYAN_ASSIGN_OR_RETURN(const std::int64_t vocab_size, size.Int());
  if (vocab_size < 1 || vocab_size > kMostTokens)
    return size.Expected(absl::StrCat("a number from 1 to ", kMostTokens));
  vocabulary.vocab_size = static_cast<int>(vocab_size);
  BANYAN_ASSIGN_OR_RETURN(const std::vector<JsonAt> items,
                          tree.root().At("tokens").Items());
  if (items.empty())
    return tree.root().At("tokens").Expected("at least one token");
  std::vector<bool> seen(static_cast<std::size_t>(vocab_size), false);
  for (const JsonAt& item : items) {
    BANYAN_ASSIGN_OR_RETURN(const std::int64_t token, item.Int());
    if (token < 0 || token >= vocab_size)
      return item.Expected(absl::StrCat("a token from 0 to ", vocab_size - 1));
    if (seen[static_cast<std::size_t>(token)])
      return item.Expected("a token not listed earlier");
    seen[static_cast<std::size_t>(token)] = true;
    vocabulary.tokens.push_back(static_cast<TokenId>(token));
  }
  std::sort(vocabulary.tokens.begin(), vocabulary.tokens.end());
  return vocabulary;
}

std::string ToJson(const DraftVocabulary& vocabulary) {
  JsonValue tokens = JsonValue::List();
  for (const TokenId token : vocabulary.tokens) tokens.Add(token);
  const JsonValue json = {{"tokenizer", vocabulary.tokenizer},
                          {"vocab_size", vocabulary.vocab_size},
                          {"tokens", std::move(tokens)}};
  return absl::StrCat(json.Text(), "\n");
}

const Params* TakeVocabulary(ParamsReader& in) {
  in.Describe(kKey, "file",
              "Trimmed draft vocabulary (FR-Spec): computes logits for the "
              "tokens in this file only, written by banyan count --top. Makes "
              "drafting cheaper; the output distribution is unchanged.");
  return in.Take(kKey);
}

absl::StatusOr<std::shared_ptr<const DraftVocabulary>> OpenVocabulary(
    const Params& place, Workbench& bench) {
  BANYAN_ASSIGN_OR_RETURN(
      std::shared_ptr<const DraftVocabulary> vocabulary,
      bench.OpenFile<DraftVocabulary>(
          place, kKey,
          [](const std::string& path)
              -> absl::StatusOr<std::shared_ptr<const DraftVocabulary>> {
            BANYAN_ASSIGN_OR_RETURN(DraftVocabulary read,
                                    ReadDraftVocabulary(path));
            return std::make_shared<const DraftVocabulary>(std::move(read));
          }));
  const int vocab_size = bench.target().vocab_size();
  if (vocabulary->vocab_size != vocab_size)
    return place.Error(absl::StrCat("vocabulary: expected vocab_size ",
                                    vocab_size, ", the target's, found ",
                                    vocabulary->vocab_size));
  if (bench.tokenizer() == nullptr || vocabulary->tokenizer.empty())
    return vocabulary;
  const std::string name = NameOfTokens(*bench.tokenizer());
  if (vocabulary->tokenizer != name)
    return place.Error(
        absl::StrCat("vocabulary: expected the target's "
                     "tokenizer, ",
                     name, ", found ", vocabulary->tokenizer));
  return vocabulary;
}

}  // namespace banyan
