#include "tests/core/ops/every_backend.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "core/base/check.h"
#include "core/base/common.h"
#include "core/device/cuda/host_device.h"
#include "core/ops/cuda/cuda_backend.h"
#include "core/ops/cuda/kernels/op_kernels.h"
#include "core/ops/devices.h"
#include "tests/support/mix.h"

namespace banyan {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

float Denormal(Dice& dice) { return dice.Signed() * 0x1p-127F; }

float HardNumber(int spread, Dice& dice) {
  switch (dice.Below(8)) {
    case 0:
      return 0;
    case 1:
      return -0.0F;
    case 2:
      return Denormal(dice);
    case 3:
      return std::ldexp(dice.Signed(), dice.Between(0, spread));
    case 4:
      return std::ldexp(dice.Signed(), -dice.Between(0, spread));
    default:
      return dice.Signed();
  }
}

std::uint32_t Bits(float x) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return bits;
}

// A number of its own for each backend.
std::uint64_t SeedOf(const std::string& description) {
  std::uint64_t seed = 0;
  for (char letter : description)
    seed = Mix(seed + static_cast<unsigned char>(letter));
  return seed;
}

// The same bits on all of `kin`, and for rows alone.
void ExpectKinAgree(const Kin& kin, int rows, RunRows run, const Numbers& first,
                    const std::string& what) {
  for (std::size_t i = 1; i < kin.backends.size(); ++i)
    EXPECT_TRUE(SameBits(run(*kin.backends[i], 0, rows), first))
        << what << ", " << kin.backends[i]->description();
  // Rows spread over the batch, each on another backend.
  const int alone = std::min(rows, 6);
  for (int i = 0; i < alone; ++i) {
    const int row = (rows - 1) * i / std::max(alone - 1, 1);
    Backend& backend = *kin.backends[static_cast<std::size_t>(row + rows) %
                                     kin.backends.size()];
    EXPECT_TRUE(SameBits(run(backend, row, 1), first.Rows(row, 1)))
        << what << ", row " << row << " alone, " << backend.description();
  }
}

// Lanes before tiles.
std::vector<Kin> ByOrderOfSums(const Kin& all) {
  std::vector<Kin> kin;
  for (const auto& backend : all.backends) {
    const std::string sums = backend->facts().sums;
    const auto same =
        std::find_if(kin.begin(), kin.end(), [&](const Kin& some) {
          return some.backends.front()->facts().sums == sums;
        });
    if (same == kin.end())
      kin.push_back({all.device, {backend}});
    else
      same->backends.push_back(backend);
  }
  std::stable_partition(kin.begin(), kin.end(), [](const Kin& some) {
    return some.backends.front()->facts().sums != "tiles";
  });
  return kin;
}

std::string Where(const Numbers& numbers, std::size_t i) {
  const auto columns = static_cast<std::size_t>(numbers.columns);
  return absl::StrCat("row ", i / columns, " of ", numbers.rows, ", column ",
                      i % columns, " of ", numbers.columns);
}

}  // namespace

Numbers Numbers::Rows(int first, int count) const {
  Numbers some(count, columns);
  std::copy_n(row(first), some.data.size(), some.data.begin());
  return some;
}

Numbers HardNumbers(int rows, int columns, int spread, Dice& dice) {
  Numbers numbers(rows, columns);
  for (int i = 0; i < rows; ++i) {
    const int kind = dice.Below(10);
    for (int j = 0; j < columns; ++j) {
      float& x = numbers.at(i, j);
      if (kind == 0)
        x = dice.OneIn(2) ? 0.0F : -0.0F;
      else if (kind == 1)
        x = Denormal(dice);
      else if (kind < 5)
        x = dice.Signed();
      else
        x = HardNumber(spread, dice);
    }
  }
  return numbers;
}

Numbers SoftNumbers(int rows, int columns, float size, Dice& dice) {
  Numbers numbers(rows, columns);
  for (float& x : numbers.data) x = size * dice.Signed();
  return numbers;
}

