// Proves methods on drafters of the catalogue, and counts what it proved.
#ifndef BANYAN_TESTS_CONFORMANCE_DRAFTER_PROOF_H_
#define BANYAN_TESTS_CONFORMANCE_DRAFTER_PROOF_H_

#include <memory>
#include <string>
#include <vector>

#include "core/model/table_model.h"
#include "core/prob/sampling_rule.h"
#include "drafters/drafter.h"
#include "drafters/workbench.h"
#include "tests/conformance/proof.h"
#include "tests/core/checkpoint/files.h"
#include "tests/support/tally.h"
#include "tree/draft_tree.h"

namespace banyan {

// Every example of every drafter of the catalogue, as specs.
std::vector<std::string> DrafterSpecs();
// Those that carry state, with something to carry.
std::vector<std::string> CarryingSpecs();

// The drafter's spec is for messages.
struct DrafterPairing {
  std::string drafter;
  std::string verifier;
  std::string policy;
  DrawKind draw_kind;
  std::string kind = "drafter";  // in the proof record
};

// The strings follow a prompt that repeats itself, so that drafters which learn
// from the text have something to draft by.
class DrafterProof {
 public:
  DrafterProof(const ProofSize& size, double temperature);

  // The drafter of "ngram {history: 0}". A malformed one ends the program.
  std::unique_ptr<Drafter> Make(const std::string& spec);

  // Adds to the tally; fails the test on an error of banyan::Prove.
  void Prove(const DrafterPairing& pairing, std::unique_ptr<Drafter> drafter,
             Tally& tally);

  // In how many proven ones so far a drafted token could be accepted.
  int accepted() const { return accepted_; }

 private:
  ProofSize size_;
  SamplingOptions sampling_;
  TestFolder folder_;  // with a file of counts
  std::shared_ptr<TableModel> target_;
  Workbench bench_;
  int accepted_ = 0;
};

}  // namespace banyan

#endif  // BANYAN_TESTS_CONFORMANCE_DRAFTER_PROOF_H_
