// Verification on the device: the counterparts of the verifiers, in one block
// that walks from the root. Then moves the keys and values of the rows that the
// verdict keeps.
#include <bit>
#include <cstdint>

#include "core/base/draw_math.h"
#include "core/device/cuda/kernel.h"
#include "core/ops/cuda/device/kv_layout.h"
#include "core/ops/cuda/device/law_block.h"
#include "core/ops/cuda/device/matrix.h"
#include "core/ops/cuda/device/round_layout.h"
#include "core/ops/cuda/device/round_view.h"
#include "core/ops/cuda/kernels/round_kernels.h"
#include "core/ops/cuda/kernels/round_launches.h"

namespace banyan::BANYAN_MAKER {
namespace {

// What Residual does (core/prob/residual.h), of a target's row.
class LeftOfTarget {
 public:
  BANYAN_DEVICE LeftOfTarget(const Thread& t, const LawBlock& block, int vocab,
                             bool dense, const Global<const double>& laws,
                             std::int64_t first, double total,
                             const Global<double>& own)
      : t_(t),
        block_(block),
        vocab_(vocab),
        dense_(dense),
        laws_(laws),
        first_(first),
        own_(own) {
    counts_.scale = 1 / total;
  }

  BANYAN_DEVICE double Mass(int token) const {
    return counts_.scale * Number(token);
  }
  // Subtracts a refused draw's distribution, given by `mass(token)`; `dense`:
  // it leaves no token out. Returns the sum of what is left, before
  // normalising; 0: nothing is left, and nothing is changed.
  template <typename MassOf>
  BANYAN_DEVICE double Subtract(const MassOf& mass, bool dense) {
    const double scale = counts_.scale;
    double sum = 0;
    bool trusted = false;
    if (dense_ && !dense) {
      sum = 1 - block_.Sum([&](int token) {
        const double theirs = mass(token);
        const double ours = scale * Number(token);
        return ours < theirs ? ours : theirs;
      });
      trusted = counts_.Trusts(sum, 1);
    }
    if (!trusted)
      sum = block_.Sum([&](int token) {
        return Positive(scale * Number(token) - mass(token));
      });
    if (sum < kNoMass) return 0;
    // Whether enough is left for the entries alone to be changed.
    const bool entries = dense_ && !dense && counts_.Trusts(sum, 1);
    const double unit = 1 / scale;
    const double norm = 1 / sum;
    for (int token = t_.index(); token < vocab_; token += t_.threads()) {
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
    t_.Sync();
    return sum;
  }
  // The same for a distribution of one token.
  BANYAN_DEVICE double SubtractToken(int token) {
    return Subtract([token](int other) { return other == token ? 1.0 : 0.0; },
                    false);
  }
  BANYAN_DEVICE int Draw(double u) const {
    const auto number = [this](int token) { return Number(token); };
    return block_.Place(u * block_.Sum(number), number);
  }

 private:
  BANYAN_DEVICE double Number(int token) const {
    return owned_ ? own_.Read(token) : laws_.Read(first_ + token);
  }
  BANYAN_DEVICE static double Positive(double x) { return x > 0 ? x : 0; }

  const Thread& t_;
  const LawBlock& block_;
  const int vocab_;
  const bool dense_;
  const Global<const double>& laws_;
  const std::int64_t first_;
  const Global<double>& own_;
  bool owned_ = false;
  ResidualScale counts_;
};

struct VerifyKernel {
  static constexpr const char* kName = "verify";
  RoundView round;
  Global<const double> draft_laws;
  Global<const double> target_laws;
  Global<double> residual;
  Global<std::int32_t> seen;

  BANYAN_DEVICE void operator()(const Thread& t) const {
    const RoundLayout& at = round.at;
    const LawBlock block(t, at.vocab);
    if (DraftFailed(t)) return;
    int node = 0;
    int size = 0;
    while (true) {
      const int row = round.Get(at.row, node);
      const int law = at.law_rows + row;
      if (round.Get(at.law_error, law * 3) != kNoError) return Fail(t, law);
      int next = -1;
      const int child = Step(t, block, node, row, next);
      if (child < 0) {
        t.Sync();
        if (t.index() == 0) End(size, next);
        return;
      }
      if (t.index() == 0) round.Set(at.path, size, round.Get(at.row, child));
      ++size;
      node = child;
    }
  }

