#include "decode/device_rounds.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/model/model.h"
#include "core/prob/distribution.h"
#include "core/prob/draw_kind.h"
#include "core/prob/sampling_rule.h"
#include "core/round/layout.h"
#include "core/round/plan.h"
#include "decode/host_cause.h"
#include "decode/round.h"
#include "decode/target_rows.h"
#include "drafters/drafter.h"
#include "drafters/drafting.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"

namespace banyan {

// A sequence's rounds there.
class DeviceSide {
 public:
  std::unique_ptr<DeviceRound> rounds;    // null: the host runs them
  HostCause none = HostCause::kNone;      // why
  std::uint64_t seed = 0;                 // of its draws
  std::vector<SamplingRule> draft_rules;  // by trunk
  bool has_next_round = false;  // the state of the next round is there
  // By trunk, of those whose trees are uploaded: the next round's.
  std::vector<std::optional<TrunkTree>> uploaded;
  // The rows that its last round kept; none before there was one.
  std::vector<int> kept_rows;
};

namespace {

// The round's parts, as far as all have counterparts.
struct Parts {
  RoundPlan plan;
  std::vector<std::unique_ptr<DeviceDrafter>> drafters;
};

// Repeated draws lead to one node: a tree may have more draws than nodes.
constexpr int kDrawsANode = 4;

// Whether the host drafts for it and uploads the tree: it has no counterpart,
// and no part in the target's pass.
bool IsUploaded(const SequenceTrunk& trunk) {
  const SessionFacets& facets = trunk.session->facets();
  return trunk.drafter->traits().probes == 0 &&
         facets.in_target_pass == nullptr && facets.on_device == nullptr;
}

// Whether a drafter reads the target's features here.
bool ReadsFeaturesHere(const Sequence& sequence) {
  return absl::c_any_of(sequence.trunks, [](const SequenceTrunk& trunk) {
    return IsUploaded(trunk) && !trunk.drafter->traits().taps.empty();
  });
}

// Adds what all trunks draft with, unless one cannot.
absl::StatusOr<HostCause> AddDrafters(const Method& method,
                                      const Sequence& sequence, Parts& parts) {
  for (std::size_t i = 0; i < method.trunks.size(); ++i) {
    const SequenceTrunk& trunk = sequence.trunks[i];
    const DrafterTraits& traits = trunk.drafter->traits();
    const DrawKind draw_kind = method.trunks[i].draw_kind;
    if (IsUploaded(trunk)) {
      const PolicyTraits policy = trunk.policy->traits();
      parts.drafters.push_back(nullptr);
      parts.plan.drafters.push_back(
          {.name = method.trunks[i].drafter_name,
           .shape = UploadedShape{policy.nodes + 1, kDrawsANode * policy.nodes,
                                  policy.levels},
           .draw_kind = draw_kind});
      continue;
    }
    std::optional<RoundShape> shape = trunk.policy->device_shape();
    if (!shape) return HostCause::kPolicy;
    // Draws can be shared only where distributions depend on the depth alone.
    if (trunk.policy->traits().shares_draws && traits.depth_heads == 0)
      return HostCause::kSharedDraws;
    DeviceCounterpart* const counterpart = trunk.session->facets().on_device;
    if (counterpart == nullptr) return HostCause::kDrafter;
    BANYAN_ASSIGN_OR_RETURN(DeviceDraft draft, counterpart->Make(draw_kind));
    if (draft.part == nullptr) return HostCause::kElsewhere;
    if (!traits.taps.empty() && !draft.keeps_features)
      return HostCause::kFeatures;
    parts.drafters.push_back(std::move(draft.part));
    parts.plan.drafters.push_back({.name = method.trunks[i].drafter_name,
                                   .shape = *std::move(shape),
                                   .draw_kind = draw_kind,
                                   .rule = std::move(draft.rule)});
  }
  return HostCause::kNone;
}

// Looks for the sequence's rounds; returns why there are none.
absl::StatusOr<HostCause> FindRounds(const Method& method, Sequence& sequence,
                                     const RandomSource& random,
                                     DeviceSide& side) {
  const DeviceRounds* const rounds = sequence.target.facets().device_rounds;
  if (rounds == nullptr) return HostCause::kNoRounds;
  const std::optional<std::uint64_t> seed = random.seed();
  if (!seed) return HostCause::kNoSeed;
  const std::optional<JudgeKind> judge = method.verifier->traits().device_judge;
  if (!judge) return HostCause::kVerifier;
  if (method.scoring == Scoring::kUnmerged) return HostCause::kUnmerged;
  // Growth that goes to and fro between drafters.
  for (const SequenceTrunk& trunk : sequence.trunks)
    if (trunk.policy->of_method() != nullptr) return HostCause::kPolicy;
  Parts parts = {.plan = {.judge = *judge,
                          .target_rule = method.rule,
                          .end_of_text = sequence.stop.end_of_text,
                          .taps = sequence.taps,
                          .seed = *seed}};
  BANYAN_ASSIGN_OR_RETURN(const HostCause cause,
                          AddDrafters(method, sequence, parts));
  if (cause != HostCause::kNone) return cause;
  for (const RoundDrafter& drafter : parts.plan.drafters)
    side.draft_rules.push_back(drafter.rule);
  side.seed = *seed;
  absl::StatusOr<std::unique_ptr<DeviceRound>> found = rounds->NewDeviceRound(
      *sequence.session, std::move(parts.plan), std::move(parts.drafters));
  if (absl::IsUnimplemented(found.status())) return HostCause::kElsewhere;
  BANYAN_RETURN_IF_ERROR(found.status());
  side.rounds = *std::move(found);
  return HostCause::kNone;
}

// The tree as the device takes it; none if it has what devices cannot judge.
std::optional<UploadedTree> ToUpload(const TrunkTree& tree, int vocab_size) {
  UploadedTree out;
  for (int i = 0; i < tree.size(); ++i) {
    const Node& node = tree.node(i);
    const DrawList* const list =
        node.lists.empty() ? nullptr : &node.lists.front();
    const bool judged_by_rows = list != nullptr && !list->draws.empty() &&
                                list->draw_kind != DrawKind::kDeterministic;
    out.nodes.insert(
        out.nodes.end(),
        {node.token, node.parent, node.depth, static_cast<int>(out.q.size()),
         list == nullptr ? 0 : static_cast<int>(list->draws.size()),
         judged_by_rows ? static_cast<int>(out.distributions.size()) : -1});
    if (list == nullptr) continue;
    for (const Draw& draw : list->draws) {
      if (draw.dropped()) return std::nullopt;
      out.draws.insert(out.draws.end(), {i, draw.token, draw.child,
                                         draw.proposal.dense() ? 1 : 0});
      out.scales.push_back(draw.proposal.factor());
      out.q.push_back(draw.proposal.Mass(draw.token));
    }
    if (!judged_by_rows) continue;
    // Later draws share the row, with other factors.
    const Distribution& first = list->draws.front().proposal;
    for (const Draw& draw : list->draws)
      if (draw.proposal.masses().data() != first.masses().data() &&
          list->draw_kind == DrawKind::kWithoutReplacement)
        return std::nullopt;
    std::vector<double>& row = out.distributions.emplace_back(
        static_cast<std::size_t>(vocab_size), 0.0);
    for (std::size_t k = 0; k < first.masses().size(); ++k)
      row[static_cast<std::size_t>(first.TokenAt(static_cast<int>(k)))] =
          first.masses()[k];
  }
  return out;
}

// Drafts for a trunk whose trees are uploaded, for these sequences. Returns why
// the round is the host's all the same; what was drafted is then forgotten.
absl::StatusOr<HostCause> UploadTrunk(const Method& method, std::size_t number,
                                      absl::Span<Sequence* const> sequences,
                                      RandomSource& random) {
  std::vector<Drafting> draftings;
  for (const Sequence* sequence : sequences) {
    const Context& context = sequence->context;
    draftings.emplace_back(
        std::vector<TrunkView>{ViewOf(method, *sequence, number)}, context,
        LimitsOf(*sequence), Chance(random, context.prompt, context.round));
  }
  BANYAN_RETURN_IF_ERROR(
      Naming(method.trunks[number], DraftAll(absl::MakeSpan(draftings))));
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    DeviceSide& side = *sequences[i]->device_side;
    TrunkTree tree = std::move(std::move(draftings[i]).Take().front());
    const std::optional<UploadedTree> upload =
        ToUpload(tree, sequences[i]->target.vocab_size());
    const PolicyTraits policy = sequences[i]->trunks[number].policy->traits();
    if (!upload || tree.size() > policy.nodes + 1 ||
        static_cast<int>(upload->q.size()) > kDrawsANode * policy.nodes)
      return HostCause::kPolicy;
    BANYAN_RETURN_IF_ERROR(
        side.rounds->Upload(static_cast<int>(number), *upload));
    side.uploaded[number] = std::move(tree);
  }
  return HostCause::kNone;
}

// Returns the distribution that a node's draws were made from, given its masses
// over the whole vocabulary.
Distribution DistributionOf(std::vector<double> masses,
                            const SamplingRule& rule, DrawKind draw_kind) {
  Distribution proposal;
  if (rule.leaves_out()) {
    const int size = static_cast<int>(masses.size());
    std::vector<TokenId> tokens;
    std::vector<double> kept;
    for (int token = 0; token < size; ++token) {
      const double mass = masses[static_cast<std::size_t>(token)];
      if (mass == 0) continue;
      tokens.push_back(token);
      kept.push_back(mass);
    }
    proposal = Distribution::Sparse(size, std::move(tokens), std::move(kept));
  } else {
    proposal = Distribution::Dense(std::move(masses));
  }
  return draw_kind != DrawKind::kDeterministic || proposal.total() > 1
             ? proposal.Normalized()
             : proposal;
}

// Returns the distribution that a token is judged by. Without replacement it
// also takes the token out of `remaining`, which the next one is drawn from.
Distribution JudgedBy(Distribution& remaining, TokenId token,
                      DrawKind draw_kind) {
  if (draw_kind == DrawKind::kDeterministic)
    return Distribution::OneHot(remaining.vocab_size(), token);
  Distribution judged_by = remaining;
  if (draw_kind == DrawKind::kWithoutReplacement)
    remaining = remaining.Without(token);
  return judged_by;
}

// The tree as a round on the host would have it. Proposals are whole where the
// sequence keeps facts; elsewhere they know what was drawn, and no more.
absl::StatusOr<DraftTree> TreeOf(const Method& method, Sequence& sequence,
                                 const RoundFindings& found) {
  std::vector<Node> nodes(found.tokens.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    Node& node = nodes[i];
    node.token = found.tokens[i];
    node.parent = found.parents[i];
    if (i == 0) continue;
    Node& parent = nodes[static_cast<std::size_t>(node.parent)];
    node.depth = parent.depth + 1;
    parent.children.push_back(static_cast<int>(i));
  }
  const int vocab_size = sequence.target.vocab_size();
  DeviceSide& side = *sequence.device_side;
  // By depth: how many nodes have draws, of a trunk that shares them.
  std::vector<std::vector<int>> drawn(method.trunks.size());
  Distribution remaining;
  for (const RoundFindings::Draw& draw : found.draws) {
    Node& node = nodes[static_cast<std::size_t>(draw.node)];
    const auto trunk = static_cast<std::size_t>(draw.drafter);
    const DrawKind draw_kind = method.trunks[trunk].draw_kind;
    if (node.lists.empty() || node.lists.back().trunk != draw.drafter) {
      node.lists.push_back({.trunk = draw.drafter, .draw_kind = draw_kind});
      std::vector<int>& own = drawn[trunk];
      own.resize(std::max(own.size(), std::size_t(node.depth) + 1), 0);
      ++own[static_cast<std::size_t>(node.depth)];
      if (side.uploaded[trunk].has_value()) {
        node.lists.back().proposal =
            side.uploaded[trunk]->node(draw.own).lists.front().proposal;
      } else if (sequence.keep_facts) {
        BANYAN_ASSIGN_OR_RETURN(std::vector<double> masses,
                                side.rounds->Proposal(draw.drafter, draw.node));
        remaining = DistributionOf(std::move(masses), side.draft_rules[trunk],
                                   draw_kind);
        node.lists.back().proposal.q = remaining;
      }
    }
    if (side.uploaded[trunk].has_value()) {
      // As the host drew it.
      const TrunkTree& host = *side.uploaded[trunk];
      const std::size_t number = node.lists.back().draws.size();
      Draw again = host.node(draw.own).lists.front().draws[number];
      again.child = draw.child;
      again.time += found.first_times[trunk];
      node.lists.back().draws.push_back(std::move(again));
      continue;
    }
    node.lists.back().draws.push_back(
        {.token = draw.token,
         .time = draw.time,
         .child = draw.child,
         .proposal =
             sequence.keep_facts
                 ? JudgedBy(remaining, draw.token, draw_kind)
                 : Distribution::Sparse(vocab_size, {draw.token}, {draw.q})});
  }
  for (Node& node : nodes)
    for (DrawList& list : node.lists) {
      const auto trunk = static_cast<std::size_t>(list.trunk);
      if (sequence.trunks[trunk].policy->traits().shares_draws)
        list.shared_draws =
            drawn[trunk][static_cast<std::size_t>(node.depth)] > 1;
    }
  return DraftTree(std::move(nodes));
}

}  // namespace

