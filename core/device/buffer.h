// Buffer: memory of one device. What it holds is known to the backend that made
// it; everyone else passes it on.
#ifndef BANYAN_CORE_DEVICE_BUFFER_H_
#define BANYAN_CORE_DEVICE_BUFFER_H_

#include <cstddef>

namespace banyan {

class Buffer {
 public:
  virtual ~Buffer() = default;
  virtual std::size_t bytes() const = 0;
};

}  // namespace banyan

#endif  // BANYAN_CORE_DEVICE_BUFFER_H_
