#include "core/base/byte_size.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/quoted_name.h"

namespace banyan {
namespace {

struct Unit {
  absl::string_view name;
  double bytes;
};
constexpr Unit kUnits[] = {{"", 1},         {"B", 1},        {"KB", 1e3},
                           {"MB", 1e6},     {"GB", 1e9},     {"TB", 1e12},
                           {"KIB", 0x1p10}, {"MIB", 0x1p20}, {"GIB", 0x1p30},
                           {"TIB", 0x1p40}};
constexpr double kMost = 0x1p62;

}  // namespace

absl::StatusOr<std::uint64_t> ParseByteSize(absl::string_view text) {
  const std::size_t end = text.find_first_not_of("0123456789.");
  const absl::string_view digits = text.substr(0, end);
  const std::string unit = absl::AsciiStrToUpper(absl::StripAsciiWhitespace(
      end == absl::string_view::npos ? "" : text.substr(end)));
  double number = 0;
  if (absl::SimpleAtod(digits, &number))
    for (const Unit& each : kUnits)
      if (unit == each.name && number * each.bytes >= 1 &&
          number * each.bytes <= kMost)
        return static_cast<std::uint64_t>(number * each.bytes);
  return absl::InvalidArgumentError(absl::StrCat(
      "expected a size such as 600MB or 1.5GB, found ", QuotedName(text)));
}

}  // namespace banyan
