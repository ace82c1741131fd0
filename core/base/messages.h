// Parts of messages: counts, quoted names, sizes of memory, suggestions for
// misspelt names, and several errors reported together.
#ifndef BANYAN_CORE_BASE_MESSAGES_H_
#define BANYAN_CORE_BASE_MESSAGES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/common.h"

namespace banyan {

// Numbers of things, in words.

// "1 token", "2 tokens".
inline std::string Counted(std::int64_t number, absl::string_view noun) {
  return absl::StrCat(number, " ", noun, number == 1 ? "" : "s");
}

// A name from a file, for messages: in quotes, escaped, cut if it is long.
std::string QuotedName(absl::string_view name);

// The same without quotes, for a sentence that has its own.
std::string Shown(absl::string_view name);

// Sizes of memory as people write them.

// "600 MB", "1.5GB", "2 GiB" or a number of bytes, at least 1. InvalidArgument
// otherwise, "expected a size such as 600MB or 1.5GB, found 'x'".
absl::StatusOr<std::uint64_t> ParseByteSize(absl::string_view text);

// Suggestions for misspelt names.

// The known name with the fewest edits from `name` (the first of them on a
// tie), where an edit adds, drops or changes a letter or swaps two neighbours;
// "" if none resembles it: more than a third of the longer name is edited.
absl::string_view Nearest(absl::string_view name,
                          absl::Span<const absl::string_view> known);

// "unknown WHAT 'name'; did you mean 'x'? known: x, y, z". The question is left
// out where none resembles it, the list where nothing is known.
std::string UnknownName(absl::string_view what, absl::string_view name,
                        absl::Span<const absl::string_view> known);

// Whether who called this program wants an end. A program of its own is ended
// by its signals; one that is part of another program is asked between passes.

// From then on AskStop() gives what `ask` says, on the thread that computes. An
// error ends what is computed. Null, as before the first call: nobody is asked.
void SetStop(absl::Status (*ask)());
absl::Status AskStop();

// Errors found one after another, told together.
class Errors {
 public:
  // Once each; nothing if it is none. Of several told together each counts.
  void Add(const absl::Status& status) {
    if (status.ok()) return;
    if (texts_.empty()) first_ = status;
    for (const absl::string_view text :
         absl::StrSplit(status.message(), kBetween))
      if (std::find(texts_.begin(), texts_.end(), text) == texts_.end())
        texts_.emplace_back(text);
  }
  bool empty() const { return texts_.empty(); }
  std::size_t size() const { return texts_.size(); }
  // OK if there are none, one as it was, several as InvalidArgument, one a
  // line.
  absl::Status status() const {
    if (texts_.size() <= 1) return first_;
    return absl::InvalidArgumentError(absl::StrJoin(texts_, kBetween));
  }

 private:
  static constexpr absl::string_view kBetween = "\n  ";

  absl::Status first_;
  std::vector<std::string> texts_;
};

}  // namespace banyan

#endif  // BANYAN_CORE_BASE_MESSAGES_H_
