#include "drafters/text/carried_texts.h"

#include <cstdint>

#include "core/base/bytes.h"

namespace banyan {

std::string PromptOfLength(int prompt_length) {
  ByteWriter out;
  out.Put(static_cast<std::uint32_t>(prompt_length));
  return out.Take();
}

absl::StatusOr<absl::Span<const TokenId>> OutputOf(
    absl::Span<const TokenId> text, absl::string_view learnt) {
  ByteReader in(learnt);
  const std::uint32_t prompt_length = in.Number();
  BANYAN_RETURN_IF_ERROR(in.Finish());
  if (prompt_length > text.size())
    return absl::DataLossError(absl::StrCat(
        "a prompt of ", prompt_length, " tokens in a text of ", text.size()));
  return text.subspan(prompt_length);
}

}  // namespace banyan