Place RandomPlace(Dice& dice) {
  return {.first = dice.OneIn(2) ? 0 : dice.Below(20), .lanes = dice.Below(3)};
}

Desk::Desk(Backend& backend)
    : backend_(backend), dice_(SeedOf(backend.description())) {}

Buffer* Desk::Upload(const void* data, std::size_t bytes) {
  auto buffer = backend_.Allocate(bytes);
  Check(buffer.ok(), buffer.status().message());
  const absl::Status status = backend_.Upload(
      {static_cast<const std::byte*>(data), bytes}, **buffer, 0);
  Check(status.ok(), status.message());
  buffers_.push_back(*std::move(buffer));
  return buffers_.back().get();
}

Tensor Desk::Put(const Numbers& numbers, Place place) {
  Tensor tensor = {
      nullptr, static_cast<std::size_t>(place.first), numbers.rows,
      numbers.columns,
      static_cast<std::size_t>(PadToLane(place.first + numbers.columns) +
                               place.lanes * kLane)};
  // Often with a row after the last one, where a stray write shows; without
  // the row, a sanitizer finds a stray read.
  const int behind = place.first > 0 || dice_.OneIn(2) ? 1 : 0;
  std::vector<float> all(static_cast<std::size_t>(numbers.rows + behind) *
                         tensor.stride);
  for (float& x : all) x = dice_.OneIn(3) ? kNan : 1e6F * dice_.Signed();
  for (int i = 0; i < numbers.rows; ++i)
    std::copy_n(numbers.row(i), numbers.columns,
                all.data() + tensor.offset +
                    static_cast<std::size_t>(i) * tensor.stride);
  tensor.buffer = Upload(all.data(), all.size() * sizeof(float));
  uploaded_[tensor.buffer] = std::move(all);
  return tensor;
}

Tensor Desk::Room(int rows, int columns, Place place) {
  return Put(SoftNumbers(rows, columns, 1e6F, dice_), place);
}

Ints Desk::List(const std::vector<int>& values) {
  return {Upload(values.data(), values.size() * sizeof(int)), 0,
          static_cast<int>(values.size())};
}

Numbers Desk::Take(const Tensor& tensor) {
  std::vector<float>& before = uploaded_.at(tensor.buffer);
  std::vector<float> now(before.size());
  const absl::Status status = backend_.Download(
      *tensor.buffer, 0,
      {reinterpret_cast<std::byte*>(now.data()), now.size() * sizeof(float)});
  Check(status.ok(), status.message());
  Numbers numbers(tensor.rows, tensor.columns);
  for (int i = 0; i < tensor.rows; ++i) {
    const std::size_t at =
        tensor.offset + static_cast<std::size_t>(i) * tensor.stride;
    std::copy_n(now.data() + at, tensor.columns, numbers.row(i));
    std::copy_n(now.data() + at, tensor.columns, before.data() + at);
  }
  // What is left of the differences lies outside the matrix.
  for (std::size_t i = 0; i < now.size(); ++i)
    if (Bits(now[i]) != Bits(before[i])) {
      ADD_FAILURE() << backend_.description() << " wrote outside "
                    << tensor.rows << " x " << tensor.columns << ", stride "
                    << tensor.stride << ", at number " << i;
      break;
    }
  return numbers;
}

const Weight* Everywhere::On(Backend& backend) {
  std::unique_ptr<Weight>& weight = packed_[&backend];
  if (weight == nullptr) {
    auto packed = backend.PackPaired(
        format_, numbers_.rows, numbers_.columns, pairs_,
        [this](int first, int count, float* out) {
          std::copy_n(numbers_.row(first),
                      static_cast<std::size_t>(count) *
                          static_cast<std::size_t>(numbers_.columns),
                      out);
          return absl::OkStatus();
        });
    Check(packed.ok(), packed.status().message());
    weight = *std::move(packed);
  }
  return weight.get();
}

