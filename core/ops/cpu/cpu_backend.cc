#include "core/ops/cpu/cpu_backend.h"

#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/memory/memory.h"
#include "core/base/check.h"
#include "core/base/messages.h"
#include "core/ops/cpu/pieces.h"
#include "core/ops/host/host.h"
#include "core/ops/host/host_weight.h"
#include "core/ops/op_args.h"
#include "core/ops/panels.h"
#include "core/ops/weight.h"
#include "hwy/highway.h"

namespace banyan {

namespace {

constexpr int kMostThreads = 256;

// Below this many operations a task takes about a microsecond, what it takes to
// hand it out.
constexpr double kWorthSharing = 50000;
// A piece of this size takes some ten microseconds, long beside handing it out.
constexpr double kPieceWork = 200000;
constexpr int kMostRounds = 8;
// A number of a key goes to a cache line of its own, which takes as long as so
// many operations.
constexpr double kScattered = 20;

// The place of a target's kernels in Highway's tables.
std::size_t TableIndex(std::int64_t target) {
  hwy::ChosenTarget chosen;
  chosen.Update(target);
  return chosen.GetIndex();
}

int UsableProcessors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return std::clamp(CPU_COUNT(&set), 1, kMostThreads);
}

// What InstructionSets() names.
struct Choice {
  std::string name;
  std::int64_t target;  // Highway's
  TileMaker tiles;
};

std::vector<Choice> Choices(AmxState amx) {
  std::vector<Choice> choices;
  for (std::int64_t target : hwy::SupportedAndGeneratedTargets())
    choices.push_back({hwy::TargetName(target), target, TileMaker::kNone});
#if HWY_ARCH_X86_64
  const std::int64_t best = choices.front().target;
  if (amx == AmxState::kAllowed)
    choices.insert(choices.begin(), {"AMX", best, TileMaker::kAmx});
  choices.push_back({"AMX_EMULATED", best, TileMaker::kEmulated});
#endif
  return choices;
}

}  // namespace

std::vector<std::string> CpuBackend::InstructionSets() {
  std::vector<std::string> names;
  for (Choice& choice : Choices(AskForAmx()))
    names.push_back(std::move(choice.name));
  return names;
}

absl::StatusOr<std::unique_ptr<CpuBackend>> CpuBackend::Create(
    const CpuOptions& options) {
  if (options.threads < 0 || options.threads > kMostThreads)
    return absl::InvalidArgumentError(absl::StrCat(
        "threads: expected 0 to ", kMostThreads, ", found ", options.threads));
  const int threads =
      options.threads == 0 ? UsableProcessors() : options.threads;
  const std::string refused =
      options.amx == AmxState::kRefused
          ? "this processor has AMX, which the system does not allow"
          : "";
  std::vector<std::string> names;
  for (const Choice& choice : Choices(options.amx)) {
    names.push_back(choice.name);
    const bool best = options.instruction_set.empty();
    if (!best && options.instruction_set != choice.name) continue;
    const std::string note =
        best && !refused.empty()
            ? absl::StrCat(refused, ": taking ", choice.name)
            : "";
    return absl::WrapUnique(new CpuBackend(
        choice.name, TableIndex(choice.target), choice.tiles, note, threads));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "instruction set: expected one of ", absl::StrJoin(names, ", "),
      ", found \"", options.instruction_set, "\"", refused.empty() ? "" : "; ",
      refused));
}

CpuBackend::CpuBackend(std::string instruction_set, std::size_t kernel,
                       TileMaker tiles, std::string note, int threads)
    : instruction_set_(std::move(instruction_set)),
      kernel_(kernel),
      tiles_(tiles),
      note_(std::move(note)),
      pool_(threads) {}

BackendFacts CpuBackend::facts() const {
  return {.device = "cpu",
          .instruction_set = instruction_set_,
          .threads = threads(),
          .sums = tiles_ == TileMaker::kNone ? "lanes" : "tiles",
          .own_rounds = OwnRounds::kWhenAsked,
          .note = note_};
}

std::string CpuBackend::description() const {
  return absl::StrCat("cpu ", instruction_set_, ", ",
                      Counted(threads(), "thread"));
}

void CpuBackend::Split(int size, double work,
                       absl::FunctionRef<void(int first, int end)> task) {
  if (threads() == 1 || work < kWorthSharing) return task(0, size);
  // Equal pieces, a multiple of the threads, so that they end together; several
  // a thread where they are large, so that one that is held up gives up its
  // share to the others.
  const int rounds = static_cast<int>(
      std::clamp(work / kPieceWork / threads(), 1.0, double{kMostRounds}));
  const int pieces = std::min(size, rounds * threads());
  const Pieces cut = {size, pieces};
  pool_.Run(pieces,
            [&](int piece) { task(cut.first(piece), cut.first(piece + 1)); });
}

