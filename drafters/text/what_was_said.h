// What drafters that carry texts from prompt to prompt take over of one: what
// was emitted in it. The prompt is not the target's, and in a chat it holds the
// turns before, which were taken over already.
#ifndef BANYAN_DRAFTERS_TEXT_WHAT_WAS_SAID_H_
#define BANYAN_DRAFTERS_TEXT_WHAT_WAS_SAID_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/token.h"

namespace banyan {

// What Drafter::End says of a prompt of so many tokens.
std::string PromptOfLength(int prompt_length);
// What Drafter::Absorb takes over of a text by those bytes. DataLoss on others.
absl::StatusOr<absl::Span<const TokenId>> WhatWasSaid(
    absl::Span<const TokenId> text, absl::string_view learnt);

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_TEXT_WHAT_WAS_SAID_H_
