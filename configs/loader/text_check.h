// What must hold of a text before yaml-cpp may see it.
//
// yaml-cpp 0.7 takes a byte 0x04 for the end of the file, guesses UTF-16 from
// zero bytes, does not take a lone carriage return for a line end, and skips a
// line at the file's start that begins with '%', whatever it says: each would
// silently change what the file says. Such files are refused here.
#ifndef BANYAN_CONFIGS_LOADER_TEXT_CHECK_H_
#define BANYAN_CONFIGS_LOADER_TEXT_CHECK_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace banyan {

bool IsUtf8(absl::string_view text);

// OK if `text` is UTF-8 without control characters other than tab, line feed
// and carriage return before a line feed, and opens with no '%' line; else an
// error at the first fault.
absl::Status CheckText(absl::string_view text,
                       const std::shared_ptr<const std::string>& file);

}  // namespace banyan

#endif  // BANYAN_CONFIGS_LOADER_TEXT_CHECK_H_
