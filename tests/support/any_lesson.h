// Carried state that takes every lesson and holds nothing.
#ifndef BANYAN_TESTS_SUPPORT_ANY_LESSON_H_
#define BANYAN_TESTS_SUPPORT_ANY_LESSON_H_

#include <vector>

#include "core/base/common.h"
#include "core/base/token.h"
#include "drafters/drafter.h"

namespace banyan {

class AnyLesson : public CarriedState {
 public:
  absl::Status Absorb(absl::Span<const TokenId> /*text*/,
                      absl::string_view /*learnt*/) override {
    return absl::OkStatus();
  }
  absl::Status CheckLesson(absl::Span<const TokenId> /*text*/,
                           absl::string_view /*learnt*/) const override {
    return absl::OkStatus();
  }
  std::vector<Carried> holdings() const override { return {}; }
};

}  // namespace banyan

#endif  // BANYAN_TESTS_SUPPORT_ANY_LESSON_H_
