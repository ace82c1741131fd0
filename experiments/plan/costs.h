// Costs: what is known beforehand of a machine and of drafters on a target.
// How long passes and drafted levels take, how often drafted tokens are
// accepted, and which lengths of chains were fastest.
//
// `banyan measure` writes such tables and ReadCosts() reads them, in one
// format (docs/formats.md). Policies, experiments and reports take from them
// what they need.
#ifndef BANYAN_EXPERIMENTS_PLAN_COSTS_H_
#define BANYAN_EXPERIMENTS_PLAN_COSTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/params.h"

namespace banyan {

// Where the numbers of a table come from.
struct Provenance {
  std::string machine;
  std::string build;
  std::string source;
  std::string date;

  bool operator==(const Provenance&) const = default;
};

// The target and the setting that a table holds for. An empty text fits any.
struct CostSetting {
  std::string target;  // its directory's name
  std::string weights;
  std::string memory = {};  // bound on it, as a model states it
  std::optional<double> temperature;
  int batch = 1;  // prompts that share the passes

  bool operator==(const CostSetting&) const = default;
};

// How long a pass of the target takes.
struct PassCosts {
  CostSetting setting;       // of any temperature
  int context = 0;           // committed tokens before the pass
  std::map<int, double> ms;  // by its tokens
  Provenance from;
  Origin place;
};

// How long a level of a drafter takes, beside the target's pass.
struct LevelCosts {
  CostSetting setting;
  std::string draws;  // independent; empty: any kind
  // The name of its model's folder (DrafterLabel), its title, the kind that the
  // title begins with, or kAnyDrafter.
  std::string drafter;
  double ms = 0;
  Provenance from;
  Origin place;
};
inline constexpr char kAnyDrafter[] = "other";

// Draws of one drafter at one depth, by their rank, which counts from 0 among
// the drafter's own draws at a node.
struct CandidateCounts {
  int drafter = 0;  // its number in AcceptanceTable::drafters
  int depth = 1;    // of the drawn token
  // The other drafters that proposed the same token there, ascending.
  std::vector<int> also;
  // How many were judged, since every draw judged before them at their node was
  // refused; and how many of these were accepted.
  std::vector<std::int64_t> judged;
  std::vector<std::int64_t> accepted;
};

// Returns the name in the catalogue that a drafter's title (DrafterTitle)
// begins with: "relay" of "relay(small_model, ngram)".
std::string KindOf(const std::string& title);

// A drafter of a table, as methods and as the catalogue call it.
struct CountedDrafter {
  std::string label;  // DrafterLabel
  std::string kind;   // small_model
  std::string draws;  // independent

  bool operator==(const CountedDrafter&) const = default;
};

// How often the tokens of drafters are accepted that draft one tree together.
struct AcceptanceTable {
  CostSetting setting;
  std::vector<CountedDrafter> drafters;  // in the order of the trunks
  std::int64_t rounds = 0;  // those in which nothing was drafted too
  std::vector<CandidateCounts> counts;
  Provenance from;
  Origin place;

  // Of a table of one drafter. The share of the rounds in which something was
  // drafted.
  double Drafted() const;
  // The acceptance of the first draw, by depth, up to the first depth that was
  // not reached.
  std::vector<double> ByDepth() const;
  // The probability that the draw of each rank is the accepted one, over all
  // depths (`acceptance` in tree/optimize/sequoia.h).
  std::vector<double> ByRank() const;
};

// How often the candidates of each head (DrafterTraits::depth_heads) are right,
// whatever the heads before it guessed.
struct HeadTable {
  CostSetting setting;
  CountedDrafter drafter;
  std::vector<std::int64_t> positions;          // by head
  std::vector<std::vector<std::int64_t>> hits;  // by head and rank
  Provenance from;
  Origin place;

  std::vector<std::vector<double>> Accuracies() const;
};

// How fast a drafter's chain is at its best length.
struct ChainLength {
  std::string target;  // its directory's name
  // The name of its model's or heads' directory, or its own without one or with
  // drafters of its own.
  std::string drafter;
  double temperature = 1;
  int length = 0;
  double speed = 0;  // speedup over plain decoding
  Provenance from = {};
};

struct Costs {
  std::vector<PassCosts> passes;
  std::vector<LevelCosts> levels;
  std::vector<AcceptanceTable> acceptance;
  std::vector<HeadTable> heads;
  std::vector<ChainLength> chains;
  Params rates;  // of other programs, which reports read (stated_costs.h)
};

// What a table is wanted for. What is not known is empty. The drafter's kind
// may be its whole title.
struct CostQuestion {
  std::string target;
  std::string weights;
  std::string memory;
  std::optional<double> temperature;
  int batch = 1;
  CountedDrafter drafter;
};

// The table of one drafter that fits in all that is known. The error says what
// the tables lack (the drafter, the target, its weights, the temperature or the
// draws) and what they have.
absl::StatusOr<AcceptanceTable> FindAcceptance(const Costs& costs,
                                               const CostQuestion& question);

// Returns the table that fits best, or null if none is for such a drafter.
// Tables are compared in this order:
//   1. the drafter itself, or else one of the same kind;
//   2. target, weights, memory: the same, or not stated, or others;
//   3. the nearest batch, the nearest temperature, the kind of draws.
// The first of equals is taken.
const AcceptanceTable* BestAcceptance(const Costs& costs,
                                      const CostQuestion& question);
const HeadTable* BestHeads(const Costs& costs, const CostQuestion& question);
// Returns the level that fits best. It names the drafter by its label, its
// title, the kind that the title begins with, another drafter of that kind
// (which tables of acceptance tell), or kAnyDrafter, in this order of
// preference. Where no drafter is known, every level fits.
const LevelCosts* BestLevel(const Costs& costs, const CostQuestion& question);
// Returns the passes of the target, or of another where none has its name.
const PassCosts* BestPasses(const Costs& costs, const CostQuestion& question);

// The format of costs: what `banyan measure` writes, and what
// policies, experiments and `banyan report --curve` include.
//
//   machine: AMD EPYC, cpu, AVX2, 2 threads
//   passes:
//     - {target: large, weights: bf16, context: 128, ms: {1: 9.8, 16: 25}}
//   levels:
//     - {target: large, ms: {small: 1.2, ngram: 0.01}}
//   acceptance:
//     - target: large
//       drafters: [small]
//       draws: [independent]
//       rounds: 100
//       counts:
//         - {depth: 1, judged: [100, 40], accepted: [60, 8]}

// Whether a value has tables of costs, where numbers may stand too.
bool IsCosts(const Params& value);

// Reads tables, or those of a list of included files. Fails, with file, line
// and column, on keys and numbers that cannot be, and on two tables of
// acceptance for one setting and the same drafters.
absl::StatusOr<Costs> ReadCosts(const Params& value);

// Writes costs in the format that is read above.

// Returns what ReadCosts reads, but for `rates`. `from` stands once, at the
// head, for all tables that come from there.
std::string ToYaml(const Costs& costs, const Provenance& from);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_PLAN_COSTS_H_
