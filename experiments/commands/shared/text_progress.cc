#include "experiments/commands/shared/text_progress.h"

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <iostream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"

namespace banyan {

TextProgress::TextProgress(std::string doing,
                           const std::vector<std::string>& files)
    : doing_(std::move(doing)), terminal_(isatty(STDERR_FILENO) == 1) {
  for (const std::string& file : files) {
    std::error_code none;  // the reader says it better
    const auto size = std::filesystem::file_size(file, none);
    if (!none) all_ += static_cast<std::int64_t>(size);
  }
}

TextProgress::~TextProgress() {
  if (wipe_) std::cerr << "\r\033[K";
}

void TextProgress::Show(std::int64_t done) {
  const std::int64_t percent = all_ > 0 ? 100 * done / all_ : 0;
  if (percent == shown_) return;
  shown_ = percent;
  Say(absl::StrFormat("%s %d %% of %.1f MB", doing_, percent,
                      static_cast<double>(all_) / 1e6));
}

void TextProgress::Say(const std::string& what) {
  if (!terminal_) return;
  wipe_ = true;
  std::cerr << "\r\033[K" << what << std::flush;
}

void ShowWritten(std::int64_t bytes, std::int64_t all) {
  if (isatty(STDERR_FILENO) != 1) return;
  std::cerr << absl::StreamFormat("\rwriting %.1f of %.1f MB",
                                  static_cast<double>(bytes) / 1e6,
                                  static_cast<double>(all) / 1e6)
            << std::flush;
  if (bytes == all) std::cerr << "\r\033[K";
}

}  // namespace banyan
