#include "experiments/loading/model_shelf.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <system_error>

#include "absl/strings/escaping.h"
#include "core/base/clock.h"
#include "core/base/messages.h"
#include "core/base/number_rows.h"
#include "core/base/panels/four_bits.h"
#include "core/base/weight_format.h"
#include "core/checkpoint/architecture.h"
#include "core/checkpoint/stored_tensor.h"
#include "core/device/free_memory.h"
#include "core/gguf/model_text.h"
#include "core/ops/weight.h"
#include "core/pack/pack_file.h"
#include "core/transformer/model_split.h"
#include "core/transformer/network.h"
#include "core/transformer/transformer.h"

namespace banyan {

namespace {

namespace fs = std::filesystem;

// The format for weights stored as these are: q4 if some are in blocks of four
// bits, q8 if some are in other blocks, bf16 if every matrix is BF16, and else
// f32.
absl::StatusOr<WeightFormat> FormatOfStored(const Checkpoint& checkpoint) {
  bool all_bf16 = true;
  bool has_blocks = false;
  bool four_bits = false;
  absl::Status status;
  ForEachSource(checkpoint.architecture(), [&](const WeightSource& source) {
    if (source.columns == 1) return;  // vectors stay 32-bit anyway
    const absl::StatusOr<StoredTensor> tensor = checkpoint.Tensor(source);
    status.Update(tensor.status());
    if (!tensor.ok()) return;
    all_bf16 &= tensor->dtype == DType::kBf16;
    has_blocks |= DTypeBlock(tensor->dtype) > 1;
    four_bits |= FourBitFormat(tensor->dtype).has_value();
  });
  BANYAN_RETURN_IF_ERROR(status);
  if (four_bits) return WeightFormat::kQ4;
  if (has_blocks) return WeightFormat::kQ8;
  return all_bf16 ? WeightFormat::kBf16 : WeightFormat::kF32;
}

absl::StatusOr<WeightFormat> ReadFormat(const ModelSpec& spec,
                                        const Checkpoint& checkpoint) {
  const std::string& name = spec.weights;
  if (!IsWeightsName(name))
    return absl::InvalidArgumentError(absl::StrCat(
        "weights: expected ", kWeightsNames, ", found '", name, "'"));
  if (checkpoint.pack() != nullptr) {
    const WeightFormat packed = checkpoint.pack()->format;
    if (name == "auto" || name == Name(packed)) return packed;
    if (spec.copy) return *FindFormat(name);
    return absl::InvalidArgumentError(
        absl::StrCat(checkpoint.directory(), ": weights: expected ",
                     Name(packed), ", as the model was packed, found ", name));
  }
  if (const auto format = FindFormat(name); format.has_value()) return *format;
  return FormatOfStored(checkpoint);
}

// What stands beside a path that leads nowhere and is called nearly the same;
// empty: nothing.
std::string NearestBeside(const fs::path& path) {
  std::vector<std::string> names;
  std::error_code error;
  const fs::path parent = path.parent_path();
  for (const auto& entry :
       fs::directory_iterator(parent.empty() ? "." : parent, error))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  const std::vector<absl::string_view> known(names.begin(), names.end());
  const absl::string_view near = Nearest(path.filename().string(), known);
  return near.empty() ? "" : (parent / std::string(near)).string();
}

// Beyond most caches.
constexpr std::size_t kGaugeSize = std::size_t{1} << 26;

std::string Gigabytes(std::uint64_t bytes) {
  return absl::StrFormat("%.3g GB", static_cast<double>(bytes) / 1e9);
}

// "OWNER/NAME", as the Hub of Hugging Face names its models.
bool IsNameOfHub(const std::string& path) {
  std::error_code error;
  const fs::path place = path;
  return place.is_relative() && !place.has_extension() &&
         std::distance(place.begin(), place.end()) == 2 &&
         !fs::exists(place.parent_path(), error);
}

}  // namespace

std::string GrownNote(const Model& model) {
  if (model.grown_from().empty()) return "";
  // The name stands in a file and may be anything.
  return absl::StrCat(" (grown from ",
                      absl::Utf8SafeCHexEscape(model.grown_from()), ")");
}

std::size_t CacheBytesPerToken(const Model& model) {
  const Network* const network = model.facets().network;
  if (network == nullptr) return 0;
  const Architecture& architecture = network->architecture();
  const auto numbers =  // a key and a value
      2 * static_cast<std::size_t>(network->split().kv_heads()) *
      static_cast<std::size_t>(architecture.head_dim);
  return architecture.layers.size() * numbers * sizeof(float);
}

PassGathers GathersOf(const Model& model) {
  const Network* const network = model.facets().network;
  if (network == nullptr) return {};
  const ModelSplit& split = network->split();
  const int layers = network->layers();
  const double layer = double{1} * split.queries().size() +
                       2.0 * split.hidden().size() + split.inner().size();
  return {.gathers = 4 * layers + 1,
          .row_bytes = (layers * layer + network->logits()) *
                       static_cast<double>(sizeof(float))};
}

absl::Status RequireModel(const std::string& path) {
  std::error_code error;
  const fs::path place = path;
  if (fs::is_directory(place, error) ||
      (IsModelFile(path) && fs::exists(place, error)))
    return absl::OkStatus();
  constexpr char kKinds[] =
      "a model is a directory with config.json and *.safetensors, a GGUF file, "
      "or a file that `banyan pack` wrote";
  if (fs::exists(place, error))
    return absl::InvalidArgumentError(
        absl::StrCat("model: '", path, "' is none: ", kKinds));
  const std::string near = NearestBeside(place);
  return absl::NotFoundError(absl::StrCat(
      "model: there is no '", path, "'",
      near.empty() ? "" : absl::StrCat("; did you mean '", near, "'?"), "; ",
      kKinds, ". `scripts/models smollm2` brings SmolLM2; `hf download ",
      IsNameOfHub(path) ? path : "OWNER/NAME",
      " --local-dir DIR`, a model of the Hub (pip install huggingface_hub)"));
}

absl::Status CheckRoom(const Checkpoint& checkpoint, WeightFormat format,
                       std::uint64_t free, Backend& backend) {
  const auto bytes_in = [&](WeightFormat one) {
    std::uint64_t bytes = 0;
    ForEachSource(checkpoint.architecture(), [&](const WeightSource& source) {
      bytes += PackedBytes(checkpoint.MatrixFormat({&source}, one), source.rows,
                           source.columns);
    });
    return bytes;
  };
  const std::uint64_t bytes = bytes_in(format);
  if (bytes <= free) return absl::OkStatus();
  const SteadyClock clock;
  absl::StatusOr<double> bandwidth = absl::UnimplementedError("no gauge");
  if (const auto gauge = backend.NewGauge(kGaugeSize, clock); gauge.ok())
    bandwidth = (*gauge)->ReadBandwidth();
  std::string message = absl::StrFormat(
      "%s: the weights take %s in %s, and %s of memory are free",
      checkpoint.directory(), Gigabytes(bytes), Name(format), Gigabytes(free));
  if (bandwidth.ok())
    absl::StrAppendFormat(
        &message,
        "; with enough memory a token would take %.3g ms or more here",
        1e3 * static_cast<double>(bytes) / *bandwidth);
  for (const WeightFormat other :
       {WeightFormat::kBf16, WeightFormat::kQ8, WeightFormat::kQ4})
    if (const std::uint64_t less = bytes_in(other); less <= free)
      absl::StrAppend(&message, "; --weights ", Name(other), " takes ",
                      Gigabytes(less));
  return absl::ResourceExhaustedError(absl::StrCat(
      message,
      "; `banyan pack` and --memory read what has no room from disk in every "
      "pass (docs/offload.md)"));
}

absl::StatusOr<WeightFormat> ResolveFormat(const ModelSpec& spec) {
  BANYAN_ASSIGN_OR_RETURN(const std::unique_ptr<Checkpoint> checkpoint,
                          Checkpoint::Open(spec.directory));
  return ReadFormat(spec, *checkpoint);
}

absl::StatusOr<LoadedModel> LoadModel(const ModelSpec& spec,
                                      std::shared_ptr<Backend> backend,
                                      const Model* resident,
                                      std::shared_ptr<Communicator> ranks) {
  LoadedModel loaded;
  BANYAN_ASSIGN_OR_RETURN(const std::unique_ptr<Checkpoint> checkpoint,
                          Checkpoint::Open(spec.directory));
  loaded.warnings = checkpoint->warnings();
  TransformerOptions options = {.ranks = ranks};
  BANYAN_ASSIGN_OR_RETURN(options.format, ReadFormat(spec, *checkpoint));
  if (!spec.memory.empty()) {
    // Told without weights too, so that a check finds it.
    if (backend->facts().device != "cpu")
      return absl::InvalidArgumentError(
          absl::StrCat("memory: ", backend->description(),
                       " has no bound on memory; expected the device cpu"));
    absl::StatusOr<std::uint64_t> memory = ParseByteSize(spec.memory);
    if (!memory.ok())
      return absl::InvalidArgumentError(
          absl::StrCat("memory: ", memory.status().message()));
    options.room = {.memory = static_cast<std::size_t>(*memory),
                    .reserved = spec.reserved,
                    .copies = FindFormat(spec.copies)};
  } else if (const auto free = FreeMemory();
             free.has_value() && resident == nullptr && ranks == nullptr &&
             backend->facts().device == "cpu" && backend->facts().computes) {
    BANYAN_RETURN_IF_ERROR(
        CheckRoom(*checkpoint, options.format, *free, *backend));
  }
  absl::StatusOr<std::unique_ptr<Tokenizer>> tokenizer =
      Tokenizer::Load(spec.directory);
  if (tokenizer.ok()) {
    loaded.tokenizer = *std::move(tokenizer);
    options.used_vocab = loaded.tokenizer->vocab_size();
  } else if (absl::IsNotFound(tokenizer.status())) {
    loaded.no_tokenizer = std::string(tokenizer.status().message());
  } else {
    return tokenizer.status();
  }
  BANYAN_ASSIGN_OR_RETURN(
      loaded.model,
      Transformer::Load(
          *checkpoint, options, std::move(backend), {},
          resident == nullptr ? nullptr : resident->facets().network));
  return loaded;
}

absl::StatusOr<LoadedModel> ModelShelf::Open(const ModelSpec& spec) {
  return Load(spec, nullptr, nullptr);
}

absl::StatusOr<LoadedModel> ModelShelf::OpenTarget(const ModelSpec& spec) {
  return Load(spec, nullptr, ranks_);
}

absl::StatusOr<LoadedModel> ModelShelf::OpenCopy(const ModelSpec& spec,
                                                 const LoadedModel& target) {
  return Load(spec,
              target.model->facts().disk_bytes > 0 ? target.model : nullptr,
              ranks_);
}

absl::StatusOr<LoadedModel> ModelShelf::Load(
    const ModelSpec& spec, std::shared_ptr<const Model> resident,
    const std::shared_ptr<Communicator>& ranks) {
  BANYAN_RETURN_IF_ERROR(RequireModel(spec.directory));
  BANYAN_ASSIGN_OR_RETURN(const WeightFormat format, ResolveFormat(spec));
  ModelSpec plain = spec;
  plain.weights = std::string(Name(format));
  const auto load =
      [&]() -> absl::StatusOr<std::shared_ptr<const LoadedModel>> {
    BANYAN_ASSIGN_OR_RETURN(LoadedModel loaded,
                            LoadModel(plain, backend_, resident.get(), ranks));
    for (const std::string& warning : loaded.warnings)
      if (warned_.insert(warning).second) warn_(warning);
    return std::make_shared<LoadedModel>(std::move(loaded));
  };
  BANYAN_ASSIGN_OR_RETURN(
      const std::shared_ptr<const LoadedModel> loaded,
      assets_->Open<LoadedModel>(
          {.path = plain.directory,
           .about = absl::StrCat(plain.weights, " ", plain.memory, " ",
                                 plain.reserved, " ", plain.copies,
                                 ranks == nullptr ? "" : " shared"),
           .owner = resident},
          load));
  return *loaded;
}

}  // namespace banyan
