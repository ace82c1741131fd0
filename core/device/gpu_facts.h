// What a GPU is, for records.
#ifndef BANYAN_CORE_DEVICE_GPU_FACTS_H_
#define BANYAN_CORE_DEVICE_GPU_FACTS_H_

#include <cstddef>
#include <string>

namespace banyan {

struct GpuFacts {
  std::string name;        // empty: there is none, and all else is empty
  std::string capability;  // "9.0"
  std::string driver;      // its release, and the CUDA it is for
  std::string runtime;     // the CUDA that this program was built with
  std::size_t memory_bytes = 0;
  int multiprocessors = 0;
  double clock_mhz = 0;         // theirs, at most
  double memory_clock_mhz = 0;  // likewise
  int memory_bus_bits = 0;
};

}  // namespace banyan

#endif  // BANYAN_CORE_DEVICE_GPU_FACTS_H_
