#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/base/messages.h"
#include "core/base/token.h"
#include "core/gguf/gguf_file.h"
#include "core/gguf/gguf_keys.h"
#include "core/gguf/model_text.h"
#include "core/json/flat_map.h"
#include "core/json/json_value.h"

namespace banyan {
namespace {

constexpr char kTokens[] = "tokenizer.ggml.tokens";
constexpr char kTypes[] = "tokenizer.ggml.token_type";
constexpr char kMerges[] = "tokenizer.ggml.merges";
constexpr char kScores[] = "tokenizer.ggml.scores";
constexpr char kModel[] = "tokenizer.ggml.model";
constexpr char kPre[] = "tokenizer.ggml.pre";

// Bounds the bytes of all merges that follow from scores. Published files need
// a few megabytes.
constexpr std::size_t kMaxMergeBytes = std::size_t{64} << 20;

// The kinds of tokens that stand apart from the text; the others are normal,
// unused or bytes.
constexpr int kNormal = 1;
constexpr int kUnknown = 2;
constexpr int kControl = 3;
constexpr int kUserDefined = 4;

constexpr char kGpt2[] =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+"
    "|\\s+(?!\\S)|\\s+";
constexpr char kLlama3[] =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}"
    "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
constexpr char kQwen2[] =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}"
    "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

// How a text is cut before its merges, by the name the file gives it.
struct Pre {
  absl::string_view name;
  std::vector<absl::string_view> patterns;  // one after another
  bool ignores_merges = false;  // for a word that is a token as it stands
  bool adds_begin = false;      // unless the file says otherwise
  bool composes = false;        // letters and their marks, before (NFC)
};

const std::vector<Pre>& Pres() {
  static const auto& pres = *new std::vector<Pre>{
      {"gpt-2", {kGpt2}},
      {"smollm", {"\\p{N}", kGpt2}},
      {.name = "llama-bpe",
       .patterns = {kLlama3},
       .ignores_merges = true,
       .adds_begin = true},
      {.name = "qwen2", .patterns = {kQwen2}, .composes = true},
      {"default",
       {"[\\p{P}\\$\\+<=>\\^~\\|]+", kGpt2, "\\p{N}+", "[0-9][0-9][0-9]"}},
  };
  return pres;
}

std::string Quoted(absl::string_view text) { return JsonValue(text).Text(); }

// A JSON object, written: an entry a line.
class ObjectText {
 public:
  void Add(absl::string_view key, const std::string& value) {
    absl::StrAppend(&text_, text_.empty() ? "{\n" : ",\n", Quoted(key), ": ",
                    value);
  }
  std::string Take() && { return absl::StrCat(text_, "\n}"); }

 private:
  std::string text_;
};

class TokenizerMaker {
 public:
  TokenizerMaker(const Gguf& contents, const std::string& file)
      : in_(contents, file) {}

  absl::StatusOr<std::string> Tokenizer() {
    BANYAN_RETURN_IF_ERROR(Read());
    ObjectText out;
    out.Add("version", Quoted("1.0"));
    out.Add("added_tokens", AddedTokens().Text());
    if (is_bytes_) {
      out.Add("normalizer",
              pre_->composes ? JsonValue({{"type", "NFC"}}).Text() : "null");
      out.Add("pre_tokenizer", ByteSplitting().Text());
    } else {
      out.Add("normalizer", SpacesToMarks().Text());
      out.Add("pre_tokenizer", "null");
    }
    BANYAN_ASSIGN_OR_RETURN(const JsonValue around, PostProcessor());
    out.Add("post_processor", around.Text());
    out.Add("decoder", Decoder().Text());
    BANYAN_ASSIGN_OR_RETURN(const std::string model, Model());
    out.Add("model", model);
    return std::move(out).Take();
  }

  absl::StatusOr<std::string> Config() {
    BANYAN_RETURN_IF_ERROR(Read());
    JsonValue out = JsonValue::Object();
    const std::pair<const char*, const char*> tokens[] = {
        {"bos_token", "tokenizer.ggml.bos_token_id"},
        {"eos_token", "tokenizer.ggml.eos_token_id"},
        {"unk_token", "tokenizer.ggml.unknown_token_id"},
        {"pad_token", "tokenizer.ggml.padding_token_id"}};
    for (const auto& [name, key] : tokens)
      if (const auto token = TokenAt(key); token.has_value())
        out[name] = tokens_[*token];
    const std::string chat = in_.TextOr("tokenizer.chat_template", "");
    if (!chat.empty()) out["chat_template"] = chat;
    BANYAN_RETURN_IF_ERROR(in_.status());
    return out.Text(2) + "\n";
  }

 private:
  absl::Status Read() {
    const std::string model = in_.Text(kModel);
    BANYAN_RETURN_IF_ERROR(in_.status());
    if (model != "gpt2" && model != "llama")
      in_.Fail(kModel,
               UnknownName("tokenizer", Shown(model), {"gpt2", "llama"}));
    is_bytes_ = model == "gpt2";
    tokens_ = in_.Texts(kTokens);
    if (tokens_.empty()) in_.Fail(kTokens, "expected tokens, found none");
    for (const double type : in_.Numbers(kTypes))
      types_.push_back(type >= 1 && type <= 6 ? static_cast<int>(type)
                                              : kNormal);
    if (!types_.empty()) CheckCount(kTypes, types_.size());
    types_.resize(tokens_.size(), kNormal);
    CheckTokens();
    if (is_bytes_) FindPre();
    return in_.status();
  }

