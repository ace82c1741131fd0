#include "experiments/run/run_file.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/strip.h"
#include "core/device/gpu_facts.h"
#include "experiments/records/machine.h"
#include "experiments/records/record_set.h"
#include "experiments/run/prepared_cells.h"
#include "experiments/timing/pass_timing.h"
#include "google/protobuf/io/zero_copy_stream_impl.h"
#include "google/protobuf/util/delimited_message_util.h"

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

namespace {

// Returns what a file holds instead of a shard of the wanted run.
std::string RunDifference(const records::Context& found,
                          const records::Context& wanted) {
  if (found.experiment_hash() != wanted.experiment_hash())
    return absl::StrCat("another experiment (", found.experiment_hash(),
                        ", not ", wanted.experiment_hash(), ")");
  if (found.workload().hash() != wanted.workload().hash())
    return absl::StrCat("another workload (", found.workload().hash(), ", not ",
                        wanted.workload().hash(), ")");
  // Shards that begin at once measure once each.
  if (!SameCosts(found, wanted))
    return "a run with other measured costs, which choose the cells (begin the "
           "shards of a run when the first has written its record file)";
  if (found.shards() != wanted.shards())
    return absl::StrCat("shard ", found.shard(), " of ", found.shards(),
                        ", not of ", wanted.shards());
  if (found.shards() > 1 && found.cut() != wanted.cut())
    return absl::StrCat("a shard cut by ", NameOf(found.cut()), ", not by ",
                        NameOf(wanted.cut()));
  if (found.cells_size() != wanted.cells_size())
    return absl::StrCat("a run of ", found.cells_size(), " cells, not ",
                        wanted.cells_size());
  const std::string file = FirstDifferingFile(found, wanted);
  return file.empty() ? "" : absl::StrCat("a run with another ", file);
}

// Returns why the wanted run cannot go on with a file of its shard.
std::string MachineDifference(const records::Context& found,
                              const records::Context& wanted) {
  if (DeviceOf(found.machine()) != DeviceOf(wanted.machine()))
    return absl::StrCat("a run on the device ", DeviceOf(found.machine()),
                        ", not ", DeviceOf(wanted.machine()));
  if (found.machine().instruction_set() != wanted.machine().instruction_set())
    return absl::StrCat("a run with ", found.machine().instruction_set(),
                        ", not ", wanted.machine().instruction_set());
  const auto build = [](const records::Context& context) {
    return absl::StrCat(context.build().revision(), " (",
                        context.build().type(), ", ", context.build().flags(),
                        ")");
  };
  if (build(found) != build(wanted))
    return absl::StrCat("a run of revision ", build(found), ", not ",
                        build(wanted));
  const auto machine = [](const records::Context& context) {
    return absl::StrCat(ProcessorOf(context.machine()), " with ",
                        context.machine().threads(), " threads");
  };
  if (machine(found) != machine(wanted))
    return absl::StrCat("a run on ", machine(found), ", not ", machine(wanted));
  return "";
}

absl::Status Refusal(
    const std::string& path, const std::string& difference,
    absl::string_view remedy = "give another --out, or remove it") {
  return absl::FailedPreconditionError(
      absl::StrCat(path, " holds ", difference, ": ", remedy));
}

// The files of a shard in a run's directory.
struct ShardFiles {
  std::optional<RecordFile> own;     // with which the run can go on
  std::vector<RecordFile> others;    // of unlike machines
  std::optional<std::string> empty;  // ended before its context
  std::string next;                  // the path of the next
};

absl::StatusOr<ShardFiles> FindShardFiles(const std::string& directory,
                                          const records::Context& context) {
  const Shard shard = {.number = static_cast<int>(context.shard()),
                       .count = static_cast<int>(context.shards())};
  ShardFiles files;
  std::error_code error;
  for (int number = 1;; ++number) {
    files.next = RecordPath(directory, shard, number);
    if (!std::filesystem::exists(files.next, error)) return files;
    absl::StatusOr<RecordFile> read = ReadRecordFile(files.next);
    if (absl::IsDataLoss(read.status())) {
      // Killed before its context was whole: there is nothing in it.
      files.empty = files.next;
      continue;
    }
    if (!read.ok()) return read.status();
    std::string difference = RunDifference(read->context, context);
    if (difference.empty() && read->context.shard() != context.shard())
      difference = absl::StrCat("shard ", read->context.shard(), " of ",
                                read->context.shards());
    if (difference.empty() && !NamesFiles(read->context))
      difference = "a run that does not name the files it read";
    if (!difference.empty()) return Refusal(files.next, difference);
    if (!files.own.has_value() &&
        MachineDifference(read->context, context).empty())
      files.own = *std::move(read);
    else
      files.others.push_back(*std::move(read));
  }
}

}  // namespace

