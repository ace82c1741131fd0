#include "experiments/commands/program.h"

#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/base/common.h"
#include "core/device/ranks/communicator.h"
#include "drafters/catalogue.h"
#include "experiments/commands/commands.h"
#include "experiments/commands/shared/command_line.h"
#include "experiments/commands/shared/output.h"
#include "experiments/metrics/catalogue.h"
#include "experiments/run/run_file.h"
#include "tree/policies/catalogue.h"
#include "verifiers/catalogue.h"

namespace banyan {

Parts AddOwnParts() {
  Parts parts = OwnParts();
  AddDrafters(parts.drafters);
  AddPolicies(parts.policies);
  AddVerifiers(parts.verifiers);
  AddMetrics(parts.metrics);
  return parts;
}

namespace {

constexpr int kFailed = 1;

// "banyan 0.1.0 (revision 0123abcd, GNU 12.2.0, Release)".
std::string Version() {
  return absl::StrCat("banyan ", BANYAN_VERSION, " (revision ", kBuildRevision,
                      ", ", kBuildCompiler, ", ", kBuildType, ")");
}

int OutOfMemory() {
  std::fputs(
      "banyan: out of memory: expected more than the system gives; whole files "
      "and records are as they were\n",
      stderr);
  return kFailed;
}

}  // namespace

int RunCommands(int argc, char** argv) {
  CommandLine line("banyan",
                   "Tree-based speculative inference of language models.",
                   Version());
  for (const CommandRow& command : kCommands) {
    line.Group(command.group);
    command.add(line);
  }
  for (const OldName& renamed : kOldNames) {
    CommandLine::NewOptions options;
    for (const OldOption& option : kOldOptions)
      if (absl::string_view(option.command) == renamed.old)
        options[option.old] = option.name;
    line.Renamed(renamed.old, renamed.name, std::move(options));
  }
  const QuietRank quiet(HowLaunched());
  const int code = line.Run(argc, argv);
  if (code != 0) quiet.Tell();
  return code;
}

// Nothing of ours throws; what containers and threads throw is told here.
int RunProgram(int argc, char** argv) {
  // A file that reaches its limit (ulimit -f) is an error of its write, which
  // is told; the signal would end the program without a word.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    AddOwnParts();
    return RunCommands(argc, argv);
  } catch (const std::bad_alloc&) {
    return OutOfMemory();
  } catch (const std::length_error&) {
    return OutOfMemory();
  } catch (const std::exception& error) {  // no more threads
    std::fprintf(stderr, "banyan: the system refused a resource: %s\n",
                 error.what());
    return kFailed;
  }
}

}  // namespace banyan
