// Tests of packed models that are damaged, cut or contradict themselves: each
// is told, by its file's name, whichever way its weights are read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/common.h"
#include "core/base/panels/weight_panels.h"
#include "core/base/weight_format.h"
#include "core/checkpoint/checkpoint.h"
#include "core/device/ranks/communicator.h"
#include "core/ops/backend.h"
#include "core/ops/devices.h"
#include "core/pack/pack_file.h"
#include "core/transformer/transformer.h"
#include "core/transformer/weight_stream.h"
#include "tests/core/transformer/made_model.h"
#include "tests/experiments/makers/packing.h"
#include "tests/support/sanitized.h"
#include "tests/support/thread_ranks.h"

namespace banyan {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

using Json = nlohmann::json;

absl::Status LoadAndRun(const std::string& path,
                        const TransformerOptions& options,
                        const std::string& device) {
  BANYAN_ASSIGN_OR_RETURN(std::shared_ptr<Backend> backend, OpenDevice(device));
  BANYAN_ASSIGN_OR_RETURN(const std::unique_ptr<Transformer> model,
                          Load(path, options, std::move(backend)));
  return LogitsOfTexts(*model).status();
}

// A way of reading a packed model in bf16.
struct Way {
  std::string name;
  std::function<absl::Status(const std::string& path)> read;
};

absl::Status OnTwoRanks(const std::string& path) {
  std::mutex mutex;
  absl::Status first;
  OnRanks(2, [&](const std::shared_ptr<Communicator>& ranks) {
    const absl::Status loaded =
        Load(path, {.format = WeightFormat::kBf16, .ranks = ranks}).status();
    const std::lock_guard<std::mutex> lock(mutex);
    first.Update(loaded);
  });
  return first;
}

std::vector<Way> Ways() {
  std::vector<Way> ways;
  for (const char* device : {"cpu", "reference", "emulated_gpu"})
    ways.push_back({device, [device](const std::string& path) {
                      return LoadAndRun(path, {.format = WeightFormat::kBf16},
                                        device);
                    }});
  for (const WeightFormat format : {WeightFormat::kF32, WeightFormat::kQ8})
    ways.push_back({absl::StrCat("in another format, ", Name(format)),
                    [format](const std::string& path) {
                      return LoadAndRun(path, {.format = format}, "cpu");
                    }});
  ways.push_back({"two ranks", OnTwoRanks});
  ways.push_back(
      {"bounded memory", [](const std::string& path) {
         const absl::StatusOr<std::unique_ptr<Checkpoint>> checkpoint =
             Checkpoint::Open(path);
         if (!checkpoint.ok()) return checkpoint.status();
         return LoadAndRun(
             path,
             {.format = WeightFormat::kBf16,
              .room = {.memory = WeightStream::LeastMemory(**checkpoint)}},
             "cpu");
       }});
  return ways;
}

struct Place {
  std::string what;
  std::size_t at = 0;  // of the file
};

// The middle of every vector and every extent.
std::vector<Place> PlacesOf(const PackHeader& header) {
  std::vector<Place> places;
  for (const PackVector& vector : header.vectors)
    places.push_back({vector.tensor, static_cast<std::size_t>(
                                         header.data_begin +
                                         (vector.offset + vector.end()) / 2)});
  for (const PackMatrix& matrix : header.matrices)
    for (std::size_t extent = 0; extent < matrix.extents(); ++extent)
      places.push_back(
          {absl::StrCat(matrix.parts.front().tensor, ", extent ", extent),
           static_cast<std::size_t>(header.data_begin +
                                    matrix.ExtentOffset(extent)) +
               matrix.ExtentBytes(extent) / 2});
  return places;
}

void ExpectFlipsAreTold(const Packed& packed) {
  const std::string good = packed.Read();
  const absl::StatusOr<PackHeader> header = ReadPackHeader(packed.path());
  ASSERT_TRUE(header.ok()) << header.status();
  const std::vector<Place> places = PlacesOf(*header);
  for (const Way& way : Ways()) {
    const absl::Status whole = way.read(packed.path());
    EXPECT_TRUE(whole.ok()) << way.name << ": " << whole;
    for (const Place& place : places) {
      std::string bad = good;
      bad[place.at] = static_cast<char>(bad[place.at] ^ 1);
      packed.Write(bad);
      const absl::Status told = way.read(packed.path());
      EXPECT_EQ(told.code(), absl::StatusCode::kDataLoss)
          << way.name << ", " << place.what << ": " << told;
      EXPECT_THAT(std::string(told.message()),
                  AllOf(StartsWith(packed.path()), HasSubstr("damaged")))
          << way.name << ", " << place.what;
    }
    packed.Write(good);
  }
  EXPECT_GT(places.size(), 10);
}

TEST(Pack, AFlippedByteIsToldByEachWayOfReading) {
  ExpectFlipsAreTold(Packed("llama", WeightFormat::kBf16));
}

TEST(Pack, AFlippedByteIsToldInEachExtentOfALargeMatrix) {
  const MadeModel model(
      {.layers = {0}, .heads = 2, .kv_heads = 1, .vocab = 40000});
  const Packed packed(model.path(), WeightFormat::kBf16);
  const absl::StatusOr<PackHeader> header = ReadPackHeader(packed.path());
  ASSERT_TRUE(header.ok()) << header.status();
  std::size_t most = 0;
  for (const PackMatrix& matrix : header->matrices)
    most = std::max(most, matrix.extents());
  EXPECT_GT(most, 2);
  ExpectFlipsAreTold(packed);
}

TEST(Pack, AnyDamageIsToldOrChangesNothing) {
  const Packed packed("llama", WeightFormat::kBf16);
  const std::string good = packed.Read();
  const std::size_t least = LeastMemory(packed.path());
  const auto model = Load(packed.path(), {.format = WeightFormat::kBf16});
  ASSERT_TRUE(model.ok());
  const auto expected = LogitsOfTexts(**model);
  int told = 0;
  for (std::size_t at = 0; at < good.size(); at += 97) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 16);
    packed.Write(bad);
    for (const std::size_t memory : {std::size_t{0}, least}) {
      const auto damaged = Load(packed.path(), {.format = WeightFormat::kBf16,
                                                .room = {.memory = memory}});
      absl::Status status = damaged.status();
      if (status.ok()) {
        const auto logits = LogitsOfTexts(**damaged);
        status = logits.status();
        if (status.ok()) {
          // Between two extents.
          EXPECT_EQ(*expected, *logits) << "byte " << at;
          continue;
        }
      }
      ++told;
      EXPECT_THAT(std::string(status.message()), HasSubstr(packed.path()))
          << "byte " << at;
    }
  }
  EXPECT_GT(told, 100);
}

