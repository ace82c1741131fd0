#include "core/ops/host/plain_round.h"

#include <cstdint>
#include <variant>
#include <vector>

#include "core/device/buffer.h"
#include "core/ops/host/host.h"
#include "core/ops/op_args.h"
#include "core/round/book.h"
#include "core/round/distribution_step.h"
#include "core/round/draft_steps.h"
#include "core/round/judge_step.h"
#include "core/round/merge_step.h"
#include "core/round/workers.h"

namespace banyan::host {
namespace {

using Book =
    RoundBook<PlainNumbers<std::int32_t>, PlainNumbers<double>, KeyedChance>;

template <typename T>
PlainNumbers<T> NumbersOf(Buffer* buffer) {
  if (buffer == nullptr) return {};
  return {reinterpret_cast<T*>(Bytes(*buffer)),
          static_cast<std::int64_t>(buffer->bytes() / sizeof(T))};
}

struct PlainRows {
  const Tensor& tensor;
  float Read(int row, int column) const { return Row(tensor, row)[column]; }
};

struct Doer {
  Doer(const RoundMemory& of, Backend& on)
      : memory(of),
        backend(on),
        workers(of.layout.vocab),
        round{of.layout,
              {reinterpret_cast<std::int32_t*>(NumbersOf<double>(of.book).data +
                                               of.layout.doubles),
               of.layout.integers},
              {NumbersOf<double>(of.book).data, of.layout.doubles},
              {of.seed}} {}

  absl::Status operator()(const SelectArgs& args) const {
    SelectStep<OneWorker, Book>(workers, round, args.drafter)
        .Run(args.level, args.first_row, args.rows);
    return absl::OkStatus();
  }
  absl::Status operator()(const MergeArgs& /*args*/) const {
    MergeStep<OneWorker, Book>(workers, round).Run();
    return absl::OkStatus();
  }
  absl::Status operator()(const DistributionArgs& args) const {
    using Data = DistributionData<PlainRows, PlainNumbers<double>,
                                  PlainNumbers<const std::int32_t>,
                                  PlainNumbers<std::int32_t>>;
    const Data data = {
        {args.logits},
        NumbersOf<const std::int32_t>(args.columns),
        NumbersOf<const std::int32_t>(args.banned),
        NumbersOf<const std::int32_t>(memory.seen),
        NumbersOf<double>(args.place.drafter < 0 ? memory.target_distributions
                                                 : memory.draft_distributions),
        NumbersOf<std::int32_t>(memory.order)};
    for (int row = 0; row < args.logits.rows; ++row) {
      const DistributionStep<OneWorker, Book, Data> step(
          workers, round, data, args.rule, args.place, row);
      if (step.exists()) step.Run();
    }
    return absl::OkStatus();
  }
  absl::Status operator()(const DrawArgs& args) const {
    const auto distributions =
        NumbersOf<const double>(memory.draft_distributions);
    for (int i = 0; i < args.width; ++i)
      DrawStep(workers, round, distributions, args.drafter, i,
               args.first_distribution);
    return absl::OkStatus();
  }
  absl::Status operator()(const JudgeArgs& /*args*/) const {
    using Data = JudgeData<PlainNumbers<const double>, PlainNumbers<double>,
                           PlainNumbers<std::int32_t>>;
    const Data data = {NumbersOf<const double>(memory.draft_distributions),
                       NumbersOf<const double>(memory.target_distributions),
                       NumbersOf<double>(memory.residual),
                       NumbersOf<std::int32_t>(memory.seen)};
    JudgeStep<OneWorker, Book, Data>(workers, round, data).Run();
    return absl::OkStatus();
  }
  absl::Status operator()(const KeepArgs& args) const {
    const bool of_target = args.drafter < 0;
    const int to = of_target ? round.Get(book::kTargetTo)
                             : round.Get(book::kDraftTo, args.drafter);
    const int count = of_target ? round.Get(book::kTargetKept)
                                : round.Get(book::kDraftKept, args.drafter);
    const Ints list =
        of_target ? memory.List(book::kTargetSlots, 0, count)
                  : memory.List(book::kDraftSlots,
                                memory.layout.drafters[args.drafter].first_slot,
                                count);
    const std::vector<int> slots(Data(list), Data(list) + count);
    for (KvCache* cache : args.caches)
      BANYAN_RETURN_IF_ERROR(backend.MoveKv({cache, slots, to}));
    return absl::OkStatus();
  }

  const RoundMemory& memory;
  Backend& backend;
  const OneWorker workers;
  const Book round;
};

}  // namespace

absl::Status RunStep(const RoundMemory& memory, const RoundStep& step,
                     Backend& backend) {
  return std::visit(Doer(memory, backend), step);
}

}  // namespace banyan::host
