// Asking a drafter without growing a tree.
#ifndef BANYAN_TESTS_DRAFTERS_ASKING_H_
#define BANYAN_TESTS_DRAFTERS_ASKING_H_

#include <memory>
#include <string>
#include <vector>

#include "core/base/token.h"
#include "core/model/context.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "drafters/drafter.h"
#include "tests/support/solo.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"

namespace banyan {

// The drafter of "ngram {history: 0}", read as the only line of `file`, for a
// target of this many tokens. A failure ends the program.
struct AskedFor {
  int vocab_size = 8;
  SamplingOptions sampling = {};
  std::string file = "drafter.yaml";
};
std::unique_ptr<Drafter> MustBuild(const std::string& spec,
                                   const AskedFor& asked = {});
// The same with a session.
std::unique_ptr<Solo> MustAsk(const std::string& spec,
                              const AskedFor& asked = {});
// The message of a refusal; "" if it was built.
std::string Refusal(const std::string& spec, const AskedFor& asked = {});

// A prompt of these tokens, begun by a new session.
Context BeginWith(Solo& drafter, std::vector<TokenId> prompt);
// The same by the session that was made already, which has begun none.
Context BeginAsMade(const Solo& drafter, std::vector<TokenId> prompt);
// A round that committed these tokens.
void Commit(Solo& drafter, std::vector<TokenId> tokens, Context& context);
// The prompt has ended; later ones are taught if the drafter carries state.
void Finish(Solo& drafter, const Context& context);

// Has a session that takes part in the target's pass plant its probes.
void PlantProbes(const Solo& drafter, const Context& context, int max_depth,
                 TrunkTree& tree);

// The proposal at the root of a new tree.
Distribution AtRoot(Solo& drafter, const Context& context,
                    DrawKind draw_kind = DrawKind::kIndependent);
// Its tokens, the largest mass first, ties by rising id.
std::vector<TokenId> Ranked(const Distribution& proposal);

}  // namespace banyan

#endif  // BANYAN_TESTS_DRAFTERS_ASKING_H_
