// Compares a GPU's bits with those that the emulated GPU makes.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/base/common.h"
#include "core/base/input_files.h"
#include "core/base/weight_format.h"
#include "core/ops/backend.h"
#include "core/ops/devices.h"
#include "tests/gpu/gpu_bits.h"
#include "tests/gpu/layer_traffic.h"

namespace banyan {
namespace {

constexpr char kUsage[] =
    "gpu_bits --record         prints the file anew: hashes made by the\n"
    "                          emulated GPU, two minutes on two cores\n"
    "gpu_bits --traffic        prints tests/goldens/gpu_traffic.txt anew\n"
    "gpu_bits DEVICE           compares a device with "
    "tests/goldens/gpu_bits.txt;\n"
    "                          where they part, says in which op, row and "
    "column\n";
constexpr std::size_t kMostBytes = 1 << 20;

int Record() {
  std::vector<BitsLine> lines;
  for (const BitsCase& bits : BitsCases())
    for (absl::string_view core : kBitsCores)
      lines.push_back(
          {bits.model, std::string(Name(bits.format)), std::string(core), {}});
  std::atomic<std::size_t> next = 0;
  std::vector<std::thread> workers;
  for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency());
       ++i)
    workers.emplace_back([&] {
      for (std::size_t at = next++; at < lines.size(); at = next++) {
        BitsLine& line = lines[at];
        line.bits = PredictBits({line.model, *FindFormat(line.format)},
                                EmulatedGpuOf(line.core));
        std::fprintf(stderr, "%zu of %zu: %s %s %s\n", at + 1, lines.size(),
                     line.model.c_str(), line.format.c_str(),
                     line.core.c_str());
      }
    });
  for (std::thread& worker : workers) worker.join();
  std::cout << WriteBits(lines);
  return 0;
}

// Returns the first number of rows whose logits differ. Requires that some do.
int Differing(const BitsOf& got, const BitsOf& expected) {
  std::size_t i = 0;
  while (got.logits[i] == expected.logits[i]) ++i;
  return kBitsRows[i];
}

int Compare(const std::string& device) {
  auto opened = OpenDevice(device);
  if (!opened.ok()) {
    std::cerr << "gpu_bits: " << opened.status().message() << "\n";
    return 2;
  }
  const std::shared_ptr<Backend> backend = *std::move(opened);
  const auto text = ReadFile(kBitsFile, kMostBytes);
  const auto lines = text.ok() ? ReadBits(*text) : text.status();
  if (!lines.ok()) {
    std::cerr << "gpu_bits: " << lines.status().message() << "\n";
    return 2;
  }
  const absl::string_view core = CoreOf(*backend);
  std::cout << backend->description() << ", tensor cores as of " << core
            << "\n";
  const std::vector<int> rows(std::begin(kBitsRows), std::end(kBitsRows));
  int same = 0;
  int apart = 0;
  for (const BitsLine& line : *lines) {
    if (line.core != core) continue;
    const BitsCase bits = {line.model, *FindFormat(line.format)};
    const BitsOf got = MeasureBits(bits, backend, rows);
    const bool logits = got.logits == line.bits.logits;
    if (got.rotation != line.bits.rotation)
      std::cout << bits.ToText() << ": other angles\n";
    if (got.weights != line.bits.weights)
      std::cout << bits.ToText() << ": other packed matrices\n";
    if (got.rotation == line.bits.rotation &&
        got.weights == line.bits.weights && logits) {
      ++same;
      continue;
    }
    ++apart;
    if (logits) continue;
    const int differing = Differing(got, line.bits);
    std::cout << bits.ToText() << ", " << differing << " rows: "
              << WhereTheyPart(bits, differing, backend, EmulatedGpuOf(core))
                     .value_or(
                         "no op differs on this machine, so the file "
                         "comes from other kernels")
              << std::endl;
  }
  std::cout << same << " cases are the file's to the bit, " << apart
            << " are not\n";
  return same > 0 && apart == 0 ? 0 : 1;
}

int Main(int count, char** arguments) {
  const std::string what = count == 2 ? arguments[1] : "--help";
  if (what == "--record") return Record();
  if (what == "--traffic") {
    std::cout << WriteTraffic();
    return 0;
  }
  if (what.empty() || what.front() == '-') {
    std::cout << kUsage;
    return what == "--help" && count == 2 ? 0 : 2;
  }
  return Compare(what);
}

}  // namespace
}  // namespace banyan

int main(int count, char** arguments) { return banyan::Main(count, arguments); }
