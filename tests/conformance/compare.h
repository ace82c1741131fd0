// Computes exact output distributions of pairings, to compare methods.
#ifndef BANYAN_TESTS_CONFORMANCE_COMPARE_H_
#define BANYAN_TESTS_CONFORMANCE_COMPARE_H_

#include <memory>
#include <string>

#include "core/model/table_model.h"
#include "experiments/proof/exact_law.h"
#include "tests/conformance/pairing.h"
#include "tree/draft_tree.h"

namespace banyan {

// Returns the output distribution of one round and of the text after the round.
// Ends the test on an error.
ExactLaw OneRound(const Pairing& pairing, int horizon = 3);

// A pairing of one trunk.
Pairing One(std::shared_ptr<TableModel> target, std::string verifier,
            std::string policy, std::shared_ptr<TableModel> drafter,
            DrawKind draw_kind = DrawKind::kIndependent);

// 1 + sum over strings s of min(P(s), Pr[s in the tree]): what no scheme on the
// pairing's trees can exceed in expected tokens (the one after the path
// counted), since s can only be accepted if it is in the tree, and is emitted
// with P(s).
double UpperBound(const Pairing& pairing);

}  // namespace banyan

#endif  // BANYAN_TESTS_CONFORMANCE_COMPARE_H_
