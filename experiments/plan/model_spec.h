// Which model an experiment or a method names, and how its weights are kept.
#ifndef BANYAN_EXPERIMENTS_PLAN_MODEL_SPEC_H_
#define BANYAN_EXPERIMENTS_PLAN_MODEL_SPEC_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"
#include "core/base/params.h"

namespace banyan {

struct ModelSpec {
  std::string directory;
  // How weights are kept in memory: f32, bf16 or q8; or auto, which is q8 if
  // some matrix is stored in blocks (GGUF), bf16 if every matrix is BF16, and
  // else f32.
  std::string weights = "auto";
  // Of a packed model, what its weights may take ("1.5GB"): layers that have no
  // room are read from its file in every pass. Empty: all are in memory.
  std::string memory = {};
  // Of `memory`, what drafters take, in bytes; and the format of the copies
  // that a method has of layers which are read from disk, empty without copies.
  std::size_t reserved = 0;
  std::string copies = {};
  // A packed target's own drafter, which may have another format.
  bool copy = false;

  bool operator==(const ModelSpec&) const = default;
};

// The formats that ModelSpec may name, for messages, and whether `name` is one.
inline constexpr char kWeightsNames[] = "auto, f32, bf16 or q8";
bool IsWeightsName(absl::string_view name);

// The format that `weights` names; empty where it is `auto`.
std::string StatedWeights(const ModelSpec& spec);

// Takes `directory`, relative to the file that names it, and `weights` and
// `memory`, which may be left out. Errors are the reader's.
ModelSpec TakeModelSpec(ParamsReader& in);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_PLAN_MODEL_SPEC_H_
