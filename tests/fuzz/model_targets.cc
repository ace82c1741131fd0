#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/common.h"
#include "core/base/number_rows.h"
#include "core/checkpoint/architecture.h"
#include "core/checkpoint/checkpoint.h"
#include "core/checkpoint/families/families.h"
#include "core/checkpoint/safetensors.h"
#include "core/checkpoint/stored_tensor.h"
#include "core/checkpoint/weight_rows.h"
#include "core/gguf/gguf_file.h"
#include "core/gguf/model_text.h"
#include "core/json/json_value.h"
#include "core/tokenizer/patterns/unicode.h"
#include "core/tokenizer/tokenizer.h"
#include "tests/fuzz/targets.h"

namespace banyan {
namespace {

constexpr char kFile[] = "corpus";

// Reads the tensor as a matrix, whichever way round, if it is a small one of
// weights.
void CheckRows(const StoredTensor& tensor) {
  constexpr std::int64_t kMaxSize = 1 << 10;
  if (tensor.shape.size() != 2 || tensor.shape[0] > kMaxSize ||
      tensor.shape[1] > kMaxSize)
    return;
  const auto rows = static_cast<int>(tensor.shape[0]);
  const auto columns = static_cast<int>(tensor.shape[1]);
  const WeightSource plain = {"t", tensor.shape, rows, columns};
  WeightSource turned = {"t", tensor.shape, columns, rows};
  turned.transposed = true;
  if (!CheckStored(tensor, plain).ok()) return;
  const auto count =
      static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
  std::vector<float> one(count);
  std::vector<float> other(count);
  const absl::Status read = ReadRows(tensor, plain, {0, rows}, one.data());
  const absl::Status read_turned =
      ReadRows(tensor, turned, {0, columns}, other.data());
  Check(read.ok() == read_turned.ok(), "both ways see what is not finite");
  Check(read.ok() == std::all_of(one.begin(), one.end(),
                                 [](float x) { return std::isfinite(x); }),
        "what is not finite is refused, and nothing else");
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column) {
      const float a = one[static_cast<std::size_t>(row * columns + column)];
      const float b = other[static_cast<std::size_t>(column * rows + row)];
      Check(std::memcmp(&a, &b, sizeof a) == 0, "both ways give one number");
    }
}

void CheckTensors(const StoredTensors& tensors,
                  absl::Span<const std::byte> file) {
  std::vector<std::pair<const std::byte*, const std::byte*>> spans;
  std::size_t bytes = 0;
  for (const auto& [name, tensor] : tensors) {
    std::int64_t size = DTypeBytes(tensor.dtype);
    for (const std::int64_t dimension : tensor.shape) size *= dimension;
    Check(size == static_cast<std::int64_t>(tensor.data.size()),
          "the bytes are those of the shape");
    bytes += tensor.data.size();
    if (tensor.data.empty()) continue;
    spans.emplace_back(&tensor.data.front(), &tensor.data.back());
    CheckRows(tensor);
  }
  std::sort(spans.begin(), spans.end());
  for (std::size_t i = 0; i < spans.size(); ++i)
    Check(i == 0 || spans[i].first == spans[i - 1].second + 1,
          "the tensors lie one after the other");
  if (!spans.empty())
    Check(spans.back().second == &file.back(), "the last ends the file");
  Check(bytes <= file.size() - 8, "the tensors lie in the file");
}

bool IsSize(int value) { return value >= 1 && value <= ConfigReader::kMaxSize; }

void CheckSource(const WeightSource& source) {
  Check(source.rows >= 1 && source.columns >= 1 && source.first_row >= 0,
        "the weight has rows and columns");
  const std::vector<std::int64_t>& shape = source.stored_shape;
  Check(shape.size() == (source.columns == 1 ? shape.size() : 2),
        "a matrix has two dimensions");
  Check(shape.size() == 1 || shape.size() == 2, "a weight has one or two");
  const std::int64_t all_rows = shape[source.transposed ? 1 : 0];
  Check(source.first_row + std::int64_t{source.rows} <= all_rows,
        "the rows are in the tensor");
  if (shape.size() == 2)
    Check(shape[source.transposed ? 0 : 1] == source.columns,
          "the columns are the tensor's");
  std::int64_t elements = 1;
  for (const std::int64_t size : shape) {
    Check(size >= 1 && size <= std::int64_t{4} * ConfigReader::kMaxSize,
          "no dimension is beyond its bound");
    elements *= size;
  }
  Check(elements < std::numeric_limits<std::int64_t>::max() / 16,
        "the tensor's bytes can be counted");
}

void CheckArchitecture(const Architecture& of) {
  Check(IsSize(of.vocab_size) && IsSize(of.hidden_size) &&
            IsSize(of.context_limit) && of.feed_forward_size >= 1 &&
            of.feed_forward_size <= 4 * ConfigReader::kMaxSize,
        "the sizes are in their bounds");
  Check(of.heads >= 1 && of.kv_heads >= 1 && of.heads % of.kv_heads == 0,
        "heads are a multiple of those of keys");
  Check(of.head_dim >= 1 && IsSize(of.heads * of.head_dim),
        "the heads' dimensions are a size");
  Check(of.norm_epsilon > 0 && std::isfinite(of.norm_epsilon),
        "the epsilon is positive");
  Check(!of.layers.empty() && of.layers.size() <= 1024, "there are layers");
  Check(of.rope.has_value() != of.positions.present(),
        "positions are rotary or learnt");
  if (of.rope.has_value())
    Check(of.head_dim % 2 == 0 && of.rope->theta > 0 && of.rope->factor >= 1 &&
              of.rope->high_frequency_factor > of.rope->low_frequency_factor,
          "the rotation is one");
  for (const TokenId token : of.end_of_text)
    Check(token >= 0 && token < of.vocab_size, "the end is a token");
  Check(of.head.present() && of.embedding.present() && of.final_norm.present(),
        "there is a way in and out");
  for (const LayerSources& layer : of.layers)
    Check(layer.query.present() && layer.down.present() && layer.window >= 0 &&
              layer.attention_scale > 0,
          "a layer is complete");
  ForEachSource(of, CheckSource);
}

}  // namespace

