#include "core/pack/pack_tensors.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/quoted_name.h"
#include "core/pack/pack_file.h"

namespace banyan {
namespace {

struct Rows {
  std::int64_t first = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

// The parts of one tensor that the vectors and matrices hold.
struct Held {
  std::vector<std::int64_t> vectors = {};  // numbers of each
  std::vector<Rows> rows = {};
};

std::string ShapeOf(const PackTensor& tensor) {
  return absl::StrCat("shape [", absl::StrJoin(tensor.shape, ", "), "]",
                      tensor.turned ? " turned" : "");
}

absl::Status CheckVector(const PackTensor& tensor, const Held& held) {
  if (tensor.turned && tensor.shape.size() != 2)
    return absl::InvalidArgumentError(absl::StrCat(
        "expected a matrix where it is turned, found ", ShapeOf(tensor)));
  if (tensor.shape.size() == 1 && held.vectors == tensor.shape)
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "expected ", ShapeOf(tensor), " as one vector, or as rows of matrices",
      ", found ", held.vectors.empty() ? "neither" : "vectors of ",
      absl::StrJoin(held.vectors, " and ")));
}

absl::Status CheckMatrix(const PackTensor& tensor, Held held) {
  if (tensor.shape.size() != 2 || !held.vectors.empty())
    return absl::InvalidArgumentError(absl::StrCat(
        "expected ", ShapeOf(tensor), " as one vector, found ",
        held.vectors.empty() ? "" : "that and ", "rows of matrices"));
  const std::int64_t rows = tensor.shape[tensor.turned ? 1 : 0];
  const std::int64_t columns = tensor.shape[tensor.turned ? 0 : 1];
  std::sort(held.rows.begin(), held.rows.end(),
            [](const Rows& a, const Rows& b) { return a.first < b.first; });
  // A sentinel at the end, so that missing last rows are found.
  held.rows.push_back({.first = rows, .rows = 0, .columns = columns});
  std::int64_t next = 0;
  for (const Rows& some : held.rows) {
    if (some.columns != columns)
      return absl::InvalidArgumentError(
          absl::StrCat("expected rows of ", columns, " numbers (",
                       ShapeOf(tensor), "), found ", some.columns));
    if (some.first + some.rows > rows)
      return absl::InvalidArgumentError(
          absl::StrCat("expected rows below ", rows, " (", ShapeOf(tensor),
                       "), found row ", some.first + some.rows - 1));
    if (some.first != next)
      return absl::InvalidArgumentError(
          absl::StrCat("expected each of its ", rows, " rows once, found row ",
                       some.first > next ? absl::StrCat(next, " nowhere")
                                         : absl::StrCat(some.first, " twice")));
    next += some.rows;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckTensors(const PackHeader& header) {
  std::map<std::string, Held> held;
  for (const auto& [name, tensor] : header.tensors) held[name];
  for (const PackVector& vector : header.vectors)
    held[vector.tensor].vectors.push_back(
        static_cast<std::int64_t>(vector.numbers));
  for (const PackMatrix& matrix : header.matrices)
    for (const PackPart& part : matrix.parts)
      held[part.tensor].rows.push_back({part.first, part.rows, matrix.columns});
  for (const auto& [name, of] : held) {
    const auto tensor = header.tensors.find(name);
    absl::Status status =
        tensor == header.tensors.end()
            ? absl::InvalidArgumentError("expected its shape, found none")
        : of.rows.empty() ? CheckVector(tensor->second, of)
                          : CheckMatrix(tensor->second, of);
    if (!status.ok())
      return absl::InvalidArgumentError(
          absl::StrCat("tensor ", QuotedName(name), ": ", status.message()));
  }
  return absl::OkStatus();
}

}  // namespace banyan
