// What a run decodes, by names and numbers alone.
#include "experiments/run/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace banyan {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A baseline, two cells held against it, and a cell of another one; four
// prompts, the last a chat of two turns.
ScheduleInput Input() {
  ScheduleInput input = {.experiment_hash = "hash",
                         .cells = {{"plain", 0}, {"a", 0}, {"b", 0}, {"c", 3}},
                         .workload_prompts = 10};
  for (const int number : {1, 4, 6}) {
    const std::string id = "p" + std::to_string(number);
    input.units.push_back({id, 1, {number}});
  }
  input.units.push_back({"chat", 2, {9}});
  input.is_mine = [](std::size_t /*cell*/, std::size_t /*unit*/) {
    return true;
  };
  return input;
}

using Place = std::tuple<std::size_t, std::size_t, int>;  // cell, unit, turn

std::map<Place, std::size_t> Orders(const Schedule& schedule) {
  std::map<Place, std::size_t> orders;
  for (const Step& step : schedule.steps())
    orders[{step.cell, step.unit, step.turn}] = step.order;
  return orders;
}

TEST(Schedule, HasEveryCellOnEveryPromptBeforeTheNext) {
  const Schedule schedule(Input());
  ASSERT_EQ(schedule.steps().size(), 20u);
  EXPECT_EQ(schedule.records(), 20);
  EXPECT_EQ(schedule.known(), 0);
  EXPECT_THAT(schedule.decoding(), ElementsAre(0, 1, 2, 3));
  std::vector<std::pair<std::size_t, int>> rounds;  // unit and turn
  for (std::size_t i = 0; i < 20; ++i) {
    const Step& step = schedule.steps()[i];
    EXPECT_EQ(step.order, i);
    EXPECT_TRUE(step.decodes);
    if (i % 4 == 0) rounds.emplace_back(step.unit, step.turn);
    EXPECT_EQ(std::pair(step.unit, step.turn), rounds.back());
  }
  EXPECT_THAT(rounds,
              ElementsAre(std::pair(0, 0), std::pair(1, 0), std::pair(2, 0),
                          std::pair(3, 0), std::pair(3, 1)));
  EXPECT_EQ(schedule.KeyAt(2, 3, 1), RecordKey(2, 19));
}

TEST(Schedule, OrdersCellsByExperimentAndPromptAlone) {
  const auto first = Orders(Schedule(Input()));
  EXPECT_EQ(first, Orders(Schedule(Input())));
  ScheduleInput other = Input();
  other.experiment_hash = "other";
  EXPECT_NE(first, Orders(Schedule(std::move(other))));
  std::set<std::vector<std::size_t>> orders;
  for (std::size_t unit = 0; unit < 4; ++unit) {
    std::vector<std::size_t> order;  // by cell
    for (std::size_t cell = 0; cell < 4; ++cell)
      order.push_back(first.at({cell, unit, 0}) - 4 * unit);
    orders.insert(order);
  }
  EXPECT_GT(orders.size(), 1u);
}

// Shards have the places of one another's records.
TEST(Schedule, CountsThePlacesOfAllShards) {
  const auto whole = Orders(Schedule(Input()));
  std::map<Place, std::size_t> together;
  for (std::size_t shard = 0; shard < 2; ++shard) {
    ScheduleInput input = Input();
    input.is_mine = [=](std::size_t /*cell*/, std::size_t unit) {
      return unit % 2 == shard;
    };
    const Schedule part(std::move(input));
    for (const auto& [place, order] : Orders(part)) together[place] = order;
  }
  EXPECT_EQ(together, whole);
}

TEST(Schedule, DecodesNothingTwice) {
  ScheduleInput input = Input();
  const Schedule all(Input());
  for (const Step& step : all.steps())
    if (step.unit < 2) input.done.insert(all.KeyAt(step.cell, step.unit, 0));
  const Schedule schedule(std::move(input));
  EXPECT_EQ(schedule.records(), 20);
  EXPECT_EQ(schedule.known(), 8);
  for (const Step& step : schedule.steps())
    EXPECT_EQ(step.decodes, step.unit >= 2);
}

// Another machine's baseline does not do for what is decoded here.
TEST(Schedule, DecodesABaselineAgainBesideItsCells) {
  ScheduleInput input = Input();
  // Elsewhere: all of the first prompt but cell b, and cells plain and c of the
  // second, whose other cells are no part of this run.
  input.elsewhere = {{0, 1}, {1, 1}, {3, 1}, {0, 4}, {3, 4}};
  input.is_mine = [](std::size_t cell, std::size_t unit) {
    return unit == 0 || (unit == 1 && (cell == 0 || cell == 3));
  };
  const Schedule schedule(std::move(input));
  std::set<std::pair<std::size_t, std::size_t>> decoded;
  for (const Step& step : schedule.steps())
    if (step.decodes) decoded.emplace(step.cell, step.unit);
  EXPECT_THAT(decoded, ElementsAre(std::pair(0, 0), std::pair(2, 0)));
  EXPECT_EQ(schedule.records(), 2);
  EXPECT_THAT(schedule.decoding(), ElementsAre(0, 2));
}

TEST(Schedule, GivesABatchOneStep) {
  ScheduleInput input = Input();
  input.units = {{"p1", 1, {1, 4, 6}}};
  const Schedule schedule(std::move(input));
  std::vector<std::size_t> orders;
  for (const Step& step : schedule.steps()) orders.push_back(step.order);
  EXPECT_THAT(orders, ElementsAre(0, 3, 6, 9));
  EXPECT_EQ(schedule.records(), 12);
}

TEST(Schedule, IsEmptyWithoutAShare) {
  ScheduleInput input = Input();
  input.is_mine = [](std::size_t /*cell*/, std::size_t /*unit*/) {
    return false;
  };
  const Schedule schedule(std::move(input));
  EXPECT_THAT(schedule.steps(), IsEmpty());
  EXPECT_EQ(schedule.records(), 0);
  EXPECT_THAT(schedule.decoding(), IsEmpty());
}

}  // namespace
}  // namespace banyan