void CheckMessage(const absl::Status& status) {
  Check(absl::IsInvalidArgument(status), "the error is InvalidArgument");
  const absl::string_view message = status.message();
  Check(absl::StartsWith(message, "corpus:") && message.size() > 10,
        "the message has a file and a text");
  Check(message.size() < 2000, "the message is short");
  Check(std::none_of(message.begin(), message.end(),
                     [](unsigned char c) { return c < ' ' && c != '\n'; }),
        "the message can be printed");
  Check(FindInvalidUtf8(message) == absl::string_view::npos,
        "the message is UTF-8");
}

absl::Status FuzzSafetensors(absl::string_view text) {
  const auto file = absl::MakeConstSpan(
      reinterpret_cast<const std::byte*>(text.data()), text.size());
  const absl::StatusOr<StoredTensors> tensors = ParseSafetensors(file, kFile);
  if (tensors.ok()) {
    CheckTensors(*tensors, file);
  } else {
    CheckMessage(tensors.status());
  }
  return tensors.status();
}

absl::Status FuzzGguf(absl::string_view text) {
  const auto file = absl::MakeConstSpan(
      reinterpret_cast<const std::byte*>(text.data()), text.size());
  const absl::StatusOr<Gguf> contents = ParseGguf(file, kFile);
  absl::Status status = contents.status();
  if (status.ok()) {
    for (const auto& [name, tensor] : contents->tensors) {
      const std::int64_t block = DTypeBlock(tensor.dtype);
      std::int64_t size = DTypeBytes(tensor.dtype);
      for (const std::int64_t dimension : tensor.shape) size *= dimension;
      Check(size == static_cast<std::int64_t>(tensor.data.size()) * block,
            "the bytes are those of the shape");
      Check(tensor.data.empty() || (&tensor.data.front() >= &file.front() &&
                                    &tensor.data.back() <= &file.back()),
            "the tensor lies in the file");
      (void)PlaceOf(*contents, name);
    }
    const absl::StatusOr<JsonValue> config = GgufConfig(*contents, kFile);
    status = config.status();
    if (config.ok()) status = FuzzConfigJson(config->Text());
    const absl::StatusOr<std::string> tokenizer =
        GgufTokenizer(*contents, kFile);
    if (tokenizer.ok())
      (void)Tokenizer::FromJson(*tokenizer, kFile);
    else
      CheckMessage(tokenizer.status());
    (void)GgufTokenizerConfig(*contents, kFile);
  }
  if (!status.ok()) CheckMessage(status);
  return status;
}

absl::Status FuzzConfigJson(absl::string_view text) {
  absl::Status status;
  for (const bool has_all : {false, true}) {
    absl::StatusOr<ConfigReader> in = ConfigReader::Parse(text, kFile);
    status = in.status();
    if (in.ok()) {
      const absl::StatusOr<Architecture> read = ReadArchitecture(
          *in, [has_all](absl::string_view) { return has_all; });
      status = read.status();
      if (read.ok()) CheckArchitecture(*read);
    }
    if (!status.ok()) CheckMessage(status);
  }
  return status;
}

}  // namespace banyan
