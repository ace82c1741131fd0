#include "drafters/heads/eagle/eagle.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <utility>

#include "core/base/params.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/prob/distribution.h"
#include "drafters/draft_vocabulary.h"
#include "drafters/heads/eagle/doctor.h"
#include "drafters/heads/eagle/growth.h"
#include "drafters/rows.h"
#include "drafters/session_drafter.h"
#include "drafters/workbench.h"
#include "tree/derive.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"

namespace banyan {
namespace {

std::vector<int> Ascending(std::vector<int> taps) {
  std::sort(taps.begin(), taps.end());
  return taps;
}

}  // namespace

Eagle::Eagle(std::shared_ptr<const EagleHead> head, SamplingRule rule)
    // A text has a pair fewer than tokens.
    : Drafter({.draw_kinds = EveryDrawKind(),
               .longest_text = head->network().context_limit() + 1,
               .taps = Ascending(head->taps())},
              /*carried=*/nullptr),
      head_(std::move(head)),
      rules_(std::move(rule)) {}

class EagleSession : public QuietSession, private DeviceCounterpart {
 public:
  explicit EagleSession(const Eagle& drafter)
      : QuietSession({.on_device = this}),
        drafter_(drafter),
        head_(*drafter.head_) {}

  absl::Status Begin(const Context& context) override;
  absl::Status Observe(const Context& context,
                       const RoundOutcome& outcome) override;

  // Rows to score: pairs, and the vectors that they start from.
  struct Pairs {
    TokenBatch batch;
    std::vector<float> vectors;
  };
  absl::StatusOr<Pairs> PairsOf(const DraftRequest& request);
  absl::StatusOr<Proposals> LawsOf(const DraftRequest& request,
                                   const Pairs& pairs,
                                   std::unique_ptr<Scores> scores);
  Session& session() const { return *session_; }

 private:
  absl::StatusOr<DeviceDraft> Make(DrawKind draw_kind) override;
  void Resume(const Context& context) override;

  // What came out of a node's pair: a row of one of the round's passes.
  struct Output {
    std::size_t pass = 0;
    int row = 0;
  };

  // Takes up the pairs of the text's last `count` tokens, whose states are the
  // features' last ones.
  void Take(const Context& context, int count);
  // The round under way; and with it all pairs.
  void ForgetRound();
  void ForgetAll();
  // Ends what an abandoned round left, here and in the session.
  absl::Status DropRound();
  absl::Status MakeVectors();
  absl::Status StartRound();
  // Reads the first of the unread pairs for good, all but `left`.
  absl::Status ReadAllBut(std::size_t left);

