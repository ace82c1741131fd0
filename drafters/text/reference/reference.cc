#include "drafters/text/reference/reference.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "core/base/common.h"
#include "core/base/input_files.h"
#include "core/base/params.h"
#include "core/model/context.h"
#include "core/tokenizer/tokenizer.h"
#include "drafters/rows.h"
#include "drafters/text/recent_grams.h"
#include "drafters/workbench.h"
#include "tree/draft_tree.h"

namespace banyan {
namespace {

constexpr std::size_t kReferenceMostBytes = std::size_t{1} << 26;
constexpr int kMostMatch = 64;
constexpr int kReferenceMostSpan = 1024;

// The tokens of a text file.
absl::StatusOr<std::vector<TokenId>> ReadTokens(const Params& file,
                                                Workbench& bench) {
  if (bench.tokenizer() == nullptr)
    return file.Error("the target has no tokenizer to read a text with");
  BANYAN_ASSIGN_OR_RETURN(
      const std::shared_ptr<const std::string> text,
      bench.OpenFile<std::string>(
          file, "text",
          [](const std::string& path)
              -> absl::StatusOr<std::shared_ptr<const std::string>> {
            BANYAN_ASSIGN_OR_RETURN(std::string bytes,
                                    ReadFile(path, kReferenceMostBytes));
            return std::make_shared<const std::string>(std::move(bytes));
          }));
  absl::StatusOr<std::vector<TokenId>> tokens = bench.tokenizer()->Encode(
      *text, {.add_special = false, .parse_special = false});
  const auto wrong = [&](absl::string_view what) {
    return file.Error(absl::StrCat(Beside(file, file.text()), ": ", what));
  };
  if (!tokens.ok()) return wrong(tokens.status().message());
  if (tokens->empty()) return wrong("is empty: there is nothing to quote");
  return tokens;
}

}  // namespace

ReferenceText::ReferenceText(std::vector<TokenId> tokens, int match)
    : tokens_(std::move(tokens)) {
  const auto size = static_cast<std::size_t>(match);
  for (std::size_t end = size; end < tokens_.size(); ++end) {
    const absl::Span<const TokenId> gram =
        absl::MakeConstSpan(tokens_).subspan(end - size, size);
    places_[Gram(gram.begin(), gram.end())].push_back(end);
  }
}

absl::Span<const std::size_t> ReferenceText::After(
    absl::Span<const TokenId> gram) const {
  const auto found = places_.find(Gram(gram.begin(), gram.end()));
  if (found == places_.end()) return {};
  return found->second;
}

namespace {

class ReferenceSession : public PlanSession {
 public:
  // `given` null: the prompt.
  ReferenceSession(const ReferenceOptions& options,
                   std::shared_ptr<const ReferenceText> given)
      : options_(options), text_(std::move(given)) {}

  std::optional<double> Promise(const Context& context) const override;

 protected:
  void Start(const Context& context) override;
  absl::Status Follow(const Context& context) override;
  DraftPlan Plan(const Context& context) override;

 private:
  // Where the reference goes on after the text's end, if it does.
  std::optional<std::size_t> Look(absl::Span<const TokenId> text) const;

