// A model's logits after continuations of one prompt.
#ifndef BANYAN_DECODE_BEAM_TEXT_READER_H_
#define BANYAN_DECODE_BEAM_TEXT_READER_H_

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/token.h"
#include "core/model/model.h"
#include "decode/sequence.h"

namespace banyan {

// Scores texts with one model. The row after a text is computed once and kept
// while it may be asked for.
//
// A session has one committed path. Texts that differ are pending rows below
// it, and a later pass adds its rows below those. The beginning that all live
// texts share is committed, and the other rows are dropped, only if no other
// row is needed, or if the rows no longer needed outnumber the model's context.
// A dropped row that is still needed is scored again.
//
// After a failure the reader can only be destroyed.
class TextReader {
 public:
  using Text = std::vector<TokenId>;  // the tokens after the prompt

  // `prompt` has just been started. Its model outlives the reader.
  explicit TextReader(Sequence prompt) : prompt_(std::move(prompt)) {}

  // Scores those of `texts` that have not been read, in one pass, with those of
  // their beginnings that the cache lacks. The rows of the pass; 0 if there was
  // none.
  absl::StatusOr<int> Read(absl::Span<const Text> texts);
  bool has_read(const Text& text) const {
    return StateOf(text).scores != nullptr;
  }
  // Of what follows a text. Requires that it has been read.
  absl::StatusOr<std::vector<double>> LogitsAfter(const Text& text) const;

  // From here on only `live` texts, and those that begin with one, are asked
  // for.
  absl::Status Keep(absl::Span<const Text> live);

  const Model& model() const { return prompt_.target; }

 private:
  static constexpr int kNone = -1;
  struct State {
    int row = kNone;  // among the session's pending rows
    // What follows the text; null if it has not been read or is not needed.
    std::shared_ptr<const Scores> scores = nullptr;
    int scores_row = kNone;
  };

  State StateOf(const Text& text) const {
    const auto found = states_.find(text);
    return found == states_.end() ? State() : found->second;
  }
  // Of the last token; the empty text's is the prompt's last.
  int PositionOf(const Text& text) const {
    return prompt_.context.prompt_length - 1 + static_cast<int>(text.size());
  }
  bool Committed(const Text& text) const {
    return PositionOf(text) < prompt_.session->length();
  }
  bool Cached(const Text& text) const {
    return Committed(text) || StateOf(text).row != kNone;
  }

  Sequence prompt_;
  std::map<Text, State> states_;  // a beginning before what it begins
};

}  // namespace banyan

#endif  // BANYAN_DECODE_BEAM_TEXT_READER_H_
