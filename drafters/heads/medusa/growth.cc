#include "drafters/heads/medusa/growth.h"

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/base/counted.h"
#include "core/base/status_macros.h"
#include "core/checkpoint/architecture.h"
#include "drafters/heads/head_growth.h"
#include "drafters/heads/medusa/heads_file.h"

namespace banyan {

absl::StatusOr<GrowableHeads> OpenGrowableMedusa(const std::string& directory,
                                                 const GrowingTarget& target) {
  BANYAN_ASSIGN_OR_RETURN(
      const std::unique_ptr<MedusaFile> file,
      MedusaFile::Open(directory, target.hidden_size, target.vocab_size));
  GrowableHeads heads = {.file = file->file()};
  const HeadAxis state = target.States(1);
  const auto add = [&](const WeightSource& source, const HeadAxis& rows,
                       const HeadAxis& columns) {
    heads.tensors.push_back({.name = source.tensor,
                             .stored = file->Tensor(source),
                             .rows = rows,
                             .columns = columns});
  };
  for (int head = 0; head < file->heads(); ++head) {
    for (int block = 0; block < file->blocks(); ++block) {
      add(file->Linear(head, block), state, state);
      add(file->Bias(head, block), state, {});
    }
    if (file->own_outputs()) add(file->Output(head), {}, state);
  }
  heads.summary =
      absl::StrCat(Counted(file->heads(), "Medusa head"), " of ",
                   Counted(file->blocks(), "block"), ", ",
                   file->own_outputs() ? "each with an output matrix"
                                       : "with the model's output matrix");
  heads.facts = {{"heads", file->heads()},
                 {"blocks", file->blocks()},
                 {"own_matrices", file->own_outputs()}};
  return heads;
}

}  // namespace banyan