  const Eagle& drafter_;
  const EagleHead& head_;
  std::unique_ptr<Session> session_;
  // Pairs with the target's states that the session has not committed.
  std::vector<TokenId> unread_;
  std::vector<float> unread_vectors_;  // but of the last, which have states yet
  std::vector<float> states_;          // the target's
  bool read_ = false;  // they are pending, the first of the pending rows
  PendingTree pending_;
  std::vector<std::unique_ptr<Scores>> passes_;  // of this round
  std::vector<Output> output_of_;                // by node
};

std::unique_ptr<DraftSession> Eagle::NewSession() const {
  return std::make_unique<EagleSession>(*this);
}

absl::StatusOr<std::vector<Proposals>> Eagle::Propose(
    absl::Span<const DraftRequest> requests) {
  std::vector<EagleSession::Pairs> pairs(requests.size());
  std::vector<ScoreRequest> asked;
  std::vector<std::size_t> places;  // in `asked`, of those with something
  for (std::size_t i = 0; i < requests.size(); ++i) {
    auto& own = SessionOf<EagleSession>(requests[i]);
    BANYAN_ASSIGN_OR_RETURN(pairs[i], own.PairsOf(requests[i]));
    places.push_back(asked.size());
    if (pairs[i].batch.size() > 0)
      asked.push_back(
          {.session = &own.session(),
           .batch = &pairs[i].batch,
           .taps = {head_->output_tap()},
           .logits_from = pairs[i].batch.size() -
                          static_cast<int>(requests[i].nodes.size()),
           .vectors = pairs[i].vectors});
  }
  std::vector<std::unique_ptr<Scores>> scores;
  if (!asked.empty()) {
    BANYAN_ASSIGN_OR_RETURN(scores, head_->network().Score(asked));
  }
  std::vector<Proposals> all(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (pairs[i].batch.size() == 0) {
      all[i].resize(requests[i].nodes.size());
      continue;
    }
    BANYAN_ASSIGN_OR_RETURN(all[i], SessionOf<EagleSession>(requests[i])
                                        .LawsOf(requests[i], pairs[i],
                                                std::move(scores[places[i]])));
  }
  return all;
}

absl::Status EagleSession::Begin(const Context& context) {
  session_ = head_.network().NewSession();
  if (context.tokens.size() >
      static_cast<std::size_t>(drafter_.traits().longest_text))
    return absl::OkStatus();  // and nothing will be asked
  Take(context, context.features.rows);
  BANYAN_RETURN_IF_ERROR(MakeVectors());
  return unread_.empty() ? absl::OkStatus() : ReadAllBut(1);
}

void EagleSession::Take(const Context& context, int count) {
  const Features& features = context.features;
  for (int row = features.rows - count; row < features.rows; ++row)
    for (int tap : head_.taps()) {
      const absl::Span<const float> state = features.At(tap, row);
      states_.insert(states_.end(), state.begin(), state.end());
    }
  unread_.insert(unread_.end(), context.tokens.end() - count,
                 context.tokens.end());
}

absl::Status EagleSession::MakeVectors() {
  if (states_.empty()) return absl::OkStatus();
  const auto size = static_cast<std::size_t>(head_.network().hidden_size());
  const std::size_t rows = unread_.size() - unread_vectors_.size() / size;
  std::vector<float> vectors;
  BANYAN_RETURN_IF_ERROR(
      head_.VectorsOf(states_, static_cast<int>(rows), vectors));
  unread_vectors_.insert(unread_vectors_.end(), vectors.begin(), vectors.end());
  states_.clear();
  return absl::OkStatus();
}

absl::Status EagleSession::ReadAllBut(std::size_t left) {
  constexpr std::size_t kAtOnce = 256;  // rows that share a pass
  const auto size = static_cast<std::size_t>(head_.network().hidden_size());
  while (unread_.size() > left) {
    const std::size_t some = std::min(kAtOnce, unread_.size() - left);
    const TokenBatch batch = TokenBatch::Chain(
        absl::MakeConstSpan(unread_).first(some), session_->length());
    const ScoreRequest request = {
        .session = session_.get(),
        .batch = &batch,
        .logits_from = static_cast<int>(some),
        .vectors = absl::MakeConstSpan(unread_vectors_).first(some * size)};
    BANYAN_RETURN_IF_ERROR(head_.network().Score({&request, 1}).status());
    std::vector<int> path(some);
    std::iota(path.begin(), path.end(), 0);
    BANYAN_RETURN_IF_ERROR(session_->Commit(path));
    unread_.erase(unread_.begin(),
                  unread_.begin() + static_cast<std::ptrdiff_t>(some));
    unread_vectors_.erase(
        unread_vectors_.begin(),
        unread_vectors_.begin() + static_cast<std::ptrdiff_t>(some * size));
  }
  return absl::OkStatus();
}

// At the root all pairs that are not read yet, the last of which is the root's;
// below, the nodes' tokens with what came out of their parents' pairs. Nothing
// where there is nothing to read.
absl::StatusOr<EagleSession::Pairs> EagleSession::PairsOf(
    const DraftRequest& request) {
  Pairs pairs;
  if (request.nodes.front() == 0) {  // a drafting begins
    BANYAN_RETURN_IF_ERROR(StartRound());
    if (unread_.empty()) return pairs;
    pairs.batch = TokenBatch::Chain(
        absl::MakeConstSpan(unread_).first(unread_.size() - 1),
        session_->length());
    pairs.vectors = unread_vectors_;
  } else if (unread_.empty()) {
    return pairs;
  }
  pending_.AddTo(pairs.batch, *request.tree, request.nodes,
                 static_cast<int>(request.context->tokens.size()) - 2);
  const auto size = static_cast<std::size_t>(head_.network().hidden_size());
  for (int node : request.nodes) {
    if (node == 0) continue;
    const auto parent =
        static_cast<std::size_t>(request.tree->node(node).parent);
    const Output& from = output_of_[parent];
    pairs.vectors.resize(pairs.vectors.size() + size);
    BANYAN_RETURN_IF_ERROR(passes_[from.pass]->ReadHidden(
        0, from.row, absl::MakeSpan(pairs.vectors).last(size)));
  }
  return pairs;
}

void EagleSession::ForgetRound() {
  read_ = false;
  pending_.Clear();
  passes_.clear();
  output_of_.clear();
}

void EagleSession::ForgetAll() {
  ForgetRound();
  unread_.clear();
  unread_vectors_.clear();
  states_.clear();
}

absl::Status EagleSession::DropRound() {
  ForgetRound();
  return session_->Commit({});
}

// What is long unread is read first: every row of the root's pass gives logits,
// which is more work than another pass once there are many.
absl::Status EagleSession::StartRound() {
  constexpr std::size_t kUnreadWithRoot = 16;
  BANYAN_RETURN_IF_ERROR(DropRound());
  BANYAN_RETURN_IF_ERROR(MakeVectors());
  return unread_.size() > kUnreadWithRoot ? ReadAllBut(1) : absl::OkStatus();
}

absl::StatusOr<Proposals> EagleSession::LawsOf(const DraftRequest& request,
                                               const Pairs& pairs,
                                               std::unique_ptr<Scores> scores) {
  const TrunkTree& tree = *request.tree;
  const int before =
      pairs.batch.size() - static_cast<int>(request.nodes.size());
  pending_.Scored(pairs.batch, request.nodes);
  read_ = true;
  Proposals laws;
  for (std::size_t i = 0; i < request.nodes.size(); ++i) {
    const int row = before + static_cast<int>(i);
    const auto node = static_cast<std::size_t>(request.nodes[i]);
    output_of_.resize(std::max(output_of_.size(), node + 1));
    output_of_[node] = {passes_.size(), row};
    BANYAN_ASSIGN_OR_RETURN(
        Distribution law,
        scores->Law(row, drafter_.rules_.Of(tree.draw_kind()),
                    request.context->tokens, TokensTo(tree, request.nodes[i])));
    laws.push_back({std::move(law)});
  }
  passes_.push_back(std::move(scores));
  return laws;
}

absl::StatusOr<DeviceDraft> EagleSession::Make(DrawKind draw_kind) {
  const auto read_all = [this]() -> absl::Status {
    BANYAN_RETURN_IF_ERROR(DropRound());
    BANYAN_RETURN_IF_ERROR(MakeVectors());
    return ReadAllBut(1);
  };
  return DeviceDraft{head_.OnDevice(*session_, read_all),
                     drafter_.rules_.Of(draw_kind),
                     /*keeps_features=*/true};
}

// The session has read the pairs of all rounds but the last.
void EagleSession::Resume(const Context& context) {
  ForgetAll();
  Take(context,
       static_cast<int>(context.tokens.size()) - 1 - session_->length());
}

absl::Status EagleSession::Observe(const Context& context,
                                   const RoundOutcome& /*outcome*/) {
  if (context.tokens.size() >
      static_cast<std::size_t>(drafter_.traits().longest_text))
    return absl::OkStatus();  // nothing will be asked any more
  std::vector<int> path;
  if (read_) {
    path.resize(unread_.size());
    std::iota(path.begin(), path.end(), 0);
    unread_.clear();
    unread_vectors_.clear();
  }
  ForgetRound();
  Take(context, context.features.rows);
  return session_->Commit(path);
}

namespace {

BuiltDrafter BuildEagle(ParamsReader& in, Workbench& bench) {
  const Params* name = in.TakeRequired("head");
  const Params* vocabulary = in.Take(kVocabularyKey);
  BANYAN_ASSIGN_OR_RETURN(SamplingRule rule, bench.TakeRule(in));
  BANYAN_RETURN_IF_ERROR(in.Finish());
  BANYAN_ASSIGN_OR_RETURN(std::shared_ptr<const EagleHead> head,
                          bench.OpenFolder<EagleHead>(
                              "heads", *name, [&](const std::string& folder) {
                                return LoadEagleHead(folder, bench.target());
                              }));
  BANYAN_ASSIGN_OR_RETURN(
      head, Trimmed<EagleHead>(std::move(head), vocabulary, bench, TrimHead));
  return std::make_unique<Eagle>(std::move(head), std::move(rule));
}

}  // namespace

DrafterRow EagleRow() {
  return {
      .name = "eagle",
      .sentence =
          "EAGLE (all versions) and multi-token prediction: a network on the "
          "target's hidden states that feeds itself.",
      .draw_kinds = EveryDrawKind(),
      .keys = {NameKey("head",
                       "A name of `models`: a directory of an EAGLE head."),
               VocabularyKey(), SamplingKey()},
      .build = BuildEagle,
      .examples = {"{head: head}", "{head: head, vocabulary: vocabulary.json}"},
      .folder_key = "heads",
      .model_key = "head",
      .takes_vocabulary = true,
      .heads = {.growable = OpenGrowableEagle,
                .examine = ExamineEagle,
                .describe = DescribeEagle},
      .on_device = true};
}

}  // namespace banyan
