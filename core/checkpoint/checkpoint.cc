#include "core/checkpoint/checkpoint.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>

#include "absl/strings/strip.h"
#include "core/base/check.h"
#include "core/base/number_rows.h"
#include "core/base/panels/four_bits.h"
#include "core/base/panels/weight_panels.h"
#include "core/base/weight_format.h"
#include "core/gguf/gguf_file.h"
#include "core/gguf/model_text.h"

namespace banyan {
namespace {

// A hundred times the largest published one.
constexpr std::size_t kMaxConfigBytes = std::size_t{1} << 24;

absl::StatusOr<ConfigReader> OpenConfig(const std::string& model,
                                        absl::string_view name) {
  BANYAN_ASSIGN_OR_RETURN(const std::string text,
                          ReadModelText(model, name, kMaxConfigBytes));
  return ConfigReader::Parse(text, ModelTextName(model, name));
}

// The most tensors that a message names for one fault.
constexpr std::size_t kNamed = 5;

// The first few of `names`, and how many more there are.
std::string SomeOf(const std::vector<std::string>& names) {
  const std::size_t named = std::min(names.size(), kNamed);
  return absl::StrCat(
      absl::StrJoin(names.begin(),
                    names.begin() + static_cast<std::ptrdiff_t>(named), ", "),
      names.size() > named
          ? absl::StrCat(" and ", names.size() - named, " more")
          : "");
}

// What older programs stored beside the weights though it follows from
// config.json: the frequencies of rotary positions, GPT-2's causal masks.
bool MeansNothing(absl::string_view name) {
  for (absl::string_view end :
       {"rotary_emb.inv_freq", ".attn.bias", ".attn.masked_bias"})
    if (absl::EndsWith(name, end)) return true;
  return false;
}

// The number of the layer that a tensor is of; 0 if it is of none.
std::size_t LayerOf(absl::string_view name, absl::string_view prefix) {
  std::size_t layer = 0;
  if (!absl::ConsumePrefix(&name, prefix) ||
      !absl::SimpleAtoi(name.substr(0, name.find('.')), &layer))
    return 0;
  return layer;
}

// `tensor` is null or the one of this name.
std::string QuotedInFile(const StoredTensor* tensor, absl::string_view name) {
  const bool renamed = tensor != nullptr && !tensor->name_in_file.empty();
  return QuotedName(renamed ? tensor->name_in_file : name);
}

absl::Status ErrorIn(const TensorFile& file, const WeightSource& source,
                     const absl::Status& what) {
  return absl::InvalidArgumentError(
      absl::StrCat(file.path(), ": tensor ",
                   QuotedInFile(file.Find(source.tensor), source.tensor), ": ",
                   what.message()));
}

}  // namespace

void ForEachSource(const Architecture& architecture,
                   absl::FunctionRef<void(const WeightSource&)> visit) {
  const auto all = [visit](std::initializer_list<const WeightSource*> sources) {
    for (const WeightSource* source : sources)
      if (source->present()) visit(*source);
  };
  const Architecture& of = architecture;
  all({&of.embedding, &of.positions, &of.input.fuse, &of.input.fuse_bias,
       &of.input.token_norm, &of.input.vector_norm});
  for (const LayerSources& layer : of.layers) {
    all({&layer.attention_norm,
         &layer.attention_norm_bias,
         &layer.query,
         &layer.query_bias,
         &layer.key,
         &layer.key_bias,
         &layer.value,
         &layer.value_bias,
         &layer.query_norm,
         &layer.key_norm,
         &layer.output,
         &layer.output_bias,
         &layer.mlp_norm,
         &layer.mlp_norm_bias,
         &layer.gate,
         &layer.gate_bias,
         &layer.up,
         &layer.up_bias,
         &layer.down,
         &layer.down_bias});
  }
  all({&of.final_norm, &of.final_norm_bias, &of.head});
  for (const WeightSource& source : of.others) all({&source});
}

LayerMatrices::LayerMatrices(const LayerSources& layer)
    : query_key_value({&layer.query, &layer.key, &layer.value}),
      output({&layer.output}),
      gate_up({&layer.gate, &layer.up}),
      down({&layer.down}) {}

std::vector<MatrixSources> LayerMatrices::all() const {
  return {query_key_value, output, gate_up, down};
}

absl::StatusOr<std::unique_ptr<Checkpoint>> Checkpoint::Open(
    const std::string& directory) {
  return Open(directory, ReadArchitecture);
}

absl::StatusOr<std::unique_ptr<Checkpoint>> Checkpoint::Open(
    const std::string& directory, ReadConfig read) {
  // config.json first: its absence says that this is no model's directory.
  BANYAN_ASSIGN_OR_RETURN(ConfigReader config,
                          OpenConfig(directory, "config.json"));
  BANYAN_ASSIGN_OR_RETURN(CheckpointFiles files,
                          CheckpointFiles::Open(directory));
  std::unique_ptr<Checkpoint> result(
      new Checkpoint(directory, std::move(files)));
  BANYAN_RETURN_IF_ERROR(result->ReadConfigs(config, read));
  Errors errors;
  result->CheckWeights(errors);
  errors.Add(result->CheckUnread());
  if (errors.status().ok()) result->CheckPacked(errors);
  BANYAN_RETURN_IF_ERROR(errors.status());
  return result;
}

absl::Status Checkpoint::ReadConfigs(ConfigReader& config, ReadConfig read) {
  const auto has_tensor = [this](absl::string_view name) {
    return files_.Find(name) != nullptr;
  };
  BANYAN_ASSIGN_OR_RETURN(architecture_, read(config, has_tensor));
  absl::StatusOr<ConfigReader> generation =
      OpenConfig(directory_, "generation_config.json");
  if (absl::IsNotFound(generation.status())) return absl::OkStatus();
  BANYAN_RETURN_IF_ERROR(generation.status());
  ReadTextEnds(*generation, architecture_);
  return generation->status();
}

void Checkpoint::CheckWeights(Errors& errors) const {
  std::vector<std::string> missing;  // in order
  std::set<absl::string_view> named_before;
  std::size_t misshapen = 0;
  const auto check = [&](const WeightSource& source) {
    const absl::Status found = Tensor(source).status();
    if (absl::IsNotFound(found)) {
      if (named_before.insert(source.tensor).second)
        missing.push_back(source.tensor);
    } else if (!found.ok() && ++misshapen <= kNamed) {
      errors.Add(found);
    }
  };
  ForEachSource(architecture_, check);
  if (architecture_.tied_twin.present()) check(architecture_.tied_twin);
  if (misshapen > kNamed)
    errors.Add(absl::InvalidArgumentError(
        absl::StrCat(directory_, ": ", misshapen - kNamed,
                     " more of the weights are of another shape or type")));
  if (missing.empty()) return;
  const bool lacks_head = architecture_.head.present() &&
                          missing.back() == architecture_.head.tensor &&
                          !architecture_.tied_head;
  errors.Add(absl::InvalidArgumentError(absl::StrCat(
      directory_, ": ", missing.size(),
      " of the weights missing: ", SomeOf(missing),
      lacks_head ? " (config.json does not tie the head to the embedding)"
      : IsGguf(directory_) ? " (by the names of the family's own checkpoints)"
                           : "")));
}

// Checks that a pack has every matrix of a pass as one, in the file's format.
void Checkpoint::CheckPacked(Errors& errors) const {
  if (pack() == nullptr) return;
  const auto check = [&](const MatrixSources& sources, WeightFormat format) {
    std::vector<std::string> names;
    for (const WeightSource* source : sources)
      if (source->present()) names.push_back(QuotedName(source->tensor));
    if (names.empty()) return;
    const PackMatrix* const matrix = FindPacked(sources);
    if (matrix != nullptr &&
        (matrix->format == format ||
         (format == WeightFormat::kQ4 && IsQuantised(matrix->format))))
      return;
    errors.Add(absl::InvalidArgumentError(absl::StrCat(
        directory_, ": expected a matrix of ", absl::StrJoin(names, ", "),
        " in ", Name(format), ", found ",
        matrix == nullptr ? "none"
                          : absl::StrCat("one in ", Name(matrix->format)),
        ": its header contradicts its config.json")));
  };
  const WeightFormat format = pack()->format;
  check({&architecture_.positions}, WeightFormat::kF32);
  check({&architecture_.embedding}, format);
  for (const LayerSources& layer : architecture_.layers)
    for (const MatrixSources& sources : LayerMatrices(layer).all())
      check(sources, format);
  if (!architecture_.tied_head) check({&architecture_.head}, format);
}

absl::Status Checkpoint::CheckUnread() {
  warnings_ = files_.warnings();
  std::set<std::string> names = files_.TensorNames();
  ForEachSource(architecture_, [&](const WeightSource& source) {
    names.erase(source.tensor);
  });
  names.erase(architecture_.tied_twin.tensor);
  for (const std::string& table : architecture_.tables) names.erase(table);
  std::vector<std::string> unread;
  for (const std::string& name : names) {
    if (MeansNothing(name)) continue;
    if (LayerOf(name, architecture_.layer_prefix) >=
        architecture_.layers.size())
      return absl::InvalidArgumentError(absl::StrCat(
          directory_, ": config.json has ",
          Counted(static_cast<std::int64_t>(architecture_.layers.size()),
                  "layer"),
          ", and the weights have ", QuotedInFile(Find(name), name)));
    unread.push_back(QuotedInFile(Find(name), name));
  }
  if (unread.empty()) return absl::OkStatus();
  const std::string text =
      absl::StrCat(directory_, ": ", unread.size(),
                   unread.size() == 1 ? " tensor is" : " tensors are",
                   " not read: ", SomeOf(unread));
  // A GGUF file has no tensor that its model does not need.
  if (architecture_.refuses_others || IsGguf(directory_))
    return absl::InvalidArgumentError(text);
  warnings_.push_back(text);
  return absl::OkStatus();
}

absl::Status Checkpoint::CheckTied() const {
  const WeightSource& twin = architecture_.tied_twin;
  if (!twin.present()) return absl::OkStatus();
  std::vector<float> one(static_cast<std::size_t>(twin.columns));
  std::vector<float> other(one.size());
  for (int row = 0; row < twin.rows; ++row) {
    BANYAN_RETURN_IF_ERROR(
        ReadRows(architecture_.embedding, {row, 1}, absl::MakeSpan(one)));
    BANYAN_RETURN_IF_ERROR(ReadRows(twin, {row, 1}, absl::MakeSpan(other)));
    if (one != other)
      return ErrorIn(*files_.Find(twin.tensor)->file, twin,
                     absl::InvalidArgumentError(absl::StrCat(
                         "row ", row, " is not that of ",
                         QuotedName(architecture_.embedding.tensor),
                         ", though config.json ties the two")));
  }
  Release(twin);
  return absl::OkStatus();
}

absl::StatusOr<StoredTensor> Checkpoint::Tensor(
    const WeightSource& source) const {
  const CheckpointFiles::Place* place = files_.Find(source.tensor);
  if (place == nullptr)
    return absl::NotFoundError(
        absl::StrCat(directory_, ": no tensor ", QuotedName(source.tensor)));
  const absl::Status status = CheckStored(*place->tensor, source);
  if (!status.ok()) return ErrorIn(*place->file, source, status);
  return *place->tensor;
}

const PackMatrix* Checkpoint::FindPacked(const MatrixSources& sources) const {
  if (pack() == nullptr) return nullptr;
  std::vector<const WeightSource*> present;
  for (const WeightSource* source : sources)
    if (source->present()) present.push_back(source);
  const auto same = [&present](const PackMatrix& matrix) {
    return std::equal(
        matrix.parts.begin(), matrix.parts.end(), present.begin(),
        present.end(), [](const PackPart& part, const WeightSource* source) {
          return part.tensor == source->tensor &&
                 part.first == source->first_row && part.rows == source->rows;
        });
  };
  const std::vector<PackMatrix>& all = pack()->matrices;
  const auto found = std::find_if(all.begin(), all.end(), same);
  return found == all.end() ? nullptr : &*found;
}

const StoredTensor* Checkpoint::Find(absl::string_view name) const {
  const CheckpointFiles::Place* place = files_.Find(name);
  return place == nullptr ? nullptr : place->tensor;
}

absl::Status Checkpoint::ReadRows(const WeightSource& source,
                                  const RowRange& rows,
                                  absl::Span<float> out) const {
  BANYAN_ASSIGN_OR_RETURN(const StoredTensor tensor, Tensor(source));
  Check(out.size() == static_cast<std::size_t>(rows.count) *
                          static_cast<std::size_t>(source.columns),
        "the rows fill the space there is");
  const absl::Status read = banyan::ReadRows(tensor, source, rows, out.data());
  if (read.ok() || absl::IsDataLoss(read)) return read;
  return ErrorIn(*files_.Find(source.tensor)->file, source, read);
}

namespace {

// Calls `read` with each source that has some of these rows, counted through
// all sources, and with those rows of it.
absl::Status ForStacked(const MatrixSources& sources, RowRange rows,
                        absl::FunctionRef<absl::Status(
                            const WeightSource& source, const RowRange& rows)>
                            read) {
  for (const WeightSource* source : sources) {
    if (!source->present()) continue;
    RowRange here = rows;
    here.count = std::min(rows.count, source->rows - rows.first);
    if (here.count > 0) {
      BANYAN_RETURN_IF_ERROR(read(*source, here));
      rows.count -= here.count;
      rows.first += here.count;
    }
    rows.first -= source->rows;
    if (rows.count == 0) break;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Checkpoint::ReadStacked(const MatrixSources& sources,
                                     RowRange rows, float* out) const {
  return ForStacked(
      sources, rows, [&](const WeightSource& source, const RowRange& here) {
        const auto numbers = static_cast<std::size_t>(here.count) *
                             static_cast<std::size_t>(source.columns);
        float* const to = out;
        out += numbers;
        return ReadRows(source, here, absl::MakeSpan(to, numbers));
      });
}

absl::Status Checkpoint::ReadStackedBlocks(const MatrixSources& sources,
                                           RowRange rows,
                                           std::byte* out) const {
  return ForStacked(
      sources, rows,
      [&](const WeightSource& source, const RowRange& here) -> absl::Status {
        BANYAN_ASSIGN_OR_RETURN(const StoredTensor tensor, Tensor(source));
        std::byte* const to = out;
        out += std::int64_t{here.count} * source.columns /
               DTypeBlock(tensor.dtype) * DTypeBytes(tensor.dtype);
        return ReadBlocks(tensor, source, here, to);
      });
}

bool Checkpoint::StoresBlocks() const {
  bool found = false;
  ForEachSource(architecture_, [&](const WeightSource& source) {
    const StoredTensor* const tensor = Find(source.tensor);
    found = found || (tensor != nullptr && DTypeBlock(tensor->dtype) > 1);
  });
  return found;
}

WeightFormat Checkpoint::MatrixFormat(const MatrixSources& sources,
                                      WeightFormat format) const {
  if (format != WeightFormat::kQ4) return format;
  const PackMatrix* const packed = FindPacked(sources);
  if (packed != nullptr && pack()->format == format) return packed->format;
  std::set<DType> types;
  for (const WeightSource* source : sources)
    if (const StoredTensor* const tensor = Find(source->tensor);
        source->present() && tensor != nullptr)
      types.insert(tensor->dtype);
  const bool blocks = std::any_of(types.begin(), types.end(), [](DType type) {
    return DTypeBlock(type) > 1;
  });
  if (!blocks) return StoresBlocks() ? WeightFormat::kQ8 : format;
  if (types.size() > 1) return WeightFormat::kQ8;
  return FourBitFormat(*types.begin()).value_or(WeightFormat::kQ8);
}

bool Checkpoint::KeepsBlocks(const MatrixSources& sources,
                             WeightFormat format) const {
  return std::all_of(
      sources.begin(), sources.end(), [&](const WeightSource* source) {
        if (!source->present()) return true;
        const StoredTensor* const tensor = Find(source->tensor);
        return tensor != nullptr && FourBitFormat(tensor->dtype) == format;
      });
}

absl::Status Checkpoint::MakePanels(const MatrixSources& sources,
                                    WeightFormat format, std::size_t first,
                                    absl::Span<std::byte> to) const {
  int rows = 0;
  int columns = 0;
  for (const WeightSource* source : sources) {
    if (!source->present()) continue;
    rows += source->rows;
    columns = source->columns;
  }
  const std::size_t panel = PanelBytes(format, columns);
  const bool as_stored = KeepsBlocks(sources, format);
  const auto all =
      static_cast<std::size_t>(kPanelRows) * static_cast<std::size_t>(columns);
  std::vector<float> numbers(all);
  // No block takes more than a byte for a number.
  std::vector<std::byte> blocks(as_stored ? all : 0);
  int row = static_cast<int>(first) * kPanelRows;
  for (; !to.empty(); to.remove_prefix(panel), row += kPanelRows) {
    const RowRange range = {row, std::min(kPanelRows, rows - row), format};
    if (as_stored) {
      std::fill(blocks.begin(), blocks.end(), std::byte{0});
      BANYAN_RETURN_IF_ERROR(ReadStackedBlocks(sources, range, blocks.data()));
      PackBlocks(format, columns, blocks.data(), to.data());
      if (PanelsAreFinite(format, columns, to.first(panel))) continue;
    }
    std::fill(numbers.begin(), numbers.end(), 0.0F);
    BANYAN_RETURN_IF_ERROR(ReadStacked(sources, range, numbers.data()));
    if (!as_stored) PackPanel(format, columns, numbers.data(), to.data());
  }
  return absl::OkStatus();
}

void Checkpoint::Release(const WeightSource& source) const {
  const CheckpointFiles::Place* place = files_.Find(source.tensor);
  if (place != nullptr) place->file->Release(*place->tensor);
}

}  // namespace banyan
