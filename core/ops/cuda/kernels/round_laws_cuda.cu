// The distributions of a round, from rows of logits: the device counterpart of
// SamplingRule::Apply, one block per row. A distribution is a row of doubles, 0
// where a token was left out.
#include <bit>
#include <cmath>
#include <cstdint>

#include "core/base/draw_math.h"
#include "core/device/cuda/kernel.h"
#include "core/ops/cuda/device/law_block.h"
#include "core/ops/cuda/device/matrix.h"
#include "core/ops/cuda/device/numbers.h"
#include "core/ops/cuda/device/round_layout.h"
#include "core/ops/cuda/device/round_view.h"
#include "core/ops/cuda/kernels/round_kernels.h"
#include "core/ops/cuda/kernels/round_launches.h"

namespace banyan::BANYAN_MAKER {
namespace {

constexpr int kNothing = 0x7fffffff;

struct Rule {
  Rule(CudaDevice& device, const LawRule& rule)
      : temperature(rule.temperature),
        penalty(rule.penalty),
        top_p(rule.top_p),
        min_p(rule.min_p),
        top_k(rule.top_k),
        used(rule.used),
        truncates(rule.truncates()),
        banned(device, rule.banned) {}

  double temperature;
  double penalty;
  double top_p;
  double min_p;
  int top_k;
  int used;
  bool truncates;
  Global<const std::int32_t> banned;
};

struct LawsKernel {
  static constexpr const char* kName = "laws";
  RoundView round;
  Rule rule;
  Matrix<const float> logits;
  Global<const std::int32_t> columns;
  Global<double> laws;
  Global<const std::int32_t> seen;
  Global<std::int32_t> order;
  bool of_target;
  int first_law;

  // Whether a token stands in the text, or on the way to the row's node.
  BANYAN_DEVICE bool Seen(int node, int token) const {
    if (seen.Read(token) > 0) return true;
    for (; node > 0; node = round.Get(round.at.parent, node))
      if (round.Get(round.at.token, node) == token) return true;
    return false;
  }

  // Of a token's logit.
  BANYAN_DEVICE int Column(int token) const {
    return columns.empty() ? token : columns.Read(token);
  }

  BANYAN_DEVICE void Fail(const Thread& t, int law, RoundError kind, int token,
                          float logit) const {
    if (t.index() != 0) return;
    round.Set(round.at.law_error, law * 3, kind);
    round.Set(round.at.law_error, law * 3 + 1, token);
    round.Set(round.at.law_error, law * 3 + 2,
              std::bit_cast<std::int32_t>(logit));
  }

  BANYAN_DEVICE void operator()(const Thread& t) const {
    const int row = t.block();
    const int vocab = round.at.vocab;
    const int rows = of_target               ? round.State(kRows)
                     : round.at.law_by_depth ? 1
                                             : round.State(kWanted);
    if (row >= rows) return;
    const int node = of_target               ? round.Get(round.at.row_node, row)
                     : round.at.law_by_depth ? 0  // whatever the path
                                             : round.Get(round.at.wanted, row);
    const int law = first_law + row;
    const int number = of_target ? round.at.law_rows + row : law;
    const std::int64_t first = std::int64_t{law} * vocab;
    const auto at = [&](int i) { return laws.Read(first + i); };
    const LawBlock block(t, vocab);

    int wrong = kNothing;
    for (int i = t.index(); i < vocab; i += t.threads()) {
      const int column = i < rule.used ? Column(i) : -1;
      const float logit = column < 0 ? -INFINITY : logits.Read(row, column);
      double value = static_cast<double>(logit);
      const bool finite = column < 0 || IsFinite(logit);
      if (rule.penalty != 1 && Seen(node, i))
        value = value > 0 ? value / rule.penalty : value * rule.penalty;
      if ((!finite || !(value < INFINITY)) && i < wrong) wrong = i;
      laws.Write(first + i, value);
    }
    wrong = block.Least(wrong);
    if (wrong != kNothing)
      return Fail(t, number, kNoNumber, wrong, logits.Read(row, Column(wrong)));
    for (std::int64_t i = t.index(); i < rule.banned.size(); i += t.threads())
      laws.Write(first + rule.banned.Read(i), -INFINITY);

    const Largest largest = block.Best(at);
    if (largest.number == -INFINITY) return Fail(t, number, kNoTokenLeft, 0, 0);
    if (rule.temperature == 0) {
      for (int i = t.index(); i < vocab; i += t.threads())
        laws.Write(first + i, i == largest.place ? 1.0 : 0.0);
    } else {
      for (int i = t.index(); i < vocab; i += t.threads())
        laws.Write(first + i,
                   ExpOfNegative((at(i) - largest.number) / rule.temperature));
      const double sum = block.Sum(at);
      for (int i = t.index(); i < vocab; i += t.threads())
        laws.Write(first + i, at(i) / sum);
      if (rule.truncates) Truncate(t, block, row, first);
    }
    const double total = block.Sum(at);
    Fail(t, number, kNoError, 0, 0);
    if (t.index() == 0) round.SetNumber(round.at.law_total, number, total);
  }

