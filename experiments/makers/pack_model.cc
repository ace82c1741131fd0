#include "experiments/makers/pack_model.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/common.h"
#include "core/base/output_files.h"
#include "core/base/panels/weight_panels.h"
#include "core/base/weight_format.h"
#include "core/checkpoint/architecture.h"
#include "core/gguf/model_text.h"
#include "core/pack/pack_file.h"
#include "experiments/makers/grow/output_folder.h"

namespace banyan {
namespace {

constexpr std::size_t kMostPackedText = std::size_t{1} << 28;
// An unfinished file begins with the same bytes as a finished one but for these
// and checksums: zeros stand for the header's own, for the vectors', and for
// that of every extent that was not synced.
//
// An extent of an earlier run is taken over if it has the checksum that the
// header gives it, and packed again if not. So it does not matter what of the
// header and of the extents reached the disk, nor in which order: half a
// checksum, a checksum without its extent and bytes that were damaged since
// cost an extent's work, and no more.
constexpr absl::string_view kUnfinishedPack = "BANYANp.";
constexpr std::size_t kHeaderChecksumAt = 12;
constexpr std::size_t kHeaderChecksumEnd = 16;
constexpr std::size_t kDigits = 8;  // of a checksum

// Collects what is to be written, and gives each part its place.
class PackPlan {
 public:
  PackPlan(const Checkpoint& checkpoint, WeightFormat format)
      : checkpoint_(checkpoint), format_(format) {}

  absl::Status Make(const std::string& source) {
    const Architecture& architecture = checkpoint_.architecture();
    if (checkpoint_.pack() != nullptr) return Refuse("found a packed one");
    if (architecture.input.kind != VectorInput::Kind::kNone ||
        !architecture.others.empty() || !architecture.tables.empty())
      return Refuse("found a drafter's head");
    header_.format = format_;
    header_.source = source;
    header_.source_format = architecture.source_format;
    BANYAN_RETURN_IF_ERROR(AddTexts());
    AddVectors();
    if (architecture.positions.present())
      AddMatrix({&architecture.positions}, WeightFormat::kF32);
    AddMatrix({&architecture.embedding}, format_);
    for (const LayerSources& layer : architecture.layers)
      for (const MatrixSources& sources : LayerMatrices(layer).all())
        AddMatrix(sources, format_);
    if (!architecture.tied_head) AddMatrix({&architecture.head}, format_);
    header_.data_begin = PackAligned(PackPreamble(header_).size());
    return absl::OkStatus();
  }

  PackHeader& header() { return header_; }
  // Of a matrix of the header.
  const MatrixSources& sources(std::size_t matrix) const {
    return sources_[matrix];
  }
  // The source of a vector of the header: the whole tensor.
  const WeightSource& vector(std::size_t number) const {
    return vectors_[number];
  }
  std::uint64_t end() const { return header_.data_begin + end_; }

 private:
  absl::Status Refuse(absl::string_view found) const {
    return absl::InvalidArgumentError(absl::StrCat(
        checkpoint_.directory(), ": expected a language model, ", found));
  }

  absl::Status AddTexts() {
    for (const char* name :
         {"config.json", "generation_config.json", "tokenizer.json",
          "tokenizer_config.json", "chat_template.jinja"}) {
      absl::StatusOr<std::string> text =
          ReadModelText(checkpoint_.directory(), name, kMostPackedText);
      if (absl::IsNotFound(text.status())) continue;
      BANYAN_RETURN_IF_ERROR(text.status());
      header_.texts[name] = *std::move(text);
    }
    return absl::OkStatus();
  }

