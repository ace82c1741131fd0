// Drafting the text that a regular expression leaves no choice about.
//
// Claim. In JSON, forms and tables much is certain before the model writes it:
// field names, quotes, commas.
//
// Rule. A regular expression follows the output, the whole text from the
// prompt's beginning, or each of its lines by itself, byte by byte. Where one
// byte alone can come next, and after it one alone again, those bytes are the
// draft, cut into tokens as the target's tokenizer cuts them after the last
// committed token. Nothing is drafted where two bytes are possible or the text
// may end. After the first byte that breaks the pattern nothing is drafted
// until the prompt or the line ends.
//
// Why the output distribution is kept. The target stays free and refuses what
// it does not want. The draft is made of committed text alone, and its draws
// are deterministic. (Constrained decoding forbids the target all else; it is
// another method, with another output distribution.)
//
// Promise() is the draft's length.
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
  // The text that the pattern covers: the output, the prompt too, or each line.
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
