// Errors found one after another, told together.
#ifndef BANYAN_EXPERIMENTS_PLAN_ERRORS_H_
#define BANYAN_EXPERIMENTS_PLAN_ERRORS_H_

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_join.h"

namespace banyan {

class Errors {
 public:
  // Once each; nothing if it is none.
  void Add(const absl::Status& status) {
    const std::string text(status.message());
    if (!status.ok() &&
        std::find(texts_.begin(), texts_.end(), text) == texts_.end())
      texts_.push_back(text);
  }
  std::size_t size() const { return texts_.size(); }
  // InvalidArgument, one a line; OK if there are none.
  absl::Status status() const {
    if (texts_.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrJoin(texts_, "\n  "));
  }

 private:
  std::vector<std::string> texts_;
};

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_PLAN_ERRORS_H_
