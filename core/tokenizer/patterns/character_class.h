// Classes of characters as PCRE2 writes them.
#ifndef BANYAN_CORE_TOKENIZER_PATTERNS_CHARACTER_CLASS_H_
#define BANYAN_CORE_TOKENIZER_PATTERNS_CHARACTER_CLASS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace banyan {

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

}  // namespace banyan

#endif  // BANYAN_CORE_TOKENIZER_PATTERNS_CHARACTER_CLASS_H_
