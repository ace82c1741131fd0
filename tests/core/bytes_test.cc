#include "core/base/bytes.h"

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "gtest/gtest.h"

namespace banyan {
namespace {

std::string Written() {
  ByteWriter out;
  out.Put(0xFEDCBA98U);
  out.Put(std::string("a\0b", 3));
  out.Put("");
  out.Put(7);
  return out.Take();
}

TEST(Bytes, AreReadAsTheyWereWritten) {
  const std::string bytes = Written();
  EXPECT_EQ(bytes.size(), 4U + 4U + 3U + 4U + 4U);
  EXPECT_EQ(bytes.substr(0, 4), "\x98\xBA\xDC\xFE");
  ByteReader in(bytes);
  EXPECT_EQ(in.Number(), 0xFEDCBA98U);
  EXPECT_EQ(in.String(), std::string("a\0b", 3));
  EXPECT_EQ(in.String(), "");
  EXPECT_FALSE(in.done());
  EXPECT_EQ(in.Finish().code(), absl::StatusCode::kDataLoss) << "7 is left";
  EXPECT_EQ(in.Number(), 7U);
  EXPECT_TRUE(in.done());
  EXPECT_TRUE(in.Finish().ok());
}

TEST(Bytes, ThatAreMissingAreSaid) {
  const std::string whole = Written();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string bytes = whole.substr(0, size);
    ByteReader in(bytes);
    in.Number();
    in.String();
    in.String();
    in.Number();
    EXPECT_EQ(in.Finish().code(), absl::StatusCode::kDataLoss) << size;
  }
}

}  // namespace
}  // namespace banyan
