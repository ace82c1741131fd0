#include "tests/gpu/gpu_bits.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <iterator>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/base/bytes.h"
#include "core/base/check.h"
#include "core/base/token.h"
#include "core/device/cuda/host_device.h"
#include "core/device/cuda/tensor_core.h"
#include "core/model/model.h"
#include "core/ops/cuda/cuda_backend.h"
#include "core/ops/cuda/kernels/op_kernels.h"
#include "core/transformer/network.h"
#include "core/transformer/transformer.h"
#include "drafters/heads/eagle/head.h"
#include "drafters/heads/medusa/heads.h"
#include "tests/gpu/random_family.h"
#include "tests/gpu/traced_backend.h"
#include "tests/support/dice.h"
#include "tests/support/made/golden_model.h"
#include "tests/support/must_read.h"

namespace banyan {
namespace {

constexpr char kHeader[] =
    "# Hashes of what models give on a GPU, made by the emulated GPU\n"
    "# (gpu_bits --record): model, format, tensor cores of this capability;\n"
    "# angles of all positions, packed matrices, and the logits of 1, 2, 7, "
    "8,\n"
    "# 9, 16, 17, 33, 64, 65 and 130 rows.";
constexpr char kRandom[] = "random-";
constexpr char kTarget[] = "models/pycode-target";
// Of a random model longer than a stretch of attention.
constexpr int kPrefix = 37, kLongPrefix = 300;

using Rows = std::vector<std::vector<double>>;

void Must(const absl::Status& status) { Check(status.ok(), status.message()); }
template <typename T>
T Must(absl::StatusOr<T> result) {
  Must(result.status());
  return *std::move(result);
}

std::string Hex(std::uint64_t hash) { return absl::StrFormat("%016x", hash); }

// As the device's floats; all numbers that are none are one.
std::uint64_t HashOf(const std::vector<double>& row, std::uint64_t before) {
  std::vector<float> numbers(row.begin(), row.end());
  for (float& x : numbers)
    if (x != x) x = std::bit_cast<float>(0x7fffffffU);
  return Fnv1a(AsBytes(std::as_const(numbers)), before);
}

std::vector<TokenId> RandomTokens(int size, int vocab, Dice& dice) {
  std::vector<TokenId> tokens;
  for (int i = 0; i < size; ++i) tokens.push_back(dice.Below(vocab));
  return tokens;
}

// Rows of a tree that is deep and has branches; a smaller one is its beginning.
TokenBatch TreeAfter(int first, int rows, int vocab, Dice& dice) {
  TokenBatch batch;
  for (int i = 0; i < rows; ++i) {
    const int parent = i == 0 ? -1 : i - 1 - dice.Below(std::min(i, 3));
    batch.Add(dice.Below(vocab),
              parent < 0
                  ? first
                  : batch.positions[static_cast<std::size_t>(parent)] + 1,
              parent);
  }
  return batch;
}

// A model or heads, loaded.
class Subject {
 public:
  virtual ~Subject() = default;
  virtual const Network* network() const = 0;  // null: has no rotation
  // The logits of this many rows, the same at every call.
  virtual Rows Score(int rows) = 0;
};

class ModelSubject : public Subject {
 public:
  ModelSubject(std::unique_ptr<Transformer> model, int prefix)
      : model_(std::move(model)),
        prefix_(prefix),
        session_(model_->NewSession()) {}
  const Network* network() const override { return &model_->network(); }
  Rows Score(int rows) override {
    Dice dice(11);
    const auto text = RandomTokens(prefix_, model_->vocab_size(), dice);
    if (session_->length() == 0) Must(session_->Prefill(text));
    const TokenBatch batch =
        TreeAfter(prefix_, rows, model_->vocab_size(), dice);
    const auto scores = Must(ScoreOne(*model_, *session_, batch));
    Rows all;
    for (int row = 0; row < rows; ++row) all.push_back(MustRead(*scores, row));
    Must(session_->Commit({}));  // the next tree follows the same prefix
    return all;
  }

