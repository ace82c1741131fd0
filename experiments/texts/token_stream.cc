#include "experiments/texts/token_stream.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "tree/draft_tree.h"
#include "tree/verdict.h"

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

namespace {

constexpr absl::string_view kReset = "\x1b[0m";

// ECMA-48's "select graphic rendition".
absl::string_view Code(Ink ink) {
  switch (ink) {
    case Ink::kPlain:
      return "";
    case Ink::kPrompt:
      return "\x1b[2m";  // faint
    case Ink::kAccepted:
      return "\x1b[32m";  // green
    case Ink::kCorrected:
      return "\x1b[31m";  // red
    case Ink::kBonus:
      return "\x1b[36m";  // cyan
  }
  return "";
}

// Whether a drafted token stood where `verdict.next` was drawn.
bool Refused(const DraftTree& tree, const Verdict& verdict) {
  const Node& last = tree.node(verdict.path.empty() ? 0 : verdict.path.back());
  return std::any_of(last.lists.begin(), last.lists.end(),
                     [](const DrawList& list) { return !list.draws.empty(); });
}

}  // namespace

Ink InkOf(const RoundRecord& record, std::size_t i) {
  if (i < record.verdict.path.size()) return Ink::kAccepted;
  if (Refused(record.tree, record.verdict)) return Ink::kCorrected;
  return record.verdict.path.empty() ? Ink::kPlain : Ink::kBonus;
}

std::string Painted(absl::string_view text, Ink ink) {
  if (text.empty() || ink == Ink::kPlain) return std::string(text);
  return absl::StrCat(Code(ink), text, kReset);
}

TokenStream::TokenStream(const Options& options) : options_(options) {
  if (options.tokenizer != nullptr)
    decoder_.emplace(*options.tokenizer, /*skip_special=*/true);
}

absl::Status TokenStream::Prompt(absl::Span<const TokenId> tokens) {
  for (TokenId token : tokens)
    BANYAN_RETURN_IF_ERROR(Push(token, Ink::kPrompt));
  return Flush();
}

absl::Status TokenStream::Emit(const RoundRecord& record) {
  for (std::size_t i = 0; i < record.emitted.size(); ++i)
    BANYAN_RETURN_IF_ERROR(Push(record.emitted[i], InkOf(record, i)));
  return Flush();
}

absl::Status TokenStream::Finish() {
  if (decoder_.has_value()) Write(decoder_->Finish(), Ink::kPlain);
  if (options_.out != nullptr) *options_.out << "\n";
  return Flush();
}

absl::Status TokenStream::Push(TokenId token, Ink ink) {
  std::string piece;
  if (decoder_.has_value()) {
    BANYAN_ASSIGN_OR_RETURN(piece, decoder_->Push(token));
  } else {
    piece = absl::StrCat(first_ ? "" : ",", token);
  }
  first_ = false;
  Write(piece, ink);
  return absl::OkStatus();
}

void TokenStream::Write(absl::string_view piece, Ink ink) {
  if (decoder_.has_value() && ink != Ink::kPrompt)
    absl::StrAppend(&text_, piece);
  if (options_.out == nullptr) return;
  if (ink == Ink::kPrompt && !options_.writes_prompt) return;
  *options_.out << (options_.colour ? Painted(piece, ink) : std::string(piece));
}

absl::Status TokenStream::Flush() {
  if (options_.out == nullptr) return absl::OkStatus();
  options_.out->flush();
  if (!*options_.out)
    return absl::InternalError("the output could not be written");
  return absl::OkStatus();
}

}  // namespace banyan