namespace {

// Puts one sequence there, but for the trees that are uploaded.
absl::StatusOr<HostCause> Put(const Method& method, Sequence& sequence,
                              const RandomSource& random) {
  if (sequence.device_side == nullptr) {
    auto side = std::make_shared<DeviceSide>();
    BANYAN_ASSIGN_OR_RETURN(side->none,
                            FindRounds(method, sequence, random, *side));
    sequence.device_side = std::move(side);  // and need not be looked for again
  }
  DeviceSide& side = *sequence.device_side;
  if (side.rounds == nullptr) return side.none;
  if (random.seed() != side.seed) return HostCause::kAnotherSeed;
  const Context& context = sequence.context;
  const int length = static_cast<int>(context.tokens.size());
  if (length > side.rounds->longest_text()) return HostCause::kLongText;
  if (length < side.rounds->shortest_text()) return HostCause::kShortText;
  side.uploaded.assign(sequence.trunks.size(), std::nullopt);
  if (side.has_next_round) return HostCause::kNone;
  BANYAN_RETURN_IF_ERROR(side.rounds->Begin(context));
  side.kept_rows.clear();
  side.has_next_round = true;
  for (SequenceTrunk& trunk : sequence.trunks)
    trunk.on_device = !IsUploaded(trunk);
  return HostCause::kNone;
}

}  // namespace

