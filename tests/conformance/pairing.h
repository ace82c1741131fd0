// Builds methods for the proof machine from sections written in YAML.
#ifndef BANYAN_TESTS_CONFORMANCE_PAIRING_H_
#define BANYAN_TESTS_CONFORMANCE_PAIRING_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/model/table_model.h"
#include "core/prob/sampling_rule.h"
#include "decode/decoder.h"
#include "decode/method.h"
#include "tree/draft_tree.h"

namespace banyan {

// One trunk of a pairing: a policy over a small_model drafter on this table.
struct TrunkSpec {
  std::string policy;  // "chain {gamma: 2}"
  std::shared_ptr<TableModel> model;
  std::optional<DraftLaw> law;  // left out: the verifier's preference
};

struct Pairing {
  std::shared_ptr<TableModel> target;
  std::string verifier;  // "multi_round {order: shuffled}"
  std::vector<TrunkSpec> trunks;
  SamplingOptions sampling = {};
};

// "name {key: value}" as a section with its name.
std::string Section(const std::string& spec);

// The decoder, or the reason why the parts do not go together.
absl::StatusOr<Decoder> Build(const Pairing& pairing);
// The same with a verifier that stands in no catalogue.
absl::StatusOr<Decoder> BuildWith(const Pairing& pairing,
                                  std::unique_ptr<Verifier> verifier);

// "multi_round + chain {gamma: 2} (independent)", for failure messages.
std::string Describe(const Pairing& pairing);

}  // namespace banyan

#endif  // BANYAN_TESTS_CONFORMANCE_PAIRING_H_
