#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "experiments/records/record.pb.h"
#include "experiments/records/record_file.h"

namespace banyan {
namespace {

absl::Status Wrong(absl::string_view what) {
  return absl::InvalidArgumentError(what);
}

bool AllOrNone(int count, int all) { return count == 0 || count == all; }

// Of a record, or of a round.
absl::Status CheckStop(records::Stop stop) {
  if (records::Stop_IsValid(stop)) return absl::OkStatus();
  return Wrong(absl::StrCat("its stop rule is ", static_cast<int>(stop),
                            ", which is unknown"));
}

absl::Status CheckTree(const records::Round& round) {
  const int nodes = round.tokens_size();
  if (nodes == 0 || round.parents_size() != nodes)
    return Wrong(absl::StrCat("a tree of ", nodes, " tokens has ",
                              round.parents_size(), " parents"));
  if (!AllOrNone(round.target_probability_size(), nodes))
    return Wrong(absl::StrCat("a tree of ", nodes, " tokens has ",
                              round.target_probability_size(),
                              " target probabilities"));
  if (round.parents(0) != -1) return Wrong("node 0 has a parent");
  for (int node = 1; node < nodes; ++node)
    if (round.parents(node) < 0 || round.parents(node) >= node)
      return Wrong(
          absl::StrCat("node ", node, " has the parent ", round.parents(node)));
  return absl::OkStatus();
}

using IsProbe = std::vector<bool>;  // by node

// That they are nodes, each there once, in a subtree of their own.
absl::StatusOr<IsProbe> CheckProbes(const records::Round& round, int trunks) {
  IsProbe is_probe(static_cast<std::size_t>(round.tokens_size()));
  int last = 0;
  for (const records::Probe& probe : round.probes()) {
    if (probe.node() <= last || probe.node() >= round.tokens_size() ||
        probe.trunk() < 0 || probe.trunk() >= trunks)
      return Wrong(absl::StrCat("a probe stands at node ", probe.node(),
                                " of trunk ", probe.trunk(), ", after ", last));
    last = probe.node();
    is_probe[static_cast<std::size_t>(last)] = true;
  }
  for (int node = 1; node < round.tokens_size(); ++node)
    if (is_probe[static_cast<std::size_t>(round.parents(node))] &&
        !is_probe[static_cast<std::size_t>(node)])
      return Wrong(absl::StrCat("node ", node, " stands below a probe"));
  return is_probe;
}

absl::Status CheckList(const records::DrawList& list,
                       const records::Round& round, const IsProbe& is_probe,
                       int trunks) {
  const int draws = list.tokens_size();
  if (list.node() < 0 || list.node() >= round.tokens_size() ||
      list.trunk() < 0 || list.trunk() >= trunks ||
      is_probe[static_cast<std::size_t>(list.node())])
    return Wrong(absl::StrCat("a draw list stands at node ", list.node(),
                              " of trunk ", list.trunk()));
  if (list.children_size() != draws || list.q_size() != draws)
    return Wrong(absl::StrCat("a list of ", draws, " draws has ",
                              list.children_size(), " children and ",
                              list.q_size(), " masses"));
  if (!records::DrawKind_IsValid(list.draws()))
    return Wrong(absl::StrCat("the kind of draw at node ", list.node(), " is ",
                              static_cast<int>(list.draws()),
                              ", which is unknown"));
  constexpr double kMost = 1 + 1e-9;  // a sum over a vocabulary rounds
  if (!(list.overlap() >= 0 && list.overlap() <= kMost))
    return Wrong(absl::StrCat("the overlap at node ", list.node(), " is ",
                              list.overlap(), ", no probability"));
  for (int draw = 0; draw < draws; ++draw) {
    const int child = list.children(draw);
    if (child == -1) continue;
    if (child < 1 || child >= round.tokens_size() ||
        round.parents(child) != list.node() ||
        round.tokens(child) != list.tokens(draw) ||
        is_probe[static_cast<std::size_t>(child)])
      return Wrong(absl::StrCat("draw ", draw, " at node ", list.node(),
                                " points to node ", child,
                                ", which is no child with its token"));
  }
  return absl::OkStatus();
}

// That all draws have numbers in time or none, each another, rising along a
// list.
absl::Status CheckTimes(const records::Round& round) {
  std::set<std::uint32_t> seen;
  int draws = 0;
  for (const records::DrawList& list : round.lists()) {
    draws += list.tokens_size();
    if (!AllOrNone(list.times_size(), list.tokens_size()))
      return Wrong(absl::StrCat("a list of ", list.tokens_size(), " draws has ",
                                list.times_size(), " numbers in time"));
    for (int draw = 0; draw < list.times_size(); ++draw)
      if (!seen.insert(list.times(draw)).second ||
          (draw > 0 && list.times(draw) < list.times(draw - 1)))
        return Wrong(absl::StrCat("draw ", draw, " at node ", list.node(),
                                  " has the number ", list.times(draw),
                                  " in time, out of order"));
  }
  if (AllOrNone(static_cast<int>(seen.size()), draws)) return absl::OkStatus();
  return Wrong(absl::StrCat(seen.size(), " of its ", draws,
                            " draws have a number in time"));
}

absl::Status CheckPath(const records::Round& round, const IsProbe& is_probe) {
  int last = 0;
  for (const int node : round.path()) {
    if (node < 1 || node >= round.tokens_size() ||
        round.parents(node) != last || is_probe[static_cast<std::size_t>(node)])
      return Wrong(absl::StrCat("the path goes from node ", last, " to node ",
                                node, ", which is no child of it"));
    last = node;
  }
  if (static_cast<std::int64_t>(round.emitted()) > round.path_size() + 1)
    return Wrong(absl::StrCat("a path of ", round.path_size(), " emitted ",
                              round.emitted(), " tokens"));
  return absl::OkStatus();
}

absl::Status CheckPhases(const records::Round& round, int trunks) {
  if (round.draft_ns_size() != trunks)
    return Wrong(absl::StrCat(trunks, " trunks have ", round.draft_ns_size(),
                              " times of drafting"));
  std::int64_t least =
      std::min({round.derive_ns(), round.target_ns(), round.verify_ns(),
                round.commit_ns(), round.device_ns()});
  for (const std::int64_t ns : round.draft_ns()) least = std::min(least, ns);
  return least < 0 ? Wrong(absl::StrCat("a phase took ", least, " ns"))
                   : absl::OkStatus();
}

absl::Status CheckRound(const records::Round& round, int trunks) {
  BANYAN_RETURN_IF_ERROR(CheckStop(round.stop()));
  BANYAN_RETURN_IF_ERROR(CheckTree(round));
  BANYAN_ASSIGN_OR_RETURN(const IsProbe is_probe, CheckProbes(round, trunks));
  for (const records::DrawList& list : round.lists())
    BANYAN_RETURN_IF_ERROR(CheckList(list, round, is_probe, trunks));
  BANYAN_RETURN_IF_ERROR(CheckTimes(round));
  BANYAN_RETURN_IF_ERROR(CheckPath(round, is_probe));
  return CheckPhases(round, trunks);
}

absl::Status CheckBatch(const records::PromptRecord& record) {
  if ((record.batch() > 0) != (record.batch_prompts() > 0))
    return Wrong(absl::StrCat("batch ", record.batch(), " has ",
                              record.batch_prompts(), " prompts"));
  if (record.prefill_ns() < 0 || record.admitted_ns() < 0 ||
      record.ended_ns() < record.admitted_ns())
    return Wrong(absl::StrCat("it was admitted at ", record.admitted_ns(),
                              " ns, read in ", record.prefill_ns(),
                              " ns and ended at ", record.ended_ns(), " ns"));
  for (int i = 0; i < record.rounds_size(); ++i) {
    const records::Round& round = record.rounds(i);
    if (round.sequences() > std::max(record.batch_prompts(), 1U))
      return Wrong(absl::StrCat("round ", i, ": ", round.sequences(),
                                " sequences shared it, of a batch of ",
                                record.batch_prompts()));
    if (round.pass_tokens() > 0 &&
        static_cast<std::int64_t>(round.pass_tokens()) < round.tokens_size())
      return Wrong(absl::StrCat("round ", i, ": a pass of ",
                                round.pass_tokens(), " tokens scored ",
                                round.tokens_size()));
  }
  return absl::OkStatus();
}

// Whether the round's emitted tokens are those of the record from `first` on.
bool EmitsFrom(const records::Round& round, int first,
               const records::PromptRecord& record) {
  const int emitted = static_cast<int>(round.emitted());
  if (emitted > record.tokens_size() - first) return false;
  for (int i = 0; i < emitted; ++i) {
    const std::uint32_t token =
        i < round.path_size() ? round.tokens(round.path(i)) : round.next();
    if (record.tokens(first + i) != token) return false;
  }
  return true;
}

absl::Status CheckTokens(const records::PromptRecord& record) {
  int counted = 0;
  for (int i = 0; i < record.rounds_size(); ++i) {
    if (!EmitsFrom(record.rounds(i), counted, record))
      return Wrong(
          absl::StrCat("round ", i, ": what it emitted is not the record's"));
    counted += static_cast<int>(record.rounds(i).emitted());
  }
  const int tokens = record.tokens_size();
  if (counted != tokens)
    return Wrong(absl::StrCat("its rounds emitted ", counted, " of its ",
                              tokens, " tokens"));
  if (!AllOrNone(record.log_probability_size(), tokens) ||
      !AllOrNone(record.logit_gap_size(), tokens))
    return Wrong(absl::StrCat(
        tokens, " tokens have ", record.log_probability_size(),
        " log-probabilities and ", record.logit_gap_size(), " gaps"));
  return absl::OkStatus();
}

// What its drafters took along.
absl::Status CheckCarried(const records::PromptRecord& record, int trunks) {
  if (record.learnt_size() != 0 && record.learnt_size() != trunks)
    return Wrong(absl::StrCat("it taught ", record.learnt_size(),
                              " trunks of a cell of ", trunks));
  for (const records::Store& store : record.stores())
    if (store.trunk() >= static_cast<std::uint32_t>(trunks))
      return Wrong(absl::StrCat("a store is of trunk ", store.trunk(),
                                " of a cell of ", trunks));
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckContext(const records::Context& context) {
  if (context.shards() > kMostShards)
    return Wrong(absl::StrCat("expected at most ", kMostShards,
                              " shards, found ", context.shards()));
  std::set<std::string> names;
  for (const records::Cell& cell : context.cells()) {
    if (cell.name().empty() || !names.insert(cell.name()).second)
      return Wrong(
          absl::StrCat("two cells have the name '", cell.name(), "', or none"));
    if (cell.baseline() >= static_cast<std::uint32_t>(context.cells_size()) ||
        context.cells(static_cast<int>(cell.baseline())).trunks_size() > 0)
      return Wrong(absl::StrCat("cell '", cell.name(), "': the baseline ",
                                cell.baseline(), " is no cell without trunks"));
    for (const records::Opponent& opponent : cell.opponents())
      if (opponent.cell() >= static_cast<std::uint32_t>(context.cells_size()))
        return Wrong(absl::StrCat("cell '", cell.name(), "': the opponent ",
                                  opponent.cell(), " is no cell"));
  }
  return absl::OkStatus();
}

absl::Status CheckRecord(const records::PromptRecord& record,
                         const records::Context& context) {
  if (record.cell() >= static_cast<std::uint32_t>(context.cells_size()))
    return Wrong(absl::StrCat("its cell ", record.cell(), " is none of the ",
                              context.cells_size(), " there are"));
  const int trunks =
      context.cells(static_cast<int>(record.cell())).trunks_size();
  for (int i = 0; i < record.rounds_size(); ++i) {
    const absl::Status round = CheckRound(record.rounds(i), trunks);
    if (!round.ok())
      return Wrong(absl::StrCat("round ", i, ": ", round.message()));
  }
  BANYAN_RETURN_IF_ERROR(CheckStop(record.stop()));
  BANYAN_RETURN_IF_ERROR(CheckBatch(record));
  BANYAN_RETURN_IF_ERROR(CheckCarried(record, trunks));
  return CheckTokens(record);
}

}  // namespace banyan
