#include "core/transformer/pass_scores.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "core/base/check.h"
#include "core/base/finite.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/ops/device_memory.h"
#include "core/ops/read_row.h"
#include "core/ops/tensor.h"
#include "core/prob/distribution.h"
#include "core/prob/logits.h"
#include "core/prob/sampling_rule.h"
#include "core/transformer/network.h"
#include "core/transformer/output_tokens.h"

namespace banyan {
namespace {

absl::Span<std::byte> AsBytes(absl::Span<float> numbers) {
  return {reinterpret_cast<std::byte*>(numbers.data()),
          numbers.size() * sizeof(float)};
}

absl::Status DownloadRow(DeviceMemory& memory, const Tensor& x, int row,
                         absl::Span<std::byte> to) {
  const std::size_t number =
      x.offset + static_cast<std::size_t>(row) * x.stride;
  return memory.Download(*x.buffer, number * sizeof(float), to);
}

}  // namespace

absl::Status PassScores::Read(int row, std::vector<double>& logits) const {
  if (const OutputTokens& outputs = network_.outputs(); !outputs.all()) {
    std::vector<double> some;
    BANYAN_RETURN_IF_ERROR(ReadSome(row, some));
    logits.assign(static_cast<std::size_t>(vocab_size()),
                  -std::numeric_limits<double>::infinity());
    for (std::size_t i = 0; i < some.size(); ++i)
      logits[static_cast<std::size_t>(outputs.tokens[i])] = some[i];
    return absl::OkStatus();
  }
  std::vector<float> numbers(static_cast<std::size_t>(network_.logits()));
  BANYAN_RETURN_IF_ERROR(DownloadRow(network_.backend(), Logits(row).row, 0,
                                     AsBytes(absl::MakeSpan(numbers))));
  const int used = network_.options().used_vocab;
  BANYAN_RETURN_IF_ERROR(
      CheckFinite({numbers.data(), static_cast<std::size_t>(used)}));
  logits.assign(numbers.begin(), numbers.end());
  std::fill(logits.begin() + used, logits.end(),
            -std::numeric_limits<double>::infinity());
  return absl::OkStatus();
}

absl::Status PassScores::ReadSome(int row, std::vector<double>& logits) const {
  std::vector<float> numbers(static_cast<std::size_t>(network_.logits()));
  BANYAN_RETURN_IF_ERROR(DownloadRow(network_.backend(), Logits(row).row, 0,
                                     AsBytes(absl::MakeSpan(numbers))));
  std::vector<float> some;
  for (const int column : network_.outputs().columns)
    some.push_back(numbers[static_cast<std::size_t>(column)]);
  BANYAN_RETURN_IF_ERROR(CheckFinite(some, network_.outputs().tokens));
  logits.assign(some.begin(), some.end());
  return absl::OkStatus();
}

absl::StatusOr<Distribution> PassScores::Law(
    int row, const SamplingRule& rule, absl::Span<const TokenId> history,
    absl::Span<const TokenId> path) const {
  if (const OutputTokens& outputs = network_.outputs(); !outputs.all()) {
    std::vector<double> logits;
    BANYAN_RETURN_IF_ERROR(ReadSome(row, logits));
    return rule.ApplyToSome(std::move(logits), outputs.tokens, vocab_size(),
                            history, path);
  }
  return network_.backend().Law({Logits(row), &rule, history, path});
}

absl::StatusOr<std::vector<TokenLogit>> PassScores::Best(int row, int k) const {
  if (!network_.outputs().all()) return Scores::Best(row, k);
  return network_.backend().Best({Logits(row), k});
}

absl::Status PassScores::ReadHidden(int tap, int row,
                                    absl::Span<float> out) const {
  Check(tap >= 0 && static_cast<std::size_t>(tap) < taps_.size() &&
            out.size() == static_cast<std::size_t>(network_.hidden_size()),
        "a hidden state that was not asked for, or of another size");
  BANYAN_RETURN_IF_ERROR(DownloadRow(network_.backend(),
                                     taps_[static_cast<std::size_t>(tap)], row,
                                     AsBytes(out)));
  const std::size_t finite = CountFinite(out);
  if (finite == out.size()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("number ", finite, " of a hidden state is ", out[finite],
                   ", expected a finite number"));
}

LogitRow PassScores::Logits(int row) const {
  Check(row >= logits_from_ && row < logits_.rows,
        "logits that were not asked for");
  return {logits_.Rows(row, 1), network_.options().used_vocab};
}

}  // namespace banyan
