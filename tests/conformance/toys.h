// Small exact models for the proof machine.
#ifndef BANYAN_TESTS_CONFORMANCE_TOYS_H_
#define BANYAN_TESTS_CONFORMANCE_TOYS_H_

#include <memory>

#include "core/model/table_model.h"

namespace banyan {

// A model whose distribution depends on the whole text, so that reading the row
// of a wrong node shows. `seed` picks a model; `sharpness` 0 is uniform, larger
// is more peaked. With `zeros`, about a third of all masses are 0, so that the
// supports of target and drafter differ. With `layers` the model has views,
// whose distributions depend on the blocks they run and the tokens they see. A
// view that runs and sees everything has the model's distribution.
struct ToyOptions {
  int vocab_size = 3;
  int seed = 0;
  double sharpness = 1.5;
  bool zeros = false;
  int layers = 0;
};
std::shared_ptr<TableModel> Toy(const ToyOptions& options);

// A model whose distribution depends on the length of the text alone, as that
// of a set of heads does.
std::shared_ptr<TableModel> DepthToy(const ToyOptions& options);

// The same model with hidden states: a token's is the token and its position.
// A row that starts from a vector is that of the token which the vector's first
// number names.
std::shared_ptr<TableModel> WithStates(const TableModel& model);

}  // namespace banyan

#endif  // BANYAN_TESTS_CONFORMANCE_TOYS_H_
