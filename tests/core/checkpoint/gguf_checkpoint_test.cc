// A GGUF file as a checkpoint.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
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
// A llama of one layer with two heads of 16.
MadeGguf Llama() {
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
      .Tensor("output_norm.weight", {32}, kF32, zeros(32));
  for (const char* norm : {"attn_norm", "ffn_norm"})
    file.Tensor(absl::StrCat("blk.0.", norm, ".weight"), {32}, kF32, zeros(32));
  for (const char* matrix : {"attn_q", "attn_k", "attn_v", "attn_output",
                             "ffn_gate", "ffn_up", "ffn_down"})
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

}  // namespace
}  // namespace banyan
