// What a record says of the machine it comes from.
#ifndef BANYAN_EXPERIMENTS_RECORDS_MACHINE_H_
#define BANYAN_EXPERIMENTS_RECORDS_MACHINE_H_

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "experiments/records/record.pb.h"

namespace banyan {

// Its device, and whether that was told to be fast; records older than the
// field come from the cpu.
inline std::string DeviceOf(const records::Machine& machine) {
  return absl::StrCat(machine.device().empty() ? "cpu" : machine.device(),
                      machine.fast() ? ", fast" : "");
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

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_RECORDS_MACHINE_H_