  ReferenceOptions options_;
  std::shared_ptr<const ReferenceText> text_;
  std::size_t read_ = 0;           // of the committed text
  std::optional<std::size_t> at_;  // in the reference, after what was read
  std::size_t last_ = 0;           // the last such place
  int along_ = 0;                  // tokens that went along up to it
};

void ReferenceSession::Start(const Context& context) {
  if (text_ == nullptr)
    text_ =
        std::make_shared<const ReferenceText>(context.tokens, options_.match);
  // Nothing of the prompt is taken for the answer.
  read_ = context.tokens.size();
  at_ = options_.rewrite ? std::optional<std::size_t>(0) : std::nullopt;
}

std::optional<std::size_t> ReferenceSession::Look(
    absl::Span<const TokenId> text) const {
  const auto match = static_cast<std::size_t>(options_.match);
  if (text.size() < match) return std::nullopt;
  const absl::Span<const std::size_t> places = text_->After(text.last(match));
  if (places.empty()) return std::nullopt;
  if (options_.rewrite)
    return places.size() == 1 ? std::optional<std::size_t>(places.front())
                              : std::nullopt;
  const auto next = std::lower_bound(places.begin(), places.end(), last_);
  return next == places.end() ? places.front() : *next;
}

absl::Status ReferenceSession::Follow(const Context& context) {
  const absl::Span<const TokenId> tokens = text_->tokens();
  for (; read_ < context.tokens.size(); ++read_) {
    if (!at_.has_value() || *at_ >= tokens.size()) continue;
    if (tokens[*at_] == context.tokens[read_]) {
      last_ = ++*at_;
      ++along_;
    } else {
      at_.reset();
    }
  }
  if (!at_.has_value() || *at_ >= tokens.size()) {
    at_ = Look(context.tokens);
    along_ = options_.match;
  }
  if (at_.has_value()) last_ = *at_;
  return absl::OkStatus();
}

DraftPlan ReferenceSession::Plan(const Context& context) {
  const absl::Span<const TokenId> tokens = text_->tokens();
  std::vector<TokenId> text = LastTokens(context, {}, options_.match);
  const std::size_t before = text.size();
  std::optional<std::size_t> at = at_;
  while (text.size() - before < static_cast<std::size_t>(options_.span)) {
    // At its end as at the end of the committed text.
    if (at.has_value() && *at == tokens.size()) at = Look(text);
    if (!at.has_value()) break;
    text.push_back(tokens[(*at)++]);
  }
  return DraftPlan::Chain(absl::MakeConstSpan(text).subspan(before));
}

std::optional<double> ReferenceSession::Promise(
    const Context& /*context*/) const {
  if (!at_.has_value()) return 0;
  return std::min(along_, options_.span);
}

}  // namespace

Reference::Reference(int vocab_size, const ReferenceOptions& options,
                     std::shared_ptr<const ReferenceText> given)
    : PlanDrafter(vocab_size, /*rule=*/std::nullopt, /*carried=*/nullptr),
      options_(options),
      given_(std::move(given)) {}

std::unique_ptr<DraftSession> Reference::NewSession() const {
  return std::make_unique<ReferenceSession>(options_, given_);
}

namespace {

struct ReferenceKeys : ReferenceOptions {
  std::string file;
};

BuiltDrafter BuildReference(ParamsReader& in, const ReferenceKeys& options,
                            Workbench& bench) {
  BANYAN_RETURN_IF_ERROR(in.Finish());
  std::shared_ptr<const ReferenceText> given;
  if (const Params* file = in.section().Find("file")) {
    BANYAN_ASSIGN_OR_RETURN(std::vector<TokenId> tokens,
                            ReadTokens(*file, bench));
    given =
        std::make_shared<const ReferenceText>(std::move(tokens), options.match);
  }
  return std::make_unique<Reference>(bench.target().vocab_size(), options,
                                     std::move(given));
}

}  // namespace

DrafterRow ReferenceRow() {
  Keys<ReferenceKeys> keys;
  keys.Optional("file", &ReferenceKeys::file,
                "A text relative to this file; left out: the prompt.");
  keys.OneOf("mode", &ReferenceKeys::rewrite, {"quote", "rewrite"},
             "rewrite: the reference is nearly all of the answer.");
  keys.Between("match", &ReferenceKeys::match, 1, kMostMatch,
               "The tokens by which a place in it is found.");
  keys.Between("span", &ReferenceKeys::span, 1, kReferenceMostSpan,
               "The most tokens that are drafted.");
  return {.name = "reference",
          .sentence =
              "Inference with reference (LLMA): spans of a given text, or of "
              "the prompt, while the output follows it.",
          .draw_kinds = {DrawKind::kDeterministic},
          .keys = keys.Rows(),
          .build = keys.ReadFor(BuildReference),
          .examples = {"{}", "{mode: rewrite, match: 1, span: 3}"}};
}

}  // namespace banyan
