// The benchmarks, one function a file. Each registers its cases, whose names
// read FAMILY/COMPONENT/INPUT/SIZE:
//
//   cd build/release/tests/benchmarks
//   ./banyan_benchmarks --benchmark_filter=Verify --benchmark_repetitions=5
//
// Compare minima of repetitions from one run; on a shared machine means lie.
#ifndef BANYAN_TESTS_BENCHMARKS_BENCHMARKS_H_
#define BANYAN_TESTS_BENCHMARKS_BENCHMARKS_H_

#include "tests/benchmarks/made_up_laws.h"

namespace banyan {

// The cases keep a reference to `laws`, which must outlive the run.
void RegisterVerify(const MadeUpLaws& laws);
void RegisterTree(const MadeUpLaws& laws);
void RegisterOptimize();
void RegisterRow(const MadeUpLaws& laws);
void RegisterOps();
void RegisterDrafters();
void RegisterTextDrafters();
void RegisterSplit();
void RegisterRest();

}  // namespace banyan

#endif  // BANYAN_TESTS_BENCHMARKS_BENCHMARKS_H_
