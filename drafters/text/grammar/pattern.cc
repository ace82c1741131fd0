#include "drafters/text/grammar/pattern.h"

#include <algorithm>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "core/base/status_macros.h"

namespace banyan {

namespace {

using Bytes = std::bitset<256>;

constexpr int kMostDepth = 200;  // of groups in groups
constexpr int kMostRepeats = 100'000;

// What a pattern is made of.
struct Piece {
  enum class Kind { kBytes, kSequence, kChoice, kRepeat };
  Kind kind = Kind::kSequence;
  Bytes bytes = {};
  std::vector<Piece> parts = {};
  int least = 0;
  int most = 0;  // -1: no limit
};

Bytes Range(int first, int last) {
  Bytes bytes;
  for (int byte = first; byte <= last; ++byte)
    bytes.set(static_cast<std::size_t>(byte));
  return bytes;
}

Bytes Only(unsigned char byte) { return Range(byte, byte); }

// \d and its like; none: no such class.
std::optional<Bytes> ClassOf(char letter) {
  const char lower = absl::ascii_tolower(static_cast<unsigned char>(letter));
  Bytes bytes;
  for (int byte = 0; byte < 256; ++byte) {
    const auto c = static_cast<unsigned char>(byte);
    const bool in = lower == 'd'   ? absl::ascii_isdigit(c)
                    : lower == 'w' ? absl::ascii_isalnum(c) || c == '_'
                                   : absl::ascii_isspace(c);
    bytes.set(static_cast<std::size_t>(byte), in);
  }
  if (lower != 'd' && lower != 'w' && lower != 's') return std::nullopt;
  return letter == lower ? bytes : ~bytes;
}

}  // namespace

// Reads by recursive descent, then writes the places out.
class PatternParser {
 public:
  explicit PatternParser(absl::string_view text) : text_(text) {}

  absl::StatusOr<Pattern> Read() {
    BANYAN_ASSIGN_OR_RETURN(const Piece all, Choice(0));
    if (at_ < text_.size()) return Error("')' closes no group");
    const int end = NewPlace({.is_end = true});
    BANYAN_ASSIGN_OR_RETURN(const int begin, Write(all, end));
    pattern_.begin_ = pattern_.Closed({begin});
    return std::move(pattern_);
  }

 private:
  absl::Status Error(absl::string_view what) const {
    return absl::InvalidArgumentError(
        absl::StrCat("column ", at_ + 1, ": ", what));
  }
  bool Sees(char c) const { return at_ < text_.size() && text_[at_] == c; }
  bool Takes(char c) {
    if (!Sees(c)) return false;
    ++at_;
    return true;
  }

  absl::StatusOr<Piece> Choice(int depth) {
    if (depth > kMostDepth)
      return Error(absl::StrCat("more than ", kMostDepth,
                                " groups stand in one another"));
    Piece choice = {.kind = Piece::Kind::kChoice};
    do {
      Piece sequence = {.kind = Piece::Kind::kSequence};
      while (at_ < text_.size() && !Sees('|') && !Sees(')')) {
        BANYAN_ASSIGN_OR_RETURN(Piece atom, Atom(depth));
        BANYAN_ASSIGN_OR_RETURN(atom, Repeated(std::move(atom)));
        sequence.parts.push_back(std::move(atom));
      }
      choice.parts.push_back(std::move(sequence));
    } while (Takes('|'));
    return choice;
  }

  absl::StatusOr<Piece> Atom(int depth) {
    const auto byte = static_cast<unsigned char>(text_[at_]);
    Piece piece = {.kind = Piece::Kind::kBytes};
    switch (byte) {
      case '(': {
        ++at_;
        if (Sees('?')) return Error("groups with '(?' are not known");
        BANYAN_ASSIGN_OR_RETURN(Piece group, Choice(depth + 1));
        if (!Takes(')')) return Error("a group is not closed with ')'");
        return group;
      }
      case '[':
        ++at_;
        return Set();
      case '.':
        ++at_;
        piece.bytes = ~Only('\n');
        return piece;
      case '\\': {
        BANYAN_ASSIGN_OR_RETURN(piece.bytes, Escape());
        return piece;
      }
      case '*':
      case '+':
      case '?':
      case '{':
        return Error(absl::StrCat("nothing stands before '",
                                  std::string(1, text_[at_]), "' to repeat"));
      case '^':
      case '$':
        return Error(
            "anchors are not known: a pattern speaks of all of its text; a "
            "sign of this name is written with '\\'");
      default:
        return Letter();
    }
  }

  // A character of one or more bytes, which a repeat after it repeats whole.
  absl::StatusOr<Piece> Letter() {
    Piece letter = {.kind = Piece::Kind::kSequence};
    do {
      letter.parts.push_back(
          {.kind = Piece::Kind::kBytes,
           .bytes = Only(static_cast<unsigned char>(text_[at_++]))});
    } while (at_ < text_.size() &&
             (static_cast<unsigned char>(text_[at_]) & 0xC0U) == 0x80U);
    return letter;
  }

