// The largest memory of the process while one of the cell's prompts was
// decoded. Cells of one run share a process and its models; recording adds one
// row over the vocabulary (decode/target_facts.h).
#include "experiments/metrics/counters.h"
#include "experiments/metrics/metric.h"
#include "experiments/records/prompt_pair.h"
#include "experiments/records/record.pb.h"

namespace banyan {

namespace {

constexpr double kBytesPerMib = 1 << 20;

}  // namespace

void CountPeakMemory(const PromptPair& pair, Counts& counts) {
  if (pair.record->peak_memory_bytes() == 0) return;  // not measured
  Part& part = counts.parts[""];
  part.over =
      static_cast<double>(pair.record->peak_memory_bytes()) / kBytesPerMib;
  part.under = 1;
}

}  // namespace banyan
