// The section `decoder` of tokenizer.json: how the texts of tokens become text
// again. Known: null (the texts with a space between them), Sequence,
// ByteLevel, Replace of a text, ByteFallback, Fuse, Strip (of the beginning),
// Metaspace.
//
// A decoder is a row of stages that turn a list of tokens into another. Here
// they work as a stream: a token may arrive in parts, so that a stage that
// makes one token of all still gives what it has.
#ifndef BANYAN_CORE_TOKENIZER_STEPS_DECODER_H_
#define BANYAN_CORE_TOKENIZER_STEPS_DECODER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/json/json_value.h"
#include "core/tokenizer/steps/both_ways.h"
#include "core/tokenizer/steps/normalizer.h"

namespace banyan {

// A part of a token's text: its first, or one that follows the part before.
struct Fragment {
  std::string text;
  bool begins_token = true;
};

// One stage at work on one stream.
class DecodeStage {
 public:
  virtual ~DecodeStage() = default;

  // Takes the next fragment; appends what can be given by now, whole
  // characters.
  virtual void Push(Fragment fragment, std::vector<Fragment>& out) = 0;
  // Appends what has been held back. The last call.
  virtual void Finish(std::vector<Fragment>& out);
};

class TextDecoder {
 public:
  // Refuses what it does not know.
  static absl::StatusOr<TextDecoder> FromJson(const JsonAt& json);

  // New stages, in order, for one stream.
  std::vector<std::unique_ptr<DecodeStage>> MakeStages() const;

  // Returns the bytes that a token adds to a text, at the text's start or after
  // it. The bytes need not be whole characters.
  std::string BytesOf(absl::string_view token, bool at_start) const;

 private:
  using Maker = std::function<std::unique_ptr<DecodeStage>()>;
  // What a stage makes of one token, whose bytes may be no character.
  using Speller = std::function<std::string(std::string token, bool at_start)>;
  struct Stage {
    Maker make;
    Speller spell;
  };

  absl::Status Add(const JsonAt& json);
  absl::Status AddReplace(const JsonAt& json);
  absl::Status AddStrip(const JsonAt& json);
  absl::Status AddMetaspace(const JsonAt& json);
  absl::Status AddPlain(const std::string& type, const JsonAt& json);

  std::vector<Stage> stages_;
  bool is_fused_ = false;  // a stage has made one token of all
  double growth_ = 1;
};

// The stages of decoders; the contract is DecodeStage's.

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

#endif  // BANYAN_CORE_TOKENIZER_STEPS_DECODER_H_
