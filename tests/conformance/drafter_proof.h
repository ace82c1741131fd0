// Proves methods on drafters of the catalogue, and counts what it proved.
#ifndef BANYAN_TESTS_CONFORMANCE_DRAFTER_PROOF_H_
#define BANYAN_TESTS_CONFORMANCE_DRAFTER_PROOF_H_

#include <cstdint>
#include <memory>
#include <string>

#include "core/model/table_model.h"
#include "core/prob/sampling_rule.h"
#include "drafters/drafter.h"
#include "drafters/workbench.h"
#include "tests/core/checkpoint/files.h"
#include "tree/draft_tree.h"

namespace banyan {

// How a pairing is enumerated. A pairing that needs more leaves is left to the
// smaller sizes; `all_fit` says that none may.
struct ProofSize {
  int letters;  // 2 or 3
  int rounds;
  int horizon;
  std::int64_t max_leaves;
  bool all_fit;
};

// The drafter's spec is for messages.
struct DrafterPairing {
  std::string drafter;
  std::string verifier;
  std::string policy;
  DraftLaw law;
};

// The strings follow a prompt that repeats itself, so that drafters which learn
// from the text have something to draft by.
class DrafterProof {
 public:
  DrafterProof(const ProofSize& size, double temperature);

  // The drafter of "ngram {history: 0}". A malformed one ends the program.
  std::unique_ptr<Drafter> Make(const std::string& spec);

  // Fails the test if the pairing is lawful and its law is not the target's.
  void Prove(const DrafterPairing& pairing, std::unique_ptr<Drafter> drafter);

  // Lawful ones so far, and in how many a drafted token could be accepted.
  int pairings() const { return pairings_; }
  int accepted() const { return accepted_; }

 private:
  ProofSize size_;
  SamplingOptions sampling_;
  TestFolder folder_;  // with a file of counts
  std::shared_ptr<TableModel> target_;
  Workbench bench_;
  int pairings_ = 0;
  int accepted_ = 0;
};

}  // namespace banyan

#endif  // BANYAN_TESTS_CONFORMANCE_DRAFTER_PROOF_H_
