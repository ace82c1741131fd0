#include "experiments/texts/drafter_fit.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

#include "core/base/messages.h"
#include "core/model/model.h"
#include "core/prob/distribution.h"
#include "core/tokenizer/chat_template.h"
#include "core/tokenizer/tokenizer.h"
#include "drafters/workbench.h"

namespace banyan {
namespace {

constexpr char kNone[] = "none";

std::string TokenName(const Tokenizer& tokenizer, std::optional<TokenId> id) {
  if (!id.has_value()) return kNone;
  const auto text = tokenizer.TokenText(*id);
  return text.ok() ? absl::StrCat(*id, " ", QuotedToken(*text))
                   : absl::StrCat(*id);
}

std::string EndsOf(const Model& model) {
  std::vector<TokenId> ends = model.facts().end_of_text;
  std::sort(ends.begin(), ends.end());
  return ends.empty() ? kNone : absl::StrJoin(ends, ", ");
}

// The family that it is rendered as.
std::string TemplateOf(const Tokenizer& tokenizer) {
  if (tokenizer.chat_template().empty()) return kNone;
  const auto family = ChatTemplate::Detect(tokenizer.chat_template());
  return family.ok() ? std::string(family->name()) : "of no known family";
}

class Comparison {
 public:
  explicit Comparison(const FitQuestion& question)
      : target_(question.target),
        drafter_(question.drafter),
        vocabulary_(question.vocabulary) {}

  DrafterFit Run() {
    AddAlike({.name = "vocabulary",
              .target = absl::StrCat(target_.model->vocab_size()),
              .drafter = absl::StrCat(drafter_.model->vocab_size()),
              .problem = "its vocabulary is of another size",
              .refused = true});
    if (vocabulary_.has_value()) AddVocabulary();
    if (target_.tokenizer != nullptr && drafter_.tokenizer != nullptr) {
      AddTokens();
      AddSpecial();
      AddTemplate();
    }
    AddAlike({.name = "end of text",
              .target = EndsOf(*target_.model),
              .drafter = EndsOf(*drafter_.model),
              .problem = "it ends a text by another token"});
    AddContext();
    return std::move(fit_);
  }

 private:
  // The problem is none if both say the same.
  void AddAlike(FitFact fact) {
    if (fact.target == fact.drafter) fact.problem.clear();
    fit_.facts.push_back(std::move(fact));
  }

  void AddVocabulary() {
    const absl::Status fits = CheckFits(
        *vocabulary_, target_.model->vocab_size(), target_.tokenizer.get());
    fit_.facts.push_back({.name = "draft tokens",
                          .target = absl::StrCat(target_.model->vocab_size()),
                          .drafter = absl::StrCat(vocabulary_->tokens.size(),
                                                  " of ", kVocabularyFile),
                          .problem = std::string(fits.message()),
                          .refused = true});
  }

  void AddTokens() {
    fit_.differing = DifferingTokens(*target_.tokenizer, *drafter_.tokenizer);
    const auto count = static_cast<int>(fit_.differing.size());
    FitFact fact = {.name = "tokens",
                    .target = absl::StrCat(target_.tokenizer->vocab_size()),
                    .drafter = absl::StrCat(drafter_.tokenizer->vocab_size()),
                    .problem = {},
                    .refused = true};
    if (count > 0)
      fact.problem =
          absl::StrCat(Counted(count, "token"), count == 1 ? " is" : " are",
                       " not the target's");
    fit_.facts.push_back(std::move(fact));
  }

  void AddSpecial() {
    const auto add = [&](const char* name,
                         std::optional<TokenId> (Tokenizer::*id)() const) {
      const Tokenizer& target = *target_.tokenizer;
      const Tokenizer& drafter = *drafter_.tokenizer;
      AddAlike({.name = name,
                .target = TokenName(target, (target.*id)()),
                .drafter = TokenName(drafter, (drafter.*id)()),
                .problem = absl::StrCat("its ", name, " is another")});
    };
    add("bos_token", &Tokenizer::bos_id);
    add("eos_token", &Tokenizer::eos_id);
    add("unk_token", &Tokenizer::unk_id);
    add("pad_token", &Tokenizer::pad_id);
  }

  void AddTemplate() {
    FitFact fact = {.name = "chat template",
                    .target = TemplateOf(*target_.tokenizer),
                    .drafter = TemplateOf(*drafter_.tokenizer)};
    if (target_.tokenizer->chat_template() !=
        drafter_.tokenizer->chat_template())
      fact.problem = "its chat template is another";
    fit_.facts.push_back(std::move(fact));
  }