Fleet::Fleet() {
  for (const DeviceRow& row : DeviceTable()) {
    Kin of_row = {.device = std::string(row.name)};
    std::vector<std::string> sets = row.instruction_sets();
    if (sets.empty()) sets = {""};
    for (const std::string& set : sets)
      for (int threads : {1, 2, 3}) {
        if (!row.takes_threads && threads > 1) break;
        auto backend =
            OpenDevice(row.name, {.threads = row.takes_threads ? threads : 0,
                                  .instruction_set = set});
        if (row.name == "cuda" && absl::IsFailedPrecondition(backend.status()))
          break;  // there is no GPU
        Check(backend.ok(), backend.status().message());
        of_row.backends.push_back(*std::move(backend));
      }
    // Its threads in another order.
    if (row.name == "emulated_gpu") {
      auto backend = CudaBackend::Create(
          std::make_shared<HostDevice>(HostDeviceOptions{.seed = 1}),
          on_host::kOpKernels, of_row.device);
      Check(backend.ok(), backend.status().message());
      of_row.backends.push_back(*std::move(backend));
    }
    if (of_row.backends.empty()) continue;
    if (row.name == "reference")
      reference = of_row.backends.front();
    else
      for (Kin& alike : ByOrderOfSums(of_row)) kin.push_back(std::move(alike));
  }
  Check(reference != nullptr && kin.front().device == "cpu",
        "a reference, and the cpu before other devices");
}

std::vector<std::shared_ptr<Backend>> Fleet::others() const {
  std::vector<std::shared_ptr<Backend>> backends;
  for (const Kin& some : kin)
    backends.insert(backends.end(), some.backends.begin(), some.backends.end());
  return backends;
}

std::vector<std::shared_ptr<Backend>> Fleet::all() const {
  std::vector<std::shared_ptr<Backend>> backends = others();
  backends.push_back(reference);
  return backends;
}

std::vector<std::shared_ptr<Backend>> Fleet::hosts() const {
  std::vector<std::shared_ptr<Backend>> backends = kin.front().backends;
  backends.push_back(reference);
  return backends;
}

testing::AssertionResult SameBits(const Numbers& got, const Numbers& expected) {
  if (got.data.size() != expected.data.size())
    return testing::AssertionFailure()
           << got.data.size() << " numbers for " << expected.data.size();
  for (std::size_t i = 0; i < got.data.size(); ++i)
    if (Bits(got.data[i]) != Bits(expected.data[i]))
      return testing::AssertionFailure()
             << Where(got, i) << ": " << absl::StrCat(got.data[i]) << " (0x"
             << absl::StrCat(absl::Hex(Bits(got.data[i]))) << ") for "
             << absl::StrCat(expected.data[i]) << " (0x"
             << absl::StrCat(absl::Hex(Bits(expected.data[i]))) << ")";
  return testing::AssertionSuccess();
}

testing::AssertionResult Within(const Numbers& got, const Numbers& expected,
                                const std::vector<double>& bound) {
  if (got.data.size() != expected.data.size() ||
      got.data.size() != bound.size())
    return testing::AssertionFailure() << "sizes differ";
  for (std::size_t i = 0; i < got.data.size(); ++i) {
    const double difference =
        std::fabs(double{got.data[i]} - double{expected.data[i]});
    if (!(difference <= bound[i]))
      return testing::AssertionFailure()
             << Where(got, i) << ": " << absl::StrCat(got.data[i]) << " for "
             << absl::StrCat(expected.data[i]) << ", off by " << difference
             << ", at most " << bound[i];
  }
  return testing::AssertionSuccess();
}

Numbers ExpectAgreement(Fleet& fleet, int rows, RunRows run, BoundOf bound,
                        const std::string& what) {
  const Numbers expected = run(*fleet.reference, 0, rows);
  std::vector<Numbers> firsts;
  for (const Kin& kin : fleet.kin) {
    firsts.push_back(run(*kin.backends.front(), 0, rows));
    EXPECT_TRUE(Within(firsts.back(), expected,
                       bound(expected, kin.backends.front()->facts())))
        << what << ", " << kin.backends.front()->description();
    ExpectKinAgree(kin, rows, run, firsts.back(), what);
  }
  return firsts.front();
}

}  // namespace banyan