TEST(Pack, AFileCutShortIsTold) {
  const Packed packed("llama", WeightFormat::kBf16);
  const std::string good = packed.Read();
  for (std::size_t size = 0; size < good.size(); size += 211) {
    packed.Write(good.substr(0, size));
    const absl::Status status = Checkpoint::Open(packed.path()).status();
    EXPECT_EQ(absl::StatusCode::kInvalidArgument, status.code()) << size;
    EXPECT_THAT(std::string(status.message()), HasSubstr(packed.path()));
  }
}

// A packed model's header as JSON, and the file with another one that has its
// checksum.
class Header {
 public:
  explicit Header(const Packed& packed)
      : packed_(packed), good_(packed.Read()) {
    std::uint64_t size = 0;
    std::memcpy(&size, &good_[kSize], sizeof(size));
    json_ = Json::parse(good_.substr(kBegin, size));
    data_ = good_.substr(PackAligned(kBegin + size));
  }
  const Json& json() const { return json_; }
  void Write(const Json& header) const {
    const std::string text = header.dump();
    const std::uint64_t size = text.size();
    const std::uint32_t sum = Crc32(BytesOf(text));
    std::string file = good_.substr(0, kBegin) + text;
    std::memcpy(&file[kSum], &sum, sizeof(sum));
    std::memcpy(&file[kSize], &size, sizeof(size));
    file.resize(PackAligned(file.size()));
    packed_.Write(file + data_);
  }

 private:
  static constexpr std::size_t kSum = 12, kSize = 16, kBegin = 24;

  const Packed& packed_;
  std::string good_;
  Json json_;
  std::string data_;
};

