// Ranks that are threads of one process.
#ifndef BANYAN_TESTS_SUPPORT_THREAD_RANKS_H_
#define BANYAN_TESTS_SUPPORT_THREAD_RANKS_H_

#include <functional>
#include <memory>

#include "core/device/ranks/communicator.h"

namespace banyan {

// Calls work(ranks) on `count` threads, each with its own, and returns when all
// have returned. A gather whose sizes are not the same on all ends the program.
void OnRanks(
    int count,
    const std::function<void(const std::shared_ptr<Communicator>&)>& work);

}  // namespace banyan

#endif  // BANYAN_TESTS_SUPPORT_THREAD_RANKS_H_