  // One after the other, then the next multiple of the alignment.
  void AddVectors() {
    std::set<std::string> seen;
    ForEachSource(checkpoint_.architecture(), [&](const WeightSource& source) {
      if (source.columns != 1 || !seen.insert(source.tensor).second) return;
      WeightSource whole = source;
      whole.first_row = 0;
      whole.rows = static_cast<int>(source.stored_shape.front());
      header_.tensors[source.tensor] = {.shape = source.stored_shape};
      PackVector vector = {.tensor = source.tensor,
                           .offset = end_,
                           .numbers = static_cast<std::uint64_t>(whole.rows)};
      end_ = vector.end();
      header_.vectors.push_back(std::move(vector));
      vectors_.push_back(std::move(whole));
    });
    end_ = PackAligned(end_);
  }

  void AddMatrix(const MatrixSources& sources, WeightFormat of_model) {
    const WeightFormat format = checkpoint_.MatrixFormat(sources, of_model);
    PackMatrix matrix = {.format = format, .offset = end_};
    for (const WeightSource* source : sources) {
      if (!source->present()) continue;
      matrix.parts.push_back({source->tensor, source->first_row, source->rows});
      matrix.rows += source->rows;
      matrix.columns = source->columns;
      header_.tensors[source->tensor] = {.shape = source->stored_shape,
                                         .turned = source->transposed};
    }
    if (matrix.rows == 0) return;
    matrix.panels = std::min(PanelsInExtent(format, matrix.columns),
                             PanelCount(matrix.rows));
    matrix.checksums.assign(matrix.extents(), 0);
    end_ = matrix.end();
    header_.matrices.push_back(std::move(matrix));
    sources_.push_back(sources);
  }

  const Checkpoint& checkpoint_;
  WeightFormat format_;
  PackHeader header_;
  std::vector<MatrixSources> sources_;
  std::vector<WeightSource> vectors_;
  std::uint64_t end_ = 0;
};

class Packer {
 public:
  Packer(const Checkpoint& checkpoint, PackPlan& plan, ResumedFile& file,
         std::int64_t sync_bytes, PackProgress progress)
      : checkpoint_(checkpoint),
        plan_(plan),
        file_(file),
        sync_bytes_(sync_bytes),
        progress_(progress) {}

  // Takes the checksums of an earlier run from the file, or begins the file
  // anew if it is of something else. Returns the bytes that are there already.
  absl::StatusOr<std::int64_t> Resume() {
    BeginHeader();
    std::string there(unfinished_.size(), '\0');
    BANYAN_ASSIGN_OR_RETURN(before_, file_.size());
    if (before_ >= there.size())
      BANYAN_RETURN_IF_ERROR(file_.Read(
          0, {reinterpret_cast<std::byte*>(there.data()), there.size()}));
    std::string digits;
    for (const std::size_t place : places_) {
      absl::StrAppend(&digits, there.substr(place, kDigits));
      there.replace(place, kDigits, kDigits, '0');
    }
    if (there == unfinished_) return TakeChecksums(digits);
    before_ = 0;
    BANYAN_RETURN_IF_ERROR(file_.Resize(0));
    BANYAN_RETURN_IF_ERROR(file_.Write(0, BytesOf(unfinished_)));
    return 0;
  }

  // Requires Resume().
  absl::Status Write() {
    PackHeader& header = plan_.header();
    for (std::size_t i = 0; i < header.matrices.size(); ++i) {
      BANYAN_RETURN_IF_ERROR(WriteMatrix(i));
      for (const WeightSource* source : plan_.sources(i))
        if (source->present()) checkpoint_.Release(*source);
    }
    for (std::size_t i = 0; i < header.vectors.size(); ++i)
      BANYAN_RETURN_IF_ERROR(WriteVector(i));
    BANYAN_RETURN_IF_ERROR(file_.Resize(plan_.end()));
    BANYAN_RETURN_IF_ERROR(file_.Sync());
    std::string preamble = PackPreamble(header);
    preamble.resize(header.data_begin, '\0');
    BANYAN_RETURN_IF_ERROR(file_.Write(0, BytesOf(preamble)));
    return file_.Finish();
  }

  // Bytes of an earlier run that were taken over, and its extents that were
  // not.
  std::int64_t resumed() const { return resumed_; }
  int packed_again() const { return packed_again_; }

