#include "drafters/heads/medusa/heads.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include "absl/memory/memory.h"
#include "core/base/bytes.h"
#include "core/base/weight_format.h"
#include "core/checkpoint/architecture.h"
#include "core/model/context.h"
#include "core/ops/backend.h"
#include "core/ops/device_memory.h"
#include "core/ops/op_args.h"
#include "core/ops/round_args.h"
#include "core/ops/weight.h"
#include "core/prob/sampling_rule.h"
#include "core/transformer/device_drafter.h"
#include "core/transformer/network.h"
#include "core/transformer/pass.h"
#include "core/transformer/weights.h"
#include "drafters/heads/medusa/heads_file.h"

namespace banyan {
namespace {

absl::StatusOr<RowVector> NewRow(int size, DeviceMemory& memory) {
  RowVector row;
  BANYAN_ASSIGN_OR_RETURN(
      row.buffer, memory.Allocate(static_cast<std::size_t>(PadToLane(size)) *
                                  sizeof(float)));
  row.size = size;
  return row;
}

absl::StatusOr<std::unique_ptr<Weight>> PackSource(const MedusaFile& file,
                                                   const WeightSource& source,
                                                   WeightFormat format,
                                                   Backend& backend) {
  auto weight =
      backend.Pack(format, source.rows, source.columns,
                   [&](int first, int count, float* out) {
                     return file.ReadRows(source, {first, count, format}, out);
                   });
  file.file()->Release(file.Tensor(source));
  return weight;
}

// Run by the target's backend, with its output matrix unless they have their
// own.
class TransformerHeads : public MedusaHeads {
 public:
  explicit TransformerHeads(const Network& target) : target_(target) {}

  absl::Status LoadHead(const MedusaFile& file, int number);

  int count() const override { return static_cast<int>(heads_.size()); }
  LogitTokens outputs() const override {
    return {outputs_.tokens, target_.vocab_size()};
  }
  absl::StatusOr<std::shared_ptr<const MedusaHeads>> WithOutputs(
      absl::Span<const TokenId> tokens) const override;
  absl::Status Score(absl::Span<const float> hidden,
                     std::vector<std::vector<double>>& logits) const override;
  absl::Status ScoreAll(
      absl::Span<const absl::Span<const float>> hidden,
      std::vector<std::vector<std::vector<double>>>& logits) const override;
  absl::StatusOr<std::unique_ptr<DeviceDrafter>> OnDevice() const override;

 private:
  struct Block {
    std::unique_ptr<Weight> weight;
    RowVector bias;
  };
  struct Head {
    std::shared_ptr<const std::vector<Block>> blocks;
    std::shared_ptr<const Weight> own_output;  // null: the shared one
  };

  friend class HeadsDrafter;

  // The logits of a head for the rows of x, which become x + SiLU(W x + b) for
  // every block; y is room for that.
  absl::Status RunHead(const Head& head, const Tensor& x, const Tensor& y,
                       const Tensor& logits) const;
  absl::StatusOr<std::vector<double>> Logits(absl::Span<const float> row) const;
  int columns() const {  // of logits
    return outputs_.all() ? target_.vocab_size()
                          : static_cast<int>(outputs_.tokens.size());
  }

