// Verification as a step: walks from the root of the merged tree, as the
// verifiers do, and notes what both sides keep of the round.
#ifndef BANYAN_CORE_ROUND_JUDGE_STEP_H_
#define BANYAN_CORE_ROUND_JUDGE_STEP_H_

#include "core/base/draw_math.h"
#include "core/round/book.h"
#include "core/round/layout.h"
#include "core/round/workers.h"

namespace banyan {

// What Residual does (core/prob/residual.h), of a target's row.
template <typename Workers, typename Distributions, typename Own>
class LeftOfTarget {
 public:
  BANYAN_STEP LeftOfTarget(const Workers& workers, const RoundLayout& of,
                           const Distributions& distributions,
                           std::int64_t first, double total, const Own& own)
      : w_(workers),
        vocab_(of.vocab),
        dense_(of.dense_target),
        distributions_(distributions),
        first_(first),
        own_(own) {
    counts_.scale = 1 / total;
  }

  BANYAN_STEP double Mass(int token) const {
    return counts_.scale * Number(token);
  }
  // Subtracts a refused draw's distribution, given by `mass(token)`; `dense`:
  // it leaves no token out. Returns the sum of what is left, before
  // normalising; 0: nothing is left, and nothing is changed.
  template <typename MassOf>
  BANYAN_STEP double Subtract(const MassOf& mass, bool dense) {
    const double scale = counts_.scale;
    double sum = 0;
    bool trusted = false;
    if (dense_ && !dense) {
      sum = 1 - w_.Sum([&](int token) {
        const double theirs = mass(token);
        const double ours = scale * Number(token);
        return ours < theirs ? ours : theirs;
      });
      trusted = counts_.Trusts(sum, 1);
    }
    if (!trusted)
      sum = w_.Sum([&](int token) {
        return Positive(scale * Number(token) - mass(token));
      });
    if (sum < kNoMass) return 0;
    // Whether enough is left for the entries alone to be changed.
    const bool entries = dense_ && !dense && counts_.Trusts(sum, 1);
    const double unit = 1 / scale;
    const double norm = 1 / sum;
    for (int token = w_.index(); token < vocab_; token += w_.count()) {
      const double number = Number(token);
      own_.Write(token, entries
                            ? Positive(number - mass(token) * unit)
                            : norm * Positive(scale * number - mass(token)));
    }
    owned_ = true;
    if (entries) {
      counts_.scale *= norm;
      counts_.kept *= sum;
    } else {
      counts_ = {};
    }
    w_.Sync();
    return sum;
  }
  // The same for a distribution of one token.
  BANYAN_STEP double SubtractToken(int token) {
    return Subtract([token](int other) { return other == token ? 1.0 : 0.0; },
                    false);
  }
  BANYAN_STEP double Number(int token) const {
    return owned_ ? own_.Read(token) : distributions_.Read(first_ + token);
  }

 private:
  BANYAN_STEP static double Positive(double x) { return x > 0 ? x : 0; }

  const Workers& w_;
  const int vocab_;
  const bool dense_;
  const Distributions& distributions_;
  const std::int64_t first_;
  const Own& own_;
  bool owned_ = false;
  ResidualScale counts_;
};

template <typename Distributions, typename Own, typename Seen>
struct JudgeData {
  Distributions draft_distributions;
  Distributions target_distributions;
  Own residual;  // a row
  Seen seen;     // by token: how often it stands in the text; or none
};

template <typename Workers, typename Book, typename Data>
class JudgeStep {
 public:
  BANYAN_STEP JudgeStep(const Workers& workers, const Book& round,
                        const Data& data)
      : w_(workers), round_(round), data_(data) {}

  BANYAN_STEP void Run() const {
    if (DraftFailed()) return;
    int row = 0;
    int size = 0;
    while (true) {
      const int distribution = round_.of.distributions + row;
      if (round_.Get(book::kDistributionError, distribution) != kNoError)
        return Fail(distribution, -1);
      int next = -1;
      const int child = Step(row, next);
      if (child < 0) {
        w_.Sync();
        if (w_.index() == 0) End(size, next);
        return;
      }
      row = round_.Get(book::kRow, child);
      if (w_.index() == 0) round_.Set(book::kPath, size, row);
      ++size;
    }
  }