 private:
  // Makes the header of an unfinished file with zeros for checksums, and finds
  // the place of each checksum by comparing it with a header whose checksums
  // are ones.
  void BeginHeader() {
    PackHeader& header = plan_.header();
    unfinished_ = PackPreamble(header);
    for (PackMatrix& matrix : header.matrices)
      std::fill(matrix.checksums.begin(), matrix.checksums.end(), ~0U);
    const std::string other = PackPreamble(header);
    for (PackMatrix& matrix : header.matrices)
      std::fill(matrix.checksums.begin(), matrix.checksums.end(), 0);
    for (std::size_t at = kHeaderChecksumEnd; at < other.size(); ++at) {
      if (unfinished_[at] == other[at]) continue;
      places_.push_back(at);
      at += kDigits - 1;
    }
    std::copy(kUnfinishedPack.begin(), kUnfinishedPack.end(),
              unfinished_.begin());
    std::fill(unfinished_.begin() + kHeaderChecksumAt,
              unfinished_.begin() + kHeaderChecksumEnd, '\0');
  }

  // Takes the checksums from their digits, one after the other. Returns the
  // bytes of the extents that the file has room for.
  std::int64_t TakeChecksums(absl::string_view digits) {
    std::int64_t bytes = 0;
    for (PackMatrix& matrix : plan_.header().matrices)
      for (std::size_t i = 0; i < matrix.extents(); ++i) {
        std::uint32_t& checksum = matrix.checksums[i];
        // Digits that were damaged are of an extent to be packed again.
        if (!absl::SimpleHexAtoi(digits.substr(0, kDigits), &checksum))
          checksum = 0;
        if (WasWritten(matrix, i))
          bytes += static_cast<std::int64_t>(matrix.ExtentBytes(i));
        digits.remove_prefix(kDigits);
      }
    return bytes;
  }

  std::uint64_t PlaceOf(const PackMatrix& matrix, std::size_t extent) const {
    return plan_.header().data_begin + matrix.ExtentOffset(extent);
  }

  // Whether an earlier run synced an extent that the file still has room for.
  bool WasWritten(const PackMatrix& matrix, std::size_t extent) const {
    return matrix.checksums[extent] != 0 &&
           PlaceOf(matrix, extent) + matrix.ExtentBytes(extent) <= before_;
  }

  // Small, and written by every run.
  absl::Status WriteVector(std::size_t number) {
    PackVector& vector = plan_.header().vectors[number];
    const WeightSource& source = plan_.vector(number);
    std::vector<float> numbers(static_cast<std::size_t>(vector.numbers));
    BANYAN_RETURN_IF_ERROR(checkpoint_.ReadRows(source, {0, source.rows},
                                                absl::MakeSpan(numbers)));
    const absl::Span<const std::byte> bytes(
        reinterpret_cast<const std::byte*>(numbers.data()),
        numbers.size() * sizeof(float));
    vector.checksum = Crc32(bytes);
    const std::uint64_t begin = plan_.header().data_begin;
    BANYAN_RETURN_IF_ERROR(file_.Write(begin + vector.offset, bytes));
    return FillUp(begin + vector.end());  // the next one is written over it
  }

