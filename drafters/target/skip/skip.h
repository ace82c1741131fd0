// Skipping: the target without some of its blocks drafts for the whole (Draft &
// Verify, Zhang et al., arXiv:2309.08168). Attention and feed-forward of a
// layer are two blocks, each of which only adds to what flows past it.
//
// Drafting takes no cache of its own, and no weights unless it is told to run
// with the same model's in another format: then it is the target in less
// detail, whether blocks are skipped or none. Which blocks are worth skipping
// `banyan make layers` finds.
#ifndef BANYAN_DRAFTERS_TARGET_SKIP_SKIP_H_
#define BANYAN_DRAFTERS_TARGET_SKIP_SKIP_H_

#include "drafters/row.h"

namespace banyan {

DrafterRow SkipRow();

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_TARGET_SKIP_SKIP_H_
