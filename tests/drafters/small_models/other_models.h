// A target and a model whose tokens are not its.
#ifndef BANYAN_TESTS_DRAFTERS_MODELS_OTHER_MODELS_H_
#define BANYAN_TESTS_DRAFTERS_MODELS_OTHER_MODELS_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/base/token.h"
#include "core/model/table_model.h"
#include "core/tokenizer/tokenizer.h"
#include "drafters/workbench.h"

namespace banyan {

// What the drafters make of it the slow way: everything is read from the start.
struct OtherPair {
  // Of the tokens of ToyTokenizer; the model is a toy of this seed.
  OtherPair(const std::vector<std::string>& targets,
            const std::vector<std::string>& models, int seed);
  OtherPair(const std::vector<std::string>& targets,
            std::shared_ptr<const Tokenizer> models, int seed);
  OtherPair(std::shared_ptr<const Tokenizer> targets,
            std::shared_ptr<const Tokenizer> models, int seed);

  int vocab_size() const { return target->vocab_size(); }
  OtherModel Open() const;
  // The model's token that spells what one of the target's does, or ends a text
  // as it does.
  std::optional<TokenId> SameAs(TokenId token) const;
  // What the target's tokens spell, special ones as they are written.
  std::string TextOf(absl::Span<const TokenId> tokens) const;
  // The text of the target's tokens cut by the model's tokenizer, a part
  // between special tokens at a time; letters that it cannot write left out.
  std::vector<TokenId> Cut(absl::Span<const TokenId> tokens) const;

  std::shared_ptr<const Tokenizer> target, own;
  std::shared_ptr<TableModel> model;
};

// Of bytes: the target has each alone, by its number; the model has them in
// another order, but for one, and what is merged of them.
OtherPair Bytes(const std::vector<std::string>& merged, int without = -1);

// The message of the refusal of "common_tokens {model: other}" on a bench whose
// target and model `other` have these tokenizers; "" if it was built.
std::string RefusalBeside(std::shared_ptr<const Tokenizer> target,
                          std::shared_ptr<const Tokenizer> own,
                          const std::string& spec);

}  // namespace banyan

#endif  // BANYAN_TESTS_DRAFTERS_MODELS_OTHER_MODELS_H_