  absl::Status WriteMatrix(std::size_t number) {
    PackMatrix& matrix = plan_.header().matrices[number];
    for (std::size_t extent = 0; extent < matrix.extents(); ++extent) {
      const std::uint64_t at = PlaceOf(matrix, extent);
      std::uint32_t& checksum = matrix.checksums[extent];
      bytes_.resize(matrix.ExtentBytes(extent));
      const absl::Span<std::byte> bytes = absl::MakeSpan(bytes_);
      const bool written = WasWritten(matrix, extent);
      if (written) BANYAN_RETURN_IF_ERROR(file_.Read(at, bytes));
      if (written && Crc32(bytes) == checksum) {
        resumed_ += static_cast<std::int64_t>(bytes.size());
      } else {
        packed_again_ += checksum != 0 ? 1 : 0;
        BANYAN_RETURN_IF_ERROR(
            checkpoint_.MakePanels(plan_.sources(number), matrix.format,
                                   extent * matrix.panels, bytes));
        BANYAN_RETURN_IF_ERROR(file_.Write(at, bytes));
        checksum = Crc32(bytes);
        BANYAN_RETURN_IF_ERROR(SyncSometimes(bytes.size()));
      }
      BANYAN_RETURN_IF_ERROR(FillUp(at + bytes.size()));
      progress_(static_cast<std::int64_t>(at + bytes.size()),
                static_cast<std::int64_t>(plan_.end()));
    }
    return absl::OkStatus();
  }

  // No checksum knows what lies between extents: an earlier run's zeros may
  // have been damaged.
  absl::Status FillUp(std::uint64_t end) {
    static constexpr std::byte kZeros[kPackAlignment] = {};
    return file_.Write(end, {kZeros, PackAligned(end) - end});
  }

  absl::Status SyncSometimes(std::size_t bytes) {
    unsynced_ += static_cast<std::int64_t>(bytes);
    if (unsynced_ < sync_bytes_) return absl::OkStatus();
    unsynced_ = 0;
    BANYAN_RETURN_IF_ERROR(file_.Sync());
    return WriteChecksums();
  }

  // Of all extents up to here, and of those of an earlier run that follow.
  absl::Status WriteChecksums() {
    std::size_t number = 0;
    for (const PackMatrix& matrix : plan_.header().matrices)
      for (const std::uint32_t checksum : matrix.checksums)
        unfinished_.replace(places_[number++], kDigits,
                            absl::StrCat(absl::Hex(checksum, absl::kZeroPad8)));
    const std::size_t first = places_.front();
    return file_.Write(
        first,
        BytesOf(unfinished_).subspan(first, places_.back() + kDigits - first));
  }

  const Checkpoint& checkpoint_;
  PackPlan& plan_;
  ResumedFile& file_;
  std::int64_t sync_bytes_;
  PackProgress progress_;
  std::string unfinished_;           // the file's first bytes
  std::vector<std::size_t> places_;  // in it, of each extent's checksum
  std::uint64_t before_ = 0;   // bytes of the file that an earlier run left
  std::int64_t unsynced_ = 0;  // bytes
  std::int64_t resumed_ = 0;
  int packed_again_ = 0;
  std::vector<std::byte> bytes_;
};

}  // namespace

absl::StatusOr<PackedModel> PackModel(const Checkpoint& checkpoint,
                                      const PackOptions& options,
                                      const std::string& path,
                                      PackProgress progress) {
  if (!IsPack(path))
    return absl::InvalidArgumentError(
        absl::StrCat("expected a file that ends in .pack, found '", path, "'"));
  BANYAN_RETURN_IF_ERROR(checkpoint.CheckTied());
  PackPlan plan(checkpoint, options.format);
  BANYAN_RETURN_IF_ERROR(plan.Make(options.source));
  BANYAN_ASSIGN_OR_RETURN(const std::unique_ptr<ResumedFile> file,
                          ResumedFile::Open(path));
  Packer packer(checkpoint, plan, *file, options.sync_bytes, progress);
  PackedModel done = {
      .bytes = static_cast<std::int64_t>(plan.end()),
      .matrices = static_cast<int>(plan.header().matrices.size())};
  BANYAN_ASSIGN_OR_RETURN(const std::int64_t there, packer.Resume());
  BANYAN_RETURN_IF_ERROR(RequireSpace(
      path, std::filesystem::absolute(file->partial()).parent_path(),
      done.bytes - there));
  BANYAN_RETURN_IF_ERROR(packer.Write());
  done.resumed = packer.resumed();
  done.packed_again = packer.packed_again();
  return done;
}

}  // namespace banyan
