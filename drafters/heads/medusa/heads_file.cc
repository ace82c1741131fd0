#include "drafters/heads/medusa/heads_file.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/memory/memory.h"
#include "core/base/check.h"
#include "core/base/input_files.h"
#include "core/base/messages.h"
#include "drafters/head_tools.h"

namespace banyan {
namespace {

// Published are up to five heads of one block.
constexpr int kMost = 1024;
// A thousand times a published one.
constexpr std::size_t kMaxConfigBytes = std::size_t{1} << 20;

absl::StatusOr<std::unique_ptr<TensorFile>> OpenTensors(
    const std::string& directory) {
  for (const char* name : {"model.safetensors", "medusa_lm_head.safetensors"}) {
    absl::StatusOr<std::unique_ptr<TensorFile>> file =
        TensorFile::Open(absl::StrCat(directory, "/", name));
    if (!absl::IsNotFound(file.status())) return file;
  }
  const std::string pickle = PickleIn(directory);
  return absl::NotFoundError(
      absl::StrCat(directory,
                   ": expected Medusa heads, model.safetensors or "
                   "medusa_lm_head.safetensors; found ",
                   pickle.empty() ? "neither" : pickle));
}

// What a tensor's name says: I.J.linear.weight, I.J.linear.bias or I.J.weight.
struct TensorName {
  int head = 0;
  int block = 0;  // of an output matrix: the number of blocks before it
  bool is_output = false;
};

std::optional<TensorName> ReadName(absl::string_view name) {
  const std::vector<absl::string_view> parts = absl::StrSplit(name, '.');
  const auto number = [&](std::size_t i, int& out) {
    return absl::SimpleAtoi(parts[i], &out) && out >= 0 && out < kMost;
  };
  TensorName tensor = {.is_output = parts.size() == 3};
  if (parts.size() != 4 && parts.size() != 3) return std::nullopt;
  if (!number(0, tensor.head) || !number(1, tensor.block)) return std::nullopt;
  const bool known = tensor.is_output
                         ? parts[2] == "weight"
                         : parts[2] == "linear" &&
                               (parts[3] == "weight" || parts[3] == "bias");
  return known ? std::optional(tensor) : std::nullopt;
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
  BANYAN_ASSIGN_OR_RETURN(std::unique_ptr<TensorFile> tensors,
                          OpenTensors(directory));
  auto file = absl::WrapUnique(
      new MedusaFile(std::move(tensors), hidden_size, vocab_size));
  BANYAN_RETURN_IF_ERROR(file->Count());
  BANYAN_RETURN_IF_ERROR(file->CheckTensors());
  BANYAN_RETURN_IF_ERROR(
      file->CheckConfig(absl::StrCat(directory, "/config.json")));
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
  if (read.ok() || absl::IsDataLoss(read)) return read;  // which names the file
  return Error(source.tensor, read.message());
}

absl::Status MedusaFile::Error(absl::string_view tensor,
                               absl::string_view what) const {
  return absl::InvalidArgumentError(
      absl::StrCat(file_->path(), ": tensor ", QuotedName(tensor), ": ", what));
}

// All names count, so that a tensor that is missing is missed by its own.
absl::Status MedusaFile::Count() {
  int before_output = kMost;  // blocks, by the names of output matrices
  for (const auto& [name, tensor] : file_->tensors()) {
    const std::optional<TensorName> is = ReadName(name);
    if (!is.has_value())
      return Error(name,
                   "expected the name of a Medusa head's tensor, such as "
                   "0.0.linear.weight");
    heads_ = std::max(heads_, is->head + 1);
    if (is->is_output)
      before_output = std::min(before_output, is->block);
    else
      blocks_ = std::max(blocks_, is->block + 1);
  }
  own_outputs_ = before_output < kMost;
  if (own_outputs_) blocks_ = std::max(blocks_, before_output);
  if (blocks_ == 0) return Error(Linear(0, 0).tensor, "is missing");
  return absl::OkStatus();
}

absl::Status MedusaFile::CheckConfig(const std::string& path) const {
  BANYAN_ASSIGN_OR_RETURN(const std::string text,
                          ReadFile(path, kMaxConfigBytes));
  BANYAN_ASSIGN_OR_RETURN(ConfigReader in, ConfigReader::Parse(text, path));
  const auto expect = [&](absl::string_view key, int found) {
    if (in.SizeOr(key, found) != found)
      in.Unexpected(key, absl::StrCat(found, ", as ", file_->path(), " has"));
  };
  expect("medusa_num_heads", heads_);
  expect("medusa_num_layers", blocks_);
  expect("hidden_size", hidden_size_);
  expect("vocab_size", vocab_size_);
  return in.status();
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
    const int head = ReadName(name)->head;
    bool known = own_outputs_ && name == Output(head).tensor;
    for (int block = 0; block < blocks_; ++block)
      known = known || name == Linear(head, block).tensor ||
              name == Bias(head, block).tensor;
    if (!known)
      return Error(
          name, absl::StrCat("is not one of ", Counted(heads_, "Medusa head"),
                             " of ", Counted(blocks_, "block")));
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
