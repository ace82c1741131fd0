// Drafting what a pattern leaves no choice about.
//
// Claim. Of JSON, of forms and of tables much is certain before the model says
// it: field names, quotes, commas.
//
// Rule. The output, the whole text from the prompt's beginning, or each line of
// that by itself, is followed through a regular expression, byte by byte. Where
// one byte alone can come next, and after it one alone again, those bytes are
// the draft, cut into tokens as the target's tokenizer cuts them behind the
// last committed token. Nothing is drafted where there are two ways, where the
// text may end, and from the first byte on that breaks the pattern, until the
// prompt or the line ends.
//
// Why the law is kept. The target stays free: what it does not want it refuses.
// The draft is made of committed text alone, and its draws are deterministic.
// (Constrained decoding, which forbids the target all else, is another method,
// with another law.)
//
// What it promises is the draft's length.
#ifndef BANYAN_DRAFTERS_TEXT_GRAMMAR_GRAMMAR_H_
#define BANYAN_DRAFTERS_TEXT_GRAMMAR_GRAMMAR_H_

#include <memory>

#include "core/tokenizer/tokenizer.h"
#include "drafters/drafter.h"
#include "drafters/row.h"
#include "drafters/text/grammar/pattern.h"
#include "drafters/text/plan_drafter.h"

namespace banyan {

struct GrammarOptions {
  // What the pattern speaks of: the output, the prompt too, or each line.
  enum class Of { kOutput, kText, kLine };
  Of of = Of::kOutput;
  int tokens = 32;  // drafted at most
};

class Grammar : public PlanDrafter {
 public:
  Grammar(int vocab_size, const GrammarOptions& options,
          std::shared_ptr<const Pattern> pattern,
          std::shared_ptr<const Tokenizer> tokenizer);

  std::unique_ptr<DraftSession> NewSession() const override;

 private:
  GrammarOptions options_;
  std::shared_ptr<const Pattern> pattern_;
  std::shared_ptr<const Tokenizer> tokenizer_;
};

DrafterRow GrammarRow();

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_TEXT_GRAMMAR_GRAMMAR_H_
