#include "drafters/text/reference/reference.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/params.h"
#include "core/base/read_file.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/tokenizer/tokenizer.h"
#include "drafters/drafter.h"
#include "drafters/text/draft_plan.h"
#include "drafters/text/plan_drafter.h"
#include "drafters/text/recent_grams.h"
#include "drafters/workbench.h"

namespace banyan {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 26;
constexpr int kMostMatch = 64;
constexpr int kMostSpan = 1024;

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
                                    ReadFile(path, kMostBytes));
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

absl::StatusOr<std::unique_ptr<Drafter>> Reference::Build(ParamsReader& in,
                                                          Workbench& bench) {
  ReferenceOptions options;
  std::string mode = "quote";
  const Params* file = in.Take("file");
  in.Optional("mode", mode);
  in.Ensure(mode == "quote" || mode == "rewrite", "mode",
            "must be quote or rewrite");
  options.rewrite = mode == "rewrite";
  in.Optional("match", options.match);
  in.Ensure(options.match >= 1 && options.match <= kMostMatch, "match",
            absl::StrCat("must lie between 1 and ", kMostMatch));
  in.Optional("span", options.span);
  in.Ensure(options.span >= 1 && options.span <= kMostSpan, "span",
            absl::StrCat("must lie between 1 and ", kMostSpan));
  BANYAN_RETURN_IF_ERROR(in.Finish());
  std::shared_ptr<const ReferenceText> given;
  if (file != nullptr) {
    BANYAN_ASSIGN_OR_RETURN(std::vector<TokenId> tokens,
                            ReadTokens(*file, bench));
    given =
        std::make_shared<const ReferenceText>(std::move(tokens), options.match);
  }
  return std::make_unique<Reference>(bench.target().vocab_size(), options,
                                     std::move(given));
}

Reference::Reference(int vocab_size, const ReferenceOptions& options,
                     std::shared_ptr<const ReferenceText> given)
    : PlanDrafter(vocab_size), options_(options), given_(std::move(given)) {}

absl::Status Reference::Start(const Context& context) {
  text_ = given_ != nullptr ? given_
                            : std::make_shared<const ReferenceText>(
                                  context.tokens, options_.match);
  // Nothing of the prompt is taken for the answer.
  read_ = context.tokens.size();
  at_ = options_.rewrite ? std::optional<std::size_t>(0) : std::nullopt;
  last_ = 0;
  along_ = 0;
  return absl::OkStatus();
}

std::optional<std::size_t> Reference::Look(
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

absl::Status Reference::Follow(const Context& context) {
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

DraftPlan Reference::Plan(const Context& context) {
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

std::optional<double> Reference::Promise(const Context& /*context*/) const {
  if (!at_.has_value()) return 0;
  return std::min(along_, options_.span);
}

}  // namespace banyan
