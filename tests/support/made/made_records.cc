#include "tests/support/made/made_records.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <system_error>
#include <vector>

#include "core/base/check.h"
#include "core/base/common.h"
#include "experiments/records/record_file.h"
#include "tests/support/made/made_rounds.h"

namespace banyan {
namespace {

constexpr int kMerged = 2;
constexpr int kGrown = 3;  // the first cell on the grown target
constexpr int kLossy = 4;
constexpr int kCells = 5;
constexpr int kLongestPath = 4;
constexpr int kTrunks[kCells] = {0, 1, 2, 0, 2};

void AddAxis(const std::string& name, const std::string& value,
             records::Cell& cell) {
  records::Axis& axis = *cell.add_axes();
  axis.set_name(name);
  axis.set_value(value);
}

void AddTrunk(const std::string& drafter, records::DrawKind kind,
              records::Cell& cell) {
  records::Trunk& trunk = *cell.add_trunks();
  trunk.set_drafter(drafter);
  trunk.set_policy("expansion");
  trunk.set_chain(false);
  trunk.set_draws(kind);
}

void AddCell(const MadeOptions& options, const std::string& name, int number,
             records::Context& context) {
  records::Cell& cell = *context.add_cells();
  const bool grown = number >= kGrown;
  cell.set_name(name);
  cell.set_method(name.substr(0, name.find(' ')));
  AddAxis("temperature", grown ? "1" : "0", cell);
  // Awkward on purpose: quotes and commas in a file of them.
  AddAxis("shape", absl::StrCat("\"", number, "\", 50 %_"), cell);
  cell.mutable_target()->set_name(grown ? "grown_target" : "target");
  cell.mutable_target()->set_directory("no/such/directory");
  if (grown) cell.mutable_target()->set_grown_from("target");
  cell.set_verifier(number == kLossy ? "typical" : "multi_round");
  cell.set_lossless(number == kMerged ? options.lies : number != kLossy);
  if (kTrunks[number] > 0) AddTrunk("small_model", records::INDEPENDENT, cell);
  if (kTrunks[number] > 1) AddTrunk("ngram", records::DETERMINISTIC, cell);
  cell.set_temperature(grown ? 1 : 0);
  cell.set_seed(7);
  cell.set_baseline(grown ? kGrown : 0);
  cell.set_max_new_tokens(64);
}

// The token at a place of what a cell decodes: at temperature 0 the same for
// all cells, but that the merged one errs in prompt 1.
std::uint32_t TokenAt(int cell, int prompt, int place) {
  const int errs = cell == kMerged && prompt == 1 && place >= 5 ? 1 : 0;
  const int sampled = cell >= kGrown ? 100 * cell : 0;
  return static_cast<std::uint32_t>(
      (37 * prompt + 11 * place + sampled + errs) % 500);
}

// Rounds until all tokens are emitted; the last one is cut.
void AddRounds(const MadeOptions& options, int count, MadeDice& dice,
               records::PromptRecord& record) {
  const int cell = static_cast<int>(record.cell());
  const int prompt = static_cast<int>(record.prompt());
  while (record.tokens_size() < count) {
    const int first = record.tokens_size();
    MadeRound made = {
        .trunks = kTrunks[cell],
        .root = TokenAt(cell, prompt, first - 1 + 500),
        .slower = kTrunks[cell] > 0 ? options.slower : options.slower_machine,
        .probes = options.probes && kTrunks[cell] > 0 && cell <= kMerged};
    const int path = made.trunks == 0 ? 0 : Roll(dice, kLongestPath + 1);
    for (int i = 0; i < path; ++i)
      made.path.push_back(TokenAt(cell, prompt, first + i));
    made.next = TokenAt(cell, prompt, first + path);
    records::Round& round = *record.add_rounds();
    round = Make(made, dice);
    const int emitted = std::min(path + 1, count - first);
    round.set_emitted(static_cast<std::uint32_t>(emitted));
    for (int i = 0; i < emitted; ++i)
      record.add_tokens(TokenAt(cell, prompt, first + i));
  }
  record.mutable_rounds(record.rounds_size() - 1)->set_stop(records::LENGTH);
  record.set_stop(records::LENGTH);
}

// Some rounds were shared by two, the others by three.
void PutInBatch(MadeDice& dice, records::PromptRecord& record) {
  record.set_batch(record.prompt() / 3 + 1);
  record.set_batch_prompts(3);
  record.set_admitted_ns(1'000 * Roll(dice, 1'000));
  record.set_ended_ns(record.admitted_ns() + 9'000'000 + Roll(dice, 1'000));
  for (records::Round& round : *record.mutable_rounds()) {
    round.set_sequences(static_cast<std::uint32_t>(2 + Roll(dice, 2)));
    round.set_pass_tokens(round.sequences() *
                          static_cast<std::uint32_t>(round.tokens_size()));
  }
}

void AddStores(records::PromptRecord& record) {
  for (const std::uint32_t trunk : {0U, 1U, 1U}) {
    records::Store& store = *record.add_stores();
    store.set_trunk(trunk);
    store.set_unit("texts");
    store.set_held(record.prompt() % 4 + trunk);
    store.set_dropped(record.prompt() / 4);
  }
}

bool LeftOut(const MadeOptions& options, int cell, int prompt) {
  const bool gap =
      (cell == 0 && prompt == 2) || (cell == kLossy && prompt == 3);
  return (options.gaps && gap) ||
         static_cast<std::uint32_t>(prompt) % options.shards != options.shard;
}

}  // namespace

records::Context MadeContext(const MadeOptions& options) {
  records::Context context;
  context.mutable_build()->set_revision("0123456");
  context.mutable_build()->set_compiler("made up");
  context.mutable_machine()->set_cpu("a processor");
  context.mutable_machine()->set_instruction_set("AVX2");
  context.mutable_machine()->set_bytes_per_s(1e10);
  context.set_started_unix_s(1'700'000'000);
  context.set_question("Is what is made up counted right?");
  context.set_experiment("made: up\n");
  context.set_experiment_hash("00112233445566778899");
  context.mutable_workload()->set_path("nothing.jsonl");
  context.mutable_workload()->set_hash("ffee");
  context.mutable_workload()->set_prompts(
      static_cast<std::uint32_t>(options.prompts));
  context.set_shard(options.shard);
  context.set_shards(options.shards);
  const std::vector<std::string> names = {"plain", "chain", "merged", "plain 1",
                                          "lossy_merged 1"};
  for (int i = 0; i < kCells; ++i)
    AddCell(options, names[static_cast<std::size_t>(i)], i, context);
  return context;
}

records::PromptRecord MadePrompt(const MadeOptions& options, int cell,
                                 int prompt) {
  MadeDice dice(options.seed + static_cast<std::uint64_t>(100 * prompt + cell));
  records::PromptRecord record;
  record.set_cell(static_cast<std::uint32_t>(cell));
  record.set_prompt(static_cast<std::uint32_t>(prompt));
  record.set_id(absl::StrCat(80 + prompt));
  record.set_kind(prompt % 2 == 0 ? "edit" : "continue");
  record.set_order(static_cast<std::uint32_t>(kCells * prompt + cell));
  for (const std::uint32_t token : {5U, 6U, 7U})
    record.add_prompt_tokens(token);
  record.set_prefill_ns(1'000'000 + Roll(dice, 1'000));
  AddRounds(options, options.tokens + prompt % 3, dice, record);
  record.set_peak_memory_bytes(
      static_cast<std::uint64_t>(100'000'000 + 1000 * record.order()));
  for (int i = 0; i < record.tokens_size(); ++i) {
    record.add_log_probability(-4 * MadeShare(dice));
    record.add_logit_gap(2 * MadeShare(dice));
  }
  if (options.batches && cell == kMerged) PutInBatch(dice, record);
  if (options.stores && cell == kMerged) AddStores(record);
  return record;
}

void WriteMadeRecords(const std::string& path, const MadeOptions& options,
                      const records::Context& context) {
  std::error_code ignored;  // if it is still there, it cannot be made
  std::filesystem::remove(path, ignored);
  const absl::StatusOr<std::unique_ptr<RecordWriter>> writer =
      RecordWriter::Create(path, context);
  Check(writer.ok(), writer.status().ToString());
  for (int prompt = 0; prompt < options.prompts; ++prompt)
    for (int cell = 0; cell < context.cells_size(); ++cell)
      if (!LeftOut(options, cell, prompt))
        Check((*writer)->Append(MadePrompt(options, cell, prompt)).ok(),
              "the records can be written");
}

void WriteMadeRecords(const std::string& path, const MadeOptions& options) {
  WriteMadeRecords(path, options, MadeContext(options));
}

}  // namespace banyan