// What may stand in the place of a value: it is missing, or another one of its
// kind.
std::vector<Json> Others(const Json& value) {
  if (value.is_number_integer()) {
    const auto number = value.get<std::int64_t>();
    return {0,
            1,
            number - 1,
            number + 1,
            number * 2,
            number / 2,
            number + 4096,
            -1,
            std::int64_t{1} << 40};
  }
  if (value.is_boolean()) return {!value.get<bool>()};
  if (value.is_string()) return {"", "f32", "bf16", "q8", "00000000"};
  return {};
}

// Calls `visit` with each header that differs from `header` in one place below
// `at`: a value is another, or an element or key is gone, or is there twice, or
// two neighbours have changed places.
void ForEachChange(
    const Json& header, const Json::json_pointer& at,
    const std::function<void(const Json&, const std::string&)>& visit) {
  const Json& value = header.at(at);
  for (const Json& other : Others(value)) {
    if (other == value) continue;
    Json changed = header;
    changed.at(at) = other;
    visit(changed, absl::StrCat(at.to_string(), " = ", other.dump()));
  }
  if (!value.is_structured()) return;
  for (const auto& [key, element] : value.items()) {
    const Json::json_pointer below =
        value.is_array() ? at / std::stoul(key) : at / key;
    Json changed = header;
    if (value.is_array()) {
      const auto index = static_cast<std::size_t>(std::stoul(key));
      changed.at(at).erase(index);
      visit(changed, absl::StrCat("without ", below.to_string()));
      changed = header;
      changed.at(at).push_back(element);
      visit(changed, absl::StrCat(below.to_string(), " twice"));
      if (index + 1 < value.size()) {
        changed = header;
        std::swap(changed.at(at)[index], changed.at(at)[index + 1]);
        visit(changed, absl::StrCat(below.to_string(), " after the next"));
      }
    } else {
      changed.at(at).erase(key);
      visit(changed, absl::StrCat("without ", below.to_string()));
    }
    ForEachChange(header, below, visit);
  }
}

// Changes the whole header but its texts: a pack with another config.json and a
// right checksum is another model.
TEST(Pack, AHeaderThatContradictsItselfIsRefusedOrChangesNothing) {
  int refused = 0;
  int same = 0;
  // The first has turned tensors and positions, the second tied heads, the
  // third an own output matrix.
  for (const char* name : {"gpt2", "qwen2", "llama"}) {
    const Packed packed(name, WeightFormat::kBf16);
    const Header header(packed);
    const auto model = Load(packed.path(), {.format = WeightFormat::kBf16});
    ASSERT_TRUE(model.ok()) << model.status();
    const auto expected = LogitsOfTexts(**model);
    int turn = 0;
    const auto visit = [&](const Json& changed, const std::string& what) {
      if (kSanitized && turn++ % 4 != 0) return;
      header.Write(changed);
      for (const bool bounded : {false, true}) {
        const auto checkpoint = Checkpoint::Open(packed.path());
        absl::Status status = checkpoint.status();
        if (status.ok()) {
          const std::size_t memory =
              bounded ? WeightStream::LeastMemory(**checkpoint) : 0;
          const auto loaded =
              Load(packed.path(),
                   {.format = WeightFormat::kBf16, .room = {.memory = memory}});
          status = loaded.status();
          if (status.ok()) {
            const auto logits = LogitsOfTexts(**loaded);
            status = logits.status();
            if (status.ok()) {
              EXPECT_EQ(*expected, *logits) << name << ": " << what;
              ++same;
              continue;
            }
          }
        }
        ++refused;
        EXPECT_THAT(std::string(status.message()), HasSubstr(packed.path()))
            << name << ": " << what;
      }
    };
    for (const char* key : {"format", "tensors", "vectors", "matrices"})
      ForEachChange(header.json(), Json::json_pointer() / key, visit);
  }
  EXPECT_GT(refused, kSanitized ? 2500 : 10000);
  // Such as a matrix that is listed before another.
  EXPECT_LT(same, 200);
}

