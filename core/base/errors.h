// Errors found one after another, told together.
#ifndef BANYAN_CORE_BASE_ERRORS_H_
#define BANYAN_CORE_BASE_ERRORS_H_

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace banyan {

class Errors {
 public:
  // Once each; nothing if it is none. Of several told together each counts.
  void Add(const absl::Status& status) {
    if (status.ok()) return;
    if (texts_.empty()) first_ = status;
    for (const absl::string_view text :
         absl::StrSplit(status.message(), kBetween))
      if (std::find(texts_.begin(), texts_.end(), text) == texts_.end())
        texts_.emplace_back(text);
  }
  bool empty() const { return texts_.empty(); }
  std::size_t size() const { return texts_.size(); }
  // OK if there are none, one as it was, several as InvalidArgument, one a
  // line.
  absl::Status status() const {
    if (texts_.size() <= 1) return first_;
    return absl::InvalidArgumentError(absl::StrJoin(texts_, kBetween));
  }

 private:
  static constexpr absl::string_view kBetween = "\n  ";

  absl::Status first_;
  std::vector<std::string> texts_;
};

}  // namespace banyan

#endif  // BANYAN_CORE_BASE_ERRORS_H_
