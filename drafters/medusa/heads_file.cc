#include "drafters/medusa/heads_file.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "core/checkpoint/architecture.h"
#include "core/checkpoint/safetensors.h"
#include "core/checkpoint/stored_tensor.h"
#include "core/checkpoint/weight_rows.h"

namespace banyan {
namespace {

// Published are up to five heads of one block.
constexpr int kMostHeads = 1024;

absl::StatusOr<std::unique_ptr<Safetensors>> OpenTensors(
    const std::string& directory) {
  for (const char* name : {"model.safetensors", "medusa_lm_head.safetensors"}) {
    absl::StatusOr<std::unique_ptr<Safetensors>> file =
        Safetensors::Open(absl::StrCat(directory, "/", name));
    if (!absl::IsNotFound(file.status())) return file;
  }
  return absl::NotFoundError(
      absl::StrCat(directory,
                   ": expected Medusa heads, model.safetensors or "
                   "medusa_lm_head.safetensors; found neither"));
}

// The number before a name's first point; -1 if there is none.
int HeadOf(absl::string_view name) {
  int head = 0;
  const bool is_number =
      absl::SimpleAtoi(name.substr(0, name.find('.')), &head);
  return is_number && head >= 0 && head < kMostHeads ? head : -1;
}

WeightSource Source(std::string name, int rows, int columns) {
  const bool is_vector = columns == 1;
  WeightSource source = {.tensor = std::move(name),
                         .stored_shape = {rows},
                         .rows = rows,
                         .columns = columns};
  if (!is_vector) source.stored_shape.push_back(columns);
  return source;
}

}  // namespace

absl::StatusOr<std::unique_ptr<MedusaFile>> MedusaFile::Open(
    const std::string& directory, int hidden_size, int vocab_size) {
  BANYAN_ASSIGN_OR_RETURN(std::unique_ptr<Safetensors> tensors,
                          OpenTensors(directory));
  auto file = absl::WrapUnique(
      new MedusaFile(std::move(tensors), hidden_size, vocab_size));
  BANYAN_RETURN_IF_ERROR(file->Count());
  BANYAN_RETURN_IF_ERROR(file->CheckTensors());
  return file;
}

WeightSource MedusaFile::Linear(int head, int block) const {
  return Source(absl::StrCat(head, ".", block, ".linear.weight"), hidden_size_,
                hidden_size_);
}

WeightSource MedusaFile::Bias(int head, int block) const {
  return Source(absl::StrCat(head, ".", block, ".linear.bias"), hidden_size_,
                1);
}

WeightSource MedusaFile::Output(int head) const {
  return Source(absl::StrCat(head, ".", blocks_, ".weight"), vocab_size_,
                hidden_size_);
}

const StoredTensor& MedusaFile::Tensor(const WeightSource& source) const {
  const StoredTensor* tensor = file_->Find(source.tensor);
  Check(tensor != nullptr, "a tensor that the heads do not have");
  return *tensor;
}

absl::Status MedusaFile::ReadRows(const WeightSource& source,
                                  const RowRange& rows, float* out) const {
  const absl::Status read = banyan::ReadRows(Tensor(source), source, rows, out);
  return read.ok() ? read : Error(source.tensor, read.message());
}

absl::Status MedusaFile::Error(absl::string_view tensor,
                               absl::string_view what) const {
  return absl::InvalidArgumentError(
      absl::StrCat(file_->path(), ": tensor ", QuotedName(tensor), ": ", what));
}

absl::Status MedusaFile::Count() {
  for (const auto& [name, tensor] : file_->tensors()) {
    const int head = HeadOf(name);
    if (head < 0)
      return Error(name,
                   "expected the name of a Medusa head's tensor, such as "
                   "0.0.linear.weight");
    heads_ = std::max(heads_, head + 1);
  }
  while (file_->Find(Linear(0, blocks_).tensor) != nullptr) ++blocks_;
  if (blocks_ == 0) return Error(Linear(0, 0).tensor, "is missing");
  own_outputs_ = file_->Find(Output(0).tensor) != nullptr;
  return absl::OkStatus();
}

absl::Status MedusaFile::CheckTensors() const {
  for (int head = 0; head < heads_; ++head) {
    for (int block = 0; block < blocks_; ++block) {
      BANYAN_RETURN_IF_ERROR(CheckTensor(Linear(head, block)));
      BANYAN_RETURN_IF_ERROR(CheckTensor(Bias(head, block)));
    }
    if (own_outputs_) BANYAN_RETURN_IF_ERROR(CheckTensor(Output(head)));
  }
  // Every wanted tensor is there; if there are more, some is none of them.
  const auto wanted = static_cast<std::size_t>(heads_) *
                      static_cast<std::size_t>(2 * blocks_ + own_outputs_);
  if (file_->tensors().size() == wanted) return absl::OkStatus();
  for (const auto& [name, tensor] : file_->tensors()) {
    const int head = HeadOf(name);
    bool known = own_outputs_ && name == Output(head).tensor;
    for (int block = 0; block < blocks_; ++block)
      known = known || name == Linear(head, block).tensor ||
              name == Bias(head, block).tensor;
    if (!known)
      return Error(name, absl::StrCat("is not one of ", heads_,
                                      " Medusa heads of ", blocks_, " blocks"));
  }
  return absl::OkStatus();
}

absl::Status MedusaFile::CheckTensor(const WeightSource& source) const {
  const StoredTensor* tensor = file_->Find(source.tensor);
  if (tensor == nullptr) return Error(source.tensor, "is missing");
  const absl::Status status = CheckStored(*tensor, source);
  return status.ok() ? status : Error(source.tensor, status.message());
}

}  // namespace banyan
