#include "tests/gpu/traced_backend.h"

#include <bit>
#include <cmath>
#include <utility>
#include <variant>

#include "absl/strings/str_format.h"
#include "core/base/bytes.h"
#include "core/base/check.h"
#include "core/ops/cuda/cuda_weight.h"

namespace banyan {
namespace {

bool SameWord(std::uint32_t a, std::uint32_t b, bool floats) {
  return a == b || (floats && std::isnan(std::bit_cast<float>(a)) &&
                    std::isnan(std::bit_cast<float>(b)));
}

}  // namespace

std::optional<std::string> FirstDifference(
    const std::vector<TracedStep>& one, const std::vector<TracedStep>& other) {
  for (std::size_t i = 0; i < one.size() && i < other.size(); ++i) {
    const std::string where =
        absl::StrFormat("%s, op %d of %d", one[i].op, i + 1, one.size());
    if (one[i].op != other[i].op || one[i].rows != other[i].rows ||
        one[i].words.size() != other[i].words.size())
      return absl::StrFormat("%s: %d rows of %d words, and %s: %d of %d", where,
                             one[i].rows, one[i].columns, other[i].op,
                             other[i].rows, other[i].columns);
    for (std::size_t at = 0; at < one[i].words.size(); ++at)
      if (!SameWord(one[i].words[at], other[i].words[at], one[i].floats))
        return absl::StrFormat("%s: row %d, column %d: 0x%08x and 0x%08x",
                               where,
                               at / static_cast<std::size_t>(one[i].columns),
                               at % static_cast<std::size_t>(one[i].columns),
                               one[i].words[at], other[i].words[at]);
  }
  if (one.size() != other.size())
    return absl::StrFormat("%d ops and %d", one.size(), other.size());
  return std::nullopt;
}

TracedBackend::TracedBackend(std::shared_ptr<Backend> inner)
    : inner_(std::move(inner)) {}

std::vector<TracedStep> TracedBackend::Take() {
  return std::exchange(steps_, {});
}

void TracedBackend::Keep(const std::string& op, const Buffer* buffer) {
  if (buffer == nullptr) return;
  TracedStep step = {.op = op, .rows = 1, .floats = false};
  step.words.resize(buffer->bytes() / sizeof(std::uint32_t));
  step.columns = static_cast<int>(step.words.size());
  const absl::Status status = inner_->Download(*buffer, 0, AsBytes(step.words));
  Check(status.ok(), status.message());
  steps_.push_back(std::move(step));
}

void TracedBackend::Keep(const std::string& op, const Tensor& tensor) {
  if (tensor.empty()) return;
  TracedStep step = {.op = op, .rows = tensor.rows, .columns = tensor.columns};
  const auto columns = static_cast<std::size_t>(tensor.columns);
  step.words.resize(static_cast<std::size_t>(tensor.rows) * columns);
  for (std::size_t row = 0; row < static_cast<std::size_t>(tensor.rows);
       ++row) {
    const absl::Status status = inner_->Download(
        *tensor.buffer,
        (tensor.offset + row * tensor.stride) * sizeof(std::uint32_t),
        AsBytes(absl::MakeSpan(step.words).subspan(row * columns, columns)));
    Check(status.ok(), status.message());
  }
  steps_.push_back(std::move(step));
}

void TracedBackend::Keep(const std::string& op, const KvCache& cache) {
  Keep(op + " keys", cache.keys.get());
  Keep(op + " values", cache.values.get());
}

BackendFacts TracedBackend::facts() const { return inner_->facts(); }

std::string TracedBackend::description() const { return inner_->description(); }

absl::StatusOr<std::unique_ptr<Buffer>> TracedBackend::Allocate(
    std::size_t bytes) {
  return inner_->Allocate(bytes);
}

absl::Status TracedBackend::Upload(absl::Span<const std::byte> from, Buffer& to,
                                   std::size_t offset) {
  return inner_->Upload(from, to, offset);
}

absl::Status TracedBackend::Download(const Buffer& from, std::size_t offset,
                                     absl::Span<std::byte> to) {
  return inner_->Download(from, offset, to);
}

absl::Status TracedBackend::Finish() { return inner_->Finish(); }

std::unique_ptr<Weight> TracedBackend::KeepPacked(
    std::unique_ptr<Weight> weight) {
  const auto& packed = static_cast<const CudaWeight&>(*weight);
  Keep("pack", packed.numbers());
  Keep("pack scales", packed.scales());
  return weight;
}

absl::StatusOr<std::unique_ptr<Weight>> TracedBackend::Pack(WeightFormat format,
                                                            int rows,
                                                            int columns,
                                                            WeightRows source) {
  return PackPaired(format, rows, columns, {}, source);
}

absl::StatusOr<std::unique_ptr<Weight>> TracedBackend::PackPaired(
    WeightFormat format, int rows, int columns, RowPairs pairs,
    WeightRows source) {
  BANYAN_ASSIGN_OR_RETURN(
      std::unique_ptr<Weight> weight,
      inner_->PackPaired(format, rows, columns, pairs, source));
  return KeepPacked(std::move(weight));
}

absl::Status TracedBackend::Embed(const EmbedArgs& args) {
  return Kept(inner_->Embed(args), "embed", args.y);
}

absl::Status TracedBackend::Norm(const NormArgs& args) {
  return Kept(inner_->Norm(args), "norm", args.y);
}

absl::Status TracedBackend::Linear(const LinearArgs& args) {
  BANYAN_RETURN_IF_ERROR(inner_->Linear(args));
  if (!traced_) return absl::OkStatus();
  if (const auto* activate = std::get_if<ActivateArgs>(&args.then))
    Keep("linear and activate", activate->y);
  else if (const auto* store = std::get_if<RotateStoreArgs>(&args.then))
    Keep("linear, rotate and store", *store);
  else
    Keep("linear", args.y);
  return absl::OkStatus();
}

absl::Status TracedBackend::Rotate(const RotateArgs& args) {
  return Kept(inner_->Rotate(args), "rotate", args.x);
}

absl::Status TracedBackend::Activate(const ActivateArgs& args) {
  return Kept(inner_->Activate(args), "activate", args.y);
}

absl::Status TracedBackend::Copy(const CopyArgs& args) {
  return Kept(inner_->Copy(args), "copy", args.y);
}

absl::Status TracedBackend::ReserveKv(KvCache& cache, int slots, int used) {
  return inner_->ReserveKv(cache, slots, used);
}

absl::Status TracedBackend::StoreKv(absl::Span<const StoreKvArgs> sequences) {
  BANYAN_RETURN_IF_ERROR(inner_->StoreKv(sequences));
  for (const StoreKvArgs& args : sequences)
    if (traced_) Keep("store", *args.cache);
  return absl::OkStatus();
}

absl::Status TracedBackend::MoveKv(const MoveKvArgs& args) {
  return Kept(inner_->MoveKv(args), "move", *args.cache);
}

absl::Status TracedBackend::Attention(
    absl::Span<const AttentionArgs> sequences) {
  BANYAN_RETURN_IF_ERROR(inner_->Attention(sequences));
  for (const AttentionArgs& args : sequences)
    if (traced_) Keep("attention", args.y);
  return absl::OkStatus();
}

absl::Status TracedBackend::AttentionMass(const AttentionMassArgs& args) {
  return Kept(inner_->AttentionMass(args), "attention mass", args.y);
}

absl::Status TracedBackend::RotateStore(const RotateStoreArgs& args) {
  return Kept(inner_->RotateStore(args), "rotate and store", args);
}

void TracedBackend::Keep(const std::string& op, const RotateStoreArgs& args) {
  Keep(op, args.queries.x);
  for (const StoreKvArgs& store : args.sequences) Keep(op, *store.cache);
}

absl::StatusOr<Distribution> TracedBackend::Law(const LawArgs& args) {
  return inner_->Law(args);
}

absl::StatusOr<std::vector<TokenLogit>> TracedBackend::Best(
    const BestArgs& args) {
  return inner_->Best(args);
}

}  // namespace banyan
