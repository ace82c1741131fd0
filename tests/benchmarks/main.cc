#include <benchmark/benchmark.h>

#include "tests/benchmarks/benchmarks.h"
#include "tests/benchmarks/made_up_laws.h"

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  const banyan::MadeUpLaws laws;
  banyan::RegisterVerify(laws);
  banyan::RegisterTree(laws);
  banyan::RegisterOptimize();
  banyan::RegisterRow(laws);
  banyan::RegisterOps();
  banyan::RegisterDrafters();
  banyan::RegisterTextDrafters();
  banyan::RegisterSplit();
  banyan::RegisterRest();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
