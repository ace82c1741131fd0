// OwnReader: a model that reads the committed text in tokens of its own, which
// are not the target's.
//
// The committed tokens are spelled out and cut anew by the model's tokenizer
// (GrowingText). The last few tokens, which later text may still change, are
// not committed to the model's session. They are read as pending rows with the
// root of each round, and kept once they have settled.
//
// A text may end inside a character. It is then cut anew up to the last place
// where a target's token and a character ended. The target's tokens after that
// place follow as the same ones of the model. If the model lacks one, nothing
// is drafted.
//
// Special tokens become the same ones of the model. One without the same ends
// the text before it and is left out, as is an id without token. A text begins
// as the model's tokenizer begins a prompt.
#ifndef BANYAN_DRAFTERS_SMALL_MODELS_OWN_READER_H_
#define BANYAN_DRAFTERS_SMALL_MODELS_OWN_READER_H_

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/base/token.h"
#include "core/model/model.h"
#include "core/tokenizer/growing_text.h"
#include "core/tokenizer/vocabulary.h"
#include "drafters/session_drafter.h"

namespace banyan {

// A text in the target's tokens, cut anew into the drafter's. For one thread.
class OwnText {
 public:
  explicit OwnText(std::shared_ptr<const VocabularyMap> map);

  // Takes what it has not taken of all the committed tokens. Fails as
  // GrowingText::Append.
  absl::Status Follow(absl::Span<const TokenId> committed);

  // The text up to the last place where a committed token and a character
  // ended, and the committed tokens after it with their bytes; mostly none.
  const GrowingText& text() const { return text_; }
  const std::vector<TokenId>& cut() const { return cut_; }
  const std::string& cut_bytes() const { return cut_bytes_; }

 private:
  absl::Status StartPrompt(absl::Span<const TokenId> committed);

  std::shared_ptr<const VocabularyMap> map_;
  GrowingText text_;
  std::size_t taken_ = 0;
  bool at_start_ = true;
  std::vector<TokenId> cut_;
  std::string cut_bytes_;
};

// The model's session on it. For one thread; a failing call leaves nothing to
// go on from.
class OwnReader {
 public:
  // `map` has the model's tokenizer as the drafter's.
  OwnReader(std::shared_ptr<const Model> model,
            std::shared_ptr<const VocabularyMap> map)
      : model_(std::move(model)), map_(std::move(map)), text_(map_) {}

  const std::shared_ptr<const Model>& model() const { return model_; }
  const std::shared_ptr<const VocabularyMap>& map() const { return map_; }

  // A new text; and how it went on.
  absl::Status Begin(absl::Span<const TokenId> committed);
  absl::Status Follow(absl::Span<const TokenId> committed);

  const OwnText& text() const { return text_; }
  // All of the text in the model's tokens, as far as it can be said in them.
  const std::vector<TokenId>& tokens() const { return tokens_; }
  // Returns whether a row `behind` places after the text's last token can be
  // scored: not without a text in the model's tokens, nor beyond its context.
  bool Fits(int behind) const;

  // What is to be scored with the round's first rows: the text's tokens that
  // are not read, of which the last is the root's. Drops what an abandoned
  // round left. Requires that Fits(0).
  absl::StatusOr<TokenBatch> StartRound();

  Session& session() const { return *session_; }
  PendingTree& pending() { return pending_; }
  const PendingTree& pending() const { return pending_; }

 private:
  absl::Status Translate(absl::Span<const TokenId> committed);
  absl::Status Reread();
  absl::Status ReadSettled();
  absl::Span<const TokenId> Unread(int until) const;

  std::shared_ptr<const Model> model_;
  std::shared_ptr<const VocabularyMap> map_;
  OwnText text_;
  std::vector<TokenId> tokens_;
  bool is_whole_ = true;  // all of the text could be said
  int settled_ = 0;       // how many of tokens_ stay; never the last
  std::unique_ptr<Session> session_;
  std::vector<TokenId> read_;  // what the session has committed
  PendingTree pending_;
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_SMALL_MODELS_OWN_READER_H_
