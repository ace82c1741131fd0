// What records say of the device.
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>

#include "core/base/clock.h"
#include "core/base/common.h"
#include "core/ops/backend.h"
#include "core/ops/reference/reference_backend.h"
#include "experiments/plan/experiment.h"
#include "experiments/plan/workload.h"
#include "experiments/records/machine.h"
#include "experiments/run/prepared_run.h"
#include "experiments/run/run_file.h"

namespace banyan {
namespace {

// Says of itself what a GPU would.
class Pretender : public ReferenceBackend {
 public:
  BackendFacts facts() const override {
    return {.device = "cuda",
            .threads = 3,
            .faithful = false,
            .gpu = {.name = "NVIDIA H200",
                    .capability = "9.0",
                    .driver = "580.65.06 for CUDA 13.0",
                    .runtime = "13.0",
                    .memory_bytes = 150'000'000'000,
                    .multiprocessors = 132,
                    .clock_mhz = 1980,
                    .memory_clock_mhz = 3201,
                    .memory_bus_bits = 6144}};
  }
};

TEST(RunContext, SaysWhichGpuAndHow) {
  Pretender backend;
  const SteadyClock clock;
  const auto context = DescribeRun({}, {}, {}, {}, backend, clock);
  ASSERT_TRUE(context.ok()) << context.status();
  EXPECT_EQ(DeviceOf(context->machine()), "cuda, fast");
  EXPECT_EQ(ProcessorOf(context->machine()),
            absl::StrCat("NVIDIA H200 (9.0, 150.0 GB, 132 multiprocessors at "
                         "1980 MHz, 6144 bits of memory at 3201 MHz, driver "
                         "580.65.06 for CUDA 13.0, built with CUDA 13.0), "
                         "beside ",
                         context->machine().cpu()));
  EXPECT_EQ(context->machine().threads(), 3);
}

// Has memory for nothing but the run.
class Full : public ReferenceBackend {
 public:
  absl::StatusOr<std::unique_ptr<Gauge>> NewGauge(
      std::size_t bytes, const Clock& /*clock*/) override {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for ", bytes, " bytes"));
  }
};

TEST(RunContext, GoesWithoutAGaugeWhereMemoryIsShort) {
  Full backend;
  const SteadyClock clock;
  const auto context = DescribeRun({}, {}, {}, {}, backend, clock);
  ASSERT_TRUE(context.ok()) << context.status();
  EXPECT_EQ(context->machine().bytes_per_s(), 0);
}

TEST(RunContext, SaysNothingOfAGpuWhereThereIsNone) {
  ReferenceBackend backend;
  const SteadyClock clock;
  const auto context = DescribeRun({}, {}, {}, {}, backend, clock);
  ASSERT_TRUE(context.ok()) << context.status();
  EXPECT_EQ(DeviceOf(context->machine()), "reference");
  EXPECT_FALSE(context->machine().has_gpu());
  EXPECT_EQ(ProcessorOf(context->machine()), context->machine().cpu());
}

}  // namespace
}  // namespace banyan
