#include "experiments/commands/shared/model_options.h"

#include <algorithm>
#include <cstddef>

#include "core/device/ranks/mpi.h"
#include "core/prob/sampling_rule.h"
#include "experiments/commands/shared/output.h"
#include "experiments/records/record.pb.h"
#include "experiments/run/fingerprint.h"
#include "experiments/run/run_file.h"

namespace banyan {

void AddDeviceOptions(Command& command, DeviceChoice& choice) {
  std::vector<std::string> names;
  std::vector<std::string> devices;
  std::vector<std::string> sets;
  for (const DeviceRow& row : DeviceTable()) {
    names.emplace_back(row.name);
    devices.push_back(absl::StrCat(row.name, " (", row.sentence, ")"));
    const std::vector<std::string> here = row.instruction_sets();
    if (!here.empty())
      sets.push_back(
          absl::StrCat("on ", row.name, " ", absl::StrJoin(here, " ")));
  }
  command
      .Option(
          "--device", &choice.name,
          absl::StrCat("The device that computes: ", Alternatives(names), "."))
      .ShowDefault()
      .Shared(absl::StrCat(
          "The device that computes: ", absl::StrJoin(devices, "; "), "."));
  command
      .Option("--threads", &choice.options.threads,
              "Threads that compute; 0 is all.")
      .ShowDefault()
      .Shared("Threads that compute. The default, 0, is all.");
  command
      .Flag("--fast", &choice.options.fast,
            "Use cuBLAS for products, on cuda only.")
      .Shared(
          "Use cuBLAS for products, on cuda only. Logits then depend on "
          "the batch in their last bits: greedy texts of a method may "
          "differ from plain decoding's.");
  command
      .Option("--instruction-set", &choice.options.instruction_set,
              "The instruction set of the device.")
      .Shared(absl::StrCat(
          "The instruction set of the device: ", absl::StrJoin(sets, "; "),
          ". The default is the first. Results are the same, except that "
          "AMX rounds products with bf16 weights in another order."));
}

void AddRoundsOption(Command& command, std::string& rounds) {
  command
      .Option(
          "--rounds", &rounds,
          "Where rounds run: host, step by step; device, each in one go, or "
          "an error where the device cannot; auto, as is faster. The text "
          "is the same.")
      .OneOf({"auto", "host", "device"});
}

absl::StatusOr<std::shared_ptr<Backend>> OpenDevice(
    const DeviceChoice& choice) {
  BANYAN_ASSIGN_OR_RETURN(std::shared_ptr<Backend> backend,
                          OpenDevice(choice.name, choice.options));
  if (const std::string note = backend->facts().note; !note.empty())
    PrintWarning(note);
  return backend;
}

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

void AddModelOptions(Command& command, ModelOptions& options, bool required) {
  CommandOption model =
      command.Option("--model", &options.spec.directory,
                     "The model: a directory, a GGUF file or a packed file.");
  if (required) model.Required();
  model.Shared(
      "The model: a directory with config.json, *.safetensors and, for "
      "text, tokenizer.json; a GGUF file; or a file that `banyan pack` "
      "wrote.");
  command
      .Option("--weights", &options.spec.weights,
              absl::StrCat(
                  "The format of the weights in memory: ", kWeightsNames, "."))
      .ShowDefault()
      .Shared(absl::StrCat(
          "The format of the weights in memory: ", kWeightsNames,
          ". The default, auto, is what fits the file: q8 if it holds blocks "
          "of 4 to 8 bits, bf16 if every matrix is stored so, else f32."));
  command
      .Option("--memory", &options.spec.memory,
              "Memory for the weights of a packed file, as 600MB or 1.5GB.")
      .NotEmpty("a size such as 600MB or 1.5GB")
      .Shared(
          "Memory for the model's weights and the buffers for reading "
          "them, as 600MB or 1.5GB. Layers that have no room are read from "
          "disk in every pass. The model is a file that `banyan pack` "
          "wrote.");
  AddDeviceOptions(command, options.device);
}

absl::StatusOr<ModelShelf> OpenShelf(const ModelOptions& options) {
  BANYAN_ASSIGN_OR_RETURN(std::shared_ptr<Backend> backend,
                          OpenDevice(options.device));
  return ModelShelf(std::move(backend), PrintWarning);
}

absl::StatusOr<SharedShelf> OpenSharedShelf(const ModelOptions& options,
                                            const Clock& clock) {
  BANYAN_ASSIGN_OR_RETURN(std::shared_ptr<Backend> backend,
                          OpenDevice(options.device));
  BANYAN_ASSIGN_OR_RETURN(RankGroup ranks,
                          OpenRanks(options.ranks, *backend, clock));
  if (ranks.control != nullptr) {
    const std::string paths[] = {options.spec.directory};
    BANYAN_RETURN_IF_ERROR(CheckAlike(*ranks.control, FileTraits(paths)));
  }
  std::shared_ptr<Communicator> model = ranks.model;
  return SharedShelf{
      std::move(ranks),
      ModelShelf(std::move(backend), PrintWarning, std::move(model))};
}

absl::StatusOr<std::uint64_t> ReadSeed(const std::string& text) {
  std::uint64_t seed = 0;
  if (!absl::SimpleAtoi(text, &seed))
    return absl::InvalidArgumentError(absl::StrCat(
        "--seed: expected a whole number from 0 to 2^64 - 1, found '", text,
        "'"));
  return seed;
}

absl::StatusOr<std::vector<Params::Entry>> TemperatureOnly(
    const std::string& temperature) {
  std::vector<Params::Entry> entries;
  if (temperature.empty()) return entries;
  entries = {{"temperature", {}, Params::Scalar(temperature)}};
  const absl::Status known =
      SamplingRule::FromParams(Params::Map(entries)).status();
  if (!known.ok())
    return absl::InvalidArgumentError(
        absl::StrCat("--temperature: ", known.message()));
  return entries;
}

}  // namespace banyan
