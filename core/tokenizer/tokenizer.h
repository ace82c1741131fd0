// Text to token ids and back, as the Hugging Face library `tokenizers` does it
// by the file tokenizer.json. Read for byte-level BPE (GPT-2, Llama-3, Qwen2)
// and BPE as sentencepiece does it (Llama-2, Mistral).
//
//   added tokens kept as they are | normalizer | added tokens normalized
//   | pre_tokenizer | model | post_processor         and back by the decoder
//
// Everything unknown in the file is refused, but for `version`, `truncation`
// and `padding`, which say nothing about one text's ids.
#ifndef BANYAN_CORE_TOKENIZER_TOKENIZER_H_
#define BANYAN_CORE_TOKENIZER_TOKENIZER_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/base/token.h"
#include "core/json/flat_map.h"
#include "core/json/json_value.h"
#include "core/tokenizer/steps/added_tokens.h"
#include "core/tokenizer/steps/bpe.h"
#include "core/tokenizer/steps/decoder.h"
#include "core/tokenizer/steps/normalizer.h"
#include "core/tokenizer/steps/pre_tokenizer.h"

namespace banyan {

// What tokenizer_config.json adds to tokenizer.json.

// Whether a text begins with bos_token and ends with eos_token.
struct TokensAround {
  bool bos = false;
  bool eos = false;
};

struct TokenizerConfig {
  std::string file;  // for messages
  std::optional<std::string> bos_token;
  std::optional<std::string> eos_token;
  std::optional<std::string> unk_token;
  std::optional<std::string> pad_token;
  // What stands in the place of the post-processor; nothing: it stays.
  std::optional<TokensAround> around;
  std::string chat_template;  // Jinja; empty: none
};

// Reads these keys; all others, of which there are many, are not looked at. Of
// several named chat templates the one named "default" counts.
//
// `add_bos_token` and `add_eos_token` count where `tokenizer_class` is one of
// those that the library transformers, up to its version 4, writes the
// post-processor anew for: LlamaTokenizer, CodeLlamaTokenizer, GemmaTokenizer,
// CohereTokenizer and GPTNeoXTokenizer, each with or without Fast. One that is
// absent is what the class has by default, if the other is there; if neither is
// there, tokenizer.json decides, as it does for all other classes, and for
// these since version 5.
absl::StatusOr<TokenizerConfig> ParseTokenizerConfig(absl::string_view text,
                                                     const std::string& file);

struct EncodeOptions {
  bool add_special = true;    // what the post-processor puts around the text
  bool parse_special = true;  // special tokens in the text are tokens
};

// A prompt as a chat template writes it: the template's markup, and the text of
// the messages between.
struct PromptText {
  std::string text;
  std::vector<ByteRange> said = {};      // the messages, in order and disjoint
  std::vector<std::string> markup = {};  // the tokens that the template writes
};

// Does not change once made: any number of threads may use one.
class Tokenizer {
 public:
  // Reads DIR/tokenizer.json, and if they are there DIR/tokenizer_config.json
  // and DIR/chat_template.jinja; or what a GGUF file says in their place.
  // NotFound if there is no tokenizer. Errors: "FILE: PATH IN THE JSON: what",
  // or "FILE:LINE:COLUMN: what" where it is not JSON.
  static absl::StatusOr<std::unique_ptr<Tokenizer>> Load(
      const std::string& dir);
  // Reads a tokenizer.json; `file` names it in messages.
  static absl::StatusOr<std::unique_ptr<Tokenizer>> FromJson(
      absl::string_view text, const std::string& file,
      const TokenizerConfig& config = {});

  // Fails with InvalidArgument if the text is not UTF-8, has a character the
  // vocabulary can write in no way, or takes one of its patterns too much.
  absl::StatusOr<std::vector<TokenId>> Encode(
      absl::string_view text, const EncodeOptions& options = {}) const;

  // The ids of a prompt that a chat template has rendered. Special tokens, and
  // those of the template, are found in its markup only: the text of a message
  // gives none. Fails if the vocabulary's merges would form one from the
  // letters of a message. All other ids are those of the whole text. What the
  // post-processor puts before a text is put there unless the prompt begins
  // with it already. Nothing is put after it.
  absl::StatusOr<std::vector<TokenId>> EncodePrompt(
      const PromptText& prompt) const;

