// SeenText: which part of the committed text a view sees.
#ifndef BANYAN_CORE_MODEL_SEEN_TEXT_H_
#define BANYAN_CORE_MODEL_SEEN_TEXT_H_

#include <vector>

#include "absl/types/span.h"

namespace banyan {

// A view sees the first tokens, the latest tokens and, for each layer, the
// chunks between them that get the most attention from the first row that the
// view scores. Chunk c is the tokens c * chunk .. (c + 1) * chunk - 1.
struct SeenText {
  int first = 0;
  // At least `latest` tokens are seen, and less than a quarter more. Older ones
  // drop out in groups, at text lengths that do not depend on when the view was
  // made. 0: the view sees all of the text.
  int latest = 0;
  int chunks = 0;
  int chunk = 1;

  bool all() const { return latest == 0; }
};

// Returns where the latest seen tokens begin in a text of `length` tokens.
int LatestFrom(const SeenText& seen, int length);
// The chunks to choose from: those that lie wholly between the first and the
// latest tokens.
std::vector<int> ChunksBetween(const SeenText& seen, int length);
// Of these the seen.chunks with the largest masses, ascending; ties towards the
// lower one. Element c of `masses` is chunk c's.
std::vector<int> BestChunks(const SeenText& seen, int length,
                            absl::Span<const float> masses);
// Returns the positions that are seen in a text of `length` tokens, ascending.
// `chunks` ascend and were chosen from a text that was no longer.
std::vector<int> SeenSlots(const SeenText& seen, absl::Span<const int> chunks,
                           int length);

}  // namespace banyan

#endif  // BANYAN_CORE_MODEL_SEEN_TEXT_H_
