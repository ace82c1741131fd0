#include "experiments/single/token_text.h"

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "core/base/token.h"
#include "core/tokenizer/tokenizer.h"

namespace banyan {

std::string ShownToken(const Tokenizer* tokenizer, TokenId id) {
  if (tokenizer == nullptr) return "";
  const absl::StatusOr<absl::string_view> text = tokenizer->TokenText(id);
  if (!text.ok()) return "";
  std::string shown;
  for (char byte : *text) {
    const auto value = static_cast<unsigned char>(byte);
    if (absl::ascii_iscntrl(value))
      absl::StrAppendFormat(&shown, "\\x%02x", value);
    else
      shown.push_back(byte);
  }
  return shown;
}

}  // namespace banyan
