#include "core/device/ranks/launched.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/numbers.h"

namespace banyan {
namespace {

bool ReadNumber(const char* name, int& out) {
  const char* const text = std::getenv(name);
  return text != nullptr && absl::SimpleAtoi(text, &out);
}

}  // namespace

Launch HowLaunched() {
  constexpr struct {
    const char* rank;
    const char* ranks;
  } kLaunchers[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                    {"PMI_RANK", "PMI_SIZE"}};
  for (const auto& launcher : kLaunchers) {
    Launch launch;
    if (ReadNumber(launcher.rank, launch.rank) &&
        ReadNumber(launcher.ranks, launch.ranks))
      return launch;
  }
  return {};
}

std::string LaunchedWith() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  std::replace(text.begin(), text.end(), '\0', ' ');
  const std::size_t program = text.find(' ');
  return program == std::string::npos ? "" : text.substr(program + 1);
}

}  // namespace banyan
