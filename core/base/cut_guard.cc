#include "core/base/cut_guard.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "absl/types/span.h"
#include "core/base/check.h"

namespace banyan {

// In a list that a signal handler walks: a range that is no longer guarded
// stays in it, empty, for the next guard.
struct GuardedRange {
  std::atomic<std::uintptr_t> begin = 0;
  std::atomic<std::uintptr_t> end = 0;
  std::atomic<bool> was_hit = false;
  bool is_taken = true;          // under the list's mutex
  GuardedRange* next = nullptr;  // never changes once it is in the list
};

namespace {

static_assert(std::atomic<std::uintptr_t>::is_always_lock_free &&
                  std::atomic<GuardedRange*>::is_always_lock_free,
              "a signal handler reads them");

std::atomic<GuardedRange*> first_range = nullptr;
std::uintptr_t page_bytes = 0;        // set before the handler is
struct sigaction action_before = {};  // as well

void PutZeros(int signal, siginfo_t* about, void* /*context*/) {
  const auto address = reinterpret_cast<std::uintptr_t>(about->si_addr);
  for (GuardedRange* range = first_range; range != nullptr;
       range = range->next) {
    if (address < range->begin || address >= range->end) continue;
    const std::uintptr_t page = address / page_bytes * page_bytes;
    range->was_hit = true;  // before another thread may read zeros
    if (mmap(reinterpret_cast<void*>(page), page_bytes, PROT_READ,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
      break;
    return;
  }
  // The instruction is tried again, and this signal is as it was.
  sigaction(signal, &action_before, nullptr);
}

std::mutex& ListMutex() {
  static std::mutex mutex;
  return mutex;
}

void Install() {
  page_bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  struct sigaction action = {};
  action.sa_sigaction = &PutZeros;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  Check(sigaction(SIGBUS, nullptr, &action_before) == 0 &&
            sigaction(SIGBUS, &action, nullptr) == 0,
        "SIGBUS can be handled");
}

// One that is in the list.
GuardedRange* Take() {
  const std::lock_guard<std::mutex> lock(ListMutex());
  if (first_range == nullptr) Install();
  for (GuardedRange* range = first_range; range != nullptr;
       range = range->next) {
    if (range->is_taken) continue;
    range->is_taken = true;
    range->was_hit = false;
    return range;
  }
  auto* const range = new GuardedRange;
  range->next = first_range;
  first_range = range;
  return range;
}

}  // namespace

CutGuard::CutGuard(absl::Span<const std::byte> mapping) : range_(Take()) {
  range_->begin = reinterpret_cast<std::uintptr_t>(mapping.data());
  range_->end = range_->begin + mapping.size();
}

bool CutGuard::was_hit() const { return range_->was_hit; }

void CutGuard::Freed::operator()(GuardedRange* range) const {
  range->end = 0;  // first: nothing lies before it
  range->begin = 0;
  const std::lock_guard<std::mutex> lock(ListMutex());
  range->is_taken = false;
}

}  // namespace banyan
