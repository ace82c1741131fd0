// A corpus index in the tokens of the models that ship.
#ifndef BANYAN_TESTS_SUPPORT_MADE_SHIPPED_INDEX_H_
#define BANYAN_TESTS_SUPPORT_MADE_SHIPPED_INDEX_H_

#include <string>

namespace banyan {

// The folder of an index of the project's own Python, in the place of the one
// that scripts/corpus_index makes. Made at the first call, gone when the
// program ends. A failure ends the program.
const std::string& ShippedIndex();

}  // namespace banyan

#endif  // BANYAN_TESTS_SUPPORT_MADE_SHIPPED_INDEX_H_
