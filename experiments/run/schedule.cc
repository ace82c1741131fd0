#include "experiments/run/schedule.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/common.h"

namespace banyan {

Schedule::Schedule(ScheduleInput input) : input_(std::move(input)) {
  std::size_t order = 0;
  for (std::size_t unit = 0; unit < input_.units.size(); ++unit) {
    const ScheduleInput::Unit& prompts = input_.units[unit];
    const std::size_t count = prompts.numbers.size();
    for (int turn = 0; turn < prompts.turns; ++turn)
      for (const std::size_t cell : OrderOf(prompts.id)) {
        Step step = {cell, unit, turn, order};
        order += count;
        if (!input_.is_mine(cell, unit)) continue;
        const bool is_done = input_.done.count(KeyAt(cell, unit, turn)) > 0;
        const bool is_wanted = IsWanted(cell, unit, turn);
        step.decodes = is_wanted && !is_done;
        steps_.push_back(step);
        if (is_wanted) records_ += static_cast<int>(count);
        if (is_wanted && is_done) known_ += static_cast<int>(count);
        if (step.decodes) decoding_.insert(cell);
      }
  }
}

int Schedule::NumberAt(int prompt, int turn) const {
  return prompt + turn * input_.workload_prompts;
}

RecordKey Schedule::KeyAt(std::size_t cell, std::size_t unit, int turn) const {
  return {static_cast<std::uint32_t>(cell),
          static_cast<std::uint32_t>(
              NumberAt(input_.units[unit].numbers.front(), turn))};
}

bool Schedule::IsWanted(std::size_t cell, std::size_t unit, int turn) const {
  if (!input_.is_mine(cell, unit)) return false;
  if (input_.elsewhere.count(KeyAt(cell, unit, turn)) == 0) return true;
  for (std::size_t other = 0; other < input_.cells.size(); ++other)
    if (other != cell && input_.cells[other].baseline == cell &&
        IsWanted(other, unit, turn))
      return true;
  return false;
}

// As good as random, and always the same.
std::vector<std::size_t> Schedule::OrderOf(const std::string& prompt) const {
  std::vector<std::pair<std::uint64_t, std::size_t>> keyed;
  for (std::size_t i = 0; i < input_.cells.size(); ++i)
    keyed.emplace_back(
        Mixed(Fnv1a(absl::StrCat(input_.experiment_hash, "/", prompt, "/",
                                 input_.cells[i].name))),
        i);
  std::sort(keyed.begin(), keyed.end());
  std::vector<std::size_t> order;
  for (const auto& [key, cell] : keyed) order.push_back(cell);
  return order;
}

}  // namespace banyan
