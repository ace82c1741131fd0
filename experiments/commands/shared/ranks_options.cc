#include "experiments/commands/shared/ranks_options.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/clock.h"
#include "core/base/status_macros.h"
#include "core/device/ranks/communicator.h"
#include "core/device/ranks/emulated_link.h"
#include "core/device/ranks/launched.h"
#include "core/device/ranks/metered.h"
#include "core/device/ranks/mpi.h"
#include "core/ops/backend.h"
#include "experiments/commands/shared/command_line.h"
#include "experiments/records/record.pb.h"
#include "experiments/run/build_info.h"
#include "experiments/run/fingerprint.h"

namespace banyan {
namespace {

constexpr char kTimeout[] = "--gather-timeout";
constexpr char kLink[] = "--link";

Traits ProgramTraits(const Backend& backend) {
  const BackendFacts facts = backend.facts();
  return {
      {"revision", kBuildRevision},  {"compiler", kBuildCompiler},
      {"flags", kBuildFlags},        {"build type", kBuildType},
      {"device", facts.device},      {"instruction set", facts.instruction_set},
      {"order of sums", facts.sums}, {"options", LaunchedWith()}};
}

std::string Line(const std::pair<std::string, std::string>& trait) {
  return absl::StrCat(trait.first, "\t", trait.second);
}

absl::Status CheckBackend(const Backend& backend) {
  const std::string device = backend.facts().device;
  if (device == "cpu" || device == "reference") return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("device: several ranks share a model on cpu or reference, "
                   "found ",
                   device));
}

}  // namespace

void AddRanksOptions(Command& command, RanksOptions& options) {
  command
      .Option(kTimeout, &options.timeout_s,
              "Under mpirun: seconds to wait for a rank.")
      .NotEmpty("a number of seconds")
      .ShowDefault(absl::StrCat(kGatherTimeoutS))
      .Shared(absl::StrCat(
          "Under mpirun: seconds after which a rank that does not answer is "
          "named and the run ends. The default is ",
          kGatherTimeoutS,
          ". The time counts once all ranks have opened their files."));
  command
      .Option(kLink, &options.link,
              "Under mpirun: the link to emulate between ranks.")
      .NotEmpty("a link such as 1Gbit,0.2ms")
      .Shared(
          "Under mpirun: emulates a link between the ranks, such as "
          "1Gbit,0.2ms. Every gather takes at least as long as on that "
          "link. Records name the link.");
  command.OnRanks();
}

absl::StatusOr<RankGroup> OpenRanks(const RanksOptions& options,
                                    const Backend& backend,
                                    const Clock& clock) {
  const Launch launch = HowLaunched();
  LinkSpeed speed;
  if (!options.link.empty()) {
    BANYAN_ASSIGN_OR_RETURN(speed, ReadLinkSpeed(options.link));
  }
  // A process alone gathers nothing, over whatever link.
  if (launch.ranks == 1) return RankGroup();
  if (options.timeout_s.has_value() && !(*options.timeout_s > 0))
    return absl::InvalidArgumentError(absl::StrCat(
        kTimeout, ": expected seconds above 0, found ", *options.timeout_s));
  BANYAN_RETURN_IF_ERROR(CheckBackend(backend));
  RankGroup group;
  BANYAN_ASSIGN_OR_RETURN(
      group.control, StartMpi(options.timeout_s.value_or(kGatherTimeoutS)));
  if (group.control->size() != launch.ranks ||
      group.control->rank() != launch.rank)
    return absl::FailedPreconditionError(absl::StrCat(
        "mpirun started rank ", launch.rank, " of ", launch.ranks,
        ", but MPI says rank ", group.control->rank(), " of ",
        group.control->size(),
        ": expected the mpirun of the MPI that the program was built with"));
  BANYAN_RETURN_IF_ERROR(CheckAlike(*group.control, ProgramTraits(backend)));
  group.model = std::make_shared<MeteredCommunicator>(
      options.link.empty() ? group.control
                           : EmulateLink(group.control, speed, clock),
      clock);
  return group;
}

absl::Status CheckAlike(Communicator& ranks, const Traits& mine) {
  BANYAN_ASSIGN_OR_RETURN(
      const std::vector<std::string> texts,
      GatherTexts(ranks, absl::StrJoin(mine, "\n",
                                       [](std::string* out, const auto& trait) {
                                         out->append(Line(trait));
                                       })));
  const std::vector<std::string> first = absl::StrSplit(texts.front(), '\n');
  for (std::size_t rank = 1; rank < texts.size(); ++rank) {
    if (texts[rank] == texts.front()) continue;
    const std::vector<std::string> other = absl::StrSplit(texts[rank], '\n');
    std::size_t at = 0;
    while (at < first.size() && at < other.size() && first[at] == other[at])
      ++at;
    const auto part = [at](const std::vector<std::string>& lines, int number) {
      const std::vector<std::string> parts =
          absl::StrSplit(at < lines.size() ? lines[at] : "", '\t');
      return static_cast<std::size_t>(number) < parts.size()
                 ? parts[static_cast<std::size_t>(number)]
                 : std::string("nothing");
    };
    return absl::FailedPreconditionError(absl::StrCat(
        "rank ", rank, " differs from rank 0: ", part(first, 0), ": expected ",
        part(first, 1), ", found ", part(other, 1)));
  }
  return absl::OkStatus();
}

Traits FileTraits(absl::Span<const std::string> paths) {
  Traits traits;
  for (const std::string& path : paths)
    for (const records::File& file : FilesAt(path))
      traits.emplace_back(file.path(), file.fingerprint());
  return traits;
}

absl::Status RanksAreReady(const RankGroup& group) {
  return group.control == nullptr ? absl::OkStatus() : group.control->Ready();
}

absl::Status FinishRanks(const RankGroup& group) {
  return group.control == nullptr ? absl::OkStatus() : group.control->Finish();
}

}  // namespace banyan
