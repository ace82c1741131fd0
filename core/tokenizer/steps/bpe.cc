#include "core/tokenizer/steps/bpe.h"

#include <functional>
#include <queue>
#include <tuple>

#include "core/tokenizer/patterns/unicode.h"
#include "core/tokenizer/steps/both_ways.h"

namespace banyan {
namespace {

constexpr int kBpeBytes = 256;

std::uint64_t PairKey(TokenId left, TokenId right) {
  return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32) |
         static_cast<std::uint32_t>(right);
}

// Options of the format whose every use we refuse.
absl::Status RefuseUnsupported(const JsonAt& json) {
  for (absl::string_view key :
       {"continuing_subword_prefix", "end_of_word_suffix"}) {
    BANYAN_ASSIGN_OR_RETURN(const std::string value, json.At(key).StringOr(""));
    if (!value.empty()) return json.At(key).Expected("null or an empty text");
  }
  const JsonAt dropout = json.At("dropout");
  if (dropout.is_null() || dropout.Number().value_or(1) == 0)
    return absl::OkStatus();
  return dropout.Expected("null or 0: a text has one encoding");
}

}  // namespace

// The symbols of one piece while they are merged.
class Bpe::Merging {
 public:
  Merging(const Bpe& bpe, const std::vector<TokenId>& symbols) : bpe_(bpe) {
    const int count = static_cast<int>(symbols.size());
    symbols_.reserve(symbols.size());
    for (int i = 0; i < count; ++i)
      symbols_.push_back({symbols[static_cast<std::size_t>(i)], i - 1,
                          i + 1 < count ? i + 1 : kNone});
    for (int i = 0; i + 1 < count; ++i) Offer(i);
  }

  void Run() {
    while (!waiting_.empty()) {
      const auto [rank, place] = waiting_.top();
      waiting_.pop();
      Symbol& left = At(place);
      if (left.is_gone || left.next == kNone) continue;
      Symbol& right = At(left.next);
      const Merge* merge = bpe_.FindMerge(left.id, right.id);
      if (merge == nullptr || merge->rank != rank) continue;
      left.id = merge->merged;
      left.next = right.next;
      right.is_gone = true;
      if (left.next != kNone) At(left.next).previous = place;
      if (left.previous != kNone) Offer(left.previous);
      Offer(place);
    }
  }

  void AppendTo(std::vector<TokenId>& out) const {
    for (const Symbol& symbol : symbols_)
      if (!symbol.is_gone) out.push_back(symbol.id);
  }

 private:
  static constexpr int kNone = -1;

  struct Symbol {
    TokenId id = 0;
    int previous = kNone;
    int next = kNone;
    bool is_gone = false;
  };

  Symbol& At(int place) { return symbols_[static_cast<std::size_t>(place)]; }

  // Lets the pair at `place` wait, if it has a merge.
  void Offer(int place) {
    const Symbol& left = At(place);
    if (left.next == kNone) return;
    const Merge* merge = bpe_.FindMerge(left.id, At(left.next).id);
    if (merge != nullptr) waiting_.emplace(merge->rank, place);
  }

  using Waiting = std::tuple<std::int32_t, int>;  // rank, place of the left one

  const Bpe& bpe_;
  std::vector<Symbol> symbols_;
  std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> waiting_;
};

absl::StatusOr<Bpe> Bpe::FromJson(const JsonAt& json, bool is_byte_level) {
  if (!json.is_object()) return json.Expected("an object");
  // The first files that were written have no type.
  BANYAN_ASSIGN_OR_RETURN(const std::string type,
                          json.At("type").StringOr("BPE"));
  if (type != "BPE") return json.At("type").Expected("BPE");
  BANYAN_RETURN_IF_ERROR(
      json.HasOnly({"type", "dropout", "unk_token", "continuing_subword_prefix",
                    "end_of_word_suffix", "fuse_unk", "byte_fallback",
                    "ignore_merges", "vocab", "merges"}));
  BANYAN_RETURN_IF_ERROR(RefuseUnsupported(json));
  Bpe bpe;
  bpe.is_byte_level_ = is_byte_level;
  BANYAN_ASSIGN_OR_RETURN(bpe.byte_fallback_,
                          json.At("byte_fallback").BoolOr(false));
  BANYAN_ASSIGN_OR_RETURN(bpe.ignore_merges_,
                          json.At("ignore_merges").BoolOr(false));
  BANYAN_RETURN_IF_ERROR(bpe.ReadVocabulary(json.At("vocab")));
  BANYAN_RETURN_IF_ERROR(bpe.ReadUnknown(json));
  BANYAN_RETURN_IF_ERROR(bpe.ReadMerges(json.At("merges")));
  bpe.FindByteTokens();
  return bpe;
}

absl::Status Bpe::ReadVocabulary(const JsonAt& json) {
  if (!json.is_object()) return json.Expected("an object of token ids");
  FlatMap<TokenId, const std::string*> texts;
  vocabulary_.reserve(json.size());
  return json.ForEachKey([&](const std::string& text, const JsonAt& value) {
    const std::int64_t number = value.Int().value_or(-1);
    if (number < 0 || number >= kMaxTokenIds)
      return value.Expected(
          absl::StrCat("a token id in [0, ", kMaxTokenIds, ")"));
    const auto id = static_cast<TokenId>(number);
    const auto [first, is_new] = texts.emplace(id, &text);
    if (!is_new)
      return value.Error(absl::StrCat("id ", id, " is that of the token '",
                                      *first->second, "' already"));
    vocabulary_.emplace(text, id);
    return absl::OkStatus();
  });
}

