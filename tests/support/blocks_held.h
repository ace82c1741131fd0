// How many large blocks of memory are held at once. A program that links this
// takes all memory of `new` from here. For one thread.
#ifndef BANYAN_TESTS_SUPPORT_BLOCKS_HELD_H_
#define BANYAN_TESTS_SUPPORT_BLOCKS_HELD_H_

#include <cstddef>

namespace banyan {

// Counts blocks of at least so many bytes among those allocated from now on.
void CountBlocksFrom(std::size_t bytes);

// The most of them that were held at one time.
int MostBlocksHeld();

}  // namespace banyan

#endif  // BANYAN_TESTS_SUPPORT_BLOCKS_HELD_H_
