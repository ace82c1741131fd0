#include "experiments/run/run_context.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/strip.h"
#include "core/base/clock.h"
#include "core/base/status_macros.h"
#include "core/device/gpu_facts.h"
#include "core/device/ranks/communicator.h"
#include "core/ops/backend.h"
#include "core/ops/gauge.h"
#include "experiments/metrics/median.h"
#include "experiments/plan/experiment.h"
#include "experiments/plan/workload.h"
#include "experiments/records/record.pb.h"
#include "experiments/run/build_info.h"
#include "experiments/run/prepared_cells.h"

namespace banyan {
namespace {

constexpr int kReadings = 7;  // their median counts
// Far beyond a cache; as much as is read where a target is larger.
constexpr std::size_t kGaugeBytes = std::size_t{1} << 28;

std::string CpuName() {
  std::ifstream info("/proc/cpuinfo");
  std::string line;
  while (std::getline(info, line)) {
    if (line.rfind("model name", 0) != 0) continue;
    const auto colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

void SetGpu(const GpuFacts& facts, records::Gpu& gpu) {
  gpu.set_name(facts.name);
  gpu.set_capability(facts.capability);
  gpu.set_driver(facts.driver);
  gpu.set_runtime(facts.runtime);
  gpu.set_memory_bytes(facts.memory_bytes);
  gpu.set_multiprocessors(static_cast<std::uint32_t>(facts.multiprocessors));
  gpu.set_clock_mhz(facts.clock_mhz);
  gpu.set_memory_clock_mhz(facts.memory_clock_mhz);
  gpu.set_memory_bus_bits(static_cast<std::uint32_t>(facts.memory_bus_bits));
}

// 0: the device does not know, or has no memory for finding out, which is no
// reason not to run.
absl::StatusOr<double> Bandwidth(Backend& backend, const Clock& clock) {
  const auto gauge = backend.NewGauge(kGaugeBytes, clock);
  if (absl::IsUnimplemented(gauge.status()) ||
      absl::IsResourceExhausted(gauge.status()))
    return 0.0;
  BANYAN_RETURN_IF_ERROR(gauge.status());
  std::vector<double> values;
  for (int i = 0; i < kReadings; ++i) {
    BANYAN_ASSIGN_OR_RETURN(const double value, (*gauge)->ReadBandwidth());
    values.push_back(value);
  }
  return Median(std::move(values));
}

// How many programs run or wait for a core just now, this one left out; -1 if
// the system does not say.
double RunnableNow() {
  constexpr int kSamples = 10;
  constexpr std::chrono::milliseconds kApart(20);
  double sum = 0;
  for (int i = 0; i < kSamples; ++i) {
    std::ifstream file("/proc/loadavg");
    double minute = 0, five = 0, fifteen = 0, running = 0;
    if (!(file >> minute >> five >> fifteen >> running)) return -1;
    sum += running - 1;
    std::this_thread::sleep_for(kApart);
  }
  return sum / kSamples;
}

// A minute's mean is high for a while after what made it so, as a build, has
// ended: where it says that the cores are busy, what runs now counts.
double Load(unsigned cores) {
  std::array<double, 1> minute = {0};
  if (getloadavg(minute.data(), 1) != 1) return 0;
  if (minute[0] <= cores) return minute[0];
  const double now = RunnableNow();
  return now < 0 ? minute[0] : std::min(minute[0], now);
}

}  // namespace

records::Machine DescribeMachine(const Backend& backend,
                                 const Communicator* ranks) {
  records::Machine machine;
  machine.set_cpu(CpuName());
  const BackendFacts facts = backend.facts();
  machine.set_device(facts.device);
  machine.set_instruction_set(facts.instruction_set);
  machine.set_sums(facts.sums);
  machine.set_fast(!facts.faithful);
  if (!facts.gpu.name.empty()) SetGpu(facts.gpu, *machine.mutable_gpu());
  machine.set_cores(std::thread::hardware_concurrency());
  machine.set_threads(static_cast<std::uint32_t>(facts.threads));
  machine.set_load(Load(machine.cores()));
  if (ranks != nullptr) {
    machine.set_ranks(static_cast<std::uint32_t>(ranks->size()));
    machine.set_nodes(static_cast<std::uint32_t>(ranks->nodes()));
    machine.set_link(ranks->link());
  }
  return machine;
}

absl::StatusOr<records::Context> DescribeRun(
    const Experiment& experiment, const Workload& workload,
    const PreparedRun& run, const Shard& shard, Backend& backend,
    const Clock& clock, const Communicator* ranks) {
  records::Context context;
  context.mutable_build()->set_revision(kBuildRevision);
  context.mutable_build()->set_compiler(kBuildCompiler);
  context.mutable_build()->set_flags(kBuildFlags);
  context.mutable_build()->set_type(kBuildType);
  records::Machine& machine = *context.mutable_machine();
  machine = DescribeMachine(backend, ranks);
  BANYAN_ASSIGN_OR_RETURN(const double bandwidth, Bandwidth(backend, clock));
  machine.set_bytes_per_s(bandwidth);
  context.set_started_unix_s(static_cast<std::int64_t>(std::time(nullptr)));
  context.set_question(experiment.question);
  context.set_experiment(experiment.resolved);
  context.set_experiment_hash(experiment.hash);
  context.set_reference_choice(experiment.reference_choice);
  context.mutable_workload()->set_path(workload.path);
  context.mutable_workload()->set_hash(workload.hash);
  context.mutable_workload()->set_prompts(
      static_cast<std::uint32_t>(run.turns()));
  for (const PreparedCell& cell : run.cells)
    *context.add_cells() = cell.description;
  context.set_shard(static_cast<std::uint32_t>(shard.number));
  context.set_shards(static_cast<std::uint32_t>(shard.count));
  context.set_cut(shard.cut);
  return context;
}

}  // namespace banyan
