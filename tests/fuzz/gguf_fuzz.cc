#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "tests/fuzz/model_targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  (void)banyan::FuzzGguf(
      absl::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