  // Parses what follows a backslash.
  absl::StatusOr<Bytes> Escape() {
    if (at_ + 1 >= text_.size()) return Error("nothing follows '\\'");
    const char letter = text_[at_ + 1];
    if (const std::optional<Bytes> known = ClassOf(letter)) {
      at_ += 2;
      return *known;
    }
    if (letter == 'x') {
      const absl::string_view digits = text_.substr(at_ + 2, 2);
      std::uint32_t byte = 0;
      if (digits.size() < 2 || !absl::SimpleHexAtoi(digits, &byte))
        return Error("two hexadecimal digits must follow '\\x'");
      at_ += 4;
      return Only(static_cast<unsigned char>(byte));
    }
    constexpr absl::string_view kNames = "ntr";
    constexpr absl::string_view kBytes = "\n\t\r";
    const std::size_t name = kNames.find(letter);
    if (name == absl::string_view::npos &&
        absl::ascii_isalnum(static_cast<unsigned char>(letter)))
      return Error(
          absl::StrCat("'\\", std::string(1, letter), "' is not known"));
    at_ += 2;
    return Only(static_cast<unsigned char>(
        name == absl::string_view::npos ? letter : kBytes[name]));
  }

  // Parses what follows a bracket.
  absl::StatusOr<Piece> Set() {
    Piece piece = {.kind = Piece::Kind::kBytes};
    const bool other = Takes('^');
    bool first = true;
    for (; first || !Sees(']'); first = false) {
      BANYAN_ASSIGN_OR_RETURN(const Bytes from, OneOfSet());
      piece.bytes |= from;
      if (!Sees('-') || at_ + 1 >= text_.size() || text_[at_ + 1] == ']')
        continue;
      ++at_;
      BANYAN_ASSIGN_OR_RETURN(const Bytes to, OneOfSet());
      if (from.count() != 1 || to.count() != 1)
        return Error("a range lies between two letters");
      const int low = Lowest(from);
      const int high = Lowest(to);
      if (low > high) return Error("a range goes upwards");
      piece.bytes |= Range(low, high);
    }
    ++at_;
    if (other) piece.bytes.flip();
    if (piece.bytes.none()) return Error("a set of nothing");
    return piece;
  }

  absl::StatusOr<Bytes> OneOfSet() {
    if (at_ >= text_.size()) return Error("a set is not closed with ']'");
    if (Sees('\\')) return Escape();
    const absl::string_view next = text_.substr(at_, 2);
    if (next == "[:" || next == "[." || next == "[=")
      return Error(absl::StrCat("'", next,
                                "' begins a class of POSIX, and those are not "
                                "known; a '[' of the set is written '\\['"));
    if (next == "&&")
      return Error(
          "'&&' intersects sets elsewhere, and that is not known; a '&' of "
          "the set is written '\\&'");
    const auto byte = static_cast<unsigned char>(text_[at_]);
    if (byte > 0x7F)
      return Error("a set is of bytes: a letter of several cannot be in it");
    ++at_;
    return Only(byte);
  }

  static int Lowest(const Bytes& bytes) {
    int lowest = 0;
    while (!bytes.test(static_cast<std::size_t>(lowest))) ++lowest;
    return lowest;
  }

  absl::StatusOr<Piece> Repeated(Piece piece) {
    while (at_ < text_.size()) {
      int least = 0;
      int most = -1;
      if (Takes('+')) {
        least = 1;
      } else if (Takes('?')) {
        most = 1;
      } else if (Sees('{')) {
        BANYAN_RETURN_IF_ERROR(Bounds(least, most));
      } else if (!Takes('*')) {
        return piece;
      }
      if (Sees('?') || Sees('+'))
        return Error("no repeat is lazy or greedy: all ways are followed");
      Piece repeat = {
          .kind = Piece::Kind::kRepeat, .least = least, .most = most};
      repeat.parts.push_back(std::move(piece));
      piece = std::move(repeat);
    }
    return piece;
  }

  // Of "{2}", "{2,}", "{2,5}".
  absl::Status Bounds(int& least, int& most) {
    ++at_;
    BANYAN_RETURN_IF_ERROR(Number(least));
    most = least;
    if (Takes(',')) {
      most = -1;
      if (!Sees('}')) BANYAN_RETURN_IF_ERROR(Number(most));
    }
    if (!Takes('}')) return Error("'}' must end the bounds of a repeat");
    if (most >= 0 && most < least) return Error("a repeat's bounds go upwards");
    return absl::OkStatus();
  }

