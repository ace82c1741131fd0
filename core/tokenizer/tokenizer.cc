#include "core/tokenizer/tokenizer.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/strip.h"
#include "core/base/check.h"
#include "core/gguf/model_text.h"
#include "core/tokenizer/patterns/unicode.h"

namespace banyan {

namespace {

// A text, or an added token with the text as its content.
absl::Status ReadToken(const JsonAt& json, std::optional<std::string>& out) {
  if (json.is_null()) return absl::OkStatus();
  const JsonAt text = json.is_object() ? json.At("content") : json;
  BANYAN_ASSIGN_OR_RETURN(out, text.String());
  return absl::OkStatus();
}

struct ClassRow {
  absl::string_view name;
  bool adds_bos;  // by default; none adds eos
};

constexpr ClassRow kClasses[] = {
    {"LlamaTokenizer", true},    {"CodeLlamaTokenizer", true},
    {"GemmaTokenizer", true},    {"CohereTokenizer", true},
    {"GPTNeoXTokenizer", false},
};

absl::StatusOr<std::optional<TokensAround>> ReadTokensAround(
    const JsonAt& json) {
  const JsonAt bos = json.At("add_bos_token");
  const JsonAt eos = json.At("add_eos_token");
  BANYAN_ASSIGN_OR_RETURN(const std::string class_name,
                          json.At("tokenizer_class").StringOr(""));
  for (const ClassRow& row : kClasses) {
    if (absl::StripSuffix(class_name, "Fast") != row.name) continue;
    TokensAround around;
    BANYAN_ASSIGN_OR_RETURN(around.bos, bos.BoolOr(row.adds_bos));
    BANYAN_ASSIGN_OR_RETURN(around.eos, eos.BoolOr(false));
    if (!bos.is_null() || !eos.is_null()) return around;
  }
  return std::nullopt;
}

absl::StatusOr<std::string> ReadChatTemplate(const JsonAt& json) {
  if (json.is_null() || json.is_string()) return json.StringOr("");
  BANYAN_ASSIGN_OR_RETURN(const std::vector<JsonAt> items, json.Items());
  for (const JsonAt& item : items) {
    BANYAN_ASSIGN_OR_RETURN(const std::string name, item.At("name").String());
    if (name == "default") return item.At("template").String();
  }
  return std::string();
}

}  // namespace

absl::StatusOr<TokenizerConfig> ParseTokenizerConfig(absl::string_view text,
                                                     const std::string& file) {
  BANYAN_ASSIGN_OR_RETURN(const JsonTree tree, JsonTree::Parse(text, file));
  const JsonAt json = tree.root();
  if (!json.is_object()) return json.Expected("an object");
  TokenizerConfig config;
  config.file = file;
  BANYAN_RETURN_IF_ERROR(ReadToken(json.At("bos_token"), config.bos_token));
  BANYAN_RETURN_IF_ERROR(ReadToken(json.At("eos_token"), config.eos_token));
  BANYAN_RETURN_IF_ERROR(ReadToken(json.At("unk_token"), config.unk_token));
  BANYAN_RETURN_IF_ERROR(ReadToken(json.At("pad_token"), config.pad_token));
  BANYAN_ASSIGN_OR_RETURN(config.around, ReadTokensAround(json));
  BANYAN_ASSIGN_OR_RETURN(config.chat_template,
                          ReadChatTemplate(json.At("chat_template")));
  return config;
}

namespace {

// The largest published tokenizer.json has some 35 MB.
constexpr std::size_t kMaxBytes = std::size_t{256} << 20;

absl::StatusOr<TokenizerConfig> LoadConfig(const std::string& dir) {
  TokenizerConfig config;
  constexpr char kConfig[] = "tokenizer_config.json";
  const absl::StatusOr<std::string> text =
      ReadModelText(dir, kConfig, kMaxBytes);
  if (text.ok()) {
    BANYAN_ASSIGN_OR_RETURN(
        config, ParseTokenizerConfig(*text, ModelTextName(dir, kConfig)));
  } else if (!absl::IsNotFound(text.status())) {
    return text.status();
  }
  const absl::StatusOr<std::string> chat =
      ReadModelText(dir, "chat_template.jinja", kMaxBytes);
  if (chat.ok()) {
    config.chat_template = *chat;
  } else if (!absl::IsNotFound(chat.status())) {
    return chat.status();
  }
  return config;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Tokenizer>> Tokenizer::Load(
    const std::string& dir) {
  constexpr char kTokenizer[] = "tokenizer.json";
  BANYAN_ASSIGN_OR_RETURN(const std::string text,
                          ReadModelText(dir, kTokenizer, kMaxBytes));
  BANYAN_ASSIGN_OR_RETURN(const TokenizerConfig config, LoadConfig(dir));
  return FromJson(text, ModelTextName(dir, kTokenizer), config);
}

absl::StatusOr<std::unique_ptr<Tokenizer>> Tokenizer::FromJson(
    absl::string_view text, const std::string& file,
    const TokenizerConfig& config) {
  BANYAN_ASSIGN_OR_RETURN(const JsonTree tree, JsonTree::Parse(text, file));
  BANYAN_ASSIGN_OR_RETURN(std::unique_ptr<Tokenizer> tokenizer,
                          FromSections(tree.root()));
  BANYAN_RETURN_IF_ERROR(tokenizer->Apply(config));
  return tokenizer;
}

absl::StatusOr<std::unique_ptr<Tokenizer>> Tokenizer::FromSections(
    const JsonAt& json) {
  BANYAN_RETURN_IF_ERROR(json.HasOnly(
      {"version", "truncation", "padding", "added_tokens", "normalizer",
       "pre_tokenizer", "post_processor", "decoder", "model"}));
  BANYAN_ASSIGN_OR_RETURN(Normalizer normalizer,
                          Normalizer::FromJson(json.At("normalizer")));
  BANYAN_ASSIGN_OR_RETURN(PreTokenizer pre_tokenizer,
                          PreTokenizer::FromJson(json.At("pre_tokenizer")));
  BANYAN_ASSIGN_OR_RETURN(
      Bpe bpe, Bpe::FromJson(json.At("model"), pre_tokenizer.is_byte_level()));
  BANYAN_ASSIGN_OR_RETURN(PostProcessor post_processor,
                          ReadPostProcessor(json.At("post_processor")));
  BANYAN_ASSIGN_OR_RETURN(TextDecoder decoder,
                          TextDecoder::FromJson(json.At("decoder")));
  std::unique_ptr<Tokenizer> tokenizer(new Tokenizer(
      std::move(normalizer), std::move(pre_tokenizer), std::move(bpe),
      std::move(post_processor), std::move(decoder)));
  BANYAN_RETURN_IF_ERROR(tokenizer->ReadAdded(json.At("added_tokens")));
  BANYAN_RETURN_IF_ERROR(
      tokenizer->CheckPostProcessor(json.At("post_processor")));
  return tokenizer;
}

Tokenizer::Tokenizer(Normalizer normalizer, PreTokenizer pre_tokenizer, Bpe bpe,
                     PostProcessor post_processor, TextDecoder decoder)
    : normalizer_(std::move(normalizer)),
      pre_tokenizer_(std::move(pre_tokenizer)),
      bpe_(std::move(bpe)),
      post_processor_(std::move(post_processor)),
      decoder_(std::move(decoder)),
      raw_tokens_({}, {}),
      normalized_tokens_({}, {}) {
  for (const auto& [text, id] : bpe_.vocabulary()) Slot(id).text = text;
}

Tokenizer::Token& Tokenizer::Slot(TokenId id) {
  const auto index = static_cast<std::size_t>(id);
  if (index >= tokens_.size()) tokens_.resize(index + 1);
  return tokens_[index];
}

absl::Status Tokenizer::ReadAdded(const JsonAt& json) {
  BANYAN_ASSIGN_OR_RETURN(const std::vector<AddedToken> added,
                          ReadAddedTokens(json));
  std::vector<AddedToken> raw;
  std::vector<AddedToken> normalized;
  std::vector<std::string> raw_texts;
  std::vector<std::string> normalized_texts;
  for (std::size_t i = 0; i < added.size(); ++i) {
    BANYAN_RETURN_IF_ERROR(RegisterAdded(added[i], json.At(i)));
    if (!added[i].normalized) {
      raw.push_back(added[i]);
      raw_texts.push_back(added[i].content);
      continue;
    }
    BANYAN_ASSIGN_OR_RETURN(std::string text,
                            normalizer_.Normalize(added[i].content));
    if (text.empty())
      return json.At(i).At("content").Expected(
          "a text of which the normalizer leaves something");
    normalized.push_back(added[i]);
    normalized_texts.push_back(std::move(text));
  }
  raw_tokens_ = TokenFinder(std::move(raw), std::move(raw_texts));
  normalized_tokens_ =
      TokenFinder(std::move(normalized), std::move(normalized_texts));
  return absl::OkStatus();
}

absl::Status Tokenizer::RegisterAdded(const AddedToken& token,
                                      const JsonAt& json) {
  const auto known = bpe_.vocabulary().find(token.content);
  if (known != bpe_.vocabulary().end() && known->second != token.id)
    return json.At("id").Expected(absl::StrCat(
        known->second, ", the id of '", token.content, "' in the vocabulary"));
  Token& slot = Slot(token.id);
  if (slot.text.has_value() && *slot.text != token.content)
    return json.At("id").Error(absl::StrCat("id ", token.id, " is that of '",
                                            *slot.text, "' in the vocabulary"));
  slot.text = token.content;
  slot.is_special = token.special;
  added_ids_.emplace(token.content, token.id);
  return absl::OkStatus();
}

absl::Status Tokenizer::CheckPostProcessor(const JsonAt& json) const {
  for (const auto& ids : {post_processor_.before, post_processor_.after})
    for (const TokenId id : ids)
      if (!TokenText(id).ok())
        return json.Error(absl::StrCat("id ", id, " has no token"));
  return absl::OkStatus();
}

absl::Status Tokenizer::Apply(const TokenizerConfig& config) {
  chat_template_ = config.chat_template;
  if (config.bos_token.has_value()) bos_id_ = FindToken(*config.bos_token);
  if (config.eos_token.has_value()) eos_id_ = FindToken(*config.eos_token);
  if (config.unk_token.has_value()) unk_id_ = FindToken(*config.unk_token);
  if (config.pad_token.has_value()) pad_id_ = FindToken(*config.pad_token);
  if (!config.around.has_value()) return absl::OkStatus();
  post_processor_ = {};
  const auto add = [&config](absl::string_view name, bool adds,
                             const std::optional<TokenId>& id,
                             std::vector<TokenId>& out) {
    if (!adds) return absl::OkStatus();
    if (!id.has_value())
      return absl::InvalidArgumentError(
          absl::StrCat(config.file, ": its tokenizer_class adds ", name,
                       "_token to a text, and ", name,
                       "_token is no token of the vocabulary"));
    out.push_back(*id);
    return absl::OkStatus();
  };
  BANYAN_RETURN_IF_ERROR(
      add("bos", config.around->bos, bos_id_, post_processor_.before));
  return add("eos", config.around->eos, eos_id_, post_processor_.after);
}

absl::StatusOr<std::vector<TokenId>> Tokenizer::Encode(
    absl::string_view text, const EncodeOptions& options) const {
  std::vector<TokenId> ids;
  if (options.add_special) ids = post_processor_.before;
  BANYAN_RETURN_IF_ERROR(EncodeWhole(
      {std::string(text)}, {.parse_special = options.parse_special}, ids));
  if (options.add_special)
    ids.insert(ids.end(), post_processor_.after.begin(),
               post_processor_.after.end());
  return ids;
}

absl::Status Tokenizer::EncodeWhole(Piece whole, const TokenSearch& search,
                                    std::vector<TokenId>& out) const {
  BANYAN_RETURN_IF_ERROR(CheckIsUtf8(whole.text));
  whole.at_start = true;
  std::vector<Piece> pieces;
  raw_tokens_.Split(whole, search, pieces);
  for (Piece& piece : pieces) {
    if (piece.token.has_value()) {
      out.push_back(*piece.token);
    } else {
      BANYAN_RETURN_IF_ERROR(EncodeText(std::move(piece), search, out));
    }
  }
  return absl::OkStatus();
}

absl::Status Tokenizer::EncodeText(Piece piece, const TokenSearch& search,
                                   std::vector<TokenId>& out) const {
  const bool is_quoted = !piece.quoted.empty();
  BANYAN_RETURN_IF_ERROR(Normalize(piece));
  std::vector<Piece> pieces;
  normalized_tokens_.Split(piece, search, pieces);
  std::vector<Piece> words;
  for (Piece& each : pieces) {
    if (each.token.has_value()) {
      out.push_back(*each.token);
      continue;
    }
    words.clear();
    BANYAN_RETURN_IF_ERROR(pre_tokenizer_.Split(std::move(each), words));
    for (const Piece& word : words) {
      const std::size_t first = out.size();
      BANYAN_RETURN_IF_ERROR(bpe_.Encode(word.text, out));
      if (is_quoted)
        BANYAN_RETURN_IF_ERROR(
            CheckSpelling(word, absl::MakeSpan(out).subspan(first)));
    }
  }
  return absl::OkStatus();
}

absl::Status Tokenizer::CheckSpelling(const Piece& word,
                                      absl::Span<const TokenId> ids) const {
  for (const TokenId id : ids)
    if (const auto& token = tokens_[static_cast<std::size_t>(id)];
        token.is_special && absl::StrContains(word.text, *token.text))
      return absl::InvalidArgumentError(
          absl::StrCat("the text of a message has '", *token.text,
                       "', a control token that this tokenizer cannot write "
                       "as text"));
  return absl::OkStatus();
}

// The text before a quote, normalized by itself, tells where the quote begins
// afterwards: where it differs from the whole. The text through the quote tells
// where it ends.
absl::Status Tokenizer::Normalize(Piece& piece) const {
  BANYAN_ASSIGN_OR_RETURN(std::string normal,
                          normalizer_.Normalize(piece.text));
  for (ByteRange& quote : piece.quoted) {
    BANYAN_ASSIGN_OR_RETURN(
        const std::string before,
        normalizer_.Normalize(piece.text.substr(0, quote.begin)));
    BANYAN_ASSIGN_OR_RETURN(
        const std::string through,
        normalizer_.Normalize(piece.text.substr(0, quote.end)));
    quote.begin =
        static_cast<std::size_t>(std::mismatch(before.begin(), before.end(),
                                               normal.begin(), normal.end())
                                     .first -
                                 before.begin());
    quote.end = through.size();
  }
  piece.text = std::move(normal);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<TokenId>> Tokenizer::EncodePrompt(
    const PromptText& prompt) const {
  std::vector<TokenId> ids;
  BANYAN_RETURN_IF_ERROR(
      EncodeWhole({.text = prompt.text, .quoted = prompt.said},
                  {.markup = prompt.markup}, ids));
  const std::vector<TokenId>& before = post_processor_.before;
  const bool has_it = ids.size() >= before.size() &&
                      std::equal(before.begin(), before.end(), ids.begin());
  if (!has_it) ids.insert(ids.begin(), before.begin(), before.end());
  return ids;
}

absl::StatusOr<std::string> Tokenizer::Decode(absl::Span<const TokenId> ids,
                                              bool skip_special) const {
  StreamDecoder stream(*this, skip_special);
  std::string text;
  for (const TokenId id : ids) {
    BANYAN_ASSIGN_OR_RETURN(const std::string more, stream.Push(id));
    text += more;
  }
  return text + stream.Finish();
}

absl::StatusOr<absl::string_view> Tokenizer::TokenText(TokenId id) const {
  if (id < 0 || id >= vocab_size())
    return absl::InvalidArgumentError(absl::StrCat(
        "token id ", id, " is out of range; expected [0, ", vocab_size(), ")"));
  const Token& token = tokens_[static_cast<std::size_t>(id)];
  if (!token.text.has_value())
    return absl::InvalidArgumentError(
        absl::StrCat("token id ", id, " has no token in the vocabulary"));
  return absl::string_view(*token.text);
}

absl::StatusOr<std::string> Tokenizer::TokenBytes(TokenId id,
                                                  bool at_start) const {
  BANYAN_ASSIGN_OR_RETURN(const absl::string_view text, TokenText(id));
  return decoder_.BytesOf(text, at_start);
}

std::optional<TokenId> Tokenizer::FindToken(absl::string_view text) const {
  const auto added = added_ids_.find(text);
  if (added != added_ids_.end()) return added->second;
  const auto known = bpe_.vocabulary().find(text);
  if (known != bpe_.vocabulary().end()) return known->second;
  return std::nullopt;
}

bool Tokenizer::IsSpecial(TokenId id) const {
  Check(TokenText(id).ok(), "IsSpecial: the id has a token");
  return tokens_[static_cast<std::size_t>(id)].is_special;
}

namespace {

std::vector<Fragment> Through(DecodeStage& stage,
                              std::vector<Fragment> fragments) {
  std::vector<Fragment> out;
  for (Fragment& fragment : fragments) stage.Push(std::move(fragment), out);
  return out;
}

std::string Joined(const std::vector<Fragment>& fragments) {
  std::string text;
  for (const Fragment& fragment : fragments) text += fragment.text;
  return text;
}

}  // namespace

StreamDecoder::StreamDecoder(const Tokenizer& tokenizer, bool skip_special)
    : tokenizer_(tokenizer),
      skip_special_(skip_special),
      stages_(tokenizer.decoder().MakeStages()) {}

absl::StatusOr<std::string> StreamDecoder::Push(TokenId id) {
  BANYAN_ASSIGN_OR_RETURN(const absl::string_view token,
                          tokenizer_.TokenText(id));
  if (skip_special_ && tokenizer_.IsSpecial(id)) return std::string();
  std::vector<Fragment> fragments;
  fragments.push_back({std::string(token)});
  for (const auto& stage : stages_)
    fragments = Through(*stage, std::move(fragments));
  return Joined(fragments);
}

std::string StreamDecoder::Finish() {
  std::vector<Fragment> fragments;
  for (const auto& stage : stages_) {
    fragments = Through(*stage, std::move(fragments));
    stage->Finish(fragments);
  }
  return Joined(fragments);
}

}  // namespace banyan
