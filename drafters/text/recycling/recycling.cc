#include "drafters/text/recycling/recycling.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "core/base/bytes.h"
#include "core/base/check.h"
#include "core/base/params.h"
#include "core/model/context.h"
#include "core/model/model.h"
#include "core/prob/sampling_rule.h"
#include "drafters/propose.h"
#include "drafters/rows.h"
#include "drafters/workbench.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"

namespace banyan {

absl::Span<const TokenId> SuccessorTable::After(TokenId token) const {
  if (!Has(token)) return {};
  const auto width = static_cast<std::size_t>(width_);
  const absl::Span<const TokenId> row = absl::MakeSpan(ids_).subspan(
      static_cast<std::size_t>(token) * width, width);
  const auto end = std::find(row.begin(), row.end(), kNone);
  return row.first(static_cast<std::size_t>(end - row.begin()));
}

void SuccessorTable::Set(TokenId token, absl::Span<const TokenId> ranked) {
  Check(Has(token), "a token of the vocabulary");
  const auto width = static_cast<std::size_t>(width_);
  Check(!ranked.empty() && ranked.size() <= width, "successors that fit");
  if (After(token).empty()) ++known_;
  const auto row = ids_.begin() + static_cast<std::ptrdiff_t>(
                                      static_cast<std::size_t>(token) * width);
  std::fill(std::copy(ranked.begin(), ranked.end(), row), row + width_, kNone);
}

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

class RecyclingSession : public QuietSession {
 public:
  // `keeps`: whether later prompts are taught.
  RecyclingSession(const CopyOnWrite<SuccessorTable>& table, bool keeps)
      : QuietSession(SessionFacets{}), table_(table), keeps_(keeps) {}

  absl::Status Begin(const Context& /*context*/) override {
    return absl::OkStatus();
  }
  absl::Status Observe(const Context& context,
                       const RoundOutcome& outcome) override;
  std::string End() override {
    std::string learnt;
    if (keeps_) learnt = ToBytes(*table_, written_);
    table_.Release();
    return learnt;
  }

  absl::Span<const TokenId> After(TokenId token) const {
    return table_->After(token);
  }

 private:
  CopyOnWrite<SuccessorTable> table_;
  bool keeps_;
  absl::flat_hash_set<TokenId> written_;  // in this prompt
};

// From the last node to the first: what stands of a token need be read alone.
absl::Status RecyclingSession::Observe(const Context& context,
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
    if (keeps_) written_.insert(seen.token);
  }
  return absl::OkStatus();
}

}  // namespace

Recycling::Recycling(int vocab_size, const RecyclingOptions& options)
    : Drafter({.draw_kinds = {DrawKind::kDeterministic},
               .proposes_ahead = true,
               .reads_scores = true},
              options.keep_table ? this : nullptr),
      vocab_size_(vocab_size),
      table_(SuccessorTable(vocab_size, options.successors)) {
  Check(options.successors <= kMostSuccessors,
        "more successors than scores tell");
}

std::unique_ptr<DraftSession> Recycling::NewSession() const {
  return std::make_unique<RecyclingSession>(table_, carried() != nullptr);
}

absl::StatusOr<std::vector<Proposals>> Recycling::Propose(
    absl::Span<const DraftRequest> requests) {
  std::vector<Proposals> all;
  for (const DraftRequest& request : requests) {
    const auto& own = SessionOf<RecyclingSession>(request);
    all.emplace_back();
    all.back().reserve(request.nodes.size());
    for (int node : request.nodes)
      all.back().push_back(
          Halving(vocab_size_, own.After(request.tree->node(node).token)));
  }
  return all;
}

absl::Status Recycling::Absorb(absl::Span<const TokenId> /*text*/,
                               absl::string_view learnt) {
  BANYAN_ASSIGN_OR_RETURN(const std::vector<Row> rows,
                          FromBytes(*table_, learnt));
  for (const Row& row : rows) table_.Own().Set(row.token, row.ranked);
  return absl::OkStatus();
}

absl::Status Recycling::CheckLesson(absl::Span<const TokenId> /*text*/,
                                    absl::string_view learnt) const {
  return FromBytes(*table_, learnt).status();
}

std::vector<Carried> Recycling::holdings() const {
  return {{.unit = "rows", .held = table_->known(), .dropped = 0}};
}

namespace {

BuiltDrafter BuildRecycling(ParamsReader& in, const RecyclingOptions& options,
                            Workbench& bench) {
  BANYAN_RETURN_IF_ERROR(in.Finish());
  return std::make_unique<Recycling>(bench.target().vocab_size(), options);
}

}  // namespace

DrafterRow RecyclingRow() {
  Keys<RecyclingOptions> keys;
  keys.Between("successors", &RecyclingOptions::successors, 1, kMostSuccessors,
               "The tokens that are kept after each token.");
  AddReset(keys, &RecyclingOptions::keep_table);
  return {.name = "recycling",
          .sentence =
              "Token Recycling: the target's top candidates after each token, "
              "from the last time it was scored.",
          .draw_kinds = {DrawKind::kDeterministic},
          .keys = keys.Rows(),
          .build = keys.ReadFor(BuildRecycling),
          .examples = {"{}", "{successors: 1}"}};
}

}  // namespace banyan
