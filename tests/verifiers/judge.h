// One judgement of a verifier, with its rows and its chance laid down.
#ifndef BANYAN_TESTS_VERIFIERS_JUDGE_H_
#define BANYAN_TESTS_VERIFIERS_JUDGE_H_

#include <string>
#include <vector>

#include "core/base/token.h"
#include "core/model/context.h"
#include "core/prob/distribution.h"
#include "core/random/random_source.h"
#include "tests/support/decoding.h"
#include "tests/support/shared_models.h"
#include "tree/draft_tree.h"
#include "tree/verdict.h"
#include "verifiers/verifier.h"

namespace banyan {

// Returns the verification result (verdict) of a tree whose target distribution
// at node i is rows[i]. A random number beyond the tape ends the program.
inline Verdict Judge(const std::string& verifier, const DraftTree& tree,
                     const std::vector<Distribution>& rows,
                     const std::vector<double>& tape) {
  FixedRows target(rows);
  ScriptedSource source(tape);
  const Context context = ContextOf({0});
  return VerifierOf(verifier)->Verify(
      tree, target, Chance(source, context.prompt, context.round));
}

// One draw of `token`, judged by q, under a root whose token is 9.
inline DraftTree OneDraw(TokenId token, const Distribution& q) {
  std::vector<Node> nodes(2);
  nodes[0] = {
      .token = 9,
      .children = {1},
      .lists = {{.proposal = {q},
                 .draws = {{.token = token, .child = 1, .proposal = q}}}}};
  nodes[1] = {.token = token, .parent = 0, .depth = 1};
  return DraftTree(nodes);
}

}  // namespace banyan

#endif  // BANYAN_TESTS_VERIFIERS_JUDGE_H_
