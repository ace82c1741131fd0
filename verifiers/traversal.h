// Traversal verification: a tree judged from its leaves.
#ifndef BANYAN_VERIFIERS_TRAVERSAL_H_
#define BANYAN_VERIFIERS_TRAVERSAL_H_

#include "verifiers/row.h"

namespace banyan {

// No keys.
VerifierRow TraversalRow();

}  // namespace banyan

#endif  // BANYAN_VERIFIERS_TRAVERSAL_H_