  // Tells of the first that is wrong alone: there may be a million.
  void CheckTokens() {
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (tokens_[i].size() > kMaxTokenBytes)
        return in_.Fail(
            kTokens,
            absl::StrCat("token ", i, ": expected at most ", kMaxTokenBytes,
                         " bytes, found ", tokens_[i].size()));
      if (const auto [first, is_new] = ids_.emplace(tokens_[i], i); !is_new)
        return in_.Fail(kTokens,
                        absl::StrCat(QuotedName(tokens_[i]), " is token ",
                                     first->second, " and token ", i));
    }
  }

  void CheckCount(absl::string_view key, std::size_t count) {
    if (count == tokens_.size()) return;
    in_.Fail(key, absl::StrCat("expected one for each of the ", tokens_.size(),
                               " tokens, found ", count));
  }

  void FindPre() {
    const std::string name = in_.TextOr(kPre, "default");
    std::vector<absl::string_view> known;
    for (const Pre& pre : Pres()) {
      if (pre.name == name) pre_ = &pre;
      known.push_back(pre.name);
    }
    if (pre_ == nullptr)
      in_.Fail(kPre, UnknownName("pre-tokenizer", Shown(name), known));
  }

  std::optional<std::size_t> TokenAt(absl::string_view key) {
    if (!in_.Has(key)) return std::nullopt;
    const std::int64_t id = in_.Count(key);
    if (id < static_cast<std::int64_t>(tokens_.size()))
      return static_cast<std::size_t>(id);
    in_.Fail(key, absl::StrCat("expected a token below ", tokens_.size(),
                               ", found ", id));
    return std::nullopt;
  }

  JsonValue AddedTokens() const {
    JsonValue added = JsonValue::List();
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      const bool special = types_[i] == kControl || types_[i] == kUnknown;
      if (!special && types_[i] != kUserDefined) continue;
      added.Add({{"id", i},
                 {"content", tokens_[i]},
                 {"single_word", false},
                 {"lstrip", false},
                 {"rstrip", false},
                 {"normalized", false},
                 {"special", special}});
    }
    return added;
  }

  JsonValue ByteSplitting() const {
    JsonValue steps = JsonValue::List();
    for (const absl::string_view pattern : pre_->patterns)
      steps.Add({{"type", "Split"},
                 {"pattern", {{"Regex", pattern}}},
                 {"behavior", "Isolated"},
                 {"invert", false}});
    steps.Add({{"type", "ByteLevel"},
               {"add_prefix_space", false},
               {"trim_offsets", true},
               {"use_regex", false}});
    return {{"type", "Sequence"}, {"pretokenizers", steps}};
  }

  bool AddsSpace() {
    return in_.FlagOr("tokenizer.ggml.add_space_prefix", true);
  }

  JsonValue SpacesToMarks() {
    JsonValue steps = JsonValue::List();
    if (AddsSpace()) steps.Add({{"type", "Prepend"}, {"prepend", "\u2581"}});
    steps.Add({{"type", "Replace"},
               {"pattern", {{"String", " "}}},
               {"content", "\u2581"}});
    return {{"type", "Sequence"}, {"normalizers", steps}};
  }

  JsonValue Decoder() {
    if (is_bytes_)
      return {{"type", "ByteLevel"},
              {"add_prefix_space", false},
              {"trim_offsets", true},
              {"use_regex", false}};
    JsonValue steps = JsonValue::List();
    steps.Add({{"type", "Replace"},
               {"pattern", {{"String", "\u2581"}}},
               {"content", " "}});
    steps.Add({{"type", "ByteFallback"}});
    steps.Add({{"type", "Fuse"}});
    if (AddsSpace())
      steps.Add(
          {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
    return {{"type", "Sequence"}, {"decoders", steps}};
  }

  absl::StatusOr<JsonValue> PostProcessor() {
    const auto find = [this](const char* flag, bool by_default,
                             const char* key) -> std::optional<std::size_t> {
      if (!in_.FlagOr(flag, by_default)) return std::nullopt;
      if (!in_.Has(key)) in_.Fail(key, "expected the token that a text gets");
      return TokenAt(key);
    };
    const auto begin =
        find("tokenizer.ggml.add_bos_token", !is_bytes_ || pre_->adds_begin,
             "tokenizer.ggml.bos_token_id");
    const auto end = find("tokenizer.ggml.add_eos_token", false,
                          "tokenizer.ggml.eos_token_id");
    BANYAN_RETURN_IF_ERROR(in_.status());
    if (!begin.has_value() && !end.has_value()) return JsonValue();
    JsonValue single = JsonValue::List();
    JsonValue special = JsonValue::Object();
    const auto add = [&](const std::optional<std::size_t>& token) {
      if (!token.has_value()) return;
      const absl::string_view text = tokens_[*token];
      single.Add({{"SpecialToken", {{"id", text}, {"type_id", 0}}}});
      special[text] = {{"id", text},
                       {"ids", std::vector<std::size_t>{*token}},
                       {"tokens", std::vector<absl::string_view>{text}}};
    };
    add(begin);
    single.Add({{"Sequence", {{"id", "A"}, {"type_id", 0}}}});
    add(end);
    JsonValue pair = JsonValue::List();
    pair.Add({{"Sequence", {{"id", "A"}, {"type_id", 0}}}});
    pair.Add({{"Sequence", {{"id", "B"}, {"type_id", 1}}}});
    return JsonValue({{"type", "TemplateProcessing"},
                      {"single", single},
                      {"pair", pair},
                      {"special_tokens", special}});
  }

  absl::StatusOr<std::string> Model() {
    ObjectText out;
    out.Add("type", Quoted("BPE"));
    if (is_bytes_) {
      out.Add("ignore_merges", pre_->ignores_merges ? "true" : "false");
    } else {
      if (const auto unknown = TokenAt("tokenizer.ggml.unknown_token_id");
          unknown.has_value())
        out.Add("unk_token", Quoted(tokens_[*unknown]));
      out.Add("fuse_unk", "true");
      out.Add("byte_fallback", "true");
    }
    ObjectText vocabulary;
    for (std::size_t i = 0; i < tokens_.size(); ++i)
      vocabulary.Add(tokens_[i], absl::StrCat(i));
    out.Add("vocab", std::move(vocabulary).Take());
    const std::vector<std::string> merges =
        is_bytes_ ? StoredMerges() : MergesOfScores();
    BANYAN_RETURN_IF_ERROR(in_.status());
    out.Add("merges", absl::StrCat("[\n", absl::StrJoin(merges, ",\n"), "]"));
    return std::move(out).Take();
  }

  std::vector<std::string> StoredMerges() {
    std::vector<std::string> merges;
    if (!in_.Has(kMerges)) in_.Fail(kMerges, "expected merges, found none");
    for (const absl::string_view merge : in_.Texts(kMerges))
      merges.push_back(Quoted(merge));
    return merges;
  }

  std::vector<double> Scores() {
    std::vector<double> scores = in_.Numbers(kScores);
    CheckCount(kScores, scores.size());
    const auto none = std::find_if(scores.begin(), scores.end(),
                                   [](double x) { return std::isnan(x); });
    if (none != scores.end())
      in_.Fail(kScores, absl::StrCat("token ", none - scores.begin(),
                                     ": expected a number, found nan"));
    return scores;
  }

  std::vector<std::string> MergesOfScores() {
    struct Merge {
      double score;
      std::size_t left;
      std::size_t right;
    };
    const std::vector<double> scores = Scores();
    if (!in_.status().ok()) return {};
    std::vector<Merge> merges;
    std::size_t bytes = 0;  // of all merges
    for (std::size_t token = 0; token < tokens_.size(); ++token) {
      if (types_[token] != kNormal) continue;
      const absl::string_view text = tokens_[token];
      const std::size_t first = merges.size();
      for (std::size_t at = 1; at < text.size(); ++at) {
        const auto left = ids_.find(text.substr(0, at));
        if (left == ids_.end()) continue;
        const auto right = ids_.find(text.substr(at));
        if (right == ids_.end()) continue;
        merges.push_back({scores[token], left->second, right->second});
        bytes += text.size();
      }
      if (bytes > kMaxMergeBytes) {
        in_.Fail(kTokens,
                 absl::StrCat("tokens 0 to ", token, " have pairs of ", bytes,
                              " bytes that are a token together, expected at "
                              "most ",
                              kMaxMergeBytes));
        return {};
      }
      std::sort(merges.begin() + static_cast<std::ptrdiff_t>(first),
                merges.end(), [](const Merge& a, const Merge& b) {
                  return std::pair(a.left, a.right) <
                         std::pair(b.left, b.right);
                });
    }
    std::stable_sort(
        merges.begin(), merges.end(),
        [](const Merge& a, const Merge& b) { return a.score > b.score; });
    std::vector<std::string> texts;
    texts.reserve(merges.size());
    for (const Merge& merge : merges)
      texts.push_back(absl::StrCat("[", Quoted(tokens_[merge.left]), ",",
                                   Quoted(tokens_[merge.right]), "]"));
    return texts;
  }

  GgufKeys in_;
  bool is_bytes_ = false;
  const Pre* pre_ = nullptr;  // of bytes alone
  std::vector<absl::string_view> tokens_;
  std::vector<int> types_;
  FlatMap<absl::string_view, std::size_t> ids_;
};

}  // namespace

absl::StatusOr<std::string> GgufTokenizer(const Gguf& contents,
                                          const std::string& file) {
  return TokenizerMaker(contents, file).Tokenizer();
}

absl::StatusOr<std::string> GgufTokenizerConfig(const Gguf& contents,
                                                const std::string& file) {
  return TokenizerMaker(contents, file).Config();
}

}  // namespace banyan
