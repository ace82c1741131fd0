// A machine of little memory.
#ifndef BANYAN_TESTS_SUPPORT_LITTLE_MEMORY_H_
#define BANYAN_TESTS_SUPPORT_LITTLE_MEMORY_H_

#include <sys/resource.h>

namespace banyan {

// While it exists, programs that are started have `bytes` bytes of addresses.
// What allocates in this one may fail too.
class LittleMemory {
 public:
  explicit LittleMemory(rlim_t bytes) {
    getrlimit(RLIMIT_AS, &limit_);
    const rlimit little = {bytes, limit_.rlim_max};
    setrlimit(RLIMIT_AS, &little);
  }
  ~LittleMemory() { setrlimit(RLIMIT_AS, &limit_); }
  LittleMemory(const LittleMemory&) = delete;
  LittleMemory& operator=(const LittleMemory&) = delete;

 private:
  rlimit limit_ = {};
};

}  // namespace banyan

#endif  // BANYAN_TESTS_SUPPORT_LITTLE_MEMORY_H_
