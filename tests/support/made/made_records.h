// Records made up by hand: trees, paths and times that no program decoded, but
// that contradict themselves nowhere. Five cells: plain decoding, a chain and
// two merged trunks at temperature 0, and plain decoding and a lossy method of
// two trunks on a grown target at temperature 1.
#ifndef BANYAN_TESTS_SUPPORT_MADE_MADE_RECORDS_H_
#define BANYAN_TESTS_SUPPORT_MADE_MADE_RECORDS_H_

#include <cstdint>
#include <string>

#include "experiments/records/record.pb.h"

namespace banyan {

struct MadeOptions {
  int prompts = 6;
  int tokens = 18;  // of a prompt, and up to two more
  std::uint64_t seed = 1;
  // Leaves out prompt 2 of the first baseline and prompt 3 of the lossy cell.
  bool gaps = false;
  // Times of all cells but the baselines are multiplied by it.
  double slower = 1;
  double slower_machine = 1;  // the same for the baselines
  // The cell of two merged trunks decoded its prompts in batches of three.
  bool batches = false;
  // That cell's trees, and those of the chain, have probes.
  bool probes = false;
  // That cell's trunks learnt from prompt to prompt: the second in two stores.
  bool stores = false;
  // That cell claims to be lossless, though its text of prompt 1 is not plain
  // decoding's.
  bool lies = false;
  std::uint32_t shard = 0;  // prompts whose number is this modulo `shards`
  std::uint32_t shards = 1;
};

records::Context MadeContext(const MadeOptions& options);

// The same options, cell and prompt give the same record.
records::PromptRecord MadePrompt(const MadeOptions& options, int cell,
                                 int prompt);

// Writes a record file, prompt by prompt over all cells, in the place of any
// there is. Ends the program if that fails.
void WriteMadeRecords(const std::string& path, const MadeOptions& options,
                      const records::Context& context);
void WriteMadeRecords(const std::string& path, const MadeOptions& options);

}  // namespace banyan

#endif  // BANYAN_TESTS_SUPPORT_MADE_MADE_RECORDS_H_
