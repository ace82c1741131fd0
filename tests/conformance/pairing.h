// Builds methods for the proof machine from sections written in YAML.
#ifndef BANYAN_TESTS_CONFORMANCE_PAIRING_H_
#define BANYAN_TESTS_CONFORMANCE_PAIRING_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/model/table_model.h"
#include "core/prob/sampling_rule.h"
#include "decode/decoder.h"
#include "decode/method.h"
#include "tree/draft_tree.h"

namespace banyan {

// Two distributions are the same within kRounding. A wrong method is caught if
// it is off by kCaught.
inline constexpr double kRounding = 1e-12;
inline constexpr double kCaught = 1e-3;

// One trunk of a pairing: a policy over a small_model drafter on this table.
struct PairedTrunk {
  std::string policy;  // "chain {nodes: 2}"
  std::shared_ptr<TableModel> model;
  std::optional<DrawKind> draw_kind;  // left out: the verifier's preference
};

struct Pairing {
  std::shared_ptr<TableModel> target;
  std::string verifier;  // "multi_round {order: shuffled}"
  std::vector<PairedTrunk> trunks;
  SamplingOptions sampling = {};
};

// "name {key: value}" as a section with its name.
std::string Section(const std::string& spec);

// Every verifier of the catalogue, alone and with each of its variants.
std::vector<std::string> VerifierSpecs();

// The decoder; a refusal (decode/method.h), if the parts do not go together; or
// what is malformed.
absl::StatusOr<Decoder> Build(const Pairing& pairing);
// The same with a verifier that stands in no catalogue.
absl::StatusOr<Decoder> BuildWith(const Pairing& pairing,
                                  std::unique_ptr<Verifier> verifier);

// Whether a decoder could not be made because it was refused: its parts are
// well formed and do not go together. Another error is a test's own mistake.
bool IsRefusal(const absl::Status& status);

// "multi_round + chain {nodes: 2} (independent)", for failure messages.
std::string Describe(const Pairing& pairing);

}  // namespace banyan

#endif  // BANYAN_TESTS_CONFORMANCE_PAIRING_H_
