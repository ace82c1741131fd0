#include "experiments/metrics/metric.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "core/base/common.h"

namespace banyan {
namespace {

// A key as the words before its last number, the number, and what follows:
// "trunk 0 ngram" is "trunk ", 0, " ngram".
std::tuple<absl::string_view, std::uint64_t, absl::string_view> Split(
    absl::string_view key) {
  std::size_t begin = 0;
  while (begin < key.size() && !absl::ascii_isdigit(key[begin])) ++begin;
  std::size_t end = begin;
  while (end < key.size() && absl::ascii_isdigit(key[end])) ++end;
  std::uint64_t number = 0;
  // Fails only where there are no digits.
  if (!absl::SimpleAtoi(key.substr(begin, end - begin), &number)) number = 0;
  return {key.substr(0, begin), number, key.substr(end)};
}

}  // namespace

bool KeyLess::operator()(const std::string& a, const std::string& b) const {
  const auto split_a = Split(a);
  const auto split_b = Split(b);
  return split_a != split_b ? split_a < split_b : a < b;
}

void Add(Form form, const Part& part, Part& sum) {
  sum.over = form == Form::kLargest ? std::max(sum.over, part.over)
                                    : sum.over + part.over;
  sum.under += part.under;
  sum.base_over += part.base_over;
  sum.base_under += part.base_under;
}

bool Contributes(Form form, const Part& part) {
  const bool own = part.under > 0;
  return form == Form::kRelative
             ? own && part.base_over > 0 && part.base_under > 0
             : own;
}

std::optional<double> Value(Form form, const Part& sum) {
  if (!Contributes(form, sum)) return std::nullopt;
  double value = sum.over;
  if (form == Form::kRatio) value = sum.over / sum.under;
  if (form == Form::kRelative)
    value = (sum.over / sum.under) / (sum.base_over / sum.base_under);
  return std::isnan(value) ? std::nullopt : std::optional(value);
}

}  // namespace banyan
