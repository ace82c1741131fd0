#include "experiments/run/to_record.h"

#include <cstddef>
#include <cstdint>

#include "decode/commit.h"
#include "decode/sequence.h"
#include "decode/target_facts.h"
#include "experiments/records/record.pb.h"
#include "tree/draft_tree.h"

namespace banyan {
namespace {

void AddList(const DrawList& list, int node, double overlap,
             records::Round& out) {
  records::DrawList& to = *out.add_lists();
  to.set_node(node);
  to.set_trunk(list.trunk);
  to.set_draws(ToRecord(list.draw_kind));
  to.set_shared(list.shared_draws);
  to.set_overlap(overlap);
  for (const Draw& draw : list.draws) {
    to.add_tokens(static_cast<std::uint32_t>(draw.token));
    to.add_times(static_cast<std::uint32_t>(draw.time));
    to.add_children(draw.child);
    to.add_q(draw.dropped() ? 0 : draw.proposal.Mass(draw.token));
  }
}

void AddTree(const DraftTree& tree, const TargetFacts& facts,
             records::Round& out) {
  for (int i = 0; i < tree.size(); ++i) {
    const Node& node = tree.node(i);
    const auto at = static_cast<std::size_t>(i);
    out.add_tokens(static_cast<std::uint32_t>(node.token));
    out.add_parents(node.parent);
    out.add_target_probability(facts.probability[at]);
    for (std::size_t list = 0; list < node.lists.size(); ++list)
      AddList(node.lists[list], i, facts.overlap[at][list], out);
    if (!node.probe()) continue;
    records::Probe& probe = *out.add_probes();
    probe.set_node(i);
    probe.set_trunk(node.probe_of);
    probe.set_vector(node.vector != nullptr);
  }
}

}  // namespace

records::DrawKind ToRecord(DrawKind draw_kind) {
  switch (draw_kind) {
    case DrawKind::kIndependent:
      return records::INDEPENDENT;
    case DrawKind::kWithoutReplacement:
      return records::WITHOUT_REPLACEMENT;
    case DrawKind::kDeterministic:
      return records::DETERMINISTIC;
  }
  return records::INDEPENDENT;
}

records::Stop ToRecord(StopReason reason) {
  switch (reason) {
    case StopReason::kNone:
      return records::NONE;
    case StopReason::kEndOfText:
      return records::END_OF_TEXT;
    case StopReason::kLength:
      return records::LENGTH;
    case StopReason::kContext:
      return records::CONTEXT;
  }
  return records::NONE;
}

void AddRound(const RoundRecord& round, records::PromptRecord& record) {
  records::Round& out = *record.add_rounds();
  AddTree(round.tree, round.facts, out);
  for (int node : round.verdict.path) out.add_path(node);
  out.set_next(static_cast<std::uint32_t>(round.verdict.next));
  out.set_emitted(static_cast<std::uint32_t>(round.emitted.size()));
  out.set_stop(ToRecord(round.stopped));
  for (std::int64_t ns : round.times.draft_ns) out.add_draft_ns(ns);
  out.set_derive_ns(round.times.derive_ns);
  out.set_target_ns(round.times.target_ns);
  out.set_verify_ns(round.times.verify_ns);
  out.set_device_ns(round.times.device_ns);
  out.set_commit_ns(round.times.commit_ns);
  if (round.sequences > 1)
    out.set_sequences(static_cast<std::uint32_t>(round.sequences));
  if (round.sequences > 1 || round.pass_tokens > round.tree.size())
    out.set_pass_tokens(static_cast<std::uint32_t>(round.pass_tokens));
  for (std::size_t i = 0; i < round.emitted.size(); ++i) {
    record.add_tokens(static_cast<std::uint32_t>(round.emitted[i]));
    record.add_log_probability(round.facts.log_probability[i]);
    record.add_logit_gap(round.facts.logit_gap[i]);
  }
}

}  // namespace banyan
