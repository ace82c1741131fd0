#include "drafters/composed/inner_drafters.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/bytes.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/model/model.h"
#include "core/prob/distribution.h"
#include "drafters/catalogue.h"
#include "drafters/composed/inner_drafter.h"
#include "drafters/drafter.h"
#include "drafters/workbench.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"

namespace banyan {

absl::StatusOr<InnerDrafters> InnerDrafters::Build(
    absl::Span<const Params> sections, Workbench& bench) {
  std::vector<std::unique_ptr<Drafter>> drafters;
  const Params* planting = nullptr;
  for (const Params& section : sections) {
    BANYAN_ASSIGN_OR_RETURN(std::unique_ptr<Drafter> drafter,
                            BuildDrafter(section, bench));
    if (drafter->probes() > 0) {
      if (planting != nullptr)
        return section.Error(absl::StrCat(
            "drafter ", section.Find("name")->text(), " plants probes, and so ",
            "does ", planting->Find("name")->text(),
            " beside it: one trunk's probes are one drafter's"));
      planting = &section;
    }
    drafters.push_back(std::move(drafter));
  }
  return InnerDrafters(std::move(drafters));
}

InnerDrafters::InnerDrafters(std::vector<std::unique_ptr<Drafter>> drafters) {
  for (std::unique_ptr<Drafter>& drafter : drafters)
    parts_.emplace_back(std::move(drafter));
}

InnerDrafters InnerDrafters::Clone() const {
  std::vector<std::unique_ptr<Drafter>> drafters;
  for (const InnerDrafter& part : parts_)
    drafters.push_back(part.drafter().Clone());
  return InnerDrafters(std::move(drafters));
}

absl::StatusOr<std::vector<std::vector<Distribution>>> InnerDrafters::AnswerAll(
    absl::Span<const Choice> choices) {
  std::vector<std::vector<Distribution>> answers;
  for (const Choice& choice : choices) {
    if (choice.request->nodes.front() == 0)  // every drafting begins there
      choice.parts->Start(*choice.request->tree);
    answers.emplace_back(choice.request->nodes.size());
  }
  for (int part = 0; part < choices.front().parts->count(); ++part)
    BANYAN_RETURN_IF_ERROR(AnswerWith(part, choices, answers));
  return answers;
}

absl::Status InnerDrafters::AnswerWith(
    int part, absl::Span<const Choice> choices,
    std::vector<std::vector<Distribution>>& answers) {
  std::vector<InnerDrafter::Question> questions;
  std::vector<std::vector<std::size_t>> places;  // of its nodes in the request
  for (const Choice& choice : choices) {
    InnerDrafter& own = (*choice.parts)[part];
    const TrunkTree& tree = *choice.request->tree;
    questions.push_back({&own, choice.request->context, {}});
    places.emplace_back();
    for (std::size_t i = 0; i < choice.part_of.size(); ++i) {
      const int node = choice.request->nodes[i];
      if (choice.part_of[i] != part ||
          !own.Reaches(*choice.request->context, tree.node(node).depth))
        continue;
      questions.back().nodes.push_back(own.Find(tree, node));
      places.back().push_back(i);
    }
  }
  BANYAN_RETURN_IF_ERROR(InnerDrafter::AskAll(questions));
  for (std::size_t i = 0; i < choices.size(); ++i)
    for (std::size_t j = 0; j < places[i].size(); ++j) {
      const InnerDrafter& own = *questions[i].part;
      const Distribution& said = *own.answer(questions[i].nodes[j]);
      answers[i][places[i][j]] =
          said.empty() || own.Gives(choices[i].request->tree->law())
              ? said
              : Distribution::OneHot(said.vocab_size(), said.Argmax());
    }
  return absl::OkStatus();
}

void InnerDrafters::Start(const TrunkTree& tree) {
  for (InnerDrafter& part : parts_)
    part.Start(tree,
               part.Gives(tree.law()) ? tree.law() : DraftLaw::kDeterministic);
}

bool InnerDrafters::carries_state() const {
  return std::any_of(
      parts_.begin(), parts_.end(),
      [](const InnerDrafter& part) { return part.drafter().carries_state(); });
}

bool InnerDrafters::reads_rows() const {
  return std::any_of(
      parts_.begin(), parts_.end(),
      [](const InnerDrafter& part) { return part.drafter().reads_rows(); });
}

bool InnerDrafters::propose_ahead() const {
  return std::all_of(
      parts_.begin(), parts_.end(),
      [](const InnerDrafter& part) { return part.drafter().proposes_ahead(); });
}

bool InnerDrafters::AllGive(DraftLaw law) const {
  return std::all_of(parts_.begin(), parts_.end(),
                     [&](const InnerDrafter& part) { return part.Gives(law); });
}

std::vector<DraftLaw> InnerDrafters::LawsGivenOrMade() const {
  std::vector<DraftLaw> laws;
  for (DraftLaw law : kEveryLaw)
    if (std::all_of(parts_.begin(), parts_.end(),
                    [&](const InnerDrafter& part) {
                      return part.Gives(law) || part.only_ranks();
                    }))
      laws.push_back(law);
  return laws;
}

int InnerDrafters::longest_text() const {
  int longest = 0;
  for (const InnerDrafter& part : parts_)
    longest = std::max(longest, part.drafter().longest_text());
  return longest;
}

std::vector<int> InnerDrafters::taps() const {
  std::set<int> taps;
  for (const InnerDrafter& part : parts_)
    for (int tap : part.drafter().taps()) taps.insert(tap);
  return {taps.begin(), taps.end()};
}

int InnerDrafters::probes() const {
  int probes = 0;
  for (const InnerDrafter& part : parts_) probes += part.drafter().probes();
  return probes;
}

// What the parts learnt stands one after the other, each behind its length.
std::string InnerDrafters::End() {
  ByteWriter learnt;
  for (InnerDrafter& part : parts_) learnt.Put(part.drafter().End());
  return learnt.Take();
}

absl::StatusOr<std::vector<absl::string_view>> InnerDrafters::OfParts(
    absl::string_view learnt) const {
  ByteReader in(learnt);
  std::vector<absl::string_view> of_parts;
  for (int i = 0; i < count(); ++i) of_parts.push_back(in.String());
  BANYAN_RETURN_IF_ERROR(in.Finish());
  return of_parts;
}

absl::Status InnerDrafters::Absorb(absl::Span<const TokenId> text,
                                   absl::string_view learnt) {
  BANYAN_RETURN_IF_ERROR(CheckLesson(text, learnt));
  BANYAN_ASSIGN_OR_RETURN(const auto of_parts, OfParts(learnt));
  for (std::size_t i = 0; i < parts_.size(); ++i)
    BANYAN_RETURN_IF_ERROR(parts_[i].drafter().Absorb(text, of_parts[i]));
  return absl::OkStatus();
}

absl::Status InnerDrafters::CheckLesson(absl::Span<const TokenId> text,
                                        absl::string_view learnt) const {
  BANYAN_ASSIGN_OR_RETURN(const auto of_parts, OfParts(learnt));
  for (std::size_t i = 0; i < parts_.size(); ++i)
    BANYAN_RETURN_IF_ERROR(parts_[i].drafter().CheckLesson(text, of_parts[i]));
  return absl::OkStatus();
}

std::vector<Carried> InnerDrafters::carried() const {
  std::vector<Carried> all;
  for (const InnerDrafter& part : parts_)
    for (Carried& one : part.drafter().carried()) all.push_back(std::move(one));
  return all;
}

absl::Status InnerDrafters::TakeViews(Session& target) {
  for (InnerDrafter& part : parts_)
    BANYAN_RETURN_IF_ERROR(part.drafter().TakeViews(target));
  return absl::OkStatus();
}

absl::Status InnerDrafters::Begin(const Context& context) {
  for (InnerDrafter& part : parts_)
    BANYAN_RETURN_IF_ERROR(part.drafter().Begin(context));
  return absl::OkStatus();
}

void InnerDrafters::Plant(const Context& context, int max_depth,
                          TrunkTree& tree) {
  for (InnerDrafter& part : parts_)
    part.drafter().Plant(context, max_depth, tree);
}

DoneRows InnerDrafters::Computed(const DraftTree& tree) const {
  for (const InnerDrafter& part : parts_) {
    DoneRows done = part.drafter().Computed(tree);
    if (done.view != nullptr) return done;
  }
  return {};
}

absl::Status InnerDrafters::Observe(const Context& context,
                                    const RoundOutcome& outcome) {
  for (InnerDrafter& part : parts_)
    BANYAN_RETURN_IF_ERROR(part.drafter().Observe(context, outcome));
  return absl::OkStatus();
}

}  // namespace banyan