  // Orders by falling mass, ties by rising token; numbers past the vocabulary
  // come last.
  BANYAN_DEVICE bool Before(std::int64_t first, int a, int b) const {
    const int vocab = round.at.vocab;
    if (a >= vocab || b >= vocab) return a < b;
    const double of_a = laws.Read(first + a);
    const double of_b = laws.Read(first + b);
    return of_a != of_b ? of_a > of_b : a < b;
  }

  // What top_k, top_p and min_p leave.
  BANYAN_DEVICE void Truncate(const Thread& t, const LawBlock& block, int row,
                              std::int64_t first) const {
    const int vocab = round.at.vocab;
    int padded = 1;
    while (padded < vocab) padded *= 2;
    const std::int64_t start = std::int64_t{row} * padded;
    const auto mass_at = [&](int rank) {
      return laws.Read(first + order.Read(start + rank));
    };
    const double all = block.Sum([&](int i) { return laws.Read(first + i); });
    for (int i = t.index(); i < padded; i += t.threads())
      order.Write(start + i, i);
    for (int size = 2; size <= padded; size *= 2) {  // a bitonic sort
      for (int apart = size / 2; apart > 0; apart /= 2) {
        t.Sync();
        for (int i = t.index(); i < padded / 2; i += t.threads()) {
          const int low = i / apart * apart * 2 + i % apart;
          const int high = low + apart;
          const int a = order.Read(start + low);
          const int b = order.Read(start + high);
          const bool falls = (low & size) == 0;
          if (Before(first, b, a) == falls) {
            order.Write(start + low, b);
            order.Write(start + high, a);
          }
        }
      }
    }
    t.Sync();
    int kept = 0;
    double sum = 0;
    if (t.index() == 0) {
      int count = vocab;
      double total = all;
      if (rule.top_k > 0) {
        count = rule.top_k < vocab ? rule.top_k : vocab;
        total = 0;
        for (int i = 0; i < count; ++i) total += mass_at(i);
      }
      const double floor = rule.min_p * mass_at(0);
      while (kept < count) {
        const double mass = mass_at(kept);
        if (!(mass > 0) || mass < floor) break;
        ++kept;
        sum += mass;
        if (rule.top_p < 1 && sum >= rule.top_p * total) break;
      }
    }
    kept = static_cast<int>(block.Tell(kept));
    sum = block.Tell(sum);
    for (int i = t.index(); i < vocab; i += t.threads()) {
      const std::int64_t place = first + order.Read(start + i);
      laws.Write(place, i < kept ? laws.Read(place) / sum : 0.0);
    }
  }
};

}  // namespace

void LaunchLaws(CudaDevice& device, const LawsLaunch& launch) {
  const RoundSpans& round = launch.round;
  if (launch.logits.rows == 0) return;
  Launch(device,
         {.blocks = launch.logits.rows,
          .threads = LawThreads(round.layout.vocab),
          .shared_bytes = LawSharedBytes(round.layout.vocab)},
         LawsKernel{
             {device, round},
             {device, launch.rule},
             {device, launch.logits},
             {device, launch.of_target ? DeviceSpan() : launch.columns},
             {device, launch.of_target ? round.target_laws : round.draft_laws},
             {device, round.seen},
             {device, round.order},
             launch.of_target,
             launch.first_law});
}

}  // namespace banyan::BANYAN_MAKER