  // Fails the round if a distribution that was drawn from has an error, and
  // returns whether one has.
  BANYAN_DEVICE bool DraftFailed(const Thread& t) const {
    const RoundLayout& at = round.at;
    int failed = -1;
    for (int node = 0; node < round.State(kNodes) && failed < 0; ++node) {
      const int law = round.Get(at.law_row, node);
      if (law >= 0 && round.Get(at.law_error, law * 3) != kNoError)
        failed = law;
    }
    if (failed >= 0) Fail(t, failed);
    return failed >= 0;
  }

  // A round that fails changes nothing.
  BANYAN_DEVICE void Fail(const Thread& t, int law) const {
    t.Sync();
    if (t.index() != 0) return;
    const RoundLayout& at = round.at;
    round.SetState(kErrorKind, round.Get(at.law_error, law * 3));
    round.SetState(kErrorText, round.Get(at.law_error, law * 3 + 1));
    round.SetState(kErrorBits, round.Get(at.law_error, law * 3 + 2));
    round.SetState(kPathSize, 0);
    for (int i = 0; i <= at.levels; ++i) round.Set(at.kept_rows, i, -1);
    round.SetState(kTargetKept, 0);
    round.SetState(kDraftKept, 0);
  }

  BANYAN_DEVICE bool Accepts(double probability, int row, int draw) const {
    if (probability >= 1) return true;
    if (probability <= 0) return false;
    return AcceptWith(round.Uniform(Purpose::kCoin, row, draw), probability);
  }

  // The child with this token that is left; -1: none.
  BANYAN_DEVICE int Child(int node, int token) const {
    const RoundLayout& at = round.at;
    const int first = round.Get(at.first_child, node);
    for (int i = 0; i < round.Get(at.child_count, node); ++i)
      if (round.Get(at.kept, first + i) != 0 &&
          round.Get(at.token, first + i) == token)
        return first + i;
    return -1;
  }

  BANYAN_DEVICE int Step(const Thread& t, const LawBlock& block, int node,
                         int row, int& next) const {
    const RoundLayout& at = round.at;
    const std::int64_t first = std::int64_t{row} * at.vocab;
    const auto law = [&](int token) { return target_laws.Read(first + token); };
    const double u = round.Uniform(Purpose::kTarget, row, 0);
    if (at.judge == JudgeKind::kGreedy || at.judge == JudgeKind::kMatch) {
      next = at.judge == JudgeKind::kGreedy
                 ? block.Best(law).place
                 : block.Place(u * block.Sum(law), law);
      return Child(node, next);
    }
    LeftOfTarget left(t, block, at.vocab, at.dense_target, target_laws, first,
                      round.Number(at.law_total, at.law_rows + row), residual);
    const int child = at.judge == JudgeKind::kPointMass
                          ? JudgeChildren(node, row, left)
                          : JudgeDraws(node, row, left);
    if (child < 0) next = left.Draw(u);
    return child;
  }

  BANYAN_DEVICE int JudgeChildren(int node, int row, LeftOfTarget& left) const {
    const RoundLayout& at = round.at;
    const int first = round.Get(at.first_child, node);
    int number = 0;
    for (int i = 0; i < round.Get(at.child_count, node); ++i) {
      const int child = first + i;
      if (round.Get(at.kept, child) == 0) continue;
      const int token = round.Get(at.token, child);
      if (Accepts(left.Mass(token), row, number++)) return child;
      if (left.SubtractToken(token) == 0) return child;
    }
    return -1;
  }

  BANYAN_DEVICE int JudgeDraws(int node, int row, LeftOfTarget& left) const {
    const RoundLayout& at = round.at;
    const int slots = round.Get(at.first_draw, node);
    const int law = round.Get(at.law_row, node);
    int number = 0;
    for (int k = 0; k < round.Get(at.draw_count, node); ++k) {
      const int slot = slots + k;
      if (round.Get(at.draw_made, slot) == 0) break;
      const int child = round.Get(at.draw_child, slot);
      if (round.Get(at.kept, child) == 0) continue;
      const int token = round.Get(at.draw_token, slot);
      const double q = round.Number(at.draw_q, slot);
      const double ratio = left.Mass(token) / q;
      if (Accepts(ratio, row, number++)) return child;
      double sum = 0;
      if (at.draw_kind == DrawKind::kDeterministic) {
        sum = left.SubtractToken(token);
      } else {
        // Earlier draws are out of q, but nothing is left of them to take.
        const double scale = round.Number(at.draw_scale, slot);
        const std::int64_t first = std::int64_t{law} * at.vocab;
        sum = left.Subtract(
            [&](int other) { return scale * draft_laws.Read(first + other); },
            at.dense_draft);
      }
      // Nothing left means that it was q up to rounding, and the ratio 1.
      if (sum == 0 && ratio > 0) return child;
    }
    return -1;
  }

