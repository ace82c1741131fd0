// What is said of a proof that failed: where its mistake shows first, and which
// known mistake it is like.
#ifndef BANYAN_TESTS_CONFORMANCE_FAULT_H_
#define BANYAN_TESTS_CONFORMANCE_FAULT_H_

#include <string>

#include "core/model/table_model.h"
#include "decode/decoder.h"
#include "experiments/proof/exact_law.h"

namespace banyan {

// Sums of up to 200,000 products of some ten factors, each rounded to 1e-16.
inline constexpr double kProofRounding = 1e-12;

// For a decoder whose exact distribution `off` is not the target's, of these
// options. In lines: the smallest tree that is off when the decoder drafts it
// (its own, if none of the ladder is), the first output that is off there with
// the tree it came from, and the control whose error is most like it. Changes
// the decoder's policies and verifier.
std::string DescribeFault(const TableModel& target, Decoder& decoder,
                          const LawOptions& options, ExactLaw off);

}  // namespace banyan

#endif  // BANYAN_TESTS_CONFORMANCE_FAULT_H_