absl::StatusOr<HostCause> PutOnDevice(const Method& method,
                                      absl::Span<Sequence* const> sequences,
                                      RandomSource& random) {
  for (Sequence* sequence : sequences) {
    BANYAN_ASSIGN_OR_RETURN(const HostCause cause,
                            Put(method, *sequence, random));
    if (cause != HostCause::kNone) return cause;
  }
  for (std::size_t i = 0; i < method.trunks.size(); ++i) {
    if (sequences.front()->trunks[i].on_device) continue;
    BANYAN_ASSIGN_OR_RETURN(const HostCause cause,
                            UploadTrunk(method, i, sequences, random));
    if (cause != HostCause::kNone) return cause;
  }
  return HostCause::kNone;
}

namespace {

// The round's tree, verdict and, where they are kept, facts, once it is
// committed on the device.
struct Findings {
  DraftTree tree;
  Verdict verdict;
  TargetFacts facts;
};

absl::StatusOr<Findings> FindingsOf(const Method& method, Sequence& sequence,
                                    RoundFindings found) {
  BANYAN_ASSIGN_OR_RETURN(DraftTree tree, TreeOf(method, sequence, found));
  Verdict verdict = {.path = std::move(found.path), .next = found.next};
  const Scores& scores = sequence.device_side->rounds->scores();
  TargetFacts facts;
  if (sequence.keep_facts) {
    TargetRows rows(scores, method.rule, sequence.context, tree);
    BANYAN_ASSIGN_OR_RETURN(facts, GatherFacts(scores, tree, verdict, rows));
    BANYAN_RETURN_IF_ERROR(rows.status());
  }
  return Findings{std::move(tree), std::move(verdict), std::move(facts)};
}

}  // namespace

