#include "drafters/text/recycling/recycling.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/bytes.h"
#include "core/base/check.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/model/model.h"
#include "core/prob/distribution.h"
#include "core/prob/logits.h"
#include "drafters/drafter.h"
#include "drafters/halving.h"
#include "drafters/text/recycling/successor_table.h"
#include "drafters/workbench.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"

namespace banyan {
namespace {

constexpr int kMostSuccessors = static_cast<int>(kMostCandidates);

// A row of the table as End() says it.
struct Row {
  TokenId token = 0;
  std::vector<TokenId> ranked;
};

std::string ToBytes(const SuccessorTable& table,
                    const absl::flat_hash_set<TokenId>& written) {
  std::vector<TokenId> tokens(written.begin(), written.end());
  std::sort(tokens.begin(), tokens.end());
  ByteWriter bytes;
  for (TokenId token : tokens) {
    const absl::Span<const TokenId> ranked = table.After(token);
    bytes.Put(static_cast<std::uint32_t>(token));
    bytes.Put(static_cast<std::uint32_t>(ranked.size()));
    for (TokenId next : ranked) bytes.Put(static_cast<std::uint32_t>(next));
  }
  return bytes.Take();
}

// The next row of `numbers`, which it takes away; an error says what ToBytes
// never writes.
absl::StatusOr<Row> NextRow(const SuccessorTable& table,
                            absl::Span<const std::uint32_t>& numbers) {
  Row row = {.token = static_cast<TokenId>(numbers.front())};
  if (!table.Has(row.token))
    return absl::DataLossError(absl::StrCat(
        "is of token ", row.token, ", expected one of the vocabulary"));
  const std::size_t count = numbers.size() < 2 ? 0 : numbers[1];
  if (count < 1 || count > static_cast<std::size_t>(table.width()))
    return absl::DataLossError(absl::StrCat(
        "has ", count, " successors, expected 1 to ", table.width()));
  if (numbers.size() < 2 + count)
    return absl::DataLossError("has fewer successors than it says");
  for (std::uint32_t number : numbers.subspan(2, count)) {
    const auto next = static_cast<TokenId>(number);
    const bool again = std::find(row.ranked.begin(), row.ranked.end(), next) !=
                       row.ranked.end();
    if (!table.Has(next) || again)
      return absl::DataLossError(absl::StrCat(
          "names token ", next, ", expected another one of the vocabulary"));
    row.ranked.push_back(next);
  }
  numbers.remove_prefix(2 + count);
  return row;
}

// Rows for this table, by rising token.
absl::StatusOr<std::vector<Row>> FromBytes(const SuccessorTable& table,
                                           absl::string_view bytes) {
  ByteReader in(bytes);
  std::vector<std::uint32_t> read;
  while (!in.done()) read.push_back(in.Number());
  BANYAN_RETURN_IF_ERROR(in.Finish());
  absl::Span<const std::uint32_t> numbers = read;
  std::vector<Row> rows;
  while (!numbers.empty()) {
    absl::StatusOr<Row> row = NextRow(table, numbers);
    if (row.ok() && !rows.empty() && row->token <= rows.back().token)
      row = absl::DataLossError(
          absl::StrCat("is of token ", row->token, ", expected a higher one"));
    if (!row.ok())
      return absl::DataLossError(absl::StrCat(
          "row ", rows.size(), " of recycled tokens ", row.status().message()));
    rows.push_back(*std::move(row));
  }
  return rows;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Drafter>> Recycling::Build(ParamsReader& in,
                                                          Workbench& bench) {
  RecyclingOptions options;
  std::string reset = "prompt";
  in.Optional("successors", options.successors);
  in.Ensure(options.successors >= 1 && options.successors <= kMostSuccessors,
            "successors",
            absl::StrCat("must lie between 1 and ", kMostSuccessors));
  in.Optional("reset", reset);
  in.Ensure(reset == "prompt" || reset == "never", "reset",
            "must be prompt or never");
  options.keep_table = reset == "never";
  BANYAN_RETURN_IF_ERROR(in.Finish());
  return std::make_unique<Recycling>(bench.target().vocab_size(), options);
}

Recycling::Recycling(int vocab_size, const RecyclingOptions& options)
    : vocab_size_(vocab_size),
      keep_table_(options.keep_table),
      kept_(SuccessorTable(vocab_size, options.successors)),
      table_(kept_) {
  Check(options.successors <= kMostSuccessors,
        "more successors than scores tell");
}

std::vector<DraftLaw> Recycling::laws() const {
  return {DraftLaw::kDeterministic};
}

absl::Status Recycling::Begin(const Context& /*context*/) {
  table_ = kept_;
  written_.clear();
  return absl::OkStatus();
}

std::string Recycling::End() {
  std::string learnt;
  if (keep_table_) learnt = ToBytes(*table_, written_);
  table_.Release();
  kept_.Release();
  return learnt;
}

absl::Status Recycling::Absorb(absl::Span<const TokenId> /*text*/,
                               absl::string_view learnt) {
  if (!keep_table_) return absl::OkStatus();
  BANYAN_ASSIGN_OR_RETURN(const std::vector<Row> rows,
                          FromBytes(*kept_, learnt));
  for (const Row& row : rows) kept_.Own().Set(row.token, row.ranked);
  return absl::OkStatus();
}

absl::Status Recycling::CheckLesson(absl::Span<const TokenId> /*text*/,
                                    absl::string_view learnt) const {
  return keep_table_ ? FromBytes(*kept_, learnt).status() : absl::OkStatus();
}

std::vector<Carried> Recycling::carried() const {
  if (!keep_table_) return {};
  return {{.unit = "rows", .held = kept_->known(), .dropped = 0}};
}

absl::StatusOr<std::vector<Distribution>> Recycling::Propose(
    const Context& /*context*/, const TrunkTree& tree,
    absl::Span<const int> nodes) {
  std::vector<Distribution> proposals;
  proposals.reserve(nodes.size());
  for (int node : nodes)
    proposals.push_back(
        Halving(vocab_size_, table_->After(tree.node(node).token)));
  return proposals;
}

// From the last node to the first: what stands of a token need be read alone.
absl::Status Recycling::Observe(const Context& context,
                                const RoundOutcome& outcome) {
  Check(context.scored != nullptr, "the rows that were asked for");
  absl::flat_hash_set<TokenId> read;
  for (int node = outcome.tree.size() - 1; node >= 0; --node) {
    const Node& seen = outcome.tree.node(node);
    if (seen.probe() || !table_->Has(seen.token)) continue;
    if (!read.insert(seen.token).second) continue;
    BANYAN_ASSIGN_OR_RETURN(const std::vector<TokenLogit> best,
                            context.scored->Best(node, table_->width()));
    std::vector<TokenId> ranked;
    for (const TokenLogit& entry : best) ranked.push_back(entry.token);
    if (ranked.empty()) continue;  // nothing can follow it
    table_.Own().Set(seen.token, ranked);
    if (keep_table_) written_.insert(seen.token);
  }
  return absl::OkStatus();
}

}  // namespace banyan