 private:
  // Fails the round if a distribution that was drawn from has an error, and
  // returns whether one has.
  BANYAN_STEP bool DraftFailed() const {
    const RoundLayout& of = round_.of;
    for (int drafter = 0; drafter < of.count; ++drafter) {
      const int end = round_.Get(book::kNodesEnd, drafter);
      for (int node = of.drafters[drafter].first_node; node < end; ++node) {
        const int distribution = round_.Get(book::kDistributionRow, node);
        if (distribution < 0 ||
            round_.Get(book::kDistributionError, distribution) == kNoError)
          continue;
        Fail(distribution, drafter);
        return true;
      }
    }
    return false;
  }

  // A round that fails changes nothing.
  BANYAN_STEP void Fail(int distribution, int drafter) const {
    w_.Sync();
    if (w_.index() != 0) return;
    const RoundLayout& of = round_.of;
    round_.Set(book::kErrorKind,
               round_.Get(book::kDistributionError, distribution));
    round_.Set(book::kErrorText,
               round_.Get(book::kDistributionToken, distribution));
    round_.Set(book::kErrorBits,
               round_.Get(book::kDistributionBits, distribution));
    round_.Set(book::kErrorDrafter, drafter);
    round_.Set(book::kPathSize, 0);
    for (int i = 0; i <= of.levels; ++i) round_.Set(book::kKeptRows, i, -1);
    round_.Set(book::kTargetKept, 0);
    for (int i = 0; i < of.count; ++i) round_.Set(book::kDraftKept, i, 0);
  }

  BANYAN_STEP bool Accepts(double probability, int row, int draw) const {
    if (probability >= 1) return true;
    if (probability <= 0) return false;
    return round_.chance.Accept(round_, probability, row, draw);
  }
  // The token after the path; `total`: the kept sum of the numbers.
  template <typename Value>
  BANYAN_STEP int DrawNext(const Value& value, double total, int row) const {
    return round_.chance.Draw(round_, w_, value, total, Purpose::kTarget, row,
                              0, 0);
  }

  // The child that is accepted; -1: none, and `next` is drawn.
  BANYAN_STEP int Step(int row, int& next) const {
    const RoundLayout& of = round_.of;
    const std::int64_t first = std::int64_t{row} * of.vocab;
    if (of.judge == JudgeKind::kGreedy || of.judge == JudgeKind::kMatch) {
      const auto mass = [&](int token) {
        return data_.target_distributions.Read(first + token);
      };
      const int distribution = of.distributions + row;
      next = of.judge == JudgeKind::kGreedy
                 ? KeptBest(w_, round_, distribution).place
                 : DrawNext(mass, KeptTotal(w_, round_, distribution), row);
      return Child(row, next);
    }
    Left left(w_, of, data_.target_distributions, first,
              round_.Number(book::kDistributionTotal, of.distributions + row),
              data_.residual);
    const int child = of.judge == JudgeKind::kPointMass
                          ? JudgeChildren(row, left)
                          : JudgeDraws(row, left);
    if (child < 0) {
      const auto number = [&](int token) { return left.Number(token); };
      next = DrawNext(number, w_.Sum(number), row);
    }
    return child;
  }
  using Left = LeftOfTarget<Workers, decltype(Data::target_distributions),
                            decltype(Data::residual)>;

  BANYAN_STEP int FirstChild(int row) const {
    return round_.Get(book::kFirstChild, round_.Get(book::kRowNode, row));
  }
  // The child with this token; -1: none.
  BANYAN_STEP int Child(int row, int token) const {
    for (int child = FirstChild(row); child >= 0;
         child = round_.Get(book::kNextChild, child))
      if (round_.Get(book::kToken, child) == token) return child;
    return -1;
  }

  BANYAN_STEP int JudgeChildren(int row, Left& left) const {
    int number = 0;
    for (int child = FirstChild(row); child >= 0;
         child = round_.Get(book::kNextChild, child)) {
      const int token = round_.Get(book::kToken, child);
      if (Accepts(left.Mass(token), row, number++)) return child;
      if (left.SubtractToken(token) == 0) return child;
    }
    return -1;
  }

