#include "tests/support/shared_models.h"

#include <algorithm>

#include "core/base/check.h"
#include "tests/support/must_read.h"

namespace banyan {

std::vector<double> LogitsAfter(const Model& model,
                                absl::Span<const TokenId> text) {
  Check(!text.empty(), "a text begins with a token");
  const std::unique_ptr<Session> session = model.NewSession();
  TokenBatch batch;
  for (std::size_t i = 0; i < text.size(); ++i) {
    batch.tokens.push_back(text[i]);
    batch.positions.push_back(static_cast<int>(i));
    batch.parents.push_back(static_cast<int>(i) - 1);
  }
  return MustRead(*ScoreOne(model, *session, batch).value(), batch.size() - 1);
}

Distribution LawAfter(const Model& model, absl::Span<const TokenId> text,
                      const SamplingRule& rule) {
  return rule.Apply(LogitsAfter(model, text), text, {}).value();
}

std::shared_ptr<TableModel> Script(int vocab_size,
                                   std::vector<TokenId> script) {
  return std::make_shared<TableModel>(
      vocab_size,
      [vocab_size, script = std::move(script)](absl::Span<const TokenId> text) {
        std::vector<double> masses(static_cast<std::size_t>(vocab_size), 0);
        const std::size_t next = std::min(text.size(), script.size()) - 1;
        masses[static_cast<std::size_t>(script[next])] = 1;
        return masses;
      });
}

std::shared_ptr<TableModel> Limited(std::shared_ptr<TableModel> model,
                                    int context_limit) {
  const int vocab_size = model->vocab_size();
  return std::make_shared<TableModel>(
      vocab_size,
      [model = std::move(model)](absl::Span<const TokenId> text) {
        return Masses(LawAfter(*model, text));
      },
      context_limit);
}

Context ContextOf(std::vector<TokenId> prompt) {
  Context context;
  context.prompt_length = static_cast<int>(prompt.size());
  context.tokens = std::move(prompt);
  return context;
}

std::vector<double> Masses(const Distribution& law) {
  std::vector<double> masses;
  for (TokenId token = 0; token < law.vocab_size(); ++token)
    masses.push_back(law.Mass(token));
  return masses;
}

bool Equal(const Distribution& a, const Distribution& b) {
  return Masses(a) == Masses(b);
}

}  // namespace banyan