std::string RecordPath(const std::string& directory, const Shard& shard,
                       int number) {
  return (std::filesystem::path(directory) /
          absl::StrCat("records-", shard.number, "-of-", shard.count,
                       number > 1 ? absl::StrCat("_", number) : "",
                       kRecordEnding))
      .string();
}

absl::Status CheckRunFolder(const std::string& directory,
                            const records::Context& context) {
  std::error_code error;
  for (std::filesystem::directory_iterator it(directory, error), end;
       !error && it != end; it.increment(error)) {
    if (it->path().extension() != kRecordEnding) continue;
    const absl::StatusOr<RecordFile> other =
        ReadRecordFile(it->path().string());
    if (!other.ok()) continue;  // one that another process begins, or no record
    const std::string difference = RunDifference(other->context, context);
    if (!difference.empty()) return Refusal(other->path, difference);
  }
  return absl::OkStatus();
}

absl::StatusOr<RunFile> OpenRunFile(const std::string& directory,
                                    const records::Context& context,
                                    Onto onto) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error)
    return absl::InvalidArgumentError(
        absl::StrCat("--out ", directory, ": ", error.message()));
  BANYAN_ASSIGN_OR_RETURN(ShardFiles files, FindShardFiles(directory, context));
  BANYAN_RETURN_IF_ERROR(CheckRunFolder(directory, context));
  if (!files.own.has_value() && !files.others.empty() && onto == Onto::kSame)
    return Refusal(
        files.others.front().path,
        MachineDifference(files.others.front().context, context),
        "give --onto new to begin a second file for what is missing, give "
        "another --out, or remove it");
  RunFile file;
  for (RecordFile& other : files.others) {
    BANYAN_ASSIGN_OR_RETURN(file.held.emplace_back(),
                            RecordWriter::Resume(other));
    std::move(other.prompts.begin(), other.prompts.end(),
              std::back_inserter(file.elsewhere));
  }
  if (files.own.has_value()) {
    file.path = files.own->path;
    file.torn_bytes = files.own->torn_bytes;
    BANYAN_ASSIGN_OR_RETURN(file.writer, RecordWriter::Resume(*files.own));
    file.done = std::move(files.own->prompts);
  } else if (files.empty.has_value()) {
    file.path = *files.empty;
    BANYAN_ASSIGN_OR_RETURN(file.writer,
                            RecordWriter::Replace(file.path, context));
  } else {
    file.path = files.next;
    BANYAN_ASSIGN_OR_RETURN(file.writer,
                            RecordWriter::Create(file.path, context));
  }
  return file;
}

absl::Status ShareRecords(RunFile& file, Communicator& ranks) {
  for (std::vector<records::PromptRecord>* list :
       {&file.done, &file.elsewhere}) {
    std::ostringstream out;
    if (ranks.rank() == 0)
      for (const records::PromptRecord& record : *list)
        google::protobuf::util::SerializeDelimitedToOstream(record, &out);
    BANYAN_ASSIGN_OR_RETURN(const std::string text,
                            Broadcast(ranks, out.str()));
    if (ranks.rank() == 0) continue;
    std::istringstream in(text);
    google::protobuf::io::IstreamInputStream stream(&in);
    records::PromptRecord record;
    for (bool at_end = false;;) {
      record.Clear();
      if (google::protobuf::util::ParseDelimitedFromZeroCopyStream(
              &record, &stream, &at_end))
        list->push_back(record);
      else if (at_end)
        break;
      else
        return absl::DataLossError("rank 0 sent records that are none");
    }
  }
  return absl::OkStatus();
}

}  // namespace banyan
