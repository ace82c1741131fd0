// Lets a program live on when a file that it has mapped is cut short.
#ifndef BANYAN_CORE_BASE_CUT_GUARD_H_
#define BANYAN_CORE_BASE_CUT_GUARD_H_

#include <cstddef>
#include <memory>

#include "absl/types/span.h"

namespace banyan {

struct GuardedRange;

// While one lives, a read in `mapping` of a page that its file no longer has
// (SIGBUS) finds zeros there, and was_hit() says so; elsewhere SIGBUS does what
// it did before. Any number may live at once, on any threads.
class CutGuard {
 public:
  // `mapping` begins where a page does, was mapped for reading and stays mapped
  // while this lives.
  explicit CutGuard(absl::Span<const std::byte> mapping);

  bool was_hit() const;

 private:
  struct Freed {
    void operator()(GuardedRange* range) const;
  };
  std::unique_ptr<GuardedRange, Freed> range_;
};

}  // namespace banyan

#endif  // BANYAN_CORE_BASE_CUT_GUARD_H_