  void AddContext() {
    const int held = drafter_.model->context_limit();
    FitFact fact = {.name = "context",
                    .target = absl::StrCat(target_.model->context_limit()),
                    .drafter = absl::StrCat(held)};
    if (held < target_.model->context_limit())
      fact.problem =
          absl::StrCat("it drafts nothing after ", Counted(held, "token"));
    fit_.facts.push_back(std::move(fact));
  }

  const LoadedModel& target_;
  const LoadedModel& drafter_;
  const std::optional<DraftVocabulary>& vocabulary_;
  DrafterFit fit_;
};

// That of the texts, which are in the target's tokens.
SharedTokens CountShared(const LoadedModel& target, const LoadedModel& drafter,
                         const std::vector<std::vector<TokenId>>& texts) {
  const OtherModel other = MakeOtherModel(*target.model, target.tokenizer,
                                          drafter.model, drafter.tokenizer);
  SharedTokens shared = {.tokens =
                             static_cast<int>(other.map->common().size())};
  for (const std::vector<TokenId>& text : texts)
    for (TokenId token : text) {
      ++shared.places;
      if (other.map->DrafterOf(token).has_value()) ++shared.reached;
    }
  return shared;
}

}  // namespace

absl::Status CheckVocabularies(const LoadedModel& drafter,
                               const LoadedModel& target) {
  if (drafter.tokenizer == nullptr || target.tokenizer == nullptr)
    return absl::OkStatus();
  const std::vector<TokenDifference> differing =
      DifferingTokens(*target.tokenizer, *drafter.tokenizer);
  if (!differing.empty())
    return absl::InvalidArgumentError(Describe(differing.front()));
  return absl::OkStatus();
}

bool DrafterFit::Fits() const {
  return std::none_of(facts.begin(), facts.end(), [](const FitFact& fact) {
    return fact.refused && !fact.problem.empty();
  });
}

bool DrafterFit::IsWeak() const { return agreement.overlap() < kWeakOverlap; }

std::string DrafterFit::Verdict() const {
  std::vector<std::string> refused, others;
  for (const FitFact& fact : facts)
    if (!fact.problem.empty())
      (fact.refused ? refused : others).push_back(fact.problem);
  if (!Fits())
    return absl::StrCat("does not fit: ", absl::StrJoin(refused, "; "));
  if (IsWeak())
    others.insert(others.begin(),
                  "its distributions are far from the target's");
  const std::string but = absl::StrJoin(others, "; ");
  if (IsWeak()) return absl::StrCat("weak: ", but);
  return but.empty() ? "fits" : absl::StrCat("fits, but ", but);
}

absl::StatusOr<DrafterFit> ExamineFit(
    const FitQuestion& question, const std::vector<std::vector<TokenId>>& texts,
    absl::FunctionRef<void(int done, int all)> progress) {
  const LoadedModel& target = question.target;
  const LoadedModel& drafter = question.drafter;
  DrafterFit fit = Comparison(question).Run();
  if (!fit.Fits() && target.tokenizer != nullptr &&
      drafter.tokenizer != nullptr)
    fit.shared = CountShared(target, drafter, texts);
  if (target.model->vocab_size() != drafter.model->vocab_size()) return fit;
  std::shared_ptr<const Model> model = drafter.model;
  if (question.vocabulary.has_value() &&
      question.vocabulary->vocab_size == model->vocab_size()) {
    BANYAN_ASSIGN_OR_RETURN(model,
                            TrimOutputs(model, question.vocabulary->tokens));
  }
  const auto held = static_cast<std::size_t>(model->context_limit());
  const int all = static_cast<int>(texts.size());
  for (int i = 0; i < all; ++i) {
    progress(i, all);
    std::vector<TokenId> text = texts[static_cast<std::size_t>(i)];
    if (text.size() > held) text.resize(held);
    BANYAN_ASSIGN_OR_RETURN(const std::vector<Distribution> wanted,
                            LawsAfter(*target.model, text));
    BANYAN_ASSIGN_OR_RETURN(const std::vector<Distribution> found,
                            LawsAfter(*model, text));
    for (std::size_t at = 0; at < text.size(); ++at)
      fit.agreement.Count(wanted[at], found[at]);
  }
  progress(all, all);
  return fit;
}

}  // namespace banyan