TEST(Pack, AHeadersFaultIsSaidWithTheTensor) {
  const Packed packed("llama", WeightFormat::kBf16);
  const Header header(packed);
  const auto says = [&](const std::function<void(Json&)>& change,
                        const std::string& expected) {
    Json json = header.json();
    change(json);
    header.Write(json);
    const absl::Status status = Checkpoint::Open(packed.path()).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr(packed.path()), HasSubstr(expected)));
  };
  const std::string tensor = header.json()["vectors"][0]["tensor"];
  says([](Json& json) { json["vectors"].erase(0); },
       absl::StrCat("tensor '", tensor, "': expected shape"));
  says([](Json& json) { json["vectors"][0]["numbers"] = 1; },
       "as one vector, or as rows of matrices, found vectors of 1");
  says([](Json& json) { json["matrices"].erase(1); }, "found neither");
  says([](Json& json) { json["matrices"][1]["parts"][0]["first"] = 1; },
       "expected rows below ");
  says([](Json& json) { json["format"] = "q8"; },
       "in q8, found one in bf16: its header contradicts its config.json");
  says(
      [](Json& json) {
        Json& parts = json["matrices"][1]["parts"];
        std::swap(parts[0], parts[1]);
      },
      "found none: its header contradicts its config.json");
}

// Their checksum is right: another program packed them so.
TEST(Pack, NumbersThatAreNotFiniteAreToldByEachWayOfReading) {
  const Packed packed("llama", WeightFormat::kBf16);
  const Header header(packed);
  Json json = header.json();
  std::string file = packed.Read();
  const absl::StatusOr<PackHeader> read = ReadPackHeader(packed.path());
  ASSERT_TRUE(read.ok());
  const std::size_t last = read->matrices.size() - 2;  // of the last layer
  const PackMatrix& matrix = read->matrices[last];
  const auto at = static_cast<std::size_t>(read->data_begin + matrix.offset);
  const std::uint16_t nan = 0x7fc0;
  std::memcpy(&file[at + 64], &nan, sizeof(nan));
  packed.Write(file);
  const std::uint32_t sum =
      Crc32(BytesOf(file).subspan(at, matrix.ExtentBytes(0)));
  json["matrices"][last]["checksums"] =
      absl::StrCat(absl::Hex(sum, absl::kZeroPad8));
  Header(packed).Write(json);
  for (const Way& way : Ways()) {
    const absl::Status told = way.read(packed.path());
    EXPECT_EQ(told.code(), absl::StatusCode::kDataLoss)
        << way.name << ": " << told;
    EXPECT_THAT(std::string(told.message()),
                StartsWith(absl::StrCat(packed.path(), ": tensor '",
                                        matrix.parts.front().tensor,
                                        "': expected finite numbers")))
        << way.name;
  }
}

TEST(Panels, OfQ8AreFiniteIfEachScaleTimesEachByteIs) {
  constexpr int kColumns = 40;  // a block and a part
  std::vector<float> rows(std::size_t{kPanelRows} * kColumns);
  rows[3] = std::numeric_limits<float>::max();
  rows.back() = std::numeric_limits<float>::lowest();
  std::vector<std::byte> good(PanelBytes(WeightFormat::kQ8, kColumns));
  PackPanel(WeightFormat::kQ8, kColumns, rows.data(), good.data());
  EXPECT_TRUE(PanelsAreFinite(WeightFormat::kQ8, kColumns, good));
  struct Case {
    std::uint16_t scale;
    int byte;  // 128 is 0
    bool finite;
  };
  for (const Case& one : {Case{0x7bff, 0, true}, Case{0x7c00, 255, true},
                          Case{0x7c00, 0, false}, Case{0x7c01, 255, true},
                          Case{0x7c02, 254, true}, Case{0x7c02, 255, false},
                          Case{0x7c02, 1, false}, Case{0xfc02, 255, false},
                          Case{0x7f80, 128, false}, Case{0x7fc0, 128, false}}) {
    std::vector<std::byte> panel = good;
    panel[20] = static_cast<std::byte>(one.byte);  // row 5, column 0
    std::memcpy(&panel[Q8ScalesOffset(kColumns) + 10], &one.scale,
                sizeof(one.scale));
    EXPECT_EQ(PanelsAreFinite(WeightFormat::kQ8, kColumns, panel), one.finite)
        << one.scale << " times " << one.byte - 128;
  }
}

}  // namespace
}  // namespace banyan
