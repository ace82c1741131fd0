// MethodSpec: what a method file, or a method of an experiment, says. It is
// read once (read_method.h); whatever is decided for the method later is
// assigned here.
#ifndef BANYAN_EXPERIMENTS_PLAN_METHOD_SPEC_H_
#define BANYAN_EXPERIMENTS_PLAN_METHOD_SPEC_H_

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/base/messages.h"
#include "core/base/params.h"
#include "decode/method.h"
#include "experiments/plan/costs.h"
#include "experiments/plan/joint_costs.h"
#include "tree/policies/row.h"

namespace banyan {

// Which model an experiment or a method names, and how its weights are kept.
struct ModelSpec {
  std::string directory;
  // How weights are kept in memory: f32, bf16, q8 or q4; or auto, which is q4
  // if some matrix is stored in blocks of four bits (GGUF), q8 if some are in
  // other blocks, bf16 if every matrix is BF16, and else f32.
  std::string weights = "auto";
  // Of a packed model, what its weights may take ("1.5GB"): layers that have no
  // room are read from its file in every pass. Empty: all are in memory.
  std::string memory = {};
  // Of `memory`, what drafters take, in bytes; and the format of the copies
  // that a method has of layers which are read from disk, empty without copies.
  std::size_t reserved = 0;
  std::string copies = {};
  // A packed target's own drafter, which may have another format.
  bool copy = false;

  bool operator==(const ModelSpec&) const = default;
};

// The formats that ModelSpec may name, for messages, and whether `name` is one.
inline constexpr char kWeightsNames[] = "auto, f32, bf16, q8 or q4";
bool IsWeightsName(absl::string_view name);

// The format that `weights` names; empty where it is `auto`.
std::string StatedWeights(const ModelSpec& spec);

// Takes `directory`, relative to the file that names it, and `weights` and
// `memory`, which may be left out. Errors are the reader's.
ModelSpec TakeModelSpec(ParamsReader& in);

// PolicySpec: a policy of a method, as plans read and change it.
//
// A policy's own keys are its row's matter. What an experiment decides for it
// is here: its size, the costs that it chooses by, the kind of its draws.
// Nothing else in a plan knows under which keys these stand.

// The value `measured` in an experiment file (measured.h).
inline constexpr char kMeasured[] = "measured";

class PolicySpec {
 public:
  PolicySpec() = default;
  explicit PolicySpec(Params section) : section_(std::move(section)) {}

  // What BuildPolicy reads.
  const Params& section() const { return section_; }
  const Origin& place() const { return section_.origin(); }
  // Null: there is no such policy, which BuildPolicy says.
  const PolicyRow* row() const;

  // Whether its size or its costs are left to the machine (measured.h). A size
  // can be where a number of nodes and one of levels say it.
  bool measures_size() const;
  bool measures_costs() const;
  bool measures() const { return measures_size() || measures_costs(); }
  // Fails for an unknown policy, and where one that takes no costs leaves them
  // to the machine.
  absl::Status CheckTakesCosts() const;

  // Whether it includes costs (costs.h) in the place of numbers.
  bool includes_costs() const;
  // Puts the numbers that answer `question` for these drafters in the place of
  // costs (costs.h) that the section includes as `acceptance`, `accuracies`,
  // `target_ms` (with the level as `draft_ms`, if it is not stated),
  // `draft_ms`, or, of a policy of all drafters, as `alone` (with what is known
  // of them together). Other policies have one drafter. Fails, at the key,
  // where the costs have none for such drafters. Adds a sentence to `notes`,
  // unless it is there, where a table is of another drafter or target.
  absl::Status PutStatedCosts(CostQuestion question,
                              const std::vector<CountedDrafter>& drafters,
                              std::vector<std::string>& notes);

  // 0: not stated, or no number, which BuildPolicy says.
  int nodes() const;
  int levels() const;
  int width() const;

  // In the place of whatever else states the shape. Fails, at `nodes`, for a
  // policy that a number of nodes does not size. `nodes` may be `measured`.
  absl::Status SetNodes(const Params& nodes);
  void SetSize(int nodes, int levels);
  // In the place of what the section says of another machine or drafter.
  void SetAcceptance(const std::vector<double>& by_rank);
  void SetCosts(const std::map<int, double>& target_ms, double draft_ms);
  void DropCosts();
  // The same of a policy of all drafters; `draft_ms` by drafter.
  void SetCosts(const std::map<int, double>& target_ms,
                const std::vector<double>& draft_ms,
                const JointNumbers& acceptance);
  bool of_method() const { return row() != nullptr && row()->of_method; }
  // The kind of draws that it states, or else the only one that it has; empty:
  // neither.
  std::string draws() const;
  // How many sequences share a pass, for a policy with costs that does not say.
  void SetBatch(int batch);
  // The kind of draws that `other` states, if it does; or else the only one
  // that it has.
  void TakeStatedDraws(const PolicySpec& other);
  void TakeDraws(const PolicySpec& other);
  void SetDraws(absl::string_view draws);

 private:
  void Set(absl::string_view key, Params value);
  void Drop(absl::string_view key);
  int IntAt(absl::string_view key) const;
  bool Says(absl::string_view key, absl::string_view text) const;
  void SetCurve(const std::map<int, double>& target_ms);
  absl::Status PutStated(absl::string_view key, const Costs& costs,
                         const CostQuestion& question,
                         std::vector<std::string>& notes);
  absl::Status PutTogether(absl::string_view key, const Costs& costs,
                           CostQuestion question,
                           const std::vector<CountedDrafter>& drafters,
                           std::vector<std::string>& notes);
  void SetJoint(const JointNumbers& numbers);
  // Where the key was written; else where the section was.
  const Origin& KeyPlace(absl::string_view key) const;
  // Notes, once, where numbers are not of the question's drafter or target.
  void NoteOthers(absl::string_view key, const CostQuestion& question,
                  const std::string& drafter, const std::string& target,
                  std::vector<std::string>& notes) const;

  Params section_;
};

// An entry of `models`: a model, or the folder of a drafter such as heads.
struct NamedModel {
  std::string name;
  Origin name_place;
  Origin section_place;
  // The key under which a drafter's folder stands; empty: it is a model.
  std::string folder_key;
  Params place;    // the path, as it was written
  ModelSpec spec;  // of a folder only the directory
};

struct TrunkSpec {
  int drafter = 0;  // its number in MethodSpec::drafters
  PolicySpec policy;
  bool has_own_policy = false;  // else it is the method's
};

struct MethodSpec {
  Origin place;
  std::vector<NamedModel> models;
  std::vector<Params> drafters;  // which their rows read
  std::vector<TrunkSpec> trunks;
  Params verifier;  // which its row reads
  Params sampling;  // which SamplingRule reads; null: the default
  std::string chat_template;
  Scoring scoring = Scoring::kMerged;
  std::optional<RoundsOn> rounds;  // none: the experiment's, or auto
  // What is wrong with its sections: told with all else that is wrong with the
  // method. Without the right keys and models its drafters cannot be built.
  Errors errors;
  bool has_right_keys = true;
};

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_PLAN_METHOD_SPEC_H_
