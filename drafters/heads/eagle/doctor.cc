#include "drafters/heads/eagle/doctor.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "core/base/common.h"
#include "core/checkpoint/architecture.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "core/transformer/network.h"
#include "drafters/draft_vocabulary.h"
#include "drafters/heads/eagle/head.h"

namespace banyan {

namespace {

bool AreThere(const std::vector<int>& taps, int by, int layers) {
  return std::all_of(taps.begin(), taps.end(), [&](int tap) {
    return tap != kAfterFinalNorm && tap + by >= 0 && tap + by <= layers;
  });
}

void Drop(WeightSource& source, Architecture& network) {
  network.tables.push_back(source.tensor);  // it is there, and not read
  source = {};
}

}  // namespace

std::vector<EagleTurn> TurnsOf(const EagleSpec& spec, int layers,
                               double theta) {
  std::vector<EagleTurn> turns;
  const auto add = [&turns](std::string name, auto turn) {
    turns.push_back({std::move(name), turn});
  };
  const VectorInput& input = spec.network.input;
  if (AreThere(spec.taps, -1, layers))
    add("the states one layer earlier", [](EagleSpec& of) {
      for (int& tap : of.taps) --tap;
    });
  if (AreThere(spec.taps, 1, layers))
    add("the states one layer later", [](EagleSpec& of) {
      for (int& tap : of.taps) ++tap;
    });
  if (spec.taps == std::vector<int>{kAfterFinalNorm})
    add("the state before the target's final norm",
        [layers](EagleSpec& of) { of.taps = {layers}; });
  if (spec.taps.size() == 1 && spec.taps.front() == layers)
    add("the state after the target's final norm",
        [](EagleSpec& of) { of.taps = {kAfterFinalNorm}; });
  add("token and vector in the other order", [](EagleSpec& of) {
    of.network.input.vector_first = !of.network.input.vector_first;
  });
  turns.push_back({"the token of the states' own place",
                   [](EagleSpec& /*of*/) {}, /*same_token=*/true});
  if (spec.network.rope) {
    turns.push_back({"drafted pairs one position further",
                     [](EagleSpec& /*of*/) {}, false, /*drafted_shift=*/1});
    turns.push_back({"drafted pairs one position back",
                     [](EagleSpec& /*of*/) {}, false, /*drafted_shift=*/-1});
  }
  if (input.token_norm.present())
    add("the token without its norm",
        [](EagleSpec& of) { Drop(of.network.input.token_norm, of.network); });
  if (input.vector_norm.present())
    add("the vector without its norm",
        [](EagleSpec& of) { Drop(of.network.input.vector_norm, of.network); });
  if (input.kind == VectorInput::Kind::kBeside)
    add(input.starts_normed ? "going on from the vector before its norm"
                            : "going on from the vector after its norm",
        [](EagleSpec& of) {
          of.network.input.starts_normed = !of.network.input.starts_normed;
        });
  if (spec.network.final_norm.present()) {
    add("no norm before the output matrix",
        [](EagleSpec& of) { Drop(of.network.final_norm, of.network); });
    add(spec.feeds_back_normed ? "fed back before the final norm"
                               : "fed back after the final norm",
        [](EagleSpec& of) { of.feeds_back_normed = !of.feeds_back_normed; });
  }
  if (input.fuse_bias.present())
    add("no bias",
        [](EagleSpec& of) { Drop(of.network.input.fuse_bias, of.network); });
  if (spec.own_vocabulary)
    add("d2t as tokens, not as differences",
        [](EagleSpec& of) { of.map_is_tokens = true; });
  if (spec.network.rope && theta > 0 && spec.network.rope->theta != theta)
    add("the target's rotary base",
        [theta](EagleSpec& of) { of.network.rope->theta = theta; });
  if (spec.network.rope && spec.network.rope->theta != 10000 && theta != 10000)
    add("a rotary base of 10000",
        [](EagleSpec& of) { of.network.rope->theta = 10000; });
  return turns;
}

namespace {

// A text, with the target distributions after its tokens.
struct KnownText {
  std::vector<TokenId> tokens;
  std::vector<Distribution> laws;
};

absl::StatusOr<std::vector<float>> ReadStates(const Scores& scores, int tap,
                                              int row, int size) {
  std::vector<float> state(static_cast<std::size_t>(size));
  BANYAN_RETURN_IF_ERROR(scores.ReadHidden(tap, row, absl::MakeSpan(state)));
  return state;
}

// The target's states at all tokens but the last, by token, then tap.
absl::StatusOr<std::vector<float>> StatesOf(const Model& target,
                                            const std::vector<TokenId>& tokens,
                                            const std::vector<int>& taps) {
  std::vector<float> states;
  const auto keep = [&](const Scores& piece, int rows) -> absl::Status {
    for (int row = 0; row < rows; ++row)
      for (std::size_t tap = 0; tap < taps.size(); ++tap) {
        BANYAN_ASSIGN_OR_RETURN(const std::vector<float> state,
                                ReadStates(piece, static_cast<int>(tap), row,
                                           target.hidden_size()));
        states.insert(states.end(), state.begin(), state.end());
      }
    return absl::OkStatus();
  };
  const std::unique_ptr<Session> session = target.NewSession();
  BANYAN_RETURN_IF_ERROR(session->Prefill(
      absl::MakeConstSpan(tokens).first(tokens.size() - 1), taps, keep));
  return states;
}

using BySteps = std::vector<Agreement>;

// The pairs of a text, all at once; then for each of them, step by step, the
// pair that follows it with what came out of the one before.
absl::Status CountText(const Model& target, const EagleHead& head,
                       const KnownText& text, const EagleTurn& turn,
                       BySteps& steps) {
  const Model& network = head.network();
  const int count = static_cast<int>(text.tokens.size());
  BANYAN_ASSIGN_OR_RETURN(const std::vector<float> states,
                          StatesOf(target, text.tokens, head.taps()));
  std::vector<float> vectors;
  BANYAN_RETURN_IF_ERROR(head.VectorsOf(states, count - 1, vectors));
  const auto token_at = [&](int place) {
    return text
        .tokens[static_cast<std::size_t>(place - (turn.same_token ? 1 : 0))];
  };
  const std::unique_ptr<Session> session = network.NewSession();
  const auto size = static_cast<std::size_t>(network.hidden_size());
  std::vector<int> rows;  // of the last step, by first pair
  TokenBatch batch;
  for (int step = 0; step < kDoctorSteps; ++step) {
    const int first = session->pending();
    batch = {};
    batch.shift = step == 1 ? turn.drafted_shift : 0;
    const int shift = step == 0 ? 0 : turn.drafted_shift;
    for (int i = 0; i + step + 1 < count; ++i)
      batch.Add(token_at(i + step + 1), i + step + shift,
                step == 0 ? i - 1 : rows[static_cast<std::size_t>(i)]);
    if (batch.size() == 0) break;
    const ScoreRequest request = {
        .session = session.get(),
        .batch = &batch,
        .taps = {head.output_tap()},
        .vectors = absl::MakeConstSpan(vectors).first(
            static_cast<std::size_t>(batch.size()) * size)};
    BANYAN_ASSIGN_OR_RETURN(const auto all, network.Score({&request, 1}));
    vectors.clear();
    rows.clear();
    for (int i = 0; i < batch.size(); ++i) {
      BANYAN_ASSIGN_OR_RETURN(const Distribution law,
                              all.front()->Law(i, SamplingRule(), {}, {}));
      // After the pair's token, which stands one place on.
      steps[static_cast<std::size_t>(step)].Count(
          text.laws[static_cast<std::size_t>(i + step + 1)], law);
      BANYAN_ASSIGN_OR_RETURN(
          const std::vector<float> out,
          ReadStates(*all.front(), 0, i, network.hidden_size()));
      vectors.insert(vectors.end(), out.begin(), out.end());
      rows.push_back(first + i);
    }
  }
  return absl::OkStatus();
}

// The draft vocabulary of the head's folder, if that has one.
absl::StatusOr<std::optional<DraftVocabulary>> ReadVocabulary(
    const Model& target, const std::string& directory) {
  const std::string file = VocabularyFileIn(directory);
  if (file.empty()) return std::nullopt;
  BANYAN_ASSIGN_OR_RETURN(DraftVocabulary list, ReadDraftVocabulary(file));
  const absl::Status fits = CheckFits(list, target.vocab_size(), nullptr);
  if (!fits.ok())
    return absl::InvalidArgumentError(absl::StrCat(file, ": ", fits.message()));
  return list;
}

absl::StatusOr<BySteps> Measure(const Model& target,
                                const std::string& directory,
                                const std::vector<KnownText>& texts,
                                const EagleTurn& turn) {
  BANYAN_ASSIGN_OR_RETURN(std::shared_ptr<const EagleHead> head,
                          LoadEagleHead(directory, target, turn.turn));
  BANYAN_ASSIGN_OR_RETURN(const std::optional<DraftVocabulary> list,
                          ReadVocabulary(target, directory));
  if (list.has_value()) {
    BANYAN_ASSIGN_OR_RETURN(head, TrimHead(head, list->tokens));
  }
  BySteps steps(kDoctorSteps);
  for (const KnownText& text : texts)
    BANYAN_RETURN_IF_ERROR(CountText(target, *head, text, turn, steps));
  return steps;
}

std::string AboutOf(const EagleSpec& spec) {
  std::vector<std::string> states;
  for (int tap : spec.taps)
    states.push_back(tap == kAfterFinalNorm ? "the final norm"
                                            : absl::StrCat("layer ", tap));
  return absl::StrCat(spec.layout, ", and reads the target's states after ",
                      absl::StrJoin(states, ", "),
                      spec.tap_shift < 0
                          ? ""
                          : absl::StrCat(" (counted from 1; the file counts ",
                                         spec.tap_count, ")"));
}

}  // namespace

absl::StatusOr<std::string> DescribeEagle(const Model& target,
                                          const std::string& directory) {
  BANYAN_ASSIGN_OR_RETURN(
      const EagleFile file,
      OpenEagleFile(directory, {.hidden_size = target.hidden_size(),
                                .layers = target.layers(),
                                .vocab_size = target.vocab_size()}));
  return AboutOf(file.spec);
}

absl::StatusOr<Examination> ExamineEagle(
    const Model& target, const std::string& directory,
    const std::vector<std::vector<TokenId>>& texts,
    absl::FunctionRef<void(int done, int all)> progress) {
  std::vector<KnownText> known;
  for (const std::vector<TokenId>& tokens : texts) {
    BANYAN_ASSIGN_OR_RETURN(std::vector<Distribution> laws,
                            LawsAfter(target, tokens));
    known.push_back({tokens, std::move(laws)});
  }
  EagleSpec spec;
  std::vector<EagleTurn> turns = {
      {"as the files say", [&spec](EagleSpec& of) { spec = of; }}};
  // Read once for what it says, even where its map leads nowhere.
  const absl::Status read =
      LoadEagleHead(directory, target, turns[0].turn).status();
  if (spec.layout.empty()) return read;
  const std::optional<Rope>& rope =
      target.facets().network->architecture().rope;
  const std::vector<EagleTurn> others =
      TurnsOf(spec, target.layers(), rope ? rope->theta : 0);
  turns.insert(turns.end(), others.begin(), others.end());
  Examination result = {.about = AboutOf(spec)};
  for (std::size_t i = 0; i < turns.size(); ++i) {
    progress(static_cast<int>(i), static_cast<int>(turns.size()));
    Reading reading = {.name = turns[i].name};
    const absl::StatusOr<BySteps> steps =
        Measure(target, directory, known, turns[i]);
    if (!steps.ok()) {
      reading.error = std::string(steps.status().message());
    } else {
      for (const Agreement& step : *steps) {
        reading.overlap.push_back(step.overlap());
        reading.same.push_back(step.same());
      }
      result.places = steps->front().places();
    }
    result.readings.push_back(std::move(reading));
  }
  progress(static_cast<int>(turns.size()), static_cast<int>(turns.size()));
  return result;
}

}  // namespace banyan
