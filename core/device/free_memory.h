// How much memory the system can still give.
#ifndef BANYAN_CORE_DEVICE_FREE_MEMORY_H_
#define BANYAN_CORE_DEVICE_FREE_MEMORY_H_

#include <cstdint>
#include <optional>

namespace banyan {

// Returns the bytes that new buffers can have without swapping: those that
// Linux calls available, or what is left of the limit of this process's control
// group, if that is less. Nothing where the system does not say.
std::optional<std::uint64_t> FreeMemory();

}  // namespace banyan

#endif  // BANYAN_CORE_DEVICE_FREE_MEMORY_H_