  const Network& target_;
  std::vector<Head> heads_;
  std::shared_ptr<const Weight> output_;  // shared; null: the target's
  OutputTokens outputs_;
};

absl::Status TransformerHeads::LoadHead(const MedusaFile& file, int number) {
  Backend& backend = target_.backend();
  const WeightFormat format = target_.options().format;
  Head head;
  auto blocks = std::make_shared<std::vector<Block>>();
  for (int i = 0; i < file.blocks(); ++i) {
    Block block;
    BANYAN_ASSIGN_OR_RETURN(
        block.weight,
        PackSource(file, file.Linear(number, i), format, backend));
    const WeightSource source = file.Bias(number, i);
    std::vector<float> bias(static_cast<std::size_t>(source.rows));
    BANYAN_RETURN_IF_ERROR(
        file.ReadRows(source, {0, source.rows}, bias.data()));
    BANYAN_ASSIGN_OR_RETURN(block.bias, NewRow(source.rows, backend));
    BANYAN_RETURN_IF_ERROR(
        backend.Upload(AsBytes(bias), *block.bias.buffer, 0));
    blocks->push_back(std::move(block));
  }
  head.blocks = std::move(blocks);
  if (file.own_outputs()) {
    BANYAN_ASSIGN_OR_RETURN(
        head.own_output,
        PackSource(file, file.Output(number), format, backend));
  }
  heads_.push_back(std::move(head));
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const MedusaHeads>>
TransformerHeads::WithOutputs(absl::Span<const TokenId> tokens) const {
  Backend& backend = target_.backend();
  std::vector<TokenId> kept;
  for (const TokenId token : tokens)
    if (token < target_.options().used_vocab) kept.push_back(token);
  if (kept.empty())
    return absl::InvalidArgumentError(
        "expected a token that the target emits, found none");
  const std::vector<int> rows(kept.begin(), kept.end());
  auto trimmed = std::make_shared<TransformerHeads>(target_);
  trimmed->heads_ = heads_;
  trimmed->outputs_ = OutputTokens(kept);
  for (Head& head : trimmed->heads_) {
    if (head.own_output != nullptr) {
      BANYAN_ASSIGN_OR_RETURN(head.own_output,
                              RowsOf(*head.own_output, rows, backend));
    } else if (trimmed->output_ == nullptr) {
      BANYAN_ASSIGN_OR_RETURN(trimmed->output_,
                              RowsOf(target_.head(), rows, backend));
    }
  }
  return trimmed;
}

absl::Status TransformerHeads::Score(
    absl::Span<const float> hidden,
    std::vector<std::vector<double>>& logits) const {
  std::vector<std::vector<std::vector<double>>> all;
  BANYAN_RETURN_IF_ERROR(ScoreAll({&hidden, 1}, all));
  logits = std::move(all.front());
  return absl::OkStatus();
}

absl::Status TransformerHeads::ScoreAll(
    absl::Span<const absl::Span<const float>> hidden,
    std::vector<std::vector<std::vector<double>>>& logits) const {
  Backend& backend = target_.backend();
  const int rows = static_cast<int>(hidden.size());
  BANYAN_ASSIGN_OR_RETURN(
      OwnedTensor x, OwnedTensor::New(rows, target_.hidden_size(), backend));
  BANYAN_ASSIGN_OR_RETURN(
      const OwnedTensor y,
      OwnedTensor::New(rows, target_.hidden_size(), backend));
  BANYAN_ASSIGN_OR_RETURN(const OwnedTensor scores,
                          OwnedTensor::New(rows, columns(), backend));
  std::vector<float> states;
  for (absl::Span<const float> state : hidden)
    states.insert(states.end(), state.begin(), state.end());
  logits.assign(hidden.size(), {});
  std::vector<float> numbers;
  const auto width = static_cast<std::size_t>(columns());
  for (const Head& head : heads_) {
    BANYAN_RETURN_IF_ERROR(x.Upload(states, backend));
    BANYAN_RETURN_IF_ERROR(RunHead(head, x.view, y.view, scores.view));
    BANYAN_RETURN_IF_ERROR(scores.Download(numbers, backend));
    for (std::size_t row = 0; row < hidden.size(); ++row) {
      BANYAN_ASSIGN_OR_RETURN(
          std::vector<double> own,
          Logits(absl::MakeConstSpan(numbers).subspan(row * width, width)));
      logits[row].push_back(std::move(own));
    }
  }
  return absl::OkStatus();
}

// One row of a head's logits.
absl::StatusOr<std::vector<double>> TransformerHeads::Logits(
    absl::Span<const float> row) const {
  const int used = outputs_.all() ? target_.options().used_vocab : columns();
  BANYAN_RETURN_IF_ERROR(
      outputs_.all() ? CheckFinite(row.first(static_cast<std::size_t>(used)))
                     : CheckFinite(row, outputs_.tokens));
  std::vector<double> logits(row.begin(), row.end());
  std::fill(logits.begin() + used, logits.end(),
            -std::numeric_limits<double>::infinity());
  return logits;
}

absl::Status TransformerHeads::RunHead(const Head& head, const Tensor& x,
                                       const Tensor& y,
                                       const Tensor& logits) const {
  Backend& backend = target_.backend();
  for (const Block& block : *head.blocks) {
    BANYAN_RETURN_IF_ERROR(backend.Linear({.x = x,
                                           .weight = block.weight.get(),
                                           .bias = block.bias.view(),
                                           .y = y}));
    BANYAN_RETURN_IF_ERROR(backend.Activate({.function = Nonlinearity::kSilu,
                                             .x = y,
                                             .up = {},
                                             .y = x,
                                             .add = true}));
  }
  const Weight* output = head.own_output ? head.own_output.get()
                         : output_       ? output_.get()
                                         : &target_.head();
  return backend.Linear({.x = x, .weight = output, .bias = {}, .y = logits});
}

// The heads of one sequence, on the device that runs its rounds: a head a
// level.
class HeadsDrafter : public TransformerDrafter {
 public:
  static absl::StatusOr<std::unique_ptr<DeviceDrafter>> Create(
      const TransformerHeads& heads) {
    auto drafter = absl::WrapUnique(new HeadsDrafter(heads));
    const Network& target = heads.target_;
    BANYAN_ASSIGN_OR_RETURN(
        drafter->state_,
        OwnedTensor::New(1, target.hidden_size(), target.backend()));
    return drafter;
  }

  absl::Status Begin(const Context& context) override {
    const absl::Span<const float> state =
        context.features.At(kAfterFinalNorm, context.features.rows - 1);
    return state_.Upload(state, heads_.target_.backend());
  }
  absl::StatusOr<std::vector<Tensor>> Logits(
      int level, absl::Span<const DraftTurn> turns) override {
    const int rows = static_cast<int>(turns.size());
    const int hidden = heads_.target_.hidden_size();
    BANYAN_ASSIGN_OR_RETURN(
        const Tensor x, workspace_.Matrix(Workspace::kStream, rows, hidden));
    BANYAN_ASSIGN_OR_RETURN(
        const Tensor y, workspace_.Matrix(Workspace::kNormed, rows, hidden));
    BANYAN_ASSIGN_OR_RETURN(
        const Tensor logits,
        workspace_.Matrix(Workspace::kLogits, rows, heads_.columns()));
    for (int i = 0; i < rows; ++i) {
      const auto* own = static_cast<const HeadsDrafter*>(
          turns[static_cast<std::size_t>(i)].drafter);
      BANYAN_RETURN_IF_ERROR(
          heads_.target_.backend().Copy({own->state_.view, x.Rows(i, 1)}));
    }
    BANYAN_RETURN_IF_ERROR(heads_.RunHead(
        heads_.heads_[static_cast<std::size_t>(level)], x, y, logits));
    std::vector<Tensor> by_turn;
    for (int i = 0; i < rows; ++i) by_turn.push_back(logits.Rows(i, 1));
    return by_turn;
  }
  absl::Status Take(const TransformerPass& target, const PassPart& part,
                    const Ints& kept_rows) override {
    const auto before = static_cast<std::size_t>(kept_rows.size) - 1;
    return heads_.target_.backend().Copy(
        {.x = target.States(part, kAfterFinalNorm),
         .y = state_.view,
         .rows = {kept_rows.buffer, kept_rows.offset + before, 1}});
  }

 private:
  explicit HeadsDrafter(const TransformerHeads& heads)
      : TransformerDrafter(
            {.backend = &heads.target_.backend(),
             .used_vocab = heads.target_.options().used_vocab,
             .columns = heads.outputs_.ByToken(heads.target_.vocab_size()),
             .by_depth = true,
             .most_levels = heads.count(),
             .longest_text = heads.target_.context_limit(),
             .shortest_text = 2,  // else there is no state
             .taps = {kAfterFinalNorm}}),
        heads_(heads),
        workspace_(heads.target_.backend()) {}

  const TransformerHeads& heads_;
  OwnedTensor state_;
  Workspace workspace_;
};

absl::StatusOr<std::unique_ptr<DeviceDrafter>> TransformerHeads::OnDevice()
    const {
  return HeadsDrafter::Create(*this);
}

// Computes all logits and gives some.
class MaskedHeads : public MedusaHeads {
 public:
  MaskedHeads(std::shared_ptr<const MedusaHeads> heads,
              std::vector<TokenId> tokens, int vocab_size)
      : heads_(std::move(heads)),
        tokens_(std::move(tokens)),
        vocab_size_(vocab_size) {}

  int count() const override { return heads_->count(); }
  LogitTokens outputs() const override { return {tokens_, vocab_size_}; }
  absl::Status Score(absl::Span<const float> hidden,
                     std::vector<std::vector<double>>& logits) const override {
    BANYAN_RETURN_IF_ERROR(heads_->Score(hidden, logits));
    for (std::vector<double>& head : logits) {
      const std::vector<double> all = std::move(head);
      head.clear();
      for (const TokenId token : tokens_)
        head.push_back(all[static_cast<std::size_t>(token)]);
    }
    return absl::OkStatus();
  }

 private:
  std::shared_ptr<const MedusaHeads> heads_;
  std::vector<TokenId> tokens_;
  int vocab_size_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const MedusaHeads>> MedusaHeads::WithOutputs(
    absl::Span<const TokenId> /*tokens*/) const {
  return absl::UnimplementedError("heads without an output matrix to trim");
}

absl::StatusOr<std::shared_ptr<const MedusaHeads>> TrimHeads(
    const std::shared_ptr<const MedusaHeads>& heads,
    const std::vector<TokenId>& tokens, int vocab_size) {
  auto trimmed = heads->WithOutputs(tokens);
  if (!absl::IsUnimplemented(trimmed.status())) return trimmed;
  return std::make_shared<MaskedHeads>(heads, tokens, vocab_size);
}

absl::Status MedusaHeads::ScoreAll(
    absl::Span<const absl::Span<const float>> hidden,
    std::vector<std::vector<std::vector<double>>>& logits) const {
  logits.resize(hidden.size());
  for (std::size_t i = 0; i < hidden.size(); ++i)
    BANYAN_RETURN_IF_ERROR(Score(hidden[i], logits[i]));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<DeviceDrafter>> MedusaHeads::OnDevice() const {
  return nullptr;
}

absl::StatusOr<std::unique_ptr<MedusaHeads>> LoadMedusaHeads(
    const std::string& directory, const Model& target) {
  const Network* const network = target.facets().network;
  if (network == nullptr)
    return absl::InvalidArgumentError("heads need a transformer as target");
  BANYAN_ASSIGN_OR_RETURN(
      const std::unique_ptr<MedusaFile> file,
      MedusaFile::Open(directory, target.hidden_size(), target.vocab_size()));
  auto heads = std::make_unique<TransformerHeads>(*network);
  for (int number = 0; number < file->heads(); ++number)
    BANYAN_RETURN_IF_ERROR(heads->LoadHead(*file, number));
  return heads;
}

}  // namespace banyan
