#include "core/tokenizer/token_names.h"

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "core/base/fnv1a.h"
#include "core/base/token.h"
#include "core/tokenizer/tokenizer.h"

namespace banyan {
namespace {

// In no UTF-8 text.
constexpr absl::string_view kEnd = "\xff";
constexpr absl::string_view kNone = "\xfe";

}  // namespace

std::string NameOfTokens(const Tokenizer& tokenizer) {
  std::uint64_t name = kFnv1aStart;
  for (TokenId id = 0; id < tokenizer.vocab_size(); ++id) {
    const absl::StatusOr<absl::string_view> text = tokenizer.TokenText(id);
    name = Fnv1a(BytesOf(text.value_or(kNone)), name);
    name = Fnv1a(BytesOf(kEnd), name);
  }
  return absl::StrFormat("%016x", name);
}

}  // namespace banyan
