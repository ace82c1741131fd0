// A GGUF file as a checkpoint.
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/checkpoint/checkpoint.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/checkpoint/files.h"
#include "tests/core/gguf/made_gguf.h"

namespace banyan {
namespace {

using testing::EndsWith;
using testing::IsEmpty;

constexpr std::uint32_t kF32 = 0;
constexpr std::uint32_t kQ8_0 = 8;
constexpr std::uint16_t kNan = 0x7e00;  // as F16

// A matrix of Q8_0, 32 columns, zeros; row `broken` has the scale NaN.
std::string Blocks(int rows, int broken) {
  std::string data;
  for (int row = 0; row < rows; ++row)
    absl::StrAppend(&data, Raw(row == broken ? kNan : std::uint16_t{0x3c00}),
                    std::string(32, '\0'));
  return data;
}

// A llama of one layer with two heads of 16; row `broken` of its queries is no
// number.
MadeGguf Llama(int broken = -1) {
  const auto zeros = [](int count) {
    return std::string(4 * static_cast<std::size_t>(count), '\0');
  };
  MadeGguf file;
  file.Text("general.architecture", "llama")
      .Count("llama.context_length", 128)
      .Count("llama.embedding_length", 32)
      .Count("llama.block_count", 1)
      .Count("llama.feed_forward_length", 32)
      .Count("llama.attention.head_count", 2)
      .Real("llama.attention.layer_norm_rms_epsilon", 0.25F)
      .Tensor("token_embd.weight", {32, 5}, kF32, zeros(160))
      .Tensor("output_norm.weight", {32}, kF32, zeros(32))
      .Tensor("blk.0.attn_q.weight", {32, 32}, kQ8_0, Blocks(32, broken));
  for (const char* norm : {"attn_norm", "ffn_norm"})
    file.Tensor(absl::StrCat("blk.0.", norm, ".weight"), {32}, kF32, zeros(32));
  for (const char* matrix :
       {"attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"})
    file.Tensor(absl::StrCat("blk.0.", matrix, ".weight"), {32, 32}, kF32,
                zeros(1024));
  return file;
}

absl::StatusOr<std::unique_ptr<Checkpoint>> Open(const MadeGguf& made) {
  const TestFolder folder;
  return Checkpoint::Open(folder.Write("m.gguf", made.Bytes()));
}

std::string Refusal(const MadeGguf& made) {
  const auto opened = Open(made);
  return opened.ok() ? "it was opened" : std::string(opened.status().message());
}

TEST(GgufCheckpoint, IsReadWhole) {
  const auto opened = Open(Llama());
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_THAT((*opened)->warnings(), IsEmpty());
}

// In a directory they are warned of: there, programs leave tensors of their
// own. In a GGUF file a tensor that is there is one that the model needs.
TEST(GgufCheckpoint, RefusesTensorsThatNothingReads) {
  EXPECT_THAT(
      Refusal(Llama().Tensor("blk.0.attn_norm.bias", {1}, kF32, "four")),
      EndsWith("m.gguf: 1 tensor is not read: 'blk.0.attn_norm.bias'"));
  EXPECT_THAT(Refusal(Llama().Tensor("blk.0.attn_q.scale", {1}, kF32, "four")),
              EndsWith("1 tensor is not read: 'blk.0.attn_q.scale'"));
  EXPECT_THAT(Refusal(Llama().Tensor("blk.3.ffn_up.weight", {1}, kF32, "four")),
              EndsWith("config.json has 1 layer, and the weights have "
                       "'blk.3.ffn_up.weight'"));
  EXPECT_THAT(
      Refusal(Llama().Tensor("model.layers.0.self_attn.q_proj.weight", {1},
                             kF32, "four")),
      EndsWith("m.gguf: tensor 'model.layers.0.self_attn.q_proj.weight': the "
               "architecture llama has none of this name"));
}

// Row 5 of the file is row 10 of the first head: its rows stand in pairs.
TEST(GgufCheckpoint, NamesTheRowInTheFileOfABlockThatIsNoNumber) {
  for (const int broken : {5, 21}) {
    const auto opened = Open(Llama(broken));
    ASSERT_TRUE(opened.ok()) << opened.status();
    const WeightSource& query = (*opened)->architecture().layers.front().query;
    std::vector<float> rows(1024);
    const auto read = (*opened)->ReadRows(query, {0, 32}, absl::MakeSpan(rows));
    EXPECT_THAT(std::string(read.message()),
                EndsWith(absl::StrCat(
                    "m.gguf: tensor 'blk.0.attn_q.weight': row ", broken,
                    ", column 0: expected a finite number, found nan")));
  }
}

}  // namespace
}  // namespace banyan
