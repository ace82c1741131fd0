// Methods on one target and its prompts, decoded and written down.
#ifndef BANYAN_TESTS_EXPERIMENTS_PRESET_BENCH_H_
#define BANYAN_TESTS_EXPERIMENTS_PRESET_BENCH_H_

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/base/params.h"
#include "core/base/token.h"
#include "core/ops/backend.h"
#include "decode/decoder.h"
#include "decode/sequence.h"
#include "experiments/loading/method_file.h"
#include "experiments/loading/model_shelf.h"

namespace banyan {

// The first `count` prompts that an experiment takes of the shipped workload,
// in the tokens of the shipped target.
std::vector<Prompt> ShippedPrompts(int count);

// The same for a preset: of the workload that repeats itself where it drafts
// from the text.
std::vector<Prompt> PromptsFor(const std::string& preset, int count);

// Failures end the program.
class PresetBench {
 public:
  // `streamed`: the target, a packed model, gets the least memory that works,
  // so that all of its layers are read from disk.
  PresetBench(std::shared_ptr<Backend> backend, std::string target,
              std::vector<Prompt> prompts, int tokens, bool streamed = false);

  LoadedMethod Open(const Params& file, const std::string& weights,
                    const std::string& temperature = "0");

  // The texts after the prompts that are chosen, by their place; the counts go
  // on.
  std::map<std::size_t, std::vector<TokenId>> Decode(
      const LoadedMethod& method,
      absl::FunctionRef<bool(std::size_t)> is_chosen = [](std::size_t) {
        return true;
      });
  // Tokens and trees of a prompt, one round after the other.
  std::string Trace(Decoder& decoder, const Prompt& prompt) const;
  // The same of prompts decoded `slots` at a time; the last number is that of
  // the rounds that several shared.
  struct Together {
    std::vector<std::string> traces;
    int shared = 0;
  };
  Together TraceTogether(Decoder& decoder, const std::vector<Prompt>& prompts,
                         int slots) const;

  const std::vector<Prompt>& prompts() const { return prompts_; }

  std::size_t rounds = 0;
  std::size_t drafted = 0;
  std::size_t accepted = 0;

 private:
  ModelShelf shelf_;
  std::string target_;
  bool streamed_;
  std::vector<Prompt> prompts_;
  StopRule stop_;
};

}  // namespace banyan

#endif  // BANYAN_TESTS_EXPERIMENTS_PRESET_BENCH_H_
