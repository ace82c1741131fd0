// How many large blocks of memory are held at once. A program that links this
// takes all memory of `new` from here. For one thread.
#ifndef BANYAN_TESTS_SUPPORT_BLOCKS_HELD_H_
#define BANYAN_TESTS_SUPPORT_BLOCKS_HELD_H_

#include <cstddef>

namespace banyan {

// Counts the blocks of at least `bytes` bytes that are allocated from now on.
void CountBlocksFrom(std::size_t bytes);

// The most of them that were held at one time.
int MostBlocksHeld();

}  // namespace banyan

#endif  // BANYAN_TESTS_SUPPORT_BLOCKS_HELD_H_