absl::Status Bpe::ReadUnknown(const JsonAt& json) {
  BANYAN_ASSIGN_OR_RETURN(fuse_unknown_, json.At("fuse_unk").BoolOr(false));
  const JsonAt unknown = json.At("unk_token");
  if (unknown.is_null()) return absl::OkStatus();
  BANYAN_ASSIGN_OR_RETURN(const std::string text, unknown.String());
  const auto found = vocabulary_.find(text);
  if (found == vocabulary_.end())
    return unknown.Expected("a token of the vocabulary");
  unknown_ = found->second;
  return absl::OkStatus();
}

absl::Status Bpe::ReadMerges(const JsonAt& json) {
  if (!json.is_list()) return json.Expected("a list");
  merges_.reserve(json.size());
  for (std::size_t i = 0; i < json.size(); ++i)
    BANYAN_RETURN_IF_ERROR(AddMerge(json.At(i), i));
  return absl::OkStatus();
}

// "a b" or ["a", "b"]. Of a pair given twice the later rank counts, as in the
// library the format comes from.
absl::Status Bpe::AddMerge(const JsonAt& item, std::size_t rank) {
  absl::string_view left;
  absl::string_view right;
  if (const std::string* text = item.FindString()) {
    const absl::string_view both = *text;
    if (absl::StartsWith(both, "#version")) return absl::OkStatus();
    const std::size_t space = both.find(' ');
    if (space == absl::string_view::npos ||
        both.find(' ', space + 1) != absl::string_view::npos)
      return item.Expected("two tokens with one space between them");
    left = both.substr(0, space);
    right = both.substr(space + 1);
  } else if (item.is_list() && item.size() == 2 && item.At(0).is_string() &&
             item.At(1).is_string()) {
    left = *item.At(0).FindString();
    right = *item.At(1).FindString();
  } else {
    return item.Expected("a text 'a b' or a list of two texts");
  }
  const std::string both = absl::StrCat(left, right);
  TokenId ids[3] = {};
  TokenId* id = ids;
  for (absl::string_view token : {left, right, absl::string_view(both)}) {
    const auto found = vocabulary_.find(token);
    if (found == vocabulary_.end())
      return item.Error(absl::StrCat("'", token, "' is not in the vocabulary"));
    *id++ = found->second;
  }
  merges_[PairKey(ids[0], ids[1])] = {static_cast<std::int32_t>(rank), ids[2]};
  return absl::OkStatus();
}

void Bpe::FindByteTokens() {
  byte_tokens_.resize(kBpeBytes);
  if (!byte_fallback_) return;
  for (int byte = 0; byte < kBpeBytes; ++byte) {
    constexpr char kDigits[] = "0123456789ABCDEF";
    const char name[] = {'<', '0', 'x', kDigits[byte / 16], kDigits[byte % 16],
                         '>'};
    const auto found = vocabulary_.find(absl::string_view(name, sizeof(name)));
    if (found != vocabulary_.end())
      byte_tokens_[static_cast<std::size_t>(byte)] = found->second;
  }
}

const Bpe::Merge* Bpe::FindMerge(TokenId left, TokenId right) const {
  const auto found = merges_.find(PairKey(left, right));
  return found == merges_.end() ? nullptr : &found->second;
}

bool Bpe::AppendBytes(absl::string_view character,
                      std::vector<TokenId>& out) const {
  const std::size_t size = out.size();
  for (const char byte : character) {
    const auto& token = byte_tokens_[static_cast<unsigned char>(byte)];
    if (!token.has_value()) {
      out.resize(size);
      return false;
    }
    out.push_back(*token);
  }
  return true;
}

absl::Status Bpe::CannotWrite(absl::string_view character) const {
  const std::string byte =
      is_byte_level_ ? CharactersToBytes(character) : std::string();
  if (byte.size() == 1)
    return absl::InvalidArgumentError(absl::StrFormat(
        "the tokenizer cannot write the byte 0x%02X: its vocabulary has "
        "neither '%s', which stands for it, nor a token for the unknown",
        static_cast<unsigned char>(byte[0]), character));
  return absl::InvalidArgumentError(absl::StrCat(
      "the tokenizer cannot write the character '", character,
      "': its vocabulary has neither the character, nor all its bytes, nor a "
      "token for the unknown"));
}

// An unknown character waits for the next known one, so that runs can be
// fused. Bytes do not end such a run but pass it: so does the library the
// format comes from, and it shows only in vocabularies that lack some bytes.
absl::Status Bpe::Characters(absl::string_view piece,
                             std::vector<TokenId>& out) const {
  bool unknown_waits = false;
  for (std::size_t at = 0; at < piece.size();) {
    const std::size_t bytes = CodePointAt(piece, at).bytes;
    const absl::string_view character = piece.substr(at, bytes);
    at += bytes;
    const auto found = vocabulary_.find(character);
    if (found != vocabulary_.end()) {
      if (unknown_waits) out.push_back(*unknown_);
      unknown_waits = false;
      out.push_back(found->second);
    } else if (!AppendBytes(character, out)) {
      if (!unknown_.has_value()) return CannotWrite(character);
      if (unknown_waits && !fuse_unknown_) out.push_back(*unknown_);
      unknown_waits = true;
    }
  }
  if (unknown_waits) out.push_back(*unknown_);
  return absl::OkStatus();
}

absl::Status Bpe::Encode(absl::string_view piece,
                         std::vector<TokenId>& out) const {
  if (ignore_merges_) {
    const auto whole = vocabulary_.find(piece);
    if (whole != vocabulary_.end()) {
      out.push_back(whole->second);
      return absl::OkStatus();
    }
  }
  std::vector<TokenId> symbols;
  BANYAN_RETURN_IF_ERROR(Characters(piece, symbols));
  Merging merging(*this, symbols);
  merging.Run();
  merging.AppendTo(out);
  return absl::OkStatus();
}

}  // namespace banyan
