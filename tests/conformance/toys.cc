#include "tests/conformance/toys.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "core/base/token.h"
#include "core/model/table_model.h"
#include "tests/support/mix.h"

namespace banyan {
namespace {

std::vector<double> Row(const ToyOptions& options, std::uint64_t state) {
  std::vector<double> row;
  double sum = 0;
  for (int token = 0; token < options.vocab_size; ++token) {
    state = Mix(state);
    const double u = static_cast<double>(state >> 11) * 0x1p-53;
    const bool none = options.zeros && token > 0 && (state & 3) == 0;
    row.push_back(none ? 0 : std::exp(2 * options.sharpness * u));
    sum += row.back();
  }
  for (double& mass : row) mass /= sum;
  return row;
}

std::uint64_t First(const ToyOptions& options) {
  return Mix(static_cast<std::uint64_t>(options.seed) + 1);
}

}  // namespace

std::shared_ptr<TableModel> Toy(const ToyOptions& options) {
  return std::make_shared<TableModel>(
      options.vocab_size, [options](absl::Span<const TokenId> text) {
        std::uint64_t state = First(options);
        for (TokenId token : text)
          state = Mix(state ^ static_cast<std::uint64_t>(token + 1));
        return Row(options, state);
      });
}

std::shared_ptr<TableModel> DepthToy(const ToyOptions& options) {
  return std::make_shared<TableModel>(
      options.vocab_size, [options](absl::Span<const TokenId> text) {
        return Row(options, Mix(First(options) ^ text.size()));
      });
}

}  // namespace banyan
