// The stages of decoders; the contract is DecodeStage's.
#ifndef BANYAN_CORE_TOKENIZER_STEPS_DECODE_STAGES_H_
#define BANYAN_CORE_TOKENIZER_STEPS_DECODE_STAGES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "core/tokenizer/steps/decoder.h"
#include "core/tokenizer/steps/metaspace.h"
#include "core/tokenizer/steps/normalizer.h"

namespace banyan {

// Puts a space between tokens: what stands for no decoder.
std::unique_ptr<DecodeStage> MakeJoinStage();

// Makes one token of all.
std::unique_ptr<DecodeStage> MakeFuseStage();

// Makes bytes of the characters, and one token of all. Holds back a character
// that is not whole; what can be none becomes U+FFFD.
std::unique_ptr<DecodeStage> MakeByteLevelStage();

// Makes a run of tokens <0xHH> the text with these bytes; if they are not
// UTF-8, a U+FFFD for each. The last byte of a run thus decides about its
// first: the run is held back until another token ends it.
std::unique_ptr<DecodeStage> MakeByteFallbackStage();

// The byte of a token <0xHH>; none: it is no such token.
std::optional<char> ByteOfToken(absl::string_view token);

std::unique_ptr<DecodeStage> MakeReplaceStage(Replacement replacement);

// Takes up to `count` times `content` away from the beginning of each token.
std::unique_ptr<DecodeStage> MakeStripStage(std::string content,
                                            std::int64_t count);

// Makes the replacement a space; in the first token, unless nothing is ever
// prepended, nothing.
std::unique_ptr<DecodeStage> MakeMetaspaceStage(Metaspace metaspace);

}  // namespace banyan

#endif  // BANYAN_CORE_TOKENIZER_STEPS_DECODE_STAGES_H_
