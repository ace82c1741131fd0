// Reads the parts of a regular expression in Oniguruma's language that stand
// for one character: escapes and classes.
#ifndef BANYAN_CORE_TOKENIZER_PATTERNS_PATTERN_READER_H_
#define BANYAN_CORE_TOKENIZER_PATTERNS_PATTERN_READER_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/base/common.h"

namespace banyan {

// Classes of characters as PCRE2 writes them.

// The items, which stand between brackets, of \s, \w, \d and \h as Oniguruma
// means them; nothing for other letters.
std::optional<absl::string_view> LetterItems(char letter);

// The items of [:name:]; nothing if the name is not known.
std::optional<absl::string_view> PosixItems(absl::string_view name);

// The items of \p{name}: ASCII letters, digits, spaces, - and _. A name that
// nobody knows is left for the compiler to refuse.
std::string PropertyItems(absl::string_view name);

// A character as an item, or outside of brackets.
std::string WrittenCharacter(char32_t value);

// A union of items and, for what PCRE2 has no items for, of expressions that
// match one character each.
class CharacterClass {
 public:
  bool empty() const { return items_.empty() && others_.empty(); }

  // Adds items, or what they do not hold.
  void Add(absl::string_view items, bool is_negated = false);
  void AddClass(const CharacterClass& nested);
  // Leaves what each of `others`, expressions for one character, has too.
  void Intersect(const std::vector<std::string>& others);
  void Negate() { is_negated_ = !is_negated_; }

  // An expression that matches one character. Requires a class that is not
  // empty.
  std::string Written() const;

 private:
  std::string items_;
  std::vector<std::string> others_;
  bool is_negated_ = false;
};

// InvalidArgument "byte 12, at 'what stands there': message".
absl::Status PatternError(absl::string_view pattern, std::size_t offset,
                          absl::string_view message);

// Fails with PatternError. The pattern, UTF-8, must outlive it.
class PatternReader {
 public:
  // One character, or if it is not empty any of a class.
  struct Member {
    CharacterClass any_of;
    char32_t value = 0;
  };

  explicit PatternReader(absl::string_view pattern) : pattern_(pattern) {}

  std::size_t offset() const { return offset_; }
  bool AtEnd() const { return offset_ == pattern_.size(); }
  absl::string_view rest() const { return pattern_.substr(offset_); }
  // Returns the byte `ahead` bytes from here; NUL after the end.
  char Peek(std::size_t ahead = 0) const;

  void Skip(std::size_t bytes) { offset_ += bytes; }
  // Skips `text` if it stands here.
  bool Take(absl::string_view text);
  // Requires a character.
  char32_t TakeCharacter();
  // Skips "name>" for the end '>' and gives the name; fails, and names the byte
  // at `begin`, unless it is letters, digits, spaces, - and _.
  absl::StatusOr<absl::string_view> TakeName(char end, std::size_t begin,
                                             absl::string_view expected);

  // Requires a \ here.
  absl::StatusOr<Member> ReadEscape();
  // Requires a [ here.
  absl::StatusOr<CharacterClass> ReadClass(int depth = 0);

  absl::Status Error(std::size_t offset, absl::string_view message) const {
    return PatternError(pattern_, offset, message);
  }

 private:
  absl::StatusOr<char32_t> ReadNumber(std::size_t begin);
  absl::StatusOr<Member> ReadMember();
  absl::Status ReadItem(int depth, CharacterClass& out);
  absl::Status ReadPosix(CharacterClass& out, bool& is_found);

  absl::string_view pattern_;
  std::size_t offset_ = 0;
};

}  // namespace banyan

#endif  // BANYAN_CORE_TOKENIZER_PATTERNS_PATTERN_READER_H_
