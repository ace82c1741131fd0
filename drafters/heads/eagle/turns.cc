#include "drafters/heads/eagle/turns.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/checkpoint/architecture.h"
#include "core/model/model.h"
#include "drafters/heads/eagle/layouts.h"

namespace banyan {
namespace {

bool AreThere(const std::vector<int>& taps, int by, int layers) {
  return std::all_of(taps.begin(), taps.end(), [&](int tap) {
    return tap != kAfterFinalNorm && tap + by >= 0 && tap + by <= layers;
  });
}

void Drop(WeightSource& source, Architecture& network) {
  network.tables.push_back(source.tensor);  // it is there, and not read
  source = {};
}

}  // namespace

std::vector<EagleTurn> TurnsOf(const EagleSpec& spec, int layers,
                               double theta) {
  std::vector<EagleTurn> turns;
  const auto add = [&turns](std::string name, auto turn) {
    turns.push_back({std::move(name), turn});
  };
  const VectorInput& input = spec.network.input;
  if (AreThere(spec.taps, -1, layers))
    add("the states one layer earlier", [](EagleSpec& of) {
      for (int& tap : of.taps) --tap;
    });
  if (AreThere(spec.taps, 1, layers))
    add("the states one layer later", [](EagleSpec& of) {
      for (int& tap : of.taps) ++tap;
    });
  if (spec.taps == std::vector<int>{kAfterFinalNorm})
    add("the state before the target's final norm",
        [layers](EagleSpec& of) { of.taps = {layers}; });
  if (spec.taps.size() == 1 && spec.taps.front() == layers)
    add("the state after the target's final norm",
        [](EagleSpec& of) { of.taps = {kAfterFinalNorm}; });
  add("token and vector in the other order", [](EagleSpec& of) {
    of.network.input.vector_first = !of.network.input.vector_first;
  });
  turns.push_back({"the token of the states' own place",
                   [](EagleSpec& /*of*/) {}, /*same_token=*/true});
  if (spec.network.rope) {
    turns.push_back({"drafted pairs one position further",
                     [](EagleSpec& /*of*/) {}, false, /*drafted_shift=*/1});
    turns.push_back({"drafted pairs one position back",
                     [](EagleSpec& /*of*/) {}, false, /*drafted_shift=*/-1});
  }
  if (input.token_norm.present())
    add("the token without its norm",
        [](EagleSpec& of) { Drop(of.network.input.token_norm, of.network); });
  if (input.vector_norm.present())
    add("the vector without its norm",
        [](EagleSpec& of) { Drop(of.network.input.vector_norm, of.network); });
  if (input.kind == VectorInput::Kind::kBeside)
    add(input.starts_normed ? "going on from the vector before its norm"
                            : "going on from the vector after its norm",
        [](EagleSpec& of) {
          of.network.input.starts_normed = !of.network.input.starts_normed;
        });
  if (spec.network.final_norm.present()) {
    add("no norm before the output matrix",
        [](EagleSpec& of) { Drop(of.network.final_norm, of.network); });
    add(spec.feeds_back_normed ? "fed back before the final norm"
                               : "fed back after the final norm",
        [](EagleSpec& of) { of.feeds_back_normed = !of.feeds_back_normed; });
  }
  if (input.fuse_bias.present())
    add("no bias",
        [](EagleSpec& of) { Drop(of.network.input.fuse_bias, of.network); });
  if (spec.own_vocabulary)
    add("d2t as tokens, not as differences",
        [](EagleSpec& of) { of.map_is_tokens = true; });
  if (spec.network.rope && theta > 0 && spec.network.rope->theta != theta)
    add("the target's rotary base",
        [theta](EagleSpec& of) { of.network.rope->theta = theta; });
  if (spec.network.rope && spec.network.rope->theta != 10000 && theta != 10000)
    add("a rotary base of 10000",
        [](EagleSpec& of) { of.network.rope->theta = 10000; });
  return turns;
}

}  // namespace banyan
