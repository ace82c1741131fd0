#include "tests/support/blocks_held.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <new>

namespace banyan {
namespace {

// An operator has no other place to keep them.
std::size_t counted_bytes = std::numeric_limits<std::size_t>::max();
int held = 0;
int most_held = 0;

// Before each block stands whether it was counted.
constexpr std::size_t kHead = alignof(std::max_align_t);

void* Allocate(std::size_t bytes) {
  auto* const head = static_cast<std::byte*>(std::malloc(kHead + bytes));
  if (head == nullptr) std::abort();
  *head = std::byte{bytes >= counted_bytes};
  if (*head == std::byte{1}) most_held = std::max(most_held, ++held);
  return head + kHead;
}

void Free(void* block) {
  if (block == nullptr) return;
  std::byte* const head = static_cast<std::byte*>(block) - kHead;
  if (*head == std::byte{1}) --held;
  std::free(head);
}

}  // namespace

void CountBlocksFrom(std::size_t bytes) {
  counted_bytes = bytes;
  held = 0;
  most_held = 0;
}

int MostBlocksHeld() { return most_held; }

}  // namespace banyan

void* operator new(std::size_t bytes) { return banyan::Allocate(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t& /*tag*/) noexcept {
  return banyan::Allocate(bytes);
}
void operator delete(void* block) noexcept { banyan::Free(block); }
void operator delete(void* block, std::size_t /*bytes*/) noexcept {
  banyan::Free(block);
}
