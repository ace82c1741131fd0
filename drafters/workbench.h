// Workbench: what drafters are built with: the target, and models and heads by
// name, each opened once.
#ifndef BANYAN_DRAFTERS_WORKBENCH_H_
#define BANYAN_DRAFTERS_WORKBENCH_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "core/base/params.h"
#include "core/model/medusa_heads.h"
#include "core/model/model.h"
#include "core/prob/sampling_rule.h"

namespace banyan {

// Outlives the drafters built with it.
class Workbench {
 public:
  // `rule` is what a drafter samples by unless its section says otherwise.
  Workbench(const Model& target, SamplingRule rule)
      : target_(target), rule_(std::move(rule)) {}

  void AddModel(const std::string& name, std::shared_ptr<const Model> model);
  void AddHeads(const std::string& name,
                std::shared_ptr<const MedusaHeads> heads);

  const Model& target() const { return target_; }
  const SamplingRule& rule() const { return rule_; }
  // The rule of the section's `sampling`, or else rule().
  absl::StatusOr<SamplingRule> TakeRule(ParamsReader& in) const;
  // The model of this name; an error at `name`, with the nearest known one.
  absl::StatusOr<std::shared_ptr<const Model>> Open(const Params& name);
  // The heads of this name; likewise.
  absl::StatusOr<std::shared_ptr<const MedusaHeads>> OpenHeads(
      const Params& name);
  // Whether some drafter asked for the model or the heads of this name.
  bool opened(const std::string& name) const { return opened_.count(name) > 0; }

 private:
  const Model& target_;
  SamplingRule rule_;
  std::map<std::string, std::shared_ptr<const Model>> models_;
  std::map<std::string, std::shared_ptr<const MedusaHeads>> heads_;
  std::set<std::string> opened_;
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_WORKBENCH_H_
