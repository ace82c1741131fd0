// Sorting the suffixes of a text of tokens.
#ifndef BANYAN_EXPERIMENTS_MAKERS_INDEX_SORT_SUFFIXES_H_
#define BANYAN_EXPERIMENTS_MAKERS_INDEX_SORT_SUFFIXES_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/base/common.h"

namespace banyan {

// The numbers of tokens, from 0, in the order of what begins there.
struct SortedSuffixes {
  std::unique_ptr<std::int32_t[]> places;
  std::size_t count = 0;

  absl::Span<const std::byte> bytes() const {
    return {reinterpret_cast<const std::byte*>(places.get()),
            count * sizeof(std::int32_t)};
  }
};

// What sorting needs beside the text, for each of its bytes.
inline constexpr std::int64_t kSortBytes = sizeof(std::int32_t);

// Of a text of whole tokens of `width` bytes, which ends with a separator;
// those that begin with a separator are left out
// (drafters/text/index_manifest.h). Requires less than 2 GiB of text.
// ResourceExhausted without the memory.
absl::StatusOr<SortedSuffixes> SortSuffixes(absl::Span<const std::byte> text,
                                            std::size_t width);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_MAKERS_INDEX_SORT_SUFFIXES_H_
