// Claim. The library divsufsort sorts the suffixes of bytes. Of tokens as bytes
// with the highest first, those that begin where a token does are in the order
// of the tokens; the others are dropped.
//
// Cost. O(n log n) time at worst for n bytes, and 4n bytes of memory: of tokens
// of two bytes half of the entries are dropped, of four three quarters. (A sort
// of the tokens themselves would save that and the library has none.)
#include "experiments/makers/index/sort_suffixes.h"

#include <divsufsort.h>

#include <limits>
#include <new>

#include "core/base/check.h"

namespace banyan {
namespace {

std::size_t Separators(absl::Span<const std::byte> text, std::size_t width) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); at += width) {
    bool all_set = true;
    for (const std::byte byte : text.subspan(at, width))
      all_set = all_set && byte == std::byte{0xff};
    count += all_set ? 1 : 0;
  }
  return count;
}

}  // namespace

absl::StatusOr<SortedSuffixes> SortSuffixes(absl::Span<const std::byte> text,
                                            std::size_t width) {
  Check(text.size() % width == 0, "tokens are whole");
  Check(text.size() <=
            static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()),
        "the library numbers bytes by 31 bits");
  const auto no_memory = [&text] {
    return absl::ResourceExhaustedError(absl::StrFormat(
        "sorting takes %.1f GB of memory, which the system does not give: take "
        "smaller shards",
        static_cast<double>(text.size() * kSortBytes) / 1e9));
  };
  SortedSuffixes sorted;
  sorted.places.reset(new (std::nothrow) std::int32_t[text.size()]);
  if (sorted.places == nullptr) return no_memory();
  // What else it needs it asks the system for.
  if (divsufsort(reinterpret_cast<const std::uint8_t*>(text.data()),
                 sorted.places.get(),
                 static_cast<std::int32_t>(text.size())) != 0)
    return no_memory();
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto at = static_cast<std::size_t>(sorted.places[i]);
    if (at % width != 0) continue;
    sorted.places[sorted.count++] = static_cast<std::int32_t>(at / width);
  }
  sorted.count -= Separators(text, width);  // nothing is greater: the last
  return sorted;
}

}  // namespace banyan
