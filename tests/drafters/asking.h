// Asking a drafter without growing a tree.
#ifndef BANYAN_TESTS_DRAFTERS_ASKING_H_
#define BANYAN_TESTS_DRAFTERS_ASKING_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "drafters/drafter.h"
#include "tree/draft_tree.h"

namespace banyan {

// The drafter of "ngram {history: 0}", read as the only line of `file`, for a
// target of so many tokens.
struct AskedFor {
  int vocab_size = 8;
  SamplingOptions sampling = {};
  std::string file = "drafter.yaml";
};
absl::StatusOr<std::unique_ptr<Drafter>> TryBuild(const std::string& spec,
                                                  const AskedFor& asked = {});
// A failure ends the program.
std::unique_ptr<Drafter> MustBuild(const std::string& spec,
                                   const AskedFor& asked = {});
// The message of a refusal; "" if it was built.
std::string Refusal(const std::string& spec, const AskedFor& asked = {});

// A prompt of these tokens, begun.
Context BeginWith(Drafter& drafter, std::vector<TokenId> prompt);
// A round that committed these tokens.
void Commit(Drafter& drafter, std::vector<TokenId> tokens, Context& context);

// The proposal at the root of a new tree.
Distribution AtRoot(Drafter& drafter, const Context& context,
                    DraftLaw law = DraftLaw::kIndependent);
// Its tokens, the largest mass first, ties by rising id.
std::vector<TokenId> Ranked(const Distribution& proposal);

}  // namespace banyan

#endif  // BANYAN_TESTS_DRAFTERS_ASKING_H_
