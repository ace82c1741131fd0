#include "core/device/free_memory.h"

#include <algorithm>
#include <fstream>
#include <string>

namespace banyan {
namespace {

// The number in a file of one number, such as the files of a control group
// have; nothing for a file without one ("max").
std::optional<std::uint64_t> NumberIn(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t number = 0;
  if (file >> number) return number;
  return std::nullopt;
}

std::optional<std::uint64_t> Available() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  std::uint64_t kilobytes = 0;
  std::string unit;
  while (file >> name >> kilobytes) {
    std::getline(file, unit);
    if (name == "MemAvailable:") return kilobytes * 1024;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> FreeMemory() {
  std::optional<std::uint64_t> free = Available();
  const auto limit = NumberIn("/sys/fs/cgroup/memory.max");
  const auto used = NumberIn("/sys/fs/cgroup/memory.current");
  if (limit.has_value() && used.has_value()) {
    const std::uint64_t left = *limit > *used ? *limit - *used : 0;
    free = std::min(free.value_or(left), left);
  }
  return free;
}

}  // namespace banyan
