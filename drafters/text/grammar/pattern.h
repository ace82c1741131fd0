// Pattern: a regular expression over bytes, followed one byte at a time.
//
//   a b|c (ab)* [a-z_] [^"\n] . \d \w \s \D \W \S \n \t \r \x41 \. + ? {3} {2,}
//   {2,5}
//
// It speaks of a text from its beginning, so there are no anchors; groups catch
// nothing; `.` is any byte but a newline. What follows a text is the set of
// places in the pattern at which it may stand (Thompson's construction): a byte
// costs as many steps as there are places, never more than the pattern's size,
// whatever the text.
#ifndef BANYAN_DRAFTERS_TEXT_GRAMMAR_PATTERN_H_
#define BANYAN_DRAFTERS_TEXT_GRAMMAR_PATTERN_H_

#include <bitset>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace banyan {

class Pattern {
 public:
  // Repeats are written out; more places than this are refused.
  static constexpr int kMostPlaces = 10'000;

  // Fails with InvalidArgument, "column N: what", on what it does not know and
  // on repeats that make too many places.
  static absl::StatusOr<Pattern> Parse(absl::string_view text);
  // The same of a file's text, without what editors put around the pattern: a
  // byte order mark, and the end of its last line.
  static absl::StatusOr<Pattern> ParseFile(absl::string_view text);

  // Where a text may stand in the pattern.
  struct Places {
    std::vector<int> waiting;  // for a byte each; ascending
    bool may_end = false;
    bool operator==(const Places&) const = default;

    // No text that goes on from here is one of the pattern.
    bool broken() const { return waiting.empty() && !may_end; }
  };
  Places Begin() const { return begin_; }
  Places After(const Places& places, std::uint8_t byte) const;
  // The byte that any text of the pattern goes on with; none if the text may
  // end here, may go on with several, or is none of the pattern.
  std::optional<std::uint8_t> OnlyWay(const Places& places) const;

 private:
  friend class PatternParser;

  // Of a byte, of nothing with one or two ways on, or the end.
  struct Place {
    std::bitset<256> bytes = {};
    int next = -1;
    int other = -1;
    bool takes_byte = false;
    bool is_end = false;
  };

  Places Closed(const std::vector<int>& starts) const;

  std::vector<Place> places_;
  Places begin_;
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_TEXT_GRAMMAR_PATTERN_H_