  BANYAN_STEP int JudgeDraws(int row, Left& left) const {
    int number = 0;
    for (int drafter = 0; drafter < round_.of.count; ++drafter) {
      const int node =
          round_.Get(book::kOwnNode, row * round_.of.count + drafter);
      if (node < 0) continue;
      const int draws = round_.Get(book::kFirstDraw, node);
      for (int k = 0; k < round_.Get(book::kDrawCount, node); ++k) {
        if (round_.Get(book::kDrawMade, draws + k) == 0) break;
        const int child = round_.Get(book::kDrawChild, draws + k);
        if (round_.Get(book::kKept, child) == 0) continue;
        if (IsAccepted(drafter, node, draws + k, row, number++, left))
          return child;
      }
    }
    return -1;
  }
  BANYAN_STEP bool IsAccepted(int drafter, int node, int draw, int row,
                              int number, Left& left) const {
    const DrafterLayout& of = round_.of.drafters[drafter];
    const int token = round_.Get(book::kDrawToken, draw);
    const double ratio = left.Mass(token) / round_.Number(book::kDrawQ, draw);
    if (Accepts(ratio, row, number)) return true;
    double sum = 0;
    if (of.draw_kind == DrawKind::kDeterministic) {
      sum = left.SubtractToken(token);
    } else {
      // Earlier draws are out of q, but nothing is left of them to take.
      const double scale = round_.Number(book::kDrawScale, draw);
      const std::int64_t first =
          std::int64_t{round_.Get(book::kDistributionRow, node)} *
          round_.of.vocab;
      sum = left.Subtract(
          [&](int other) {
            return scale * data_.draft_distributions.Read(first + other);
          },
          of.shape == ShapeKind::kUploaded
              ? round_.Get(book::kDrawDense, draw) != 0
              : of.dense);
    }
    // Nothing left means that it was q up to rounding, and the ratio 1.
    return sum == 0 && ratio > 0;
  }

  // The verdict; what is kept of all sessions' rows, and their new lengths.
  BANYAN_STEP void End(int size, int next) const {
    const RoundLayout& of = round_.of;
    const int target = round_.Get(book::kTargetLength);
    const int before = of.levels - size;
    for (int i = 0; i < before; ++i) round_.Set(book::kKeptRows, i, -1);
    round_.Set(book::kKeptRows, before, 0);
    round_.Set(book::kTargetSlots, 0, target);
    for (int i = 0; i < size; ++i) {
      const int row = round_.Get(book::kPath, i);
      round_.Set(book::kTargetSlots, i + 1, target + row);
      round_.Set(book::kKeptRows, before + i + 1, row);
      Note(round_.Get(book::kTargetTokens, row));
    }
    Note(next);
    for (int drafter = 0; drafter < of.count; ++drafter) EndOf(drafter, size);
    round_.Set(book::kErrorKind, kNoError);
    round_.Set(book::kPathSize, size);
    round_.Set(book::kNext, next);
    round_.Set(book::kTargetKept, size + 1);
    round_.Set(book::kTargetTo, target);
    round_.Set(book::kTargetLength, target + size + 1);
    round_.Set(book::kRoot, next);
    round_.Set(book::kRound, round_.Get(book::kRound) + 1);
  }
  // A drafter keeps the rows that it ran of the text before the root, and of
  // the path as far as it ran it.
  BANYAN_STEP void EndOf(int drafter, int size) const {
    const DrafterLayout& of = round_.of.drafters[drafter];
    const int draft = round_.Get(book::kDraftLength, drafter);
    int kept = 0;
    int unread = 0;
    if (of.has_rows) {
      for (int row = of.unread - round_.Get(book::kUnread, drafter);
           row <= of.unread; ++row)
        round_.Set(book::kDraftSlots, of.first_slot + kept++, draft + row);
      for (int i = 0; i < size; ++i) {
        const int row = round_.Get(book::kPath, i);
        const int node =
            round_.Get(book::kOwnNode, row * round_.of.count + drafter);
        const int own = node < 0 ? -1 : round_.Get(book::kDraftRow, node);
        if (!of.rereads && own >= 0)
          round_.Set(book::kDraftSlots, of.first_slot + kept++, draft + own);
        else
          round_.Set(book::kUnreadText, of.first_unread + unread++,
                     round_.Get(book::kTargetTokens, row));
      }
    }
    round_.Set(book::kDraftKept, drafter, kept);
    round_.Set(book::kDraftTo, drafter, draft);
    round_.Set(book::kDraftLength, drafter, draft + kept);
    round_.Set(book::kUnread, drafter, unread);
  }
  // The text has a token more.
  BANYAN_STEP void Note(int token) const {
    if (!data_.seen.empty())
      data_.seen.Write(token, data_.seen.Read(token) + 1);
  }

  const Workers& w_;
  const Book& round_;
  const Data& data_;
};

}  // namespace banyan

#endif  // BANYAN_CORE_ROUND_JUDGE_STEP_H_
