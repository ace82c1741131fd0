// Checkpoint: the architecture and the weights of a model, from its directory,
// a GGUF file or a packed model.
//
//   BANYAN_ASSIGN_OR_RETURN(auto checkpoint, Checkpoint::Open(directory));
//   const WeightSource& query = checkpoint->architecture().layers[0].query;
//   BANYAN_RETURN_IF_ERROR(checkpoint->ReadRows(query, {0, 16}, rows));
//   checkpoint->Release(query);
#ifndef BANYAN_CORE_CHECKPOINT_CHECKPOINT_H_
#define BANYAN_CORE_CHECKPOINT_CHECKPOINT_H_

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/base/common.h"
#include "core/base/messages.h"
#include "core/checkpoint/architecture.h"
#include "core/checkpoint/families/families.h"
#include "core/checkpoint/stored_tensor.h"
#include "core/checkpoint/tensor_file.h"
#include "core/checkpoint/weight_rows.h"
#include "core/pack/pack_file.h"

namespace banyan {

// Calls `visit` with every source that the family has, in the order in which
// the graph reads them.
void ForEachSource(const Architecture& architecture,
                   absl::FunctionRef<void(const WeightSource&)> visit);

// The matrices of a layer as the graph multiplies them: the sources of each,
// one below the other, in the order of a pass. Sources that the family lacks
// are among them.
using MatrixSources = std::vector<const WeightSource*>;
struct LayerMatrices {
  MatrixSources query_key_value, output, gate_up, down;

  explicit LayerMatrices(const LayerSources& layer);
  std::vector<MatrixSources> all() const;
};

// Any number of threads may use one at once. Its files must not change while it
// is open.
class Checkpoint {
 public:
  // Reads config.json, generation_config.json if there is one, and the headers
  // of the weights' files (CheckpointFiles), and checks that every weight of
  // the architecture is there in its shape and of a type that weights have, and
  // every matrix of a pass in a packed model; F64 is refused, and so is a
  // tensor of a layer that config.json does not have. Fails with NotFound if
  // there is no config.json or no weights, and else with InvalidArgument, which
  // names the file, the key or tensor, what was found and what was expected;
  // what is wrong with tensors is told together.
  static absl::StatusOr<std::unique_ptr<Checkpoint>> Open(
      const std::string& directory);
  // The same of a directory whose config.json `read` reads.
  using ReadConfig = absl::FunctionRef<absl::StatusOr<Architecture>(
      ConfigReader& config, HasTensor has_tensor)>;
  static absl::StatusOr<std::unique_ptr<Checkpoint>> Open(
      const std::string& directory, ReadConfig read);

  const std::string& directory() const { return directory_; }
  const Architecture& architecture() const { return architecture_; }
  // What its user should know: a sentence for a file that was ignored, and one
  // for all tensors that nothing reads, except those that older programs stored
  // and that mean nothing (tables of rotations, masks).
  const std::vector<std::string>& warnings() const { return warnings_; }

  // The stored tensor that `source` names; its data lives as long as this.
  // Never fails for a source of architecture(); for another, NotFound if there
  // is no such tensor, InvalidArgument if it is not what `source` says.
  absl::StatusOr<StoredTensor> Tensor(const WeightSource& source) const;
  // The names of all that are stored, in order.
  std::set<std::string> tensor_names() const { return files_.TensorNames(); }
  // The stored tensor of this name, null if there is none.
  const StoredTensor* Find(absl::string_view name) const;

  // Writes rows of `source` as f32 to `out`, which has room for exactly these
  // rows (weight_rows.h). Requires that the rows exist. Fails as Tensor does,
  // with InvalidArgument, which names file, tensor and place, if a number is
  // not finite, and with DataLoss if the file was cut or damaged.
  absl::Status ReadRows(const WeightSource& source, const RowRange& rows,
                        absl::Span<float> out) const;

  // The same of rows of the matrix that `sources` make up, counted through, at
  // `out`, which has room for them.
  absl::Status ReadStacked(const MatrixSources& sources, RowRange rows,
                           float* out) const;

  // The format that the matrix of these sources is kept in where the model's is
  // `format`: the same but for kQ4 (core/base/weight_format.h). A matrix of
  // numbers in a file that has blocks is kept in kQ8.
  WeightFormat MatrixFormat(const MatrixSources& sources,
                            WeightFormat format) const;
  // Whether that matrix is stored in blocks that `format` keeps as they are.
  bool KeepsBlocks(const MatrixSources& sources, WeightFormat format) const;
  // Writes the matrix's panels from `first` on, as many as fill `to`, in a
  // format of MatrixFormat(). Fails as ReadRows.
  absl::Status MakePanels(const MatrixSources& sources, WeightFormat format,
                          std::size_t first, absl::Span<std::byte> to) const;

  // Of a packed model its header, null for another.
  const PackHeader* pack() const {
    const PackedData* const packed = files_.packed();
    return packed == nullptr ? nullptr : &packed->header();
  }
  // The packed matrix of these sources, null if there is none.
  const PackMatrix* FindPacked(const MatrixSources& sources) const;
  // Its panels, all of them; DataLoss if they were damaged.
  absl::Status ReadPanels(const PackMatrix& matrix,
                          absl::Span<std::byte> to) const {
    return files_.packed()->ReadPanels(matrix, to);
  }

  // InvalidArgument, which names the first row that differs, if a tied pair is
  // stored twice and not the same. Reads all of both.
  absl::Status CheckTied() const;

  // Gives back the memory of the whole tensor that `source` names. The next
  // call that needs the tensor reads its file again.
  void Release(const WeightSource& source) const;

 private:
  Checkpoint(std::string directory, CheckpointFiles files)
      : directory_(std::move(directory)), files_(std::move(files)) {}
  absl::Status ReadConfigs(ConfigReader& config, ReadConfig read);
  void CheckWeights(Errors& errors) const;
  void CheckPacked(Errors& errors) const;
  absl::Status CheckUnread();

  bool StoresBlocks() const;
  absl::Status ReadStackedBlocks(const MatrixSources& sources, RowRange rows,
                                 std::byte* out) const;

  std::string directory_;
  CheckpointFiles files_;
  std::vector<std::string> warnings_;
  Architecture architecture_;
};

}  // namespace banyan

#endif  // BANYAN_CORE_CHECKPOINT_CHECKPOINT_H_
