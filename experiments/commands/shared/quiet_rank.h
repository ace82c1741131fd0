// The output of a rank beside rank 0, which prints for all.
#ifndef BANYAN_EXPERIMENTS_COMMANDS_SHARED_QUIET_RANK_H_
#define BANYAN_EXPERIMENTS_COMMANDS_SHARED_QUIET_RANK_H_

#include <sstream>
#include <streambuf>

#include "core/device/ranks/launched.h"

namespace banyan {

// While it exists, what this process writes to std::cout is dropped and what it
// writes to std::cerr is kept, if it is such a rank.
class QuietRank {
 public:
  explicit QuietRank(const Launch& launch);
  ~QuietRank();
  QuietRank(const QuietRank&) = delete;
  QuietRank& operator=(const QuietRank&) = delete;

  // Of a program that failed: prints the last line that was kept, with the
  // rank's number. Rank 0, which often fails alike, has half a second to say it
  // first: then its end ends this process.
  void Tell() const;

 private:
  class Nowhere : public std::streambuf {
   protected:
    int_type overflow(int_type c) override { return traits_type::not_eof(c); }
    std::streamsize xsputn(const char* /*text*/, std::streamsize n) override {
      return n;
    }
  };

  Launch launch_;
  Nowhere nowhere_;
  std::stringbuf kept_;
  std::streambuf* out_ = nullptr;  // before
  std::streambuf* err_ = nullptr;
};

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_COMMANDS_SHARED_QUIET_RANK_H_