  // The text of `ids`, UTF-8: bytes that are none become U+FFFD. Fails with
  // InvalidArgument on an id without token. StreamDecoder gives the same piece
  // by piece.
  absl::StatusOr<std::string> Decode(absl::Span<const TokenId> ids,
                                     bool skip_special = false) const;

  // The largest id plus one. Ids in between may have no token, and a model may
  // have more.
  int vocab_size() const { return static_cast<int>(tokens_.size()); }
  // The token as the file writes it ("Ġhello"). Fails with InvalidArgument on
  // an id without token.
  absl::StatusOr<absl::string_view> TokenText(TokenId id) const;
  // What the token adds to a text, as bytes: " hello", at the text's start
  // perhaps "hello"; parts of characters as they are. Fails as TokenText.
  absl::StatusOr<std::string> TokenBytes(TokenId id,
                                         bool at_start = false) const;
  // The id of a token by its text as the file writes it, added or not.
  std::optional<TokenId> FindToken(absl::string_view text) const;
  // Whether decoding may skip it. Requires an id with a token.
  bool IsSpecial(TokenId id) const;

  std::optional<TokenId> bos_id() const { return bos_id_; }
  std::optional<TokenId> eos_id() const { return eos_id_; }
  // Nothing here gives these; they tell one tokenizer from another.
  std::optional<TokenId> unk_id() const { return unk_id_; }
  std::optional<TokenId> pad_id() const { return pad_id_; }
  // The Jinja text; empty if the model has none.
  const std::string& chat_template() const { return chat_template_; }
  const TextDecoder& decoder() const { return decoder_; }

 private:
  struct Token {
    std::optional<std::string> text;
    bool is_special = false;
  };

  Tokenizer(Normalizer normalizer, PreTokenizer pre_tokenizer, Bpe bpe,
            PostProcessor post_processor, TextDecoder decoder);

  static absl::StatusOr<std::unique_ptr<Tokenizer>> FromSections(
      const JsonAt& json);
  absl::Status ReadAdded(const JsonAt& json);
  absl::Status RegisterAdded(const AddedToken& token, const JsonAt& json);
  Token& Slot(TokenId id);
  absl::Status CheckPostProcessor(const JsonAt& json) const;
  absl::Status Apply(const TokenizerConfig& config);
  absl::Status EncodeWhole(Piece whole, const TokenSearch& search,
                           std::vector<TokenId>& out) const;
  absl::Status EncodeText(Piece piece, const TokenSearch& search,
                          std::vector<TokenId>& out) const;
  absl::Status Normalize(Piece& piece) const;
  // Fails if the merges of a word formed a special token from its letters.
  absl::Status CheckSpelling(const Piece& word,
                             absl::Span<const TokenId> ids) const;

  Normalizer normalizer_;
  PreTokenizer pre_tokenizer_;
  Bpe bpe_;
  PostProcessor post_processor_;
  TextDecoder decoder_;
  TokenFinder raw_tokens_;         // in the text as it is
  TokenFinder normalized_tokens_;  // in the text normalized
  std::vector<Token> tokens_;      // by id
  FlatMap<std::string, TokenId> added_ids_;
  std::optional<TokenId> bos_id_;
  std::optional<TokenId> eos_id_;
  std::optional<TokenId> unk_id_;
  std::optional<TokenId> pad_id_;
  std::string chat_template_;
};

// Token ids to text as they come.

// What Push and Finish have given is together what Tokenizer::Decode gives for
// all the ids. Text is never taken back, so it is held back while what follows
// may change it: a character that lacks bytes, and in vocabularies with byte
// tokens a run of these. For one thread.
class StreamDecoder {
 public:
  // The tokenizer must outlive it. With `skip_special` special tokens give no
  // text.
  explicit StreamDecoder(const Tokenizer& tokenizer, bool skip_special = false);

  // The text that is certain now and was not before, whole characters, maybe
  // none. Fails with InvalidArgument on an id without token, and then changes
  // nothing.
  absl::StatusOr<std::string> Push(TokenId id);

  // The rest. The last call.
  std::string Finish();

 private:
  const Tokenizer& tokenizer_;
  bool skip_special_;
  std::vector<std::unique_ptr<DecodeStage>> stages_;
};

}  // namespace banyan

#endif  // BANYAN_CORE_TOKENIZER_TOKENIZER_H_