absl::StatusOr<std::unique_ptr<Buffer>> CpuBackend::Allocate(
    std::size_t bytes) {
  return host::Allocate(bytes);
}

absl::Status CpuBackend::Upload(absl::Span<const std::byte> from, Buffer& to,
                                std::size_t offset) {
  return host::Upload(from, to, offset);
}

absl::Status CpuBackend::Download(const Buffer& from, std::size_t offset,
                                  absl::Span<std::byte> to) {
  return host::Download(from, offset, to);
}

absl::StatusOr<std::unique_ptr<Weight>> CpuBackend::Pack(WeightFormat format,
                                                         int rows, int columns,
                                                         WeightRows source) {
  BANYAN_ASSIGN_OR_RETURN(std::unique_ptr<Weight> weight,
                          HostWeight::Pack(format, rows, columns, source));
  return weight;
}

absl::StatusOr<std::unique_ptr<Weight>> CpuBackend::Adopt(WeightFormat format,
                                                          int rows, int columns,
                                                          PanelSource source) {
  BANYAN_ASSIGN_OR_RETURN(std::unique_ptr<Weight> weight,
                          HostWeight::Adopt(format, rows, columns, source));
  return weight;
}

absl::StatusOr<std::unique_ptr<Weight>> CpuBackend::Stream(
    WeightFormat format, int rows, int columns, StreamedPanels panels) {
  return std::make_unique<StreamedWeight>(format, rows, columns,
                                          std::move(panels));
}

absl::StatusOr<std::unique_ptr<Weight>> CpuBackend::Part(const Weight& whole,
                                                         int first, int count) {
  return HostWeight::Part(static_cast<const HostWeight&>(whole), first, count);
}

absl::Status CpuBackend::ReserveKv(KvCache& cache, int slots, int used) {
  return host::ReserveKv(cache, slots, used);
}

absl::Status CpuBackend::Copy(const CopyArgs& args) { return host::Copy(args); }

absl::Status CpuBackend::StoreKv(absl::Span<const StoreKvArgs> sequences) {
  struct Head {
    const StoreKvArgs* args;
    int number;
  };
  std::vector<Head> heads;
  double work = 0;
  for (const StoreKvArgs& args : sequences) {
    for (int head = 0; head < args.cache->kv_heads; ++head)
      heads.push_back({&args, head});
    work += kScattered * args.keys.rows * args.keys.columns;
  }
  Split(static_cast<int>(heads.size()), work, [&](int first, int end) {
    for (int i = first; i < end; ++i) {
      const Head& head = heads[static_cast<std::size_t>(i)];
      host::StoreKvHead(*head.args, head.number);
    }
  });
  return absl::OkStatus();
}

absl::Status CpuBackend::MoveKv(const MoveKvArgs& args) {
  host::CheckMove(args);
  // A cache's own slots move in the order of the list; those of another are
  // shared out by the panels they go to.
  const int count = static_cast<int>(args.slots.size());
  const int before = args.first_slot % kLane;
  const int piece = args.from == nullptr ? before + count : kLane;
  const int pieces =
      args.from == nullptr ? 1 : PadToLane(before + count) / kLane;
  const KvCache& cache = *args.cache;
  Split(cache.kv_heads * pieces,
        kScattered * count * cache.kv_heads * cache.head_dim,
        [&](int first, int end) {
          for (int i = first; i < end; ++i) {
            const int begin = i % pieces * piece - before;
            host::MoveKvHead(args, i / pieces, std::max(begin, 0),
                             std::min(begin + piece, count));
          }
        });
  return absl::OkStatus();
}

absl::StatusOr<Distribution> CpuBackend::Law(const LawArgs& args) {
  return host::Law(args);
}

// A few rows of a packed weight: nothing to gain from vectors.
absl::Status CpuBackend::Embed(const EmbedArgs& args) {
  const auto& table = static_cast<const HostWeight&>(*args.table);
  const std::int32_t* ids = host::Data(args.ids);
  std::vector<float> row(static_cast<std::size_t>(table.columns()));
  for (int i = 0; i < args.y.rows; ++i) {
    Check(ids[i] >= 0 && ids[i] < table.rows(), "an embedding out of range");
    table.ReadRow(ids[i], row.data());
    float* y = host::Row(args.y, i);
    for (std::size_t k = 0; k < row.size(); ++k)
      y[k] = args.add ? y[k] + row[k] : row[k];
  }
  return absl::OkStatus();
}

}  // namespace banyan
