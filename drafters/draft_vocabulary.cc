#include "drafters/draft_vocabulary.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <system_error>

#include "core/base/input_files.h"
#include "core/json/json_value.h"
#include "core/tokenizer/vocabulary.h"

namespace banyan {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostBytes = std::size_t{1} << 26;
constexpr std::int64_t kMostTokens = std::int64_t{1} << 24;
constexpr char kAll[] = "all";
constexpr char kHint[] = "; `vocabulary: all` drafts every token";
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

absl::Status CheckFits(const DraftVocabulary& vocabulary, int vocab_size,
                       const Tokenizer* tokenizer) {
  if (vocabulary.vocab_size != vocab_size)
    return absl::InvalidArgumentError(
        absl::StrCat("vocabulary: expected vocab_size ", vocab_size,
                     ", the target's, found ", vocabulary.vocab_size));
  if (tokenizer == nullptr || vocabulary.tokenizer.empty())
    return absl::OkStatus();
  const std::string name = NameOfTokens(*tokenizer);
  if (vocabulary.tokenizer == name) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("vocabulary: expected the target's tokenizer, ", name,
                   ", found ", vocabulary.tokenizer));
}

std::string VocabularyFileIn(const std::string& directory) {
  const fs::path path = fs::path(directory) / kVocabularyFile;
  std::error_code error;  // a link to nothing is there, and cannot be read
  return fs::exists(fs::symlink_status(path, error)) ? path.string() : "";
}

std::optional<Params> VocabularyIn(const Params& folder) {
  if (folder.kind() != Params::Kind::kScalar || folder.text().empty() ||
      VocabularyFileIn(Beside(folder, folder.text())).empty())
    return std::nullopt;
  return Params::Scalar((fs::path(folder.text()) / kVocabularyFile).string(),
                        folder.origin());
}

KeyRow VocabularyKey() {
  return {
      .name = kVocabularyKey,
      .type = "file or all",
      .sentence =
          "Trimmed draft vocabulary (FR-Spec): computes logits for the tokens "
          "in this file only, written by banyan make counts --top. Makes "
          "drafting "
          "cheaper; the output distribution is unchanged. Left out: "
          "vocabulary.json in the model's folder, or all tokens if it has "
          "none."};
}

bool IsAllTokens(const Params& vocabulary) {
  return vocabulary.kind() == Params::Kind::kScalar &&
         vocabulary.text() == kAll;
}

absl::StatusOr<std::shared_ptr<const DraftVocabulary>> OpenVocabulary(
    const Params& place, Workbench& bench) {
  absl::StatusOr<std::shared_ptr<const DraftVocabulary>> vocabulary =
      bench.OpenFile<DraftVocabulary>(
          place, kVocabularyKey,
          [](const std::string& path)
              -> absl::StatusOr<std::shared_ptr<const DraftVocabulary>> {
            BANYAN_ASSIGN_OR_RETURN(DraftVocabulary read,
                                    ReadDraftVocabulary(path));
            return std::make_shared<const DraftVocabulary>(std::move(read));
          });
  if (!vocabulary.ok())
    return absl::Status(vocabulary.status().code(),
                        absl::StrCat(vocabulary.status().message(), kHint));
  const absl::Status fits = CheckFits(**vocabulary, bench.target().vocab_size(),
                                      bench.tokenizer().get());
  if (!fits.ok())
    return place.Error(
        absl::StrCat(Beside(place, place.text()), ": ", fits.message(), kHint));
  return vocabulary;
}

}  // namespace banyan
