// SeenText: which part of the committed text a view sees.
#ifndef BANYAN_CORE_MODEL_SEEN_TEXT_H_
#define BANYAN_CORE_MODEL_SEEN_TEXT_H_

#include <vector>

#include "absl/types/span.h"

namespace banyan {

// The first tokens, the latest, and between them the chunks that the first row
// which the view scores attends to most, layer by layer. Chunk c of a text is
// its tokens c * chunk .. (c + 1) * chunk - 1.
struct SeenText {
  int first = 0;
  // At least so many, and less than a quarter more: older ones go together, at
  // lengths that do not hang on when the view was made. 0: all of the text.
  int latest = 0;
  int chunks = 0;
  int chunk = 1;

  bool all() const { return latest == 0; }
};

// Where the latest tokens that are seen of so many begin.
int LatestFrom(const SeenText& seen, int length);
// The chunks to choose from: those that lie wholly between the first and the
// latest tokens.
std::vector<int> ChunksBetween(const SeenText& seen, int length);
// Of these the seen.chunks with the largest masses, ascending; ties towards the
// lower one. Element c of `masses` is chunk c's.
std::vector<int> BestChunks(const SeenText& seen, int length,
                            absl::Span<const float> masses);
// The tokens that are seen of so many, ascending, with these chunks, which
// ascend and were chosen from a text that was no longer.
std::vector<int> SeenSlots(const SeenText& seen, absl::Span<const int> chunks,
                           int length);

}  // namespace banyan

#endif  // BANYAN_CORE_MODEL_SEEN_TEXT_H_
