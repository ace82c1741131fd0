#include "experiments/metrics/round_figures.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "absl/strings/str_cat.h"

namespace banyan {
namespace {

// By node; the root's is 0.
std::vector<int> Depths(const records::Round& round) {
  std::vector<int> depths(static_cast<std::size_t>(round.parents_size()), 0);
  for (int node = 1; node < round.parents_size(); ++node)
    depths[static_cast<std::size_t>(node)] =
        depths[static_cast<std::size_t>(round.parents(node))] + 1;
  return depths;
}

}  // namespace

int Sequences(const records::Round& round) {
  return std::max(1, static_cast<int>(round.sequences()));
}

int PassTokens(const records::Round& round) {
  return std::max(round.tokens_size(), static_cast<int>(round.pass_tokens()));
}

double DraftNs(const records::Round& round) {
  return static_cast<double>(std::accumulate(round.draft_ns().begin(),
                                             round.draft_ns().end(),
                                             std::int64_t{0})) /
         Sequences(round);
}

double TargetNs(const records::Round& round) {
  return static_cast<double>(round.target_ns()) / Sequences(round);
}

double RoundNs(const records::Round& round) {
  const std::int64_t others = round.derive_ns() + round.target_ns() +
                              round.verify_ns() + round.commit_ns() +
                              round.device_ns();
  return DraftNs(round) + static_cast<double>(others) / Sequences(round);
}

bool HasDeviceRounds(const records::PromptRecord& record) {
  return std::any_of(
      record.rounds().begin(), record.rounds().end(),
      [](const records::Round& round) { return round.device_ns() > 0; });
}

double RoundsNs(const records::PromptRecord& record) {
  double ns = 0;
  for (const records::Round& round : record.rounds()) ns += RoundNs(round);
  return ns;
}

double TargetNs(const records::PromptRecord& record) {
  double ns = 0;
  for (const records::Round& round : record.rounds()) ns += TargetNs(round);
  return ns;
}

double WallNs(const records::PromptRecord& record) {
  return static_cast<double>(record.prefill_ns()) + RoundsNs(record);
}

double LatencyNs(const records::PromptRecord& record) {
  return record.batch() == 0
             ? WallNs(record)
             : static_cast<double>(record.ended_ns() - record.admitted_ns());
}

const records::Probe* ProbeAt(const records::Round& round, int node) {
  const auto& probes = round.probes();
  const auto at = std::lower_bound(probes.begin(), probes.end(), node,
                                   [](const records::Probe& probe, int wanted) {
                                     return probe.node() < wanted;
                                   });
  return at != probes.end() && at->node() == node ? &*at : nullptr;
}

int DraftedNodes(const records::Round& round) {
  return round.tokens_size() - 1 - round.probes_size();
}

int Levels(const records::Round& round) {
  const std::vector<int> depths = Depths(round);
  int levels = 0;
  for (int node = 1; node < round.parents_size(); ++node)
    if (ProbeAt(round, node) == nullptr)
      levels = std::max(levels, depths[static_cast<std::size_t>(node)]);
  return levels;
}

std::vector<int> LevelsByTrunk(const records::Round& round, int trunks) {
  const std::vector<int> depths = Depths(round);
  std::vector<int> levels(static_cast<std::size_t>(trunks), 0);
  for (const records::DrawList& list : round.lists())
    for (const int child : list.children()) {
      if (child < 0) continue;
      int& deepest = levels[static_cast<std::size_t>(list.trunk())];
      deepest = std::max(deepest, depths[static_cast<std::size_t>(child)]);
    }
  return levels;
}

int PathNode(const records::Round& round, int depth) {
  return depth == 0 ? 0 : round.path(depth - 1);
}

int KeptOfPath(const records::Round& round) {
  return std::min(round.path_size(), static_cast<int>(round.emitted()));
}

void ForReachedLists(
    const records::Round& round,
    absl::FunctionRef<void(const records::DrawList&, int)> visit) {
  for (const records::DrawList& list : round.lists())
    for (int depth = 0; depth <= round.path_size(); ++depth)
      if (PathNode(round, depth) == list.node())
        visit(list, depth < round.path_size() ? round.path(depth) : -1);
}

int FirstDrawOf(const records::DrawList& list, int child) {
  for (int draw = 0; draw < list.children_size(); ++draw)
    if (list.children(draw) == child) return draw;
  return -1;
}

std::vector<ListAndDraw> FirstDrawsTo(const records::Round& round, int node) {
  std::vector<ListAndDraw> draws;
  if (node == 0) return draws;
  for (const records::DrawList& list : round.lists())
    if (list.node() == round.parents(node))
      if (const int draw = FirstDrawOf(list, node); draw >= 0)
        draws.push_back({&list, draw});
  const auto time = [](const ListAndDraw& of) {
    return of.list->times(of.draw);
  };
  std::sort(draws.begin(), draws.end(),
            [&](const ListAndDraw& a, const ListAndDraw& b) {
              return time(a) < time(b);
            });
  return draws;
}

std::string TrunkKey(const records::Cell& cell, int trunk) {
  return absl::StrCat("trunk ", trunk, " ", cell.trunks(trunk).drafter());
}

}  // namespace banyan
