// banyan text score: how likely a text is under a model.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iostream>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/base/token.h"
#include "core/json/json_value.h"
#include "core/model/model.h"
#include "core/prob/sampling_rule.h"
#include "core/terminal/columns.h"
#include "experiments/commands/commands.h"
#include "experiments/commands/shared/command_line.h"
#include "experiments/commands/shared/model_options.h"
#include "experiments/commands/shared/token_input.h"
#include "experiments/loading/model_shelf.h"
#include "experiments/texts/texts.h"
#include "experiments/texts/token_stream.h"

namespace banyan {
namespace {

struct ScoreOptions {
  ModelOptions model;
  TokenInput input;
  bool logits = false;
  bool json = false;
};

struct Scored {
  LoadedModel model;
  std::vector<TokenId> ids;
  TextScores scores;

  double Total() const {
    double total = 0;
    for (const TokenScore& token : scores.tokens)
      total += token.log_probability;
    return total;
  }
  // Nothing if nothing was scored.
  std::optional<double> Mean() const {
    if (scores.tokens.empty()) return std::nullopt;
    return Total() / static_cast<double>(scores.tokens.size());
  }
};

JsonValue ToJson(const Scored& scored, bool logits) {
  JsonValue out;
  out["ids"] = scored.ids;
  out["tokens"] = nullptr;
  if (const Tokenizer* tokenizer = scored.model.tokenizer.get()) {
    out["tokens"] = JsonValue::List();
    for (TokenId id : scored.ids) out["tokens"].Add(ShownToken(tokenizer, id));
  }
  out["log_probabilities"] = JsonValue::List();
  out["ranks"] = JsonValue::List();
  for (const TokenScore& token : scored.scores.tokens) {
    out["log_probabilities"].Add(token.log_probability);
    out["ranks"].Add(token.rank);
  }
  const std::optional<double> mean = scored.Mean();
  out["total"] = scored.Total();
  out["mean"] = mean.has_value() ? JsonValue(*mean) : JsonValue();
  out["perplexity"] =
      mean.has_value() ? JsonValue(std::exp(-*mean)) : JsonValue();
  if (logits) out["logits"] = scored.scores.last_logits;
  const absl::string_view origin = scored.model.model->grown_from();
  out["grown_from"] = NullIfEmpty(origin);
  const ModelFacts facts = scored.model.model->facts();
  out["weights"] = std::string(Name(facts.format));
  out["device"] = facts.device;
  out["backend"] = facts.backend;
  return out;
}

// The column of token texts is as wide as the widest, within reason.
constexpr int kTextWidth = 16;

void PrintTokens(const Scored& scored) {
  const Tokenizer* tokenizer = scored.model.tokenizer.get();
  std::cout << absl::StreamFormat("%8s%9s  %s%12s%8s\n", "position", "id",
                                  Padded("token", kTextWidth), "log p", "rank");
  for (std::size_t i = 0; i < scored.ids.size(); ++i) {
    const TokenId id = scored.ids[i];
    std::cout << absl::StreamFormat("%8d%9d  ", i, id)
              << Padded(ShownToken(tokenizer, id), kTextWidth);
    if (i == 0) {
      std::cout << absl::StreamFormat("%12s%8s\n", "-", "-");
      continue;
    }
    const TokenScore& token = scored.scores.tokens[i - 1];
    std::cout << absl::StreamFormat("%12.6f%8d\n", token.log_probability,
                                    token.rank);
  }
}

void PrintTotals(const Scored& scored) {
  const std::optional<double> mean = scored.Mean();
  std::cout << absl::StreamFormat("\n  %-18s%d\n", "tokens scored",
                                  scored.scores.tokens.size());
  if (!mean.has_value()) {
    std::cout << "  nothing to score: the first token has none before it\n";
    return;
  }
  std::cout << absl::StreamFormat("  %-18s%.6f\n", "total log p",
                                  scored.Total());
  std::cout << absl::StreamFormat("  %-18s%.6f\n", "mean log p", *mean);
  std::cout << absl::StreamFormat("  %-18s%.6f\n", "perplexity",
                                  std::exp(-*mean));
}

void PrintOrigin(const ScoreOptions& options, const Scored& scored) {
  const std::string note = GrownNote(*scored.model.model);
  if (note.empty()) return;
  std::cout << absl::StreamFormat("  %-18s%s%s\n", "model",
                                  options.model.spec.directory, note);
}

// The likeliest tokens after the text.
void PrintNext(const Scored& scored) {
  constexpr std::size_t kShown = 10;
  const std::vector<double>& logits = scored.scores.last_logits;
  std::vector<TokenId> order(logits.size());
  std::iota(order.begin(), order.end(), TokenId{0});
  const std::size_t shown = std::min(kShown, order.size());
  const auto logit = [&](TokenId id) {
    return logits[static_cast<std::size_t>(id)];
  };
  std::partial_sort(order.begin(),
                    order.begin() + static_cast<std::ptrdiff_t>(shown),
                    order.end(), [&](TokenId a, TokenId b) {
                      return logit(a) != logit(b) ? logit(a) > logit(b) : a < b;
                    });
  const double norm = LogSumExp(logits);
  std::cout << absl::StreamFormat("\n%8s%9s  %s%12s%12s\n", "next", "id",
                                  Padded("token", kTextWidth), "logit",
                                  "log p");
  for (std::size_t i = 0; i < shown; ++i)
    std::cout << absl::StreamFormat("%8d%9d  ", i + 1, order[i])
              << Padded(ShownToken(scored.model.tokenizer.get(), order[i]),
                        kTextWidth)
              << absl::StreamFormat("%12.6f%12.6f\n", logit(order[i]),
                                    logit(order[i]) - norm);
}

absl::Status Score(const ScoreOptions& options) {
  BANYAN_ASSIGN_OR_RETURN(ModelShelf shelf, OpenShelf(options.model));
  Scored scored;
  BANYAN_ASSIGN_OR_RETURN(scored.model, shelf.Open(options.model.spec));
  BANYAN_ASSIGN_OR_RETURN(InputTokens input,
                          ReadTokens(options.input, scored.model));
  scored.ids = std::move(input.ids);
  BANYAN_ASSIGN_OR_RETURN(scored.scores,
                          ScoreText(*scored.model.model, scored.ids));
  if (options.json) {
    std::cout << ToJson(scored, options.logits).Text(2) << "\n";
    return absl::OkStatus();
  }
  PrintTokens(scored);
  PrintTotals(scored);
  PrintOrigin(options, scored);
  if (options.logits) PrintNext(scored);
  return absl::OkStatus();
}

}  // namespace

void AddTextScoreCommand(CommandLine& line) {
  Command command = line.Add(
      {.name = "text score",
       .sentence = "Prints the log-probability of each token of a text.",
       .more = "The logarithm is natural. The total, the mean and the "
               "perplexity follow.",
       .example = "  banyan text score --model models/pycode-target --text "
                  "'def add(a, b):'"});
  const auto options = std::make_shared<ScoreOptions>();
  AddModelOptions(command, options->model);
  AddTokenInput(command, "--text", options->input);
  command.Flag("--logits", &options->logits,
               "Also the logits of what follows the text: the ten "
               "largest, with --json all.");
  command.Flag("--json", &options->json, "Print JSON.");
  command.OnCall([options] { return Score(*options); });
}

}  // namespace banyan
