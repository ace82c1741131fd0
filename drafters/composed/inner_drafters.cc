#include "drafters/composed/inner_drafters.h"

#include <algorithm>
#include <cstdint>
#include <set>

#include "core/base/bytes.h"
#include "core/base/check.h"
#include "tree/derive.h"

namespace banyan {

bool InnerSession::Reaches(const Context& context, int depth) const {
  return static_cast<std::int64_t>(context.tokens.size()) + depth <=
         drafter_->traits().longest_text;
}

void InnerSession::Start(const TrunkTree& of, DrawKind draw_kind) {
  tree_ = TrunkTree(of.node(0).token, of.trunk(), draw_kind);
  answers_.clear();
}

int InnerSession::Find(const TrunkTree& of, int node) {
  int found = 0;
  for (TokenId token : TokensTo(of, node)) found = Child(found, token);
  return found;
}

int InnerSession::Child(int node, TokenId token) {
  for (int child : tree_.node(node).children)
    if (tree_.node(child).token == token) return child;
  return tree_.AddProbe(node, token);
}

const Proposal* InnerSession::answer(int node) const {
  const auto at = static_cast<std::size_t>(node);
  return at < answers_.size() && answers_[at].has_value() ? &*answers_[at]
                                                          : nullptr;
}

// Those that the next pass asks for: without an answer, parents first.
std::vector<int> InnerSession::NextOf(absl::Span<const int> nodes) const {
  std::set<int> missing;  // a parent has the lower number
  for (int node : nodes)
    for (; node >= 0 && answer(node) == nullptr; node = tree_.node(node).parent)
      missing.insert(node);
  std::vector<int> next;
  for (int node : missing)
    if (drafter_->traits().proposes_ahead ||
        missing.count(tree_.node(node).parent) == 0)
      next.push_back(node);
  return next;
}

void InnerSession::Take(absl::Span<const int> nodes, Proposals answers) {
  Check(answers.size() == nodes.size(), "one proposal a node");
  answers_.resize(static_cast<std::size_t>(tree_.size()));
  for (std::size_t i = 0; i < nodes.size(); ++i)
    answers_[static_cast<std::size_t>(nodes[i])] = std::move(answers[i]);
}

absl::Status InnerSession::AskAll(absl::Span<const Question> questions) {
  while (true) {
    std::vector<InnerSession*> asking;
    std::vector<DraftRequest> requests;
    for (const Question& question : questions) {
      InnerSession& part = *question.part;
      std::vector<int> next = part.NextOf(question.nodes);
      if (next.empty()) continue;
      asking.push_back(&part);
      requests.push_back(
          {&part.session(), question.context, &part.tree(), std::move(next)});
    }
    if (requests.empty()) return absl::OkStatus();
    BANYAN_ASSIGN_OR_RETURN(std::vector<Proposals> answers,
                            asking.front()->drafter_->Propose(requests));
    Check(answers.size() == requests.size(), "one answer a sequence");
    for (std::size_t i = 0; i < asking.size(); ++i)
      asking[i]->Take(requests[i].nodes, std::move(answers[i]));
  }
}

namespace {

// The state that each of the parts carries, and what was learnt for it; the
// bytes of all parts follow one another, each after its length.
struct Lesson {
  CarriedState* state;
  absl::string_view learnt;
};

absl::StatusOr<std::vector<Lesson>> LessonsOf(
    absl::Span<const std::unique_ptr<Drafter>> parts,
    absl::string_view learnt) {
  ByteReader in(learnt);
  std::vector<Lesson> lessons;
  for (const auto& part : parts) {
    const absl::string_view of_part = in.String();
    if (part->carried() != nullptr)
      lessons.push_back({part->carried(), of_part});
  }
  BANYAN_RETURN_IF_ERROR(in.Finish());
  return lessons;
}

}  // namespace

absl::StatusOr<InnerDrafters> InnerDrafters::Build(
    absl::Span<const Params> sections, Workbench& bench) {
  std::vector<std::unique_ptr<Drafter>> drafters;
  const Params* planting = nullptr;
  for (const Params& section : sections) {
    BANYAN_ASSIGN_OR_RETURN(std::unique_ptr<Drafter> drafter,
                            bench.Build(section));
    if (drafter->traits().probes > 0) {
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

DrafterTraits InnerDrafters::Traits() const {
  DrafterTraits whole = {.longest_text = 0, .proposes_ahead = true};
  std::set<int> taps;
  for (const auto& part : parts_) {
    const DrafterTraits& own = part->traits();
    whole.longest_text = std::max(whole.longest_text, own.longest_text);
    whole.proposes_ahead = whole.proposes_ahead && own.proposes_ahead;
    taps.insert(own.taps.begin(), own.taps.end());
    whole.reads_scores = whole.reads_scores || own.reads_scores;
    whole.probes += own.probes;
    whole.below_others = whole.below_others && own.below_others;
  }
  whole.taps.assign(taps.begin(), taps.end());
  for (DrawKind draw_kind : kDrawKinds)
    if (std::all_of(parts_.begin(), parts_.end(), [&](const auto& part) {
          return part->Gives(draw_kind) || part->only_ranks();
        }))
      whole.draw_kinds.push_back(draw_kind);
  return whole;
}

bool InnerDrafters::carries() const {
  return std::any_of(parts_.begin(), parts_.end(), [](const auto& part) {
    return part->carried() != nullptr;
  });
}

absl::Status InnerDrafters::Absorb(absl::Span<const TokenId> text,
                                   absl::string_view learnt) {
  BANYAN_RETURN_IF_ERROR(CheckLesson(text, learnt));
  BANYAN_ASSIGN_OR_RETURN(const auto lessons, LessonsOf(parts_, learnt));
  for (const Lesson& lesson : lessons)
    BANYAN_RETURN_IF_ERROR(lesson.state->Absorb(text, lesson.learnt));
  return absl::OkStatus();
}

absl::Status InnerDrafters::CheckLesson(absl::Span<const TokenId> text,
                                        absl::string_view learnt) const {
  BANYAN_ASSIGN_OR_RETURN(const auto lessons, LessonsOf(parts_, learnt));
  for (const Lesson& lesson : lessons)
    BANYAN_RETURN_IF_ERROR(lesson.state->CheckLesson(text, lesson.learnt));
  return absl::OkStatus();
}

std::vector<Carried> InnerDrafters::holdings() const {
  std::vector<Carried> all;
  for (const auto& part : parts_) {
    if (part->carried() == nullptr) continue;
    for (Carried& one : part->carried()->holdings())
      all.push_back(std::move(one));
  }
  return all;
}

InnerSessions::InnerSessions(const InnerDrafters& drafters) {
  for (int i = 0; i < drafters.count(); ++i) parts_.emplace_back(drafters[i]);
}

absl::StatusOr<std::vector<Proposals>> InnerSessions::AnswerAll(
    absl::Span<const Choice> choices) {
  std::vector<Proposals> answers;
  for (const Choice& choice : choices) {
    if (choice.request->nodes.front() == 0)  // a drafting begins
      choice.parts->Start(*choice.request->tree);
    answers.emplace_back(choice.request->nodes.size());
  }
  for (int part = 0; part < choices.front().parts->count(); ++part)
    BANYAN_RETURN_IF_ERROR(AnswerWith(part, choices, answers));
  return answers;
}

absl::Status InnerSessions::AnswerWith(int part,
                                       absl::Span<const Choice> choices,
                                       std::vector<Proposals>& answers) {
  std::vector<InnerSession::Question> questions;
  std::vector<std::vector<std::size_t>> places;  // of its nodes in the request
  for (const Choice& choice : choices) {
    InnerSession& own = (*choice.parts)[part];
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
  BANYAN_RETURN_IF_ERROR(InnerSession::AskAll(questions));
  for (std::size_t i = 0; i < choices.size(); ++i)
    for (std::size_t j = 0; j < places[i].size(); ++j) {
      const InnerSession& own = *questions[i].part;
      const Proposal& said = *own.answer(questions[i].nodes[j]);
      Proposal& answer = answers[i][places[i][j]];
      if (own.drafter().Gives(choices[i].request->tree->draw_kind()))
        answer = said;
      else if (!said.q.empty())
        answer.q = Distribution::OneHot(said.q.vocab_size(), said.q.Argmax());
    }
  return absl::OkStatus();
}

void InnerSessions::Start(const TrunkTree& tree) {
  for (InnerSession& part : parts_)
    part.Start(tree, part.drafter().Gives(tree.draw_kind())
                         ? tree.draw_kind()
                         : DrawKind::kDeterministic);
}

bool InnerSessions::in_target_pass() const {
  return std::any_of(parts_.begin(), parts_.end(),
                     [](const InnerSession& part) {
                       return part.session().facets().in_target_pass != nullptr;
                     });
}

absl::Status InnerSessions::Begin(const Context& context) {
  for (InnerSession& part : parts_)
    BANYAN_RETURN_IF_ERROR(part.session().Begin(context));
  return absl::OkStatus();
}

absl::Status InnerSessions::Observe(const Context& context,
                                    const RoundOutcome& outcome) {
  for (InnerSession& part : parts_)
    BANYAN_RETURN_IF_ERROR(part.session().Observe(context, outcome));
  return absl::OkStatus();
}

std::string InnerSessions::End() {
  ByteWriter learnt;
  bool carries = false;
  for (InnerSession& part : parts_) {
    learnt.Put(part.session().End());
    carries = carries || part.drafter().carried() != nullptr;
  }
  return carries ? learnt.Take() : std::string();
}

absl::Status InnerSessions::TakeViews(Session& target) {
  for (InnerSession& part : parts_)
    if (TargetPassPart* own = part.session().facets().in_target_pass)
      BANYAN_RETURN_IF_ERROR(own->TakeViews(target));
  return absl::OkStatus();
}

void InnerSessions::Plant(const Context& context, int max_depth,
                          TrunkTree& tree) {
  for (InnerSession& part : parts_)
    if (TargetPassPart* own = part.session().facets().in_target_pass)
      own->Plant(context, max_depth, tree);
}

DoneRows InnerSessions::Computed(const DraftTree& tree) const {
  for (const InnerSession& part : parts_) {
    const TargetPassPart* own = part.session().facets().in_target_pass;
    if (own == nullptr) continue;
    DoneRows done = own->Computed(tree);
    if (done.view != nullptr) return done;
  }
  return {};
}

}  // namespace banyan
