// Computes the exact output distribution of a method on a toy model, by
// enumerating every choice of its drafters and its verifier.
//
// `banyan exact` reads the models and the method from a file.
#ifndef BANYAN_EXPERIMENTS_PROOF_EXACT_LAW_H_
#define BANYAN_EXPERIMENTS_PROOF_EXACT_LAW_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/params.h"
#include "core/base/token.h"
#include "core/model/table_model.h"
#include "core/prob/sampling_rule.h"
#include "core/random/random_source.h"
#include "decode/decoder.h"
#include "drafters/workbench.h"

namespace banyan {

// Probability by string.
using StringLaw = std::map<std::vector<TokenId>, double>;

struct LawOptions {
  int horizon = 1;  // length of the strings
  // Number of rounds that the method runs, enumerated jointly, so that
  // randomness carried from one round into the next shows. Tokens missing to
  // the horizon are then drawn from the target distribution. 0: the method
  // runs every round, and each round is enumerated by itself.
  int rounds = 0;
  std::int64_t max_branches = 1'000'000;
  // After begin(): what the strings follow. Drafters that learn from the text
  // then have something to go by.
  std::vector<TokenId> prompt = {};
  // For controls that tamper with chance; null for none.
  std::function<std::unique_ptr<RandomSource>(RandomSource&)> wrap = nullptr;
};

struct ExactLaw {
  StringLaw law;
  StringLaw target_law;
  double max_abs_error = 0;    // over strings
  double total_variation = 0;  // half the sum of absolute differences
  // Of the first round, not cut at the horizon; the token after the path
  // counts.
  double expected_tokens_per_round = 0;
  // Over the rounds that are enumerated jointly with the first: the drafted
  // tokens that are accepted.
  double expected_accepted = 0;
  // [d - 1]: the probability that the first round accepts at least d tokens.
  std::vector<double> acceptance_per_depth;
  std::int64_t branches = 0;  // leaves of all enumerations
};

// Returns the output distribution of the next `horizon` tokens after begin()
// and the prompt. Fails
//  - naming the number, if the enumeration takes more than max_branches leaves;
//  - if a drafter carries state, since no run may depend on earlier runs;
//  - as decoding fails.
absl::StatusOr<ExactLaw> ComputeExactLaw(const TableModel& target,
                                         Decoder& decoder,
                                         const LawOptions& options);

// The file `banyan exact` reads: toy models as tables, and the method to run on
// them. docs/formats.md describes it.
struct ExactFile {
  int vocab_size = 0;
  LawOptions options;
  std::shared_ptr<TableModel> target;  // outlives the decoder
  std::unique_ptr<Workbench> bench;    // likewise, with the drafters' tables
  std::unique_ptr<Decoder> decoder;
  std::string control;  // what was broken on purpose; empty: nothing
};

// Everything the outside can get wrong is an error with file, line and column.
absl::StatusOr<ExactFile> ReadExactFile(const Params& file);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_PROOF_EXACT_LAW_H_