 private:
  std::unique_ptr<Transformer> model_;
  int prefix_;
  std::unique_ptr<Session> session_;
};

class EagleSubject : public Subject {
 public:
  EagleSubject(std::unique_ptr<Transformer> target, const std::string& folder)
      : target_(std::move(target)),
        head_(Must(LoadEagleHead(folder, *target_))) {}
  const Network* network() const override {
    return head_->network().facets().network;
  }
  Rows Score(int rows) override {
    const Model& model = head_->network();
    Dice dice(12);
    Dice words(14);
    // A state after a target's layers is of the order of one.
    std::vector<float> states(static_cast<std::size_t>(rows) *
                              head_->taps().size() *
                              static_cast<std::size_t>(target_->hidden_size()));
    for (float& x : states) x = dice.Signed();
    std::vector<float> vectors;
    Must(head_->VectorsOf(states, rows, vectors));
    const std::unique_ptr<Session> session = model.NewSession();
    const TokenBatch batch = TreeAfter(0, rows, target_->vocab_size(), words);
    const ScoreRequest request = {
        .session = session.get(), .batch = &batch, .vectors = vectors};
    const auto scores = Must(model.Score({&request, 1}));
    Rows all;
    for (int row = 0; row < rows; ++row)
      all.push_back(MustRead(*scores.front(), row));
    return all;
  }

 private:
  std::unique_ptr<Transformer> target_;
  std::unique_ptr<EagleHead> head_;
};

class MedusaSubject : public Subject {
 public:
  MedusaSubject(std::unique_ptr<Transformer> target, const std::string& folder)
      : target_(std::move(target)),
        heads_(Must(LoadMedusaHeads(folder, *target_))) {}
  const Network* network() const override { return nullptr; }
  Rows Score(int rows) override {
    Dice dice(13);
    const auto size = static_cast<std::size_t>(target_->hidden_size());
    std::vector<float> states(static_cast<std::size_t>(rows) * size);
    for (float& x : states) x = dice.Signed();
    std::vector<absl::Span<const float>> hidden;
    for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row)
      hidden.push_back(absl::MakeConstSpan(states).subspan(row * size, size));
    std::vector<Rows> logits;
    Must(heads_->ScoreAll(hidden, logits));
    Rows all;
    for (const Rows& by_head : logits) {
      all.emplace_back();
      for (const std::vector<double>& of_head : by_head)
        all.back().insert(all.back().end(), of_head.begin(), of_head.end());
    }
    return all;
  }

 private:
  std::unique_ptr<Transformer> target_;
  std::unique_ptr<MedusaHeads> heads_;
};

// What was packed before the case's own matrices is left out of the trace.
std::unique_ptr<Subject> Open(const BitsCase& bits,
                              const std::shared_ptr<TracedBackend>& backend) {
  const std::string folder = absl::StrCat("models/", bits.model);
  if (absl::StartsWith(bits.model, kRandom)) {
    const auto made =
        MakeRandomModel(std::string(absl::StripPrefix(bits.model, kRandom)));
    return std::make_unique<ModelSubject>(
        LoadModel(made->path(), backend, bits.format), kLongPrefix);
  }
  const auto target = [&] {
    auto model = LoadModel(kTarget, backend, bits.format);
    backend->Take();
    return model;
  };
  if (absl::StrContains(bits.model, "eagle"))
    return std::make_unique<EagleSubject>(target(), folder);
  if (absl::StrContains(bits.model, "medusa"))
    return std::make_unique<MedusaSubject>(target(), folder);
  return std::make_unique<ModelSubject>(LoadModel(folder, backend, bits.format),
                                        kPrefix);
}

std::string HashOfSteps(const std::vector<TracedStep>& steps) {
  std::uint64_t hash = kFnv1aStart;
  for (const TracedStep& step : steps) hash = Fnv1a(AsBytes(step.words), hash);
  return Hex(hash);
}

std::string HashOfAngles(const Network* network) {
  if (network == nullptr || !network->architecture().rope.has_value())
    return "-";
  const Tensor angles = Must(network->Angles());
  std::vector<std::byte> bytes(angles.buffer->bytes());
  Must(network->backend().Download(*angles.buffer, 0, absl::MakeSpan(bytes)));
  return Hex(Fnv1a(bytes));
}

// Hashes of the first rows, as many as each of `sizes` says, ascending.
std::vector<std::string> HashesOf(const Rows& rows,
                                  absl::Span<const int> sizes) {
  std::vector<std::string> hashes;
  std::uint64_t hash = kFnv1aStart;
  std::size_t done = 0;
  for (int size : sizes) {
    for (; done < static_cast<std::size_t>(size); ++done)
      hash = HashOf(rows[done], hash);
    hashes.push_back(Hex(hash));
  }
  return hashes;
}

BitsOf BitsBy(
    const BitsCase& bits, std::shared_ptr<Backend> backend,
    absl::FunctionRef<std::vector<std::string>(Subject& subject)> logits) {
  const auto traced = std::make_shared<TracedBackend>(std::move(backend));
  const std::unique_ptr<Subject> subject = Open(bits, traced);
  BitsOf all;
  all.weights = HashOfSteps(traced->Take());
  all.rotation = HashOfAngles(subject->network());
  all.logits = logits(*subject);
  return all;
}

}  // namespace

