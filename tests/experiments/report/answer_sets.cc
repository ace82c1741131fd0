#include "tests/experiments/report/answer_sets.h"

#include <cmath>
#include <cstddef>
#include <utility>

#include "core/base/check.h"
#include "core/base/common.h"
#include "core/random/random_source.h"
#include "experiments/records/record_file.h"
#include "tests/experiments/metrics/hand_made.h"

namespace banyan {
namespace {

bool IsPlain(const MadeCell& made) {
  return made.method == "plain" || made.method == kPlainAgain;
}

records::Cell Described(const std::vector<MadeCell>& cells, std::size_t index) {
  const MadeCell& made = cells[index];
  records::Cell cell = CellOf(IsPlain(made) ? 0 : 1);
  cell.set_name(
      absl::StrCat(made.method, " ", made.temperature, " ", made.target));
  cell.set_method(made.method);
  for (records::Trunk& trunk : *cell.mutable_trunks())
    trunk.set_chain(absl::StartsWith(made.method, "chain"));
  cell.set_temperature(made.temperature);
  cell.set_lossless(made.lossless);
  cell.set_evidence(made.evidence);
  cell.mutable_target()->set_name(made.target);
  cell.mutable_target()->set_streamed_bytes(made.target == "large" ? 9 : 1);
  for (std::size_t i = 0; i < cells.size(); ++i)
    if (cells[i].method == "plain" && cells[i].target == made.target &&
        cells[i].temperature == made.temperature)
      cell.set_baseline(static_cast<std::uint32_t>(i));
  if (!made.nodes.empty()) {
    records::Axis& axis = *cell.add_axes();
    axis.set_name(absl::StrCat("methods.", made.method, ".policy.nodes"));
    axis.set_value(made.nodes);
    cell.set_name(absl::StrCat(cell.name(), made.nodes));
  }
  for (const records::Opponent& opponent : made.opponents)
    *cell.add_opponents() = opponent;
  return cell;
}

// One node that nothing accepted, if it took any time.
void Draft(double ms, records::Round& round) {
  round.add_draft_ns(static_cast<std::int64_t>(1e6 * ms));
  if (ms == 0) return;
  round.add_tokens(1);
  round.add_parents(0);
  for (int i = round.target_probability_size(); i < 2; ++i)
    round.add_target_probability(i == 0 ? 1 : 0);
}

// `tokens` tokens of plain decoding's text in passes of `per_pass` each.
records::PromptRecord Passes(int tokens, int per_pass) {
  if (per_pass == 1) return Plain(tokens);
  records::PromptRecord record;
  std::vector<std::int32_t> parents;
  std::vector<List> lists;
  std::vector<std::int32_t> path;
  for (int node = 0; node < per_pass; ++node) {
    parents.push_back(node - 1);
    if (node > 0) lists.push_back({.node = node - 1, .children = {node}});
    if (node > 0) path.push_back(node);
  }
  for (int i = 0; i < tokens / per_pass; ++i) {
    records::Round& round = AddRound(parents, lists, path, record);
    for (std::uint32_t& token : *round.mutable_tokens()) token = 7;
    for (records::DrawList& list : *round.mutable_lists())
      list.set_tokens(0, 7);
    for (int node = 0; node < per_pass; ++node) round.add_target_probability(1);
  }
  for (std::uint32_t& token : *record.mutable_tokens()) token = 7;
  return record;
}

double Normal(const SeededSource& source, std::uint32_t prompt,
              std::uint32_t cell) {
  const auto uniform = [&](std::uint32_t draw) {
    return source.Uniform({.prompt = prompt, .round = cell, .draw = draw});
  };
  return std::sqrt(-2 * std::log(1 - uniform(0))) *
         std::cos(2 * M_PI * uniform(1));
}

records::PromptRecord Recorded(const MadeCell& made, std::size_t cell,
                               int prompt, const SeededSource& source) {
  const int per_pass = IsPlain(made) || made.level_ms > 0 ? 1 : made.per_pass;
  records::PromptRecord record = Passes(12, per_pass);
  record.set_cell(static_cast<std::uint32_t>(cell));
  record.set_prompt(static_cast<std::uint32_t>(prompt));
  record.set_id(absl::StrCat(prompt));
  // Prompts differ, in one way for all cells and in a small one for each.
  const double scale =
      (1 + 0.2 * prompt) *
      (1 + 0.02 * static_cast<double>((prompt * 7 + cell * 3) % 5)) *
      std::exp(made.noise * Normal(source, static_cast<std::uint32_t>(prompt),
                                   static_cast<std::uint32_t>(cell))) /
      made.speed;
  for (records::Round& round : *record.mutable_rounds()) {
    if (!IsPlain(made)) Draft(made.level_ms * scale, round);
    round.set_target_ns(static_cast<std::int64_t>(1e6 * scale * per_pass));
  }
  if (made.differs == prompt) {
    record.set_tokens(record.tokens_size() - 1, 77);
    record.mutable_rounds()->rbegin()->set_next(77);
  }
  return record;
}

}  // namespace

records::Opponent Held(std::uint32_t cell, records::Opponent::Role role) {
  records::Opponent opponent;
  opponent.set_cell(cell);
  opponent.set_role(role);
  return opponent;
}

RecordSet AnswerTest::SetOf(const std::vector<MadeCell>& cells, int prompts,
                            int missing, std::uint64_t noise) {
  records::Context context;
  context.set_question(question_);
  context.set_experiment_hash("0011");
  context.mutable_workload()->set_prompts(static_cast<std::uint32_t>(prompts));
  context.set_shards(1);
  context.set_reference_choice(reference_choice_);
  context.mutable_machine()->set_fast(fast_);
  for (std::size_t i = 0; i < cells.size(); ++i)
    *context.add_cells() = Described(cells, i);
  const std::string path = absl::StrCat(OwnFolder(), "/", ++sets_, ".banyan");
  auto writer = RecordWriter::Create(path, context);
  Check(writer.ok(), writer.status().ToString());
  const SeededSource source(noise);
  for (int prompt = 0; prompt < prompts - missing; ++prompt)
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const auto status =
          (*writer)->Append(Recorded(cells[i], i, prompt, source));
      Check(status.ok(), status.ToString());
    }
  writer->reset();
  auto set = ReadRecordSet({path}, false);
  Check(set.ok(), set.status().ToString());
  return *std::move(set);
}

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  lines.pop_back();
  return lines;
}

// A plain cell, two chains and two trees: one beats its drafter's chain and one
// loses to it.
std::vector<MadeCell> Trees(double temperature, std::uint32_t first) {
  return {{"plain", temperature},
          {"chain-8 strong", temperature, 2.5},
          {"chain-8 weak", temperature, 1.5},
          {"tree",
           temperature,
           2,
           {Held(first + 1, kReference), Held(first + 2, kSameNodes)}},
          {"merged",
           temperature,
           2.2,
           {Held(first + 1, kReference), Held(first + 2, kSameNodes),
            Held(first + 1, kSameNodes)}}};
}

}  // namespace banyan
