#include "experiments/plan/acceptance.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "configs/loader/writer.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "tree/draft_tree.h"

namespace banyan {
namespace {

using Counts = std::vector<std::vector<std::int64_t>>;

absl::StatusOr<Counts> ReadCounts(const Params& value) {
  std::vector<std::vector<int>> rows;
  BANYAN_RETURN_IF_ERROR(Convert(value, rows));
  Counts counts;
  for (const std::vector<int>& row : rows) {
    if (row.empty() || *std::min_element(row.begin(), row.end()) < 0)
      return value.Error("expected counts by rank at every depth, from 0");
    counts.emplace_back(row.begin(), row.end());
  }
  return counts;
}

// Whether everything that was accepted was reached, rank by rank.
bool Agree(const AcceptanceTable& table) {
  if (table.reached.empty() || table.reached.size() != table.accepted.size())
    return false;
  for (std::size_t depth = 0; depth < table.reached.size(); ++depth) {
    const auto& reached = table.reached[depth];
    const auto& accepted = table.accepted[depth];
    if (reached.size() != accepted.size()) return false;
    for (std::size_t rank = 0; rank < reached.size(); ++rank)
      if (accepted[rank] > reached[rank]) return false;
  }
  return true;
}

absl::StatusOr<AcceptanceTable> ReadTable(const Params& item) {
  ParamsReader in(item, "acceptance");
  AcceptanceTable table;
  in.Required("target", table.key.target);
  in.Required("weights", table.key.weights);
  in.Required("drafter", table.key.drafter);
  in.Required("temperature", table.key.temperature);
  in.Ensure(table.key.temperature >= 0, "temperature", "must not be negative");
  std::vector<absl::string_view> draws;
  for (const DrawKind each : kDrawKinds) draws.push_back(Name(each));
  in.OneOf("draws", table.key.draws, draws);
  int rounds = 0;
  Params reached;
  Params accepted;
  in.Required("rounds", rounds);
  in.Required("reached", reached);
  in.Required("accepted", accepted);
  BANYAN_RETURN_IF_ERROR(in.Finish());
  if (table.key.draws.empty()) return item.Error("missing key 'draws'");
  table.rounds = rounds;
  BANYAN_ASSIGN_OR_RETURN(table.reached, ReadCounts(reached));
  BANYAN_ASSIGN_OR_RETURN(table.accepted, ReadCounts(accepted));
  if (!Agree(table))
    return accepted.Error(
        "expected the depths and ranks of `reached`, and no count above the "
        "one there");
  if (const std::int64_t first = table.reached.front().front();
      first < 1 || first > table.rounds)
    return reached.Error(
        absl::StrCat("expected a first count from 1 to `rounds` (", rounds,
                     "), found ", first));
  return table;
}

absl::Status AddTables(const Params& section,
                       std::vector<AcceptanceTable>& tables) {
  if (section.kind() != Params::Kind::kList)
    return section.Expected(
        "what `banyan fastest --acceptance` writes, a list");
  for (const Params& item : section.items()) {
    if (item.kind() == Params::Kind::kList) {
      BANYAN_RETURN_IF_ERROR(AddTables(item, tables));
      continue;
    }
    BANYAN_ASSIGN_OR_RETURN(AcceptanceTable table, ReadTable(item));
    for (const AcceptanceTable& other : tables)
      if (other.key == table.key)
        return item.Error(absl::StrCat(
            "duplicate table: drafter ", table.key.drafter, ", target ",
            table.key.target, ", temperature ", table.key.temperature, ", ",
            table.key.draws, " draws"));
    tables.push_back(std::move(table));
  }
  return absl::OkStatus();
}

struct KeyPart {
  absl::string_view name;
  std::string (*text)(const AcceptanceKey& key);
};

constexpr KeyPart kKeyParts[] = {
    {"drafter", [](const AcceptanceKey& key) { return key.drafter; }},
    {"target", [](const AcceptanceKey& key) { return key.target; }},
    {"weights", [](const AcceptanceKey& key) { return key.weights; }},
    {"temperature",
     [](const AcceptanceKey& key) { return absl::StrCat(key.temperature); }},
    {"draws", [](const AcceptanceKey& key) { return key.draws; }},
};

double Share(std::int64_t accepted, std::int64_t reached) {
  return static_cast<double>(accepted) / static_cast<double>(reached);
}

Params CountLists(const Counts& counts) {
  std::vector<Params> rows;
  for (const std::vector<std::int64_t>& row : counts) {
    std::vector<Params> numbers;
    for (const std::int64_t count : row)
      numbers.push_back(Params::Scalar(absl::StrCat(count)));
    rows.push_back(Params::List(std::move(numbers)));
  }
  return Params::List(std::move(rows));
}

}  // namespace

double AcceptanceTable::Drafted() const {
  return Share(reached.front().front(), rounds);
}

std::vector<double> AcceptanceTable::ByDepth() const {
  std::vector<double> shares;
  for (std::size_t depth = 0; depth < reached.size(); ++depth) {
    if (reached[depth].front() == 0) break;
    shares.push_back(Share(accepted[depth].front(), reached[depth].front()));
  }
  return shares;
}

std::vector<double> AcceptanceTable::ByRank() const {
  std::vector<double> shares;
  std::vector<double> refused(reached.size(), 1);  // of lower ranks, by depth
  double left = 1;                                 // over all depths
  for (std::size_t rank = 0;; ++rank) {
    double tried = 0;
    double over = 0;
    for (std::size_t depth = 0; depth < reached.size(); ++depth) {
      if (reached[depth].size() <= rank || reached[depth][rank] == 0) continue;
      tried += static_cast<double>(reached[depth][rank]) * refused[depth];
      over += static_cast<double>(accepted[depth][rank]);
      refused[depth] =
          std::max(0.0, refused[depth] -
                            Share(accepted[depth][rank], reached[depth][rank]));
    }
    if (tried == 0) return shares;
    const double share = std::min(1.0, over / tried);
    shares.push_back(left * share);
    left *= 1 - share;
  }
}

absl::StatusOr<std::vector<AcceptanceTable>> ReadAcceptance(
    const Params& section) {
  std::vector<AcceptanceTable> tables;
  BANYAN_RETURN_IF_ERROR(AddTables(section, tables));
  return tables;
}

std::string ToYaml(const std::vector<AcceptanceTable>& tables) {
  std::vector<Params> items;
  for (const AcceptanceTable& table : tables)
    items.push_back(
        Params::Map({{"target", {}, Params::Scalar(table.key.target)},
                     {"weights", {}, Params::Scalar(table.key.weights)},
                     {"drafter", {}, Params::Scalar(table.key.drafter)},
                     {"temperature",
                      {},
                      Params::Scalar(absl::StrCat(table.key.temperature))},
                     {"draws", {}, Params::Scalar(table.key.draws)},
                     {"rounds", {}, Params::Scalar(absl::StrCat(table.rounds))},
                     {"reached", {}, CountLists(table.reached)},
                     {"accepted", {}, CountLists(table.accepted)}}));
  return ToYaml(Params::List(std::move(items)));
}

absl::StatusOr<AcceptanceTable> FindAcceptance(
    const std::vector<AcceptanceTable>& tables, const AcceptanceKey& key) {
  if (tables.empty())
    return absl::NotFoundError(
        "acceptance is empty: expected tables written by `banyan fastest "
        "--acceptance`");
  std::vector<const AcceptanceTable*> left;
  for (const AcceptanceTable& table : tables) left.push_back(&table);
  std::string shared;  // by all that are left
  for (const KeyPart& part : kKeyParts) {
    const std::string wanted = part.text(key);
    if (wanted.empty()) continue;
    std::set<std::string> found;
    std::vector<const AcceptanceTable*> kept;
    for (const AcceptanceTable* table : left) {
      const std::string text = part.text(table->key);
      found.insert(text);
      if (text == wanted) kept.push_back(table);
    }
    if (kept.empty())
      return absl::NotFoundError(
          absl::StrCat("acceptance: no table of ", part.name, " ", wanted,
                       shared.empty() ? "" : " for ", shared,
                       "; the tables have ", absl::StrJoin(found, " or ")));
    left = std::move(kept);
    absl::StrAppend(&shared, shared.empty() ? "" : ", ", part.name, " ",
                    wanted);
  }
  return *left.front();
}

}  // namespace banyan
