#include "drafters/text/grammar/grammar.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
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
#include "core/model/context.h"
#include "core/tokenizer/tokenizer.h"
#include "drafters/drafter.h"
#include "drafters/row.h"
#include "drafters/text/draft_plan.h"
#include "drafters/text/grammar/pattern.h"
#include "drafters/text/plan_drafter.h"
#include "drafters/workbench.h"
#include "tree/draft_tree.h"

namespace banyan {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 20;
constexpr int kMostTokens = 1024;
// Of a token on an average: what is certain is looked for no further.
constexpr std::size_t kBytesOfToken = 8;

constexpr EncodeOptions kAsItIs = {.add_special = false,
                                   .parse_special = false};

// Of the key that is there; an error of the pattern stands at its place.
absl::StatusOr<std::shared_ptr<const Pattern>> ReadPattern(const Params* given,
                                                           const Params* file,
                                                           Workbench& bench) {
  if (given != nullptr) {
    std::string text;
    BANYAN_RETURN_IF_ERROR(Convert(*given, text));
    absl::StatusOr<Pattern> pattern = Pattern::Parse(text);
    if (!pattern.ok()) return given->Error(pattern.status().message());
    return std::make_shared<const Pattern>(*std::move(pattern));
  }
  return bench.OpenFile<Pattern>(
      *file, "pattern",
      [](const std::string& path)
          -> absl::StatusOr<std::shared_ptr<const Pattern>> {
        BANYAN_ASSIGN_OR_RETURN(const std::string text,
                                ReadFile(path, kMostBytes));
        absl::StatusOr<Pattern> pattern = Pattern::ParseFile(text);
        if (!pattern.ok())
          return absl::InvalidArgumentError(
              absl::StrCat(path, ": ", pattern.status().message()));
        return std::make_shared<const Pattern>(*std::move(pattern));
      });
}

}  // namespace

namespace {

class GrammarSession : public PlanSession {
 public:
  GrammarSession(const GrammarOptions& options,
                 std::shared_ptr<const Pattern> pattern,
                 std::shared_ptr<const Tokenizer> tokenizer)
      : options_(options),
        pattern_(std::move(pattern)),
        tokenizer_(std::move(tokenizer)) {}

 protected:
  void Start(const Context& context) override;
  absl::Status Follow(const Context& context) override;
  DraftPlan Plan(const Context& context) override;

 private:
  std::string CertainBytes() const;
  std::vector<TokenId> Cut(absl::string_view bytes, TokenId last) const;

  GrammarOptions options_;
  std::shared_ptr<const Pattern> pattern_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  Pattern::Places places_;  // after what was read
  std::size_t read_ = 0;    // of the committed text
  bool at_start_ = true;    // nothing with bytes has been read
};

void GrammarSession::Start(const Context& context) {
  places_ = pattern_->Begin();
  at_start_ = options_.of != GrammarOptions::Of::kOutput;
  read_ = at_start_ ? 0 : context.tokens.size();
}

// Follows the committed text. Special tokens and tokens without text are
// skipped before its first byte; after that they break the pattern.
absl::Status GrammarSession::Follow(const Context& context) {
  const bool by_line = options_.of == GrammarOptions::Of::kLine;
  for (; read_ < context.tokens.size(); ++read_) {
    if (places_.broken() && !by_line) break;
    const TokenId token = context.tokens[read_];
    const absl::StatusOr<std::string> bytes =
        tokenizer_->TokenBytes(token, at_start_);
    const bool special = !bytes.ok() || tokenizer_->IsSpecial(token);
    if (special && at_start_) continue;
    at_start_ = false;
    if (special) {
      places_ = {};
      continue;
    }
    for (char byte : *bytes)
      places_ = by_line && byte == '\n'
                    ? pattern_->Begin()
                    : pattern_->After(places_, static_cast<std::uint8_t>(byte));
  }
  read_ = context.tokens.size();
  return absl::OkStatus();
}

std::string GrammarSession::CertainBytes() const {
  std::string bytes;
  Pattern::Places places = places_;
  const std::size_t most =
      static_cast<std::size_t>(options_.tokens) * kBytesOfToken;
  while (bytes.size() < most) {
    const std::optional<std::uint8_t> byte = pattern_->OnlyWay(places);
    if (!byte.has_value()) break;
    bytes.push_back(static_cast<char>(*byte));
    places = pattern_->After(places, *byte);
  }
  return bytes;
}

// Returns the tokens of `bytes`; none if they cannot be cut so. The cut may
// depend on the text before, if only on a blank. So the bytes are cut after the
// last token, if that token stays as it is, else alone. The tokens must spell
// these bytes.
std::vector<TokenId> GrammarSession::Cut(absl::string_view bytes,
                                         TokenId last) const {
  const absl::StatusOr<std::string> before = tokenizer_->TokenBytes(last);
  for (const bool behind : {true, false}) {
    if (behind && (!before.ok() || tokenizer_->IsSpecial(last))) continue;
    const absl::StatusOr<std::vector<TokenId>> cut = tokenizer_->Encode(
        behind ? absl::StrCat(*before, bytes) : std::string(bytes), kAsItIs);
    if (!cut.ok()) continue;
    if (behind && (cut->empty() || cut->front() != last)) continue;
    std::vector<TokenId> tokens(cut->begin() + (behind ? 1 : 0), cut->end());
    std::string said;
    for (TokenId token : tokens)
      said += tokenizer_->TokenBytes(token).value_or("");
    if (said == bytes) return tokens;
  }
  return {};
}

DraftPlan GrammarSession::Plan(const Context& context) {
  const std::string bytes = CertainBytes();
  if (bytes.empty()) return {};
  std::vector<TokenId> tokens = Cut(bytes, context.root());
  const auto most = static_cast<std::size_t>(options_.tokens);
  if (tokens.size() > most) tokens.resize(most);
  return DraftPlan::Chain(tokens);
}

}  // namespace

