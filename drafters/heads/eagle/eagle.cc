#include "drafters/heads/eagle/eagle.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/model/features.h"
#include "core/model/model.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "drafters/drafter.h"
#include "drafters/heads/eagle/head.h"
#include "drafters/pending_tree.h"
#include "drafters/ranking_rule.h"
#include "drafters/workbench.h"
#include "tree/derive.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"

namespace banyan {

absl::StatusOr<std::unique_ptr<Drafter>> Eagle::Build(ParamsReader& in,
                                                      Workbench& bench) {
  Params name;
  in.Required("head", name);
  BANYAN_ASSIGN_OR_RETURN(SamplingRule rule, bench.TakeRule(in));
  BANYAN_RETURN_IF_ERROR(in.Finish());
  BANYAN_ASSIGN_OR_RETURN(std::shared_ptr<const EagleHead> head,
                          bench.OpenFolder<EagleHead>(
                              "heads", name, [&](const std::string& folder) {
                                return LoadEagleHead(folder, bench.target());
                              }));
  return std::make_unique<Eagle>(std::move(head), std::move(rule));
}

Eagle::Eagle(std::shared_ptr<const EagleHead> head, SamplingRule rule)
    : head_(std::move(head)),
      rule_(std::move(rule)),
      ranking_(RankingRule(rule_)) {}

std::unique_ptr<Drafter> Eagle::Clone() const {
  return std::make_unique<Eagle>(head_, rule_);
}

std::vector<DraftLaw> Eagle::laws() const {
  return {kEveryLaw.begin(), kEveryLaw.end()};
}

std::vector<int> Eagle::taps() const {
  std::vector<int> taps = head_->taps();
  std::sort(taps.begin(), taps.end());
  return taps;
}

// A text has a pair fewer than tokens.
int Eagle::longest_text() const { return head_->network().context_limit() + 1; }

absl::Status Eagle::Begin(const Context& context) {
  session_ = head_->network().NewSession();
  ForgetAll();
  if (context.tokens.size() > static_cast<std::size_t>(longest_text()))
    return absl::OkStatus();  // and nothing will be asked
  Take(context, context.features.rows);
  BANYAN_RETURN_IF_ERROR(MakeVectors());
  return unread_.empty() ? absl::OkStatus() : ReadAllBut(1);
}

void Eagle::Take(const Context& context, int count) {
  const Features& features = context.features;
  for (int row = features.rows - count; row < features.rows; ++row)
    for (int tap : head_->taps()) {
      const absl::Span<const float> state = features.At(tap, row);
      states_.insert(states_.end(), state.begin(), state.end());
    }
  unread_.insert(unread_.end(), context.tokens.end() - count,
                 context.tokens.end());
}

absl::Status Eagle::MakeVectors() {
  if (states_.empty()) return absl::OkStatus();
  const auto size = static_cast<std::size_t>(head_->network().hidden_size());
  const std::size_t rows = unread_.size() - unread_vectors_.size() / size;
  std::vector<float> vectors;
  BANYAN_RETURN_IF_ERROR(
      head_->VectorsOf(states_, static_cast<int>(rows), vectors));
  unread_vectors_.insert(unread_vectors_.end(), vectors.begin(), vectors.end());
  states_.clear();
  return absl::OkStatus();
}

absl::Status Eagle::ReadAllBut(std::size_t left) {
  constexpr std::size_t kAtOnce = 256;  // rows that share a pass
  const auto size = static_cast<std::size_t>(head_->network().hidden_size());
  while (unread_.size() > left) {
    const std::size_t some = std::min(kAtOnce, unread_.size() - left);
    const TokenBatch batch = TokenBatch::Chain(
        absl::MakeConstSpan(unread_).first(some), session_->length());
    const ScoreRequest request = {
        .session = session_.get(),
        .batch = &batch,
        .logits_from = static_cast<int>(some),
        .vectors = absl::MakeConstSpan(unread_vectors_).first(some * size)};
    BANYAN_RETURN_IF_ERROR(head_->network().Score({&request, 1}).status());
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

absl::StatusOr<std::vector<std::vector<Distribution>>> Eagle::ProposeAll(
    absl::Span<const DraftRequest> requests) {
  std::vector<Pairs> pairs(requests.size());
  std::vector<ScoreRequest> asked;
  std::vector<std::size_t> places;  // in `asked`, of those with something
  for (std::size_t i = 0; i < requests.size(); ++i) {
    auto& own = static_cast<Eagle&>(*requests[i].drafter);
    BANYAN_ASSIGN_OR_RETURN(pairs[i], own.PairsOf(requests[i]));
    places.push_back(asked.size());
    if (pairs[i].batch.size() > 0)
      asked.push_back(
          {.session = own.session_.get(),
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
  std::vector<std::vector<Distribution>> all(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    auto& own = static_cast<Eagle&>(*requests[i].drafter);
    if (pairs[i].batch.size() == 0) {
      all[i].resize(requests[i].nodes.size());
      continue;
    }
    BANYAN_ASSIGN_OR_RETURN(all[i], own.LawsOf(requests[i], pairs[i],
                                               std::move(scores[places[i]])));
  }
  return all;
}

// At the root all pairs that are not read yet, the last of which is the root's;
// below, the nodes' tokens with what came out of their parents' pairs. Nothing
// where there is nothing to read.
absl::StatusOr<Eagle::Pairs> Eagle::PairsOf(const DraftRequest& request) {
  Pairs pairs;
  if (request.nodes.front() == 0) {  // every drafting begins there
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
  const auto size = static_cast<std::size_t>(head_->network().hidden_size());
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

void Eagle::ForgetRound() {
  read_ = false;
  pending_.Clear();
  passes_.clear();
  output_of_.clear();
}

void Eagle::ForgetAll() {
  ForgetRound();
  unread_.clear();
  unread_vectors_.clear();
  states_.clear();
}

absl::Status Eagle::DropRound() {
  ForgetRound();
  return session_->Commit({});
}

// What is long unread is read first: every row of the root's pass gives logits,
// which is more work than another pass once there are many.
absl::Status Eagle::StartRound() {
  constexpr std::size_t kReadWithRoot = 16;
  BANYAN_RETURN_IF_ERROR(DropRound());
  BANYAN_RETURN_IF_ERROR(MakeVectors());
  return unread_.size() > kReadWithRoot ? ReadAllBut(1) : absl::OkStatus();
}

absl::StatusOr<std::vector<Distribution>> Eagle::LawsOf(
    const DraftRequest& request, const Pairs& pairs,
    std::unique_ptr<Scores> scores) {
  const TrunkTree& tree = *request.tree;
  const int before =
      pairs.batch.size() - static_cast<int>(request.nodes.size());
  pending_.Scored(pairs.batch, request.nodes);
  read_ = true;
  const bool ranked = tree.law() == DraftLaw::kDeterministic;
  std::vector<Distribution> laws;
  for (std::size_t i = 0; i < request.nodes.size(); ++i) {
    const int row = before + static_cast<int>(i);
    const auto node = static_cast<std::size_t>(request.nodes[i]);
    output_of_.resize(std::max(output_of_.size(), node + 1));
    output_of_[node] = {passes_.size(), row};
    BANYAN_ASSIGN_OR_RETURN(
        Distribution law,
        head_->Law(*scores, row, ranked ? ranking_ : rule_,
                   request.context->tokens, TokensTo(tree, request.nodes[i])));
    laws.push_back(std::move(law));
  }
  passes_.push_back(std::move(scores));
  return laws;
}

absl::StatusOr<DrafterTwin> Eagle::OnDevice(DraftLaw law) {
  const auto read_all = [this]() -> absl::Status {
    BANYAN_RETURN_IF_ERROR(DropRound());
    BANYAN_RETURN_IF_ERROR(MakeVectors());
    return ReadAllBut(1);
  };
  return DrafterTwin{head_->OnDevice(*session_, read_all),
                     law == DraftLaw::kDeterministic ? ranking_ : rule_,
                     /*keeps_features=*/true};
}

// The session has read the pairs of all rounds but the last.
void Eagle::Resume(const Context& context) {
  ForgetAll();
  Take(context,
       static_cast<int>(context.tokens.size()) - 1 - session_->length());
}

absl::Status Eagle::Observe(const Context& context,
                            const RoundOutcome& /*outcome*/) {
  if (context.tokens.size() > static_cast<std::size_t>(longest_text()))
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

}  // namespace banyan
