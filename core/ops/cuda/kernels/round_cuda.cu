// The steps of a round (core/round/) as kernels. A block does one: all of a
// tree, the draws of a node, the distribution of a row.
#include <cstdint>

#include "core/device/cuda/kernel.h"
#include "core/ops/cuda/device/distribution_block.h"
#include "core/ops/cuda/device/kv_layout.h"
#include "core/ops/cuda/device/matrix.h"
#include "core/ops/cuda/kernels/launches.h"
#include "core/ops/cuda/kernels/round_spans.h"
#include "core/ops/round_args.h"
#include "core/round/book.h"
#include "core/round/distribution_step.h"
#include "core/round/draft_steps.h"
#include "core/round/judge_step.h"
#include "core/round/merge_step.h"
#include "core/round/workers.h"

namespace banyan::BANYAN_MAKER {
namespace {

constexpr int kThreads = 128;
constexpr int kKeepLayers = 16;  // of one launch, at most

using Book = RoundBook<Global<std::int32_t>, Global<double>, KeyedChance>;
using Workers = BlockWorkers<Thread>;

Book BookOf(CudaDevice& device, const RoundSpans& round) {
  return {round.layout,
          Global<std::int32_t>(device, round.integers),
          Global<double>(device, round.doubles),
          {round.seed}};
}

// Nodes of a level, and draws, are a thread's each.
struct SelectKernel {
  static constexpr const char* kName = "select";
  Book round;
  SelectArgs args;
  BANYAN_DEVICE void operator()(const Thread& t) const {
    const Workers workers = {t};
    SelectStep<Workers, Book>(workers, round, args.drafter)
        .Run(args.level, args.first_row, args.rows);
  }
};

struct MergeKernel {
  static constexpr const char* kName = "merge";
  Book round;
  BANYAN_DEVICE void operator()(const Thread& t) const {
    const Workers workers = {t};
    MergeStep<Workers, Book>(workers, round).Run();
  }
};

// The steps of a row's distribution, a launch each. Blocks share a row's runs
// but for the last step, which is one block's.
enum class Making { kValues, kExponents, kMasses, kFinish };
constexpr const char* kMakingNames[] = {"values", "exponents", "masses",
                                        "finish"};
constexpr int kBlockRuns = 16;  // at once, by the threads of kShareThreads
constexpr int kShareThreads = kBlockRuns * kSumLanes;

template <Making kStep>
struct DistributionsKernel {
  using Data =
      DistributionData<Matrix<const float>, Global<double>,
                       Global<const std::int32_t>, Global<std::int32_t>>;
  static constexpr const char* kName = kMakingNames[static_cast<int>(kStep)];
  Book round;
  Data data;
  DistributionRule rule;
  DistributionPlace place;
  int blocks;  // of a row
  BANYAN_DEVICE void operator()(const Thread& t) const {
    const DistributionBlock block(t, round.of.vocab);
    const DistributionStep<DistributionBlock, Book, Data> row(
        block, round, data, rule, place, t.block() / blocks);
    if (!row.exists()) return;
    const int begin = t.block() % blocks * kBlockRuns;
    const int runs = SumRuns(round.of.vocab);
    const int end = begin + kBlockRuns < runs ? begin + kBlockRuns : runs;
    if constexpr (kStep == Making::kValues)
      row.Values(begin, end);
    else if constexpr (kStep == Making::kExponents)
      row.Exponents(begin, end);
    else if constexpr (kStep == Making::kMasses)
      row.Masses(begin, end);
    else
      row.Finish();
  }
};

template <Making kStep>
void LaunchMaking(CudaDevice& device, const RoundSpans& round,
                  const DistributionLaunch& launch, int blocks, int threads) {
  const bool of_target = launch.place.drafter < 0;
  Launch(device,
         {.blocks = launch.logits.rows * blocks,
          .threads = threads,
          .shared_bytes = DistributionSharedBytes(round.layout.vocab)},
         DistributionsKernel<kStep>{
             BookOf(device, round),
             {{device, launch.logits},
              {device, launch.columns},
              {device, launch.banned},
              {device, round.seen},
              {device, of_target ? round.target_distributions
                                 : round.draft_distributions},
              {device, round.order}},
             launch.rule,
             launch.place,
             blocks});
}

// A block a node.
struct DrawKernel {
  static constexpr const char* kName = "draw";
  Book round;
  Global<const double> distributions;
  int drafter;
  int first_distribution;
  BANYAN_DEVICE void operator()(const Thread& t) const {
    const DistributionBlock block(t, round.of.vocab);
    DrawStep(block, round, distributions, drafter, t.block(),
             first_distribution);
  }
};

struct JudgeKernel {
  using Data =
      JudgeData<Global<const double>, Global<double>, Global<std::int32_t>>;
  static constexpr const char* kName = "judge";
  Book round;
  Data data;
  BANYAN_DEVICE void operator()(const Thread& t) const {
    const DistributionBlock block(t, round.of.vocab);
    JudgeStep<DistributionBlock, Book, Data>(block, round, data).Run();
  }
};

// A thread two numbers of all slots of a layer's head, as MoveKv.
struct KeepKernel {
  static constexpr const char* kName = "keep";
  Book round;
  int drafter;
  int layers;
  KvCacheOf<std::uint32_t> caches[kKeepLayers];

