// Published heads come as pickles too, which nothing here reads.
#ifndef BANYAN_DRAFTERS_HEADS_PICKLES_H_
#define BANYAN_DRAFTERS_HEADS_PICKLES_H_

#include <string>

namespace banyan {

// What to do with a pickle in this folder, "a pickle: scripts/train convert
// FILE --out DIR makes them of it"; empty if there is none.
std::string PickleIn(const std::string& directory);

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_HEADS_PICKLES_H_
