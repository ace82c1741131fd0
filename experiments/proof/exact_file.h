// The file `banyan exact` reads: toy models as tables, and the method to run on
// them. docs/formats.md describes it.
#ifndef BANYAN_EXPERIMENTS_PROOF_EXACT_FILE_H_
#define BANYAN_EXPERIMENTS_PROOF_EXACT_FILE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/base/params.h"
#include "core/model/table_model.h"
#include "decode/decoder.h"
#include "drafters/workbench.h"
#include "experiments/proof/exact_law.h"

namespace banyan {

struct ExactFile {
  int vocab_size = 0;
  LawOptions options;
  std::shared_ptr<TableModel> target;  // outlives the decoder
  std::unique_ptr<Workbench> bench;    // likewise, with the drafters' tables
  std::unique_ptr<Decoder> decoder;
  std::string control;  // what was broken on purpose; empty: nothing
};

// Everything the outside can get wrong is an error with file, line and column.
absl::StatusOr<ExactFile> ReadExactFile(const Params& file);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_PROOF_EXACT_FILE_H_
