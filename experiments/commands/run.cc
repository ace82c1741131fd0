// banyan run: an experiment, into a record file.
#include <unistd.h>

#include <cstdint>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/base/clock.h"
#include "core/base/common.h"
#include "core/base/messages.h"
#include "core/device/ranks/communicator.h"
#include "decode/host_cause.h"
#include "experiments/commands/commands.h"
#include "experiments/commands/shared/command_line.h"
#include "experiments/commands/shared/model_options.h"
#include "experiments/commands/shared/open_experiment.h"
#include "experiments/commands/shared/output.h"
#include "experiments/records/machine.h"
#include "experiments/records/record.pb.h"
#include "experiments/records/record_set.h"
#include "experiments/report/answer/answer.h"
#include "experiments/run/progress.h"
#include "experiments/run/run_file.h"
#include "experiments/run/runner.h"
#include "experiments/run/shard.h"

namespace banyan {
namespace {

constexpr char kOntoSame[] = "same";
constexpr char kOntoNew[] = "new";

struct Options {
  ExperimentOptions experiment;
  std::string shard = "0/1";
  std::string onto = kOntoSame;
};

void PrintWhatIsThere(const RunFile& file) {
  const auto records = [](const std::vector<records::PromptRecord>& of) {
    return Counted(static_cast<std::int64_t>(of.size()), "record");
  };
  if (file.torn_bytes > 0)
    std::cerr << "banyan: " << file.path << ": cut a torn record of "
              << file.torn_bytes << " bytes\n";
  if (!file.elsewhere.empty())
    std::cerr << "banyan: " << file.path << ": adds to "
              << records(file.elsewhere) << " from another machine or build\n";
  if (!file.done.empty())
    std::cerr << "banyan: " << file.path << ": going on after "
              << records(file.done) << "\n";
}

// Rank 0 decides for all, since a signal reaches ranks at different times. A
// failure here fails the next gather too.
bool Stops(const StopSignal& stop, Communicator* ranks) {
  if (ranks == nullptr) return stop.came();
  const absl::StatusOr<std::string> first =
      Broadcast(*ranks, stop.came() ? "stop" : "");
  return first.ok() && !first->empty();
}

absl::Status Run(const Options& options) {
  const StopSignal stop;
  const auto clock = std::make_shared<SteadyClock>();
  BANYAN_ASSIGN_OR_RETURN(
      const Shard shard,
      ReadShard(options.shard, CutNamed(options.experiment.cut)));
  const Onto onto = options.onto == kOntoNew ? Onto::kNew : Onto::kSame;
  BANYAN_ASSIGN_OR_RETURN(
      OpenedExperiment opened,
      OpenExperiment(options.experiment, shard, clock, Opening::kWhole, onto));
  PrintNotes(options.experiment, opened, shard.count);
  BANYAN_RETURN_IF_ERROR(CheckShards(opened.run, shard));
  BANYAN_ASSIGN_OR_RETURN(
      records::Context context,
      DescribeRun(opened.experiment, opened.workload, opened.run, shard,
                  *opened.backend, *clock, opened.ranks.model.get()));
  if (opened.costs.has_value()) *context.mutable_costs() = *opened.costs;
  if (IsOverloaded(context.machine()))
    PrintWarning(OverloadText(context.machine()));
  const std::string& out = options.experiment.out;
  const RankGroup& ranks = opened.ranks;
  RunFile file;
  if (ranks.writes()) {
    BANYAN_ASSIGN_OR_RETURN(file, OpenRunFile(out, context, onto));
  }
  if (ranks.control != nullptr)
    BANYAN_RETURN_IF_ERROR(ShareRecords(file, *ranks.control));
  PrintWhatIsThere(file);
  RunProgress progress(context,
                       {std::cerr, *clock, isatty(STDERR_FILENO) == 1});
  for (const records::PromptRecord& record : file.done)
    progress.Add(record, /*fresh=*/false);
  std::map<std::uint32_t, HostRounds> on_host;  // by cell
  std::map<std::uint32_t, int> rounds;
  std::optional<StepProgress> warming(std::in_place, "warming up cells",
                                      *clock);
  const absl::Status ran = RunCells(
      {opened.run, opened.experiment.hash, shard, file,
       [&] { return Stops(stop, ranks.control.get()); },
       [&](int done, int all) { warming->Show(done, all); }},
      [&](const records::PromptRecord& record, int done, int all) {
        warming.reset();
        progress.Add(record, /*fresh=*/true);
        rounds[record.cell()] += record.rounds_size();
        for (const records::Round& round : record.rounds())
          ++on_host[record.cell()][static_cast<HostCause>(round.host_cause())];
        progress.Show(done, all);
      });
  if (ran.ok() || absl::IsCancelled(ran)) progress.Finish();
  if (ran.ok() || absl::IsCancelled(ran))
    BANYAN_RETURN_IF_ERROR(FinishRanks(ranks));
  for (const auto& [cell, counts] : on_host)
    if (const std::string text = HostRoundsText(counts, rounds[cell]);
        !text.empty())
      std::cerr << "banyan: " << context.cells(static_cast<int>(cell)).name()
                << ": " << text << "\n";
  BANYAN_RETURN_IF_ERROR(ran);
  if (!ranks.writes()) return absl::OkStatus();
  BANYAN_ASSIGN_OR_RETURN(RecordSet set, ReadRecordSet({out}, /*mixed=*/false));
  for (const std::string& warning : set.warnings) PrintWarning(warning);
  SplitByMachine(set);
  std::cout << file.path << "\n\n"
            << AnswerText(MakeAnswer(set),
                          absl::StrCat("banyan report --all ", out));
  return CheckClaims(set);
}

}  // namespace

void AddRunCommand(CommandLine& line) {
  Command command = line.Add(
      {.name = "run",
       .sentence = "Runs an experiment and records every round.",
       .more = "Every method runs on every prompt, interleaved. The same "
               "command resumes an interrupted run. Exit status 3: at "
               "temperature 0 a method that claims to be lossless gave another "
               "text than plain decoding. Exit status 4: SIGUSR1 came, and the "
               "run ended after the record in progress.",
       .example = "  banyan run configs/hello.yaml --out out/hello"});
  const auto options = std::make_shared<Options>();
  AddExperimentOptions(command, options->experiment);
  AddRanksOptions(command, options->experiment.ranks);
  command
      .Option("--out", &options->experiment.out,
              "The folder of the record file.")
      .Required();
  command.Option("--shard", &options->shard,
                 "I/N: only part I of N, counted from 0; with --cut prompts "
                 "every Nth prompt, with --cut cells every Nth cell. The union "
                 "of all shards is the whole run.");
  command
      .Option("--onto", &options->onto,
              "How to resume a run that another build or an unlike machine "
              "began. same: refuse; new: write what is missing into a second "
              "file.")
      .OneOf({kOntoSame, kOntoNew})
      .ShowDefault();
  command.OnCall([options] { return Run(*options); });
}

}  // namespace banyan
