#include "core/ops/outline.h"

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/clock.h"
#include "core/base/weight_format.h"
#include "core/device/buffer.h"
#include "core/ops/backend.h"
#include "core/ops/weight.h"
#include "core/prob/distribution.h"
#include "core/prob/logits.h"

namespace banyan {
namespace {

class OutlineBuffer : public Buffer {
 public:
  explicit OutlineBuffer(std::size_t bytes) : bytes_(bytes) {}
  std::size_t bytes() const override { return bytes_; }

 private:
  std::size_t bytes_;
};

class OutlineWeight : public Weight {
 public:
  OutlineWeight(WeightFormat format, int rows, int columns)
      : format_(format), rows_(rows), columns_(columns) {}
  WeightFormat format() const override { return format_; }
  int rows() const override { return rows_; }
  int columns() const override { return columns_; }
  std::size_t bytes() const override {
    return PackedBytes(format_, rows_, columns_);
  }

 private:
  WeightFormat format_;
  int rows_;
  int columns_;
};

absl::Status Nothing() {
  return absl::FailedPreconditionError(
      "the model was opened without its weights");
}

class OutlineBackend : public Backend {
 public:
  OutlineBackend(std::shared_ptr<Backend> device, std::size_t* in_memory)
      : device_(std::move(device)), in_memory_(in_memory) {}

  BackendFacts facts() const override { return device_->facts(); }
  std::string description() const override { return device_->description(); }
  absl::Status Finish() override { return absl::OkStatus(); }
  absl::StatusOr<std::unique_ptr<Gauge>> NewGauge(std::size_t bytes,
                                                  const Clock& clock) override {
    return device_->NewGauge(bytes, clock);
  }
  absl::Status CheckRoom(std::size_t bytes, absl::string_view what) override {
    return device_->CheckRoom(bytes, what);
  }
  absl::StatusOr<std::unique_ptr<Buffer>> Allocate(std::size_t bytes) override {
    return std::make_unique<OutlineBuffer>(bytes);
  }
  absl::Status Upload(absl::Span<const std::byte>, Buffer&,
                      std::size_t) override {
    return absl::OkStatus();
  }
  absl::Status Download(const Buffer&, std::size_t,
                        absl::Span<std::byte>) override {
    return Nothing();
  }
  absl::StatusOr<std::unique_ptr<Weight>> Pack(WeightFormat format, int rows,
                                               int columns,
                                               WeightRows) override {
    return InMemory(format, rows, columns);
  }
  absl::StatusOr<std::unique_ptr<Weight>> Adopt(WeightFormat format, int rows,
                                                int columns,
                                                PanelSource) override {
    return InMemory(format, rows, columns);
  }
  absl::StatusOr<std::unique_ptr<Weight>> Stream(WeightFormat format, int rows,
                                                 int columns,
                                                 StreamedPanels) override {
    return std::make_unique<OutlineWeight>(format, rows, columns);
  }
  absl::StatusOr<std::unique_ptr<Weight>> Part(const Weight& whole, int,
                                               int count) override {
    return std::make_unique<OutlineWeight>(whole.format(), count,
                                           whole.columns());
  }
  absl::Status ReserveKv(KvCache&, int, int) override { return Nothing(); }
  absl::Status Embed(const EmbedArgs&) override { return Nothing(); }
  absl::Status Norm(const NormArgs&) override { return Nothing(); }
  absl::Status Linear(const LinearArgs&) override { return Nothing(); }
  absl::Status Rotate(const RotateArgs&) override { return Nothing(); }
  absl::Status Activate(const ActivateArgs&) override { return Nothing(); }
  absl::Status Copy(const CopyArgs&) override { return Nothing(); }
  absl::Status StoreKv(absl::Span<const StoreKvArgs>) override {
    return Nothing();
  }
  absl::Status MoveKv(const MoveKvArgs&) override { return Nothing(); }
  absl::Status Attention(absl::Span<const AttentionArgs>) override {
    return Nothing();
  }
  absl::Status AttentionMass(const AttentionMassArgs&) override {
    return Nothing();
  }
  absl::StatusOr<Distribution> Law(const LawArgs&) override {
    return Nothing();
  }
  absl::StatusOr<std::vector<TokenLogit>> Best(const BestArgs&) override {
    return Nothing();
  }

 private:
  std::unique_ptr<Weight> InMemory(WeightFormat format, int rows, int columns) {
    auto weight = std::make_unique<OutlineWeight>(format, rows, columns);
    if (in_memory_ != nullptr) *in_memory_ += weight->bytes();
    return weight;
  }

  std::shared_ptr<Backend> device_;
  std::size_t* in_memory_;  // null: nobody wants to know
};

}  // namespace

std::shared_ptr<Backend> OutlineOf(std::shared_ptr<Backend> device,
                                   std::size_t* in_memory) {
  return std::make_shared<OutlineBackend>(std::move(device), in_memory);
}

}  // namespace banyan
