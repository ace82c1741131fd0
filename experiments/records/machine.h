// What a record says of the machine, the build and the files that were read.
#ifndef BANYAN_EXPERIMENTS_RECORDS_MACHINE_H_
#define BANYAN_EXPERIMENTS_RECORDS_MACHINE_H_

#include <string>
#include <vector>

#include "core/base/common.h"
#include "experiments/records/record.pb.h"

namespace banyan {

// What a record says of the machine and the build it comes from.

// ", 2 ranks on 1 machine (mpi)" where ranks share the target, else nothing.
inline std::string RanksText(const records::Machine& machine) {
  if (machine.ranks() <= 1) return "";
  return absl::StrCat(", ", machine.ranks(), " ranks on ", machine.nodes(),
                      machine.nodes() == 1 ? " machine" : " machines", " (",
                      machine.link(), ")");
}

// Returns what a processor's makers call an instruction set of Highway's:
// "AVX-512 with VNNI" of "AVX3_DL". Other names stay.
inline std::string InstructionSetName(const std::string& name) {
  if (name == "AVX3") return "AVX-512";
  if (name == "AVX3_DL") return "AVX-512 with VNNI";
  if (name == "AVX3_ZEN4") return "AVX-512 with VNNI and bf16";
  if (name == "AVX3_SPR") return "AVX-512 with VNNI, bf16 and fp16";
  return name;
}

// ", AVX2", or nothing where the device has one instruction set only.
inline std::string InstructionSetText(const records::Machine& machine) {
  if (machine.instruction_set().empty()) return "";
  return absl::StrCat(", ", InstructionSetName(machine.instruction_set()));
}

// Its device, whether that was told to be fast, and its ranks; records older
// than the field come from the cpu.
inline std::string DeviceOf(const records::Machine& machine) {
  std::string device = machine.device().empty() ? "cpu" : machine.device();
  if (device == "host") device = "emulated_gpu";  // in records of older builds
  return absl::StrCat(device, machine.fast() ? ", fast" : "",
                      RanksText(machine));
}

// The order of sums; empty where there is one only.
inline std::string SumsOf(const records::Machine& machine) {
  const bool cpu = machine.device().empty() || machine.device() == "cpu";
  return machine.sums().empty() && cpu ? "lanes" : machine.sums();
}

// What computes: the GPU in a line, if there is one, and the processor.
inline std::string ProcessorOf(const records::Machine& machine) {
  if (!machine.has_gpu()) return machine.cpu();
  const records::Gpu& gpu = machine.gpu();
  return absl::StrFormat(
      "%s (%s, %.1f GB, %d multiprocessors at %.0f MHz, %d bits of memory at "
      "%.0f MHz, driver %s, built with CUDA %s), beside %s",
      gpu.name(), gpu.capability(), gpu.memory_bytes() / 1e9,
      gpu.multiprocessors(), gpu.clock_mhz(), gpu.memory_bus_bits(),
      gpu.memory_clock_mhz(), gpu.driver(), gpu.runtime(), machine.cpu());
}

// What times depend on, in a line: "AMD EPYC, cpu, AVX2, 2 threads".
inline std::string MachineText(const records::Machine& machine) {
  return absl::StrCat(ProcessorOf(machine), ", ", DeviceOf(machine),
                      InstructionSetText(machine), ", ", machine.threads(),
                      machine.threads() == 1 ? " thread" : " threads");
}

// "threads: 2 | 1" for each fact of build and machine that differs and that
// times depend on. Measured bandwidth and load are not among them: they vary on
// one machine.
std::vector<std::string> MachineDifferences(const records::Context& a,
                                            const records::Context& b);

// Adds "NAME: A | B" if they differ; "-" stands for an empty text.
void AddDifference(absl::string_view name, absl::string_view a,
                   absl::string_view b, std::vector<std::string>& differences);

// Whether more programs wanted to run than there are cores when the run began,
// and a sentence on it.
inline bool IsOverloaded(const records::Machine& machine) {
  return machine.cores() > 0 && machine.load() > machine.cores();
}
inline std::string OverloadText(const records::Machine& machine) {
  return absl::StrFormat(
      "the load was %.1f on %d cores when the run began: other programs were "
      "running, so times and speedups may mislead",
      machine.load(), machine.cores());
}

// Whether two runs of a cell read the same files.
struct FileDifference {
  std::string path;
  std::string a, b;  // fingerprints; empty: it was not read
};

// The files that are not the same in both, by the names of file and folder: the
// same model may lie elsewhere on another machine. Of records older than the
// list of files, the folders whose weights differ.
std::vector<FileDifference> DifferingFiles(const records::Cell& a,
                                           const records::Cell& b);

// The first such file of any cell; empty: there is none. Requires the same
// cells.
std::string FirstDifferingFile(const records::Context& a,
                               const records::Context& b);

// Whether both ran with the same measured costs, or without any.
bool SameCosts(const records::Context& a, const records::Context& b);

// Whether the cells name the files that they read.
bool NamesFiles(const records::Context& context);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_RECORDS_MACHINE_H_