  // The verdict; what is kept of both sessions' rows, and their new lengths.
  BANYAN_DEVICE void End(int size, int next) const {
    const RoundLayout& at = round.at;
    const int target = round.State(kTargetLength);
    const int draft = round.State(kDraftLength);
    round.Set(at.target_slots, 0, target);
    int kept = 0;
    if (at.has_draft_rows)
      for (int row = at.unread - round.State(kUnread); row <= at.unread; ++row)
        round.Set(at.draft_slots, kept++, draft + row);
    const int before = at.levels - size;
    for (int i = 0; i < before; ++i) round.Set(at.kept_rows, i, -1);
    round.Set(at.kept_rows, before, 0);
    int unread = 0;
    for (int i = 0; i < size; ++i) {
      const int row = round.Get(at.path, i);
      const int node = round.Get(at.row_node, row);
      round.Set(at.target_slots, i + 1, target + row);
      round.Set(at.kept_rows, before + i + 1, row);
      const int own = round.Get(at.draft_row, node);
      if (at.has_draft_rows && !at.rereads && own >= 0)
        round.Set(at.draft_slots, kept++, draft + own);
      else if (at.has_draft_rows)
        round.Set(at.unread_text, unread++, round.Get(at.token, node));
      Note(round.Get(at.token, node));
    }
    Note(next);
    round.SetState(kErrorKind, kNoError);
    round.SetState(kPathSize, size);
    round.SetState(kNext, next);
    round.SetState(kTargetKept, size + 1);
    round.SetState(kTargetTo, target);
    round.SetState(kDraftKept, kept);
    round.SetState(kDraftTo, draft);
    round.SetState(kTargetLength, target + size + 1);
    round.SetState(kDraftLength, draft + kept);
    round.SetState(kUnread, unread);
    round.SetState(kRoot, next);
    round.SetState(kRound, round.State(kRound) + 1);
  }
  // The text has a token more.
  BANYAN_DEVICE void Note(int token) const {
    if (!seen.empty()) seen.Write(token, seen.Read(token) + 1);
  }
};

// A thread two numbers of all slots of a layer's head, as MoveKv.
struct KeepKernel {
  static constexpr const char* kName = "keep";
  RoundView round;
  bool of_target;
  int layers;
  KvCacheOf<std::uint32_t> caches[kKeepLayers];

  BANYAN_DEVICE void operator()(const Thread& t) const {
    const RoundLayout& at = round.at;
    const int words = caches[0].width / 2;
    const std::int64_t i = ThingOf(t);
    const auto word = static_cast<int>(i % words);
    const auto head = static_cast<int>(i / words % caches[0].kv_heads);
    const auto layer = static_cast<int>(i / words / caches[0].kv_heads);
    if (layer >= layers) return;
    const KvCacheOf<std::uint32_t>& cache = caches[layer];
    const int count = round.State(of_target ? kTargetKept : kDraftKept);
    const int slots = of_target ? at.target_slots : at.draft_slots;
    const int to = round.State(of_target ? kTargetTo : kDraftTo);
    for (int slot = 0; slot < count; ++slot) {
      const int from = round.Get(slots, slot);
      if (from == to + slot) continue;
      const std::int64_t source = cache.Row(head, from) / 2 + word;
      const std::int64_t goal = cache.Row(head, to + slot) / 2 + word;
      cache.keys.Write(goal, cache.keys.Read(source));
      cache.values.Write(goal, cache.values.Read(source));
    }
  }
};

}  // namespace

void LaunchVerify(CudaDevice& device, const RoundSpans& round) {
  Launch(device,
         {.blocks = 1,
          .threads = LawThreads(round.layout.vocab),
          .shared_bytes = LawSharedBytes(round.layout.vocab)},
         VerifyKernel{{device, round},
                      {device, round.draft_laws},
                      {device, round.target_laws},
                      {device, round.residual},
                      {device, round.seen}});
}

void LaunchKeep(CudaDevice& device, const KeepLaunch& launch) {
  KeepKernel kernel = {{device, launch.round}, launch.of_target, launch.layers};
  for (int i = 0; i < launch.layers; ++i)
    kernel.caches[i] = {device, *launch.caches[i]};
  const std::int64_t threads = std::int64_t{launch.layers} *
                               kernel.caches[0].kv_heads *
                               (kernel.caches[0].width / 2);
  Launch(device, ForEach(threads), kernel);
}

}  // namespace banyan::BANYAN_MAKER