  absl::Status Number(int& number) {
    if (at_ >= text_.size() ||
        !absl::ascii_isdigit(static_cast<unsigned char>(text_[at_])))
      return Error("a repeat's bound is a number");
    number = 0;
    while (at_ < text_.size() &&
           absl::ascii_isdigit(static_cast<unsigned char>(text_[at_]))) {
      number = number * 10 + (text_[at_++] - '0');
      if (number > kMostRepeats)
        return Error(absl::StrCat("more than ", kMostRepeats, " repeats"));
    }
    return absl::OkStatus();
  }

  int NewPlace(const Pattern::Place& place) {
    pattern_.places_.push_back(place);
    return static_cast<int>(pattern_.places_.size()) - 1;
  }

  // Writes a piece after which place `next` follows; returns where it begins.
  absl::StatusOr<int> Write(const Piece& piece, int next) {
    // Repeats of nothing make no places.
    constexpr int kMostWrites = 10 * Pattern::kMostPlaces;
    if (pattern_.places_.size() >
            static_cast<std::size_t>(Pattern::kMostPlaces) ||
        ++writes_ > kMostWrites)
      return absl::InvalidArgumentError(
          absl::StrCat("it takes more than ", Pattern::kMostPlaces,
                       " places: each byte and set takes one, and again each "
                       "time that it is repeated"));
    switch (piece.kind) {
      case Piece::Kind::kBytes:
        return NewPlace(
            {.bytes = piece.bytes, .next = next, .takes_byte = true});
      case Piece::Kind::kSequence:
        for (auto part = piece.parts.rbegin(); part != piece.parts.rend();
             ++part) {
          BANYAN_ASSIGN_OR_RETURN(next, Write(*part, next));
        }
        return next;
      case Piece::Kind::kChoice: {
        BANYAN_ASSIGN_OR_RETURN(int begin, Write(piece.parts.back(), next));
        for (std::size_t i = piece.parts.size() - 1; i-- > 0;) {
          BANYAN_ASSIGN_OR_RETURN(const int way, Write(piece.parts[i], next));
          begin = NewPlace({.next = way, .other = begin});
        }
        return begin;
      }
      case Piece::Kind::kRepeat:
        return WriteRepeat(piece, next);
    }
    return next;
  }

  absl::StatusOr<int> WriteRepeat(const Piece& piece, int next) {
    const Piece& part = piece.parts.front();
    int begin = next;
    if (piece.most < 0) {
      begin = NewPlace({.other = next});
      BANYAN_ASSIGN_OR_RETURN(const int again, Write(part, begin));
      pattern_.places_[static_cast<std::size_t>(begin)].next = again;
    }
    for (int i = piece.least; i < piece.most; ++i) {
      BANYAN_ASSIGN_OR_RETURN(const int once, Write(part, begin));
      begin = NewPlace({.next = once, .other = next});
    }
    for (int i = 0; i < piece.least; ++i) {
      BANYAN_ASSIGN_OR_RETURN(begin, Write(part, begin));
    }
    return begin;
  }

  absl::string_view text_;
  std::size_t at_ = 0;
  int writes_ = 0;
  Pattern pattern_;
};

absl::StatusOr<Pattern> Pattern::Parse(absl::string_view text) {
  return PatternParser(text).Read();
}

absl::StatusOr<Pattern> Pattern::ParseFile(absl::string_view text) {
  absl::ConsumePrefix(&text, "\xEF\xBB\xBF");
  if (absl::ConsumeSuffix(&text, "\n")) absl::ConsumeSuffix(&text, "\r");
  return Parse(text);
}

// Ways that take no byte may be as many as places: none is gone twice, nor by
// recursion.
Pattern::Places Pattern::Closed(const std::vector<int>& starts) const {
  Places out;
  std::vector<bool> seen(places_.size());
  std::vector<int> open = starts;
  while (!open.empty()) {
    const int at = open.back();
    open.pop_back();
    if (at < 0 || seen[static_cast<std::size_t>(at)]) continue;
    seen[static_cast<std::size_t>(at)] = true;
    const Place& place = places_[static_cast<std::size_t>(at)];
    if (place.is_end) {
      out.may_end = true;
    } else if (place.takes_byte) {
      out.waiting.push_back(at);
    } else {
      open.push_back(place.next);
      open.push_back(place.other);
    }
  }
  std::sort(out.waiting.begin(), out.waiting.end());
  return out;
}

Pattern::Places Pattern::After(const Places& places, std::uint8_t byte) const {
  std::vector<int> starts;
  for (int at : places.waiting) {
    const Place& place = places_[static_cast<std::size_t>(at)];
    if (place.bytes.test(byte)) starts.push_back(place.next);
  }
  return Closed(starts);
}

std::optional<std::uint8_t> Pattern::OnlyWay(const Places& places) const {
  if (places.may_end) return std::nullopt;
  std::bitset<256> ways;
  for (int at : places.waiting)
    ways |= places_[static_cast<std::size_t>(at)].bytes;
  if (ways.count() != 1) return std::nullopt;
  std::uint8_t byte = 0;
  while (!ways.test(byte)) ++byte;
  return byte;
}

}  // namespace banyan
