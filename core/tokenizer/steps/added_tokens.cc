#include "core/tokenizer/steps/added_tokens.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "core/base/check.h"
#include "core/tokenizer/patterns/unicode.h"
#include "core/tokenizer/steps/bpe.h"

namespace banyan {

namespace {

absl::StatusOr<AddedToken> ReadToken(const JsonAt& json) {
  BANYAN_RETURN_IF_ERROR(json.HasOnly({"id", "content", "single_word", "lstrip",
                                       "rstrip", "normalized", "special"}));
  AddedToken token;
  BANYAN_ASSIGN_OR_RETURN(const std::int64_t id, json.At("id").Int());
  if (id < 0 || id >= kMaxTokenIds)
    return json.At("id").Expected(
        absl::StrCat("a token id in [0, ", kMaxTokenIds, ")"));
  token.id = static_cast<TokenId>(id);
  BANYAN_ASSIGN_OR_RETURN(token.content, json.At("content").String());
  if (token.content.empty())
    return json.At("content").Expected("a text that is not empty");
  if (token.content.size() > kMaxTokenBytes)
    return json.At("content").Error(
        absl::StrCat("expected at most ", kMaxTokenBytes, " bytes, found ",
                     token.content.size()));
  BANYAN_ASSIGN_OR_RETURN(token.single_word,
                          json.At("single_word").BoolOr(false));
  BANYAN_ASSIGN_OR_RETURN(token.lstrip, json.At("lstrip").BoolOr(false));
  BANYAN_ASSIGN_OR_RETURN(token.rstrip, json.At("rstrip").BoolOr(false));
  BANYAN_ASSIGN_OR_RETURN(token.special, json.At("special").BoolOr(false));
  BANYAN_ASSIGN_OR_RETURN(token.normalized,
                          json.At("normalized").BoolOr(!token.special));
  return token;
}

// The white space around bytes [begin, end) of the text, no further left than
// `least`.
std::size_t SpaceBefore(absl::string_view text, std::size_t begin,
                        std::size_t least) {
  while (begin > least) {
    const CodePoint point = CodePointBefore(text, begin);
    if (!IsSpace(point.value)) break;
    begin -= point.bytes;
  }
  return std::max(begin, least);
}

std::size_t SpaceAfter(absl::string_view text, std::size_t end) {
  while (end < text.size()) {
    const CodePoint point = CodePointAt(text, end);
    if (!IsSpace(point.value)) break;
    end += point.bytes;
  }
  return end;
}

bool IsControl(const AddedToken& token, const TokenSearch& search) {
  return token.special || absl::c_linear_search(search.markup, token.content);
}

bool IsQuoted(const Piece& piece, std::size_t begin, std::size_t end) {
  return absl::c_any_of(piece.quoted, [&](ByteRange quote) {
    return begin < quote.end && quote.begin < end;
  });
}

// Bytes [begin, end) of the piece.
Piece PartOf(const Piece& piece, std::size_t begin, std::size_t end) {
  Piece part = {piece.text.substr(begin, end - begin),
                piece.at_start && begin == 0};
  for (const ByteRange quote : piece.quoted)
    if (begin < quote.end && quote.begin < end)
      part.quoted.push_back({std::max(quote.begin, begin) - begin,
                             std::min(quote.end, end) - begin});
  return part;
}

bool TouchesWord(absl::string_view text, std::size_t begin, std::size_t end) {
  return (begin > 0 && IsWord(CodePointBefore(text, begin).value)) ||
         (end < text.size() && IsWord(CodePointAt(text, end).value));
}

}  // namespace

absl::StatusOr<std::vector<AddedToken>> ReadAddedTokens(const JsonAt& json) {
  std::vector<AddedToken> tokens;
  if (json.is_null()) return tokens;
  BANYAN_ASSIGN_OR_RETURN(const std::vector<JsonAt> items, json.Items());
  FlatSet<std::string> contents;
  FlatSet<TokenId> ids;
  for (const JsonAt& item : items) {
    BANYAN_ASSIGN_OR_RETURN(AddedToken token, ReadToken(item));
    if (!contents.insert(token.content).second)
      return item.At("content").Error(
          absl::StrCat("'", token.content, "' is added twice"));
    if (!ids.insert(token.id).second)
      return item.At("id").Error(
          absl::StrCat("id ", token.id, " is added twice"));
    tokens.push_back(std::move(token));
  }
  return tokens;
}

TokenFinder::TokenFinder(std::vector<AddedToken> tokens,
                         std::vector<std::string> texts)
    : tokens_(std::move(tokens)), ends_(1, kNone) {
  Check(tokens_.size() == texts.size(), "each token has its text");
  for (const bool special : {true, false})
    for (std::size_t i = 0; i < tokens_.size(); ++i)
      if (tokens_[i].special == special) Insert(texts[i], static_cast<int>(i));
}

void TokenFinder::Insert(const std::string& text, int token) {
  Check(!text.empty(), "a token to find has a text");
  int node = 0;
  for (const char byte : text) {
    int child = Child(node, byte);
    if (child == kNone) {
      child = static_cast<int>(ends_.size());
      children_.emplace((static_cast<std::uint64_t>(node) << 8) |
                            static_cast<unsigned char>(byte),
                        child);
      ends_.push_back(kNone);
    }
    node = child;
  }
  int& end = ends_[static_cast<std::size_t>(node)];
  if (end == kNone) end = token;
}

int TokenFinder::Child(int node, char byte) const {
  const auto found = children_.find((static_cast<std::uint64_t>(node) << 8) |
                                    static_cast<unsigned char>(byte));
  return found == children_.end() ? kNone : found->second;
}

TokenFinder::Match TokenFinder::LongestAt(const Piece& piece,
                                          const TokenSearch& search,
                                          std::size_t begin) const {
  Match match;
  int node = 0;
  for (std::size_t i = begin; i < piece.text.size(); ++i) {
    node = Child(node, piece.text[i]);
    if (node == kNone) break;
    const int number = ends_[static_cast<std::size_t>(node)];
    if (number == kNone) continue;
    const AddedToken& token = tokens_[static_cast<std::size_t>(number)];
    if (IsQuoted(piece, begin, i + 1) && IsControl(token, search)) continue;
    match = {&token, i + 1};
  }
  return match;
}

// `done` is how far the pieces reach, `at` where the next token is looked for.
// A token that is refused still hides those that begin within it. One that
// begins in the white space another has taken along counts all the same.
void TokenFinder::Split(const Piece& piece, const TokenSearch& search,
                        std::vector<Piece>& out) const {
  const absl::string_view text = piece.text;
  std::size_t done = 0;
  const auto text_until = [&](std::size_t end) {
    if (done < end) out.push_back(PartOf(piece, done, end));
  };
  for (std::size_t at = 0; at < text.size();) {
    const Match match = LongestAt(piece, search, at);
    if (match.token == nullptr) {
      ++at;
      continue;
    }
    const AddedToken& token = *match.token;
    std::size_t begin = at;
    std::size_t end = at = match.end;
    if (token.special && !search.parse_special) continue;
    if (token.single_word && TouchesWord(text, begin, end)) continue;
    if (token.lstrip) begin = SpaceBefore(text, begin, done);
    if (token.rstrip) end = SpaceAfter(text, end);
    text_until(begin);
    out.push_back(
        {std::string(text.substr(begin, end - begin)), false, token.id});
    done = end;
  }
  text_until(text.size());
}

namespace {

// Published templates have one or two tokens around a text. Without a bound
// each of many items could be any of many tokens, and each of these many ids.
constexpr std::size_t kMaxAround = 256;

absl::Status CheckAround(const PostProcessor& around, const JsonAt& json) {
  const std::size_t tokens = around.before.size() + around.after.size();
  if (tokens <= kMaxAround) return absl::OkStatus();
  return json.Error(absl::StrCat("expected at most ", kMaxAround,
                                 " tokens around a text, found ", tokens));
}

// The ids that the template's special token `item` stands for.
absl::Status AppendSpecial(const JsonAt& item, const JsonAt& special_tokens,
                           std::vector<TokenId>& out) {
  BANYAN_RETURN_IF_ERROR(item.HasOnly({"id", "type_id"}));
  BANYAN_ASSIGN_OR_RETURN(const std::string name, item.At("id").String());
  const JsonAt special = special_tokens.At(name);
  if (special.is_null()) return item.At("id").Expected("one of special_tokens");
  BANYAN_RETURN_IF_ERROR(special.HasOnly({"id", "ids", "tokens"}));
  BANYAN_ASSIGN_OR_RETURN(const std::vector<JsonAt> ids,
                          special.At("ids").Items());
  for (const JsonAt& each : ids) {
    BANYAN_ASSIGN_OR_RETURN(const std::int64_t id, each.Int());
    if (id < 0 || id >= kMaxTokenIds)
      return each.Expected(
          absl::StrCat("a token id in [0, ", kMaxTokenIds, ")"));
    out.push_back(static_cast<TokenId>(id));
  }
  return absl::OkStatus();
}

absl::StatusOr<PostProcessor> ReadTemplate(const JsonAt& json) {
  BANYAN_RETURN_IF_ERROR(
      json.HasOnly({"type", "single", "pair", "special_tokens"}));
  PostProcessor result;
  bool has_text = false;
  const JsonAt single = json.At("single");
  BANYAN_ASSIGN_OR_RETURN(const std::vector<JsonAt> items, single.Items());
  if (items.size() > kMaxAround + 1)
    return single.Error(absl::StrCat("expected at most ", kMaxAround + 1,
                                     " items, found ", items.size()));
  for (const JsonAt& item : items) {
    BANYAN_RETURN_IF_ERROR(item.HasOnly({"SpecialToken", "Sequence"}));
    if (!item.At("SpecialToken").is_null()) {
      BANYAN_RETURN_IF_ERROR(
          AppendSpecial(item.At("SpecialToken"), json.At("special_tokens"),
                        has_text ? result.after : result.before));
      BANYAN_RETURN_IF_ERROR(CheckAround(result, single));
      continue;
    }
    const JsonAt sequence = item.At("Sequence");
    BANYAN_RETURN_IF_ERROR(sequence.HasOnly({"id", "type_id"}));
    BANYAN_ASSIGN_OR_RETURN(const std::string name, sequence.At("id").String());
    if (name != "A" || has_text)
      return sequence.At("id").Expected("A, the text, once");
    has_text = true;
  }
  if (!has_text) return single.Error("lacks the sequence A");
  return result;
}

}  // namespace

absl::StatusOr<PostProcessor> ReadPostProcessor(const JsonAt& json) {
  if (json.is_null()) return PostProcessor();
  BANYAN_ASSIGN_OR_RETURN(const std::string type, json.At("type").String());
  if (type == "ByteLevel") {
    BANYAN_RETURN_IF_ERROR(json.HasOnly(
        {"type", "add_prefix_space", "trim_offsets", "use_regex"}));
    return PostProcessor();
  }
  if (type == "TemplateProcessing") return ReadTemplate(json);
  if (type != "Sequence")
    return json.At("type").Expected(
        "Sequence, ByteLevel or TemplateProcessing");
  BANYAN_RETURN_IF_ERROR(json.HasOnly({"type", "processors"}));
  BANYAN_ASSIGN_OR_RETURN(const std::vector<JsonAt> items,
                          json.At("processors").Items());
  PostProcessor result;  // each goes around what the one before it made
  for (const JsonAt& item : items) {
    BANYAN_ASSIGN_OR_RETURN(PostProcessor outer, ReadPostProcessor(item));
    outer.before.insert(outer.before.end(), result.before.begin(),
                        result.before.end());
    result.after.insert(result.after.end(), outer.after.begin(),
                        outer.after.end());
    result.before = std::move(outer.before);
    BANYAN_RETURN_IF_ERROR(CheckAround(result, item));
  }
  return result;
}

}  // namespace banyan