Grammar::Grammar(int vocab_size, const GrammarOptions& options,
                 std::shared_ptr<const Pattern> pattern,
                 std::shared_ptr<const Tokenizer> tokenizer)
    : PlanDrafter(vocab_size, /*rule=*/std::nullopt, /*carried=*/nullptr),
      options_(options),
      pattern_(std::move(pattern)),
      tokenizer_(std::move(tokenizer)) {}

std::unique_ptr<DraftSession> Grammar::NewSession() const {
  return std::make_unique<GrammarSession>(options_, pattern_, tokenizer_);
}

namespace {

absl::StatusOr<std::unique_ptr<Drafter>> Build(ParamsReader& in,
                                               Workbench& bench) {
  GrammarOptions options;
  std::string of = "output";
  const Params* pattern = in.Take("pattern");
  const Params* file = in.Take("file");
  in.Describe("pattern", "text", "A regular expression.");
  in.Describe("file", "text", "A file that holds one, relative to this one.");
  if ((pattern == nullptr) == (file == nullptr))
    in.Note(in.section().Error(
        absl::StrCat(in.what(), ": needs one of 'pattern' and 'file'")));
  in.OneOf("of", of, {"output", "text", "line"},
           "What the pattern speaks of: the output, the prompt too, or each "
           "line.");
  if (of == "text") options.of = GrammarOptions::Of::kText;
  if (of == "line") options.of = GrammarOptions::Of::kLine;
  in.Between("tokens", options.tokens, 1, kMostTokens,
             "The most tokens that are drafted.");
  BANYAN_RETURN_IF_ERROR(in.Finish());
  if (bench.tokenizer() == nullptr)
    return in.section().Error(
        absl::StrCat(in.what(),
                     ": the target has no tokenizer: nothing says "
                     "what its tokens are in a text"));
  BANYAN_ASSIGN_OR_RETURN(std::shared_ptr<const Pattern> read,
                          ReadPattern(pattern, file, bench));
  return std::make_unique<Grammar>(bench.target().vocab_size(), options,
                                   std::move(read), bench.tokenizer());
}

}  // namespace

DrafterRow GrammarRow() {
  return {.name = "grammar",
          .sentence =
              "Tokens that a regular expression determines; the target stays "
              "unconstrained.",
          .draw_kinds = {DrawKind::kDeterministic},
          .build = Build,
          .examples = {"{pattern: 'ab(a|b)*'}",
                       "{pattern: 'b(a|ba)b*', tokens: 1}"}};
}

}  // namespace banyan