std::string BitsCase::ToText() const {
  return absl::StrCat(model, " ", Name(format));
}

std::vector<BitsCase> BitsCases() {
  std::vector<std::string> models = {
      "pycode-target", "pycode-draft-1",  "pycode-draft-2",
      "pycode-other",  "pycode-eagle1",   "pycode-eagle3",
      "pycode-medusa", "smollm2-draft-1", "smollm2-draft-2"};
  for (const std::string& family : RandomFamilies())
    models.push_back(kRandom + family);
  std::vector<BitsCase> cases;
  for (const std::string& model : models)
    for (WeightFormat format :
         {WeightFormat::kF32, WeightFormat::kBf16, WeightFormat::kQ8})
      cases.push_back({model, format});
  return cases;
}

std::shared_ptr<Backend> EmulatedGpuOf(absl::string_view core) {
  return Must(CudaBackend::Create(
      std::make_shared<HostDevice>(HostDeviceOptions{
          .core = Must(TensorCoreOf(core == "8.0" ? 80 : 90))}),
      on_host::kOpKernels, "emulated_gpu"));
}

absl::string_view CoreOf(const Backend& backend) {
  return absl::StartsWith(backend.facts().gpu.capability, "8.") ? "8.0" : "9.0";
}

BitsOf PredictBits(const BitsCase& bits, std::shared_ptr<Backend> backend) {
  return BitsBy(bits, std::move(backend), [](Subject& subject) {
    return HashesOf(subject.Score(*std::max_element(std::begin(kBitsRows),
                                                    std::end(kBitsRows))),
                    kBitsRows);
  });
}

BitsOf MeasureBits(const BitsCase& bits, std::shared_ptr<Backend> backend,
                   const std::vector<int>& rows) {
  return BitsBy(bits, std::move(backend), [&](Subject& subject) {
    std::vector<std::string> hashes;
    for (int size : rows)
      hashes.push_back(HashesOf(subject.Score(size), {&size, 1}).front());
    return hashes;
  });
}

std::optional<std::string> WhereTheyPart(const BitsCase& bits, int rows,
                                         std::shared_ptr<Backend> one,
                                         std::shared_ptr<Backend> other) {
  std::vector<TracedStep> steps[2];
  std::shared_ptr<Backend> backends[] = {std::move(one), std::move(other)};
  for (int i = 0; i < 2; ++i) {
    const auto traced = std::make_shared<TracedBackend>(std::move(backends[i]));
    const std::unique_ptr<Subject> subject = Open(bits, traced);
    traced->ops(true);
    subject->Score(rows);
    steps[i] = traced->Take();
  }
  return FirstDifference(steps[0], steps[1]);
}

std::string WriteBits(const std::vector<BitsLine>& lines) {
  std::string text = absl::StrCat(kHeader, "\n");
  for (const BitsLine& line : lines)
    absl::StrAppend(&text, line.model, " ", line.format, " ", line.core, " ",
                    line.bits.rotation, " ", line.bits.weights, " ",
                    absl::StrJoin(line.bits.logits, " "), "\n");
  return text;
}

absl::StatusOr<std::vector<BitsLine>> ReadBits(const std::string& text) {
  std::vector<BitsLine> lines;
  int number = 0;
  for (absl::string_view row : absl::StrSplit(text, '\n')) {
    ++number;
    if (row.empty() || row.front() == '#') continue;
    const std::vector<std::string> words = absl::StrSplit(row, ' ');
    constexpr std::size_t kBefore = 5;
    if (words.size() != kBefore + std::size(kBitsRows))
      return absl::InvalidArgumentError(
          absl::StrFormat("%s:%d: %d words, expected %d", kBitsFile, number,
                          words.size(), kBefore + std::size(kBitsRows)));
    lines.push_back(
        {words[0],
         words[1],
         words[2],
         {words[3], words[4], {words.begin() + kBefore, words.end()}}});
  }
  return lines;
}

}  // namespace banyan
