// A model of SmolLM2-135M's shape whose weights are all 0. Experiments on the
// model that scripts/models downloads are checked with it: a check opens the
// models, and computes nothing.
#ifndef BANYAN_TESTS_SUPPORT_MADE_EMPTY_MODEL_H_
#define BANYAN_TESTS_SUPPORT_MADE_EMPTY_MODEL_H_

#include <string>

namespace banyan {

// Makes it in `folder`, which is new, with the tokenizer of the drafters that
// ship. The weights take no room on the disk. A failure ends the program.
void MakeEmptySmolLm2(const std::string& folder);

}  // namespace banyan

#endif  // BANYAN_TESTS_SUPPORT_MADE_EMPTY_MODEL_H_