namespace {

// Commits what a sequence's round found, as far as it is kept here.
absl::StatusOr<RoundRecord> CommitFound(const Method& method,
                                        Sequence& sequence, RoundFindings found,
                                        PhaseTimer& timer) {
  BANYAN_ASSIGN_OR_RETURN(Findings findings,
                          FindingsOf(method, sequence, std::move(found)));
  auto& [tree, verdict, facts] = findings;
  if (sequence.keep_facts) timer.End(Phase::kOutside);
  const Sequence::Kept kept = sequence.Cut(TokensOf(tree, verdict));
  DeviceSide& side = *sequence.device_side;
  side.kept_rows = RowsOf(verdict, kept);
  if (ReadsFeaturesHere(sequence))
    BANYAN_RETURN_IF_ERROR(
        sequence.KeepFeatures(side.rounds->scores(), side.kept_rows));
  return Conclude(sequence, kept, std::move(tree), std::move(verdict),
                  std::move(facts), side.rounds->scores());
}

}  // namespace

absl::StatusOr<RoundRecords> RunOnDevice(const Method& method,
                                         absl::Span<Sequence* const> sequences,
                                         PhaseTimer& timer) {
  std::vector<DeviceRound*> rounds;
  for (const Sequence* sequence : sequences)
    rounds.push_back(sequence->device_side->rounds.get());
  const Model& target = sequences.front()->target;
  absl::StatusOr<RoundsFound> found =
      target.facets().device_rounds->RunRounds(rounds);
  if (!found.ok()) {
    // Where there is no room the device's state is as it was.
    if (!absl::IsResourceExhausted(found.status()))
      for (Sequence* sequence : sequences) sequence->failed = found.status();
    return found.status();
  }
  timer.End(Phase::kDevice);
  RoundRecords records;
  int pass_tokens = 0;
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    absl::StatusOr<RoundFindings>& own = (*found)[i];
    records.push_back(
        own.ok() ? CommitFound(method, *sequences[i], *std::move(own), timer)
                 : own.status());
    if (records.back().ok())
      pass_tokens += records.back()->tree.size();
    else
      sequences[i]->failed = records.back().status();
  }
  timer.End(Phase::kCommit);
  for (absl::StatusOr<RoundRecord>& record : records) {
    if (!record.ok()) continue;
    record->times = timer.times();
    record->sequences = static_cast<int>(records.size());
    record->pass_tokens = pass_tokens;
  }
  return records;
}

absl::Status TakeFromDevice(Sequence& sequence) {
  if (sequence.device_side == nullptr || !sequence.device_side->has_next_round)
    return absl::OkStatus();
  DeviceSide& side = *sequence.device_side;
  // Before the device's first round the features are the context's.
  if (!sequence.taps.empty() && !side.kept_rows.empty())
    BANYAN_RETURN_IF_ERROR(
        sequence.KeepFeatures(side.rounds->scores(), side.kept_rows));
  side.has_next_round = false;
  for (SequenceTrunk& trunk : sequence.trunks) {
    if (trunk.on_device)
      trunk.session->facets().on_device->Resume(sequence.context);
    trunk.on_device = false;
  }
  return absl::OkStatus();
}

}  // namespace banyan
