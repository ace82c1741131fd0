#include "tests/experiments/metrics/hand_made.h"

#include <cstddef>

namespace banyan {

records::Round& AddRound(const std::vector<std::int32_t>& parents,
                         const std::vector<List>& lists,
                         const std::vector<std::int32_t>& path,
                         records::PromptRecord& record) {
  records::Round& round = *record.add_rounds();
  for (std::size_t i = 0; i < parents.size(); ++i) {
    round.add_tokens(static_cast<std::uint32_t>(i));
    round.add_parents(parents[i]);
  }
  std::uint32_t now = 0;
  for (const List& list : lists) {
    records::DrawList& added = *round.add_lists();
    added.set_node(list.node);
    added.set_trunk(list.trunk);
    added.set_overlap(list.overlap);
    for (const std::int32_t child : list.children) {
      added.add_children(child);
      added.add_tokens(child < 0 ? 99 : static_cast<std::uint32_t>(child));
      added.add_q(0.5);
      added.add_times(now++);
    }
  }
  for (const std::int32_t node : path) {
    round.add_path(node);
    record.add_tokens(static_cast<std::uint32_t>(node));
  }
  round.set_next(7);
  record.add_tokens(7);
  round.set_emitted(static_cast<std::uint32_t>(path.size() + 1));
  return round;
}

void SetTimes(std::int64_t draft, std::int64_t target, std::int64_t other,
              records::Round& round) {
  if (draft > 0) round.add_draft_ns(draft);
  round.set_target_ns(target);
  round.set_derive_ns(other);
  round.set_verify_ns(2 * other);
  round.set_commit_ns(3 * other);
}

records::Cell CellOf(int trunks) {
  records::Cell cell;
  cell.set_lossless(true);
  for (int i = 0; i < trunks; ++i)
    cell.add_trunks()->set_drafter(i == 0 ? "model" : "ngram");
  return cell;
}

records::PromptRecord Plain(int tokens) {
  records::PromptRecord record;
  for (int i = 0; i < tokens; ++i) {
    records::Round& round = AddRound({-1}, {}, {}, record);
    round.set_target_ns(8'000);
    round.set_verify_ns(2'000);
  }
  return record;
}

records::PromptRecord Tree() {
  records::PromptRecord record;
  records::Round& round = AddRound({-1, 0, 1, 1, 0},
                                   {{0, 0, {4, 1}, 0.6},
                                    {0, 1, {-1, 1, 1}, 0.2},
                                    {1, 0, {2}, 0.4},
                                    {1, 1, {3, 2}, 0.8},
                                    {4, 0, {}, 0.9}},
                                   {1, 3}, record);
  SetTimes(3'000, 10'000, 500, round);
  round.add_draft_ns(1'000);
  return record;
}

records::PromptRecord Refusals() {
  records::PromptRecord record;
  records::Round& refused =
      AddRound({-1, 0}, {{0, 0, {1}, 0.1}, {0, 1, {-1}, 0.3}}, {}, record);
  SetTimes(1'000, 9'000, 0, refused);
  refused.add_draft_ns(1'000);
  records::Round& bare = AddRound({-1}, {}, {}, record);
  SetTimes(0, 8'000, 0, bare);
  bare.add_draft_ns(0);
  bare.add_draft_ns(0);
  return record;
}

records::PromptRecord Probed() {
  records::PromptRecord record;
  records::Round& chain =
      AddRound({-1, 0, 1, 2, 0, 4}, {{0, 0, {1}, 0.6}, {1, 0, {2}, 0.4}},
               {1, 2}, record);
  SetTimes(3'000, 10'000, 0, chain);
  for (const int node : {3, 4, 5}) chain.add_probes()->set_node(node);
  records::Round& bare = AddRound({-1, 0, 1}, {}, {}, record);
  SetTimes(1'000, 9'000, 0, bare);
  for (const int node : {1, 2}) bare.add_probes()->set_node(node);
  return record;
}

}  // namespace banyan
