#include "experiments/commands/shared/quiet_rank.h"

#include <chrono>
#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/device/ranks/launched.h"

namespace banyan {

QuietRank::QuietRank(const Launch& launch) : launch_(launch) {
  if (launch_.rank == 0) return;
  out_ = std::cout.rdbuf(&nowhere_);
  err_ = std::cerr.rdbuf(&kept_);
}

QuietRank::~QuietRank() {
  if (launch_.rank == 0) return;
  std::cout.rdbuf(out_);
  std::cerr.rdbuf(err_);
}

void QuietRank::Tell() const {
  if (launch_.rank == 0) return;
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  std::istringstream lines(kept_.str());
  std::string last;
  for (std::string line; std::getline(lines, line);)
    if (!line.empty()) last = std::move(line);
  std::fputs(absl::StrCat("banyan: rank ", launch_.rank, ": ",
                          absl::StripPrefix(last, "banyan: "), "\n")
                 .c_str(),
             stderr);
}

}  // namespace banyan