  BANYAN_DEVICE void operator()(const Thread& t) const {
    const int words = caches[0].width / 2;
    const std::int64_t i = ThingOf(t);
    const auto word = static_cast<int>(i % words);
    const auto head = static_cast<int>(i / words % caches[0].kv_heads);
    const auto layer = static_cast<int>(i / words / caches[0].kv_heads);
    if (layer >= layers) return;
    const KvCacheOf<std::uint32_t>& cache = caches[layer];
    const bool of_target = drafter < 0;
    const int count = of_target ? round.Get(book::kTargetKept)
                                : round.Get(book::kDraftKept, drafter);
    const int to = of_target ? round.Get(book::kTargetTo)
                             : round.Get(book::kDraftTo, drafter);
    for (int slot = 0; slot < count; ++slot) {
      const int from =
          of_target ? round.Get(book::kTargetSlots, slot)
                    : round.Get(book::kDraftSlots,
                                round.of.drafters[drafter].first_slot + slot);
      if (from == to + slot) continue;
      const std::int64_t source = cache.Row(head, from) / 2 + word;
      const std::int64_t goal = cache.Row(head, to + slot) / 2 + word;
      cache.keys.Write(goal, cache.keys.Read(source));
      cache.values.Write(goal, cache.values.Read(source));
    }
  }
};

}  // namespace

void LaunchSelect(CudaDevice& device, const RoundSpans& round,
                  const SelectArgs& args) {
  Launch(device, {.blocks = 1, .threads = kThreads},
         SelectKernel{BookOf(device, round), args});
}

void LaunchMerge(CudaDevice& device, const RoundSpans& round) {
  Launch(device, {.blocks = 1, .threads = kThreads},
         MergeKernel{BookOf(device, round)});
}

void LaunchDistributions(CudaDevice& device, const RoundSpans& round,
                         const DistributionLaunch& launch) {
  const int vocab = round.layout.vocab;
  if (launch.logits.rows == 0) return;
  const int blocks = (SumRuns(vocab) + kBlockRuns - 1) / kBlockRuns;
  const int all = DistributionThreads(vocab);
  const int threads = all < kShareThreads ? all : kShareThreads;
  LaunchMaking<Making::kValues>(device, round, launch, blocks, threads);
  LaunchMaking<Making::kExponents>(device, round, launch, blocks, threads);
  LaunchMaking<Making::kMasses>(device, round, launch, blocks, threads);
  LaunchMaking<Making::kFinish>(device, round, launch, 1, all);
}

void LaunchDraw(CudaDevice& device, const RoundSpans& round,
                const DrawArgs& args) {
  const int vocab = round.layout.vocab;
  if (args.width == 0) return;
  Launch(device,
         {.blocks = args.width,
          .threads = DistributionThreads(vocab),
          .shared_bytes = DistributionSharedBytes(vocab)},
         DrawKernel{BookOf(device, round),
                    {device, round.draft_distributions},
                    args.drafter,
                    args.first_distribution});
}

void LaunchJudge(CudaDevice& device, const RoundSpans& round) {
  const int vocab = round.layout.vocab;
  Launch(device,
         {.blocks = 1,
          .threads = DistributionThreads(vocab),
          .shared_bytes = DistributionSharedBytes(vocab)},
         JudgeKernel{BookOf(device, round),
                     {{device, round.draft_distributions},
                      {device, round.target_distributions},
                      {device, round.residual},
                      {device, round.seen}}});
}

void LaunchKeep(CudaDevice& device, const RoundSpans& round,
                const KeepArgs& args) {
  for (std::size_t first = 0; first < args.caches.size();
       first += kKeepLayers) {
    KeepKernel kernel = {BookOf(device, round), args.drafter, 0, {}};
    for (const KvCache* cache : args.caches.subspan(first, kKeepLayers))
      kernel.caches[kernel.layers++] = {device, *cache};
    const std::int64_t threads = std::int64_t{kernel.layers} *
                                 kernel.caches[0].kv_heads *
                                 (kernel.caches[0].width / 2);
    Launch(device, ForEach(threads), kernel);
  }
}

}  // namespace banyan::BANYAN_MAKER
