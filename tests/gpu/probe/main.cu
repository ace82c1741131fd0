// Measures the constants of a GPU that the design of the kernels rests on.
//
//   gpu_probe               all sections, in half a minute
//   gpu_probe SECTION ...   these alone
//
// Needs compute capability 9.0. A wait of more than some two seconds traps,
// which ends a process's use of the GPU: so every section is a process of its
// own, of 60 seconds at most, and one that fails stops no other.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/gpu/probe/probe-inl.h"

namespace banyan::probe {
namespace {

struct Section {
  const char* name;
  void (*run)();
};
constexpr Section kSections[] = {
    {"bits", CompareBits},         {"letters", MeasureLetters},
    {"launches", MeasureLaunches}, {"memory", MeasureMemory},
    {"cache", MeasureCache},       {"clusters", MeasureClusters}};

const Section* Find(const std::string& name) {
  for (const Section& section : kSections)
    if (name == section.name) return &section;
  return nullptr;
}

void PrintGpu() {
  cudaDeviceProp gpu;
  BANYAN_MUST(cudaGetDeviceProperties(&gpu, 0));
  int driver = 0;
  BANYAN_MUST(cudaDriverGetVersion(&driver));
  std::printf(
      "%s, %d multiprocessors, second-level cache %.0f MB, shared memory %zu "
      "KB a block, driver for CUDA %d\n",
      gpu.name, gpu.multiProcessorCount, gpu.l2CacheSize / 1e6,
      gpu.sharedMemPerBlockOptin >> 10, driver);
}

int Main(int count, char** arguments) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  std::vector<std::string> names(arguments + 1, arguments + count);
  if (count == 3 && names[0] == "--section") {  // of this program alone
    alarm(60);
    Find(names[1])->run();
    return 0;
  }
  for (const std::string& name : names)
    if (Find(name) == nullptr) {
      std::fprintf(stderr, "gpu_probe [SECTION ...]: no section %s; there are",
                   name.c_str());
      for (const Section& section : kSections)
        std::fprintf(stderr, " %s", section.name);
      std::fprintf(stderr, "\n");
      return 2;
    }
  if (names.empty()) {
    PrintGpu();
    for (const Section& section : kSections) names.emplace_back(section.name);
  }
  int failed = 0;
  for (const std::string& name : names) {
    const std::string command =
        "'" + std::string(arguments[0]) + "' --section " + name;
    if (std::system(command.c_str()) != 0) {
      std::printf("section %s failed\n", name.c_str());
      ++failed;
    }
  }
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace banyan::probe

int main(int count, char** arguments) {
  return banyan::probe::Main(count, arguments);
}
