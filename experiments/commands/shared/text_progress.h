// How far a command has come with the texts it reads.
#ifndef BANYAN_EXPERIMENTS_COMMANDS_SHARED_TEXT_PROGRESS_H_
#define BANYAN_EXPERIMENTS_COMMANDS_SHARED_TEXT_PROGRESS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace banyan {

// A line on standard error where that is a terminal, wiped out at the end.
class TextProgress {
 public:
  // `doing` is "counting"; `files` are all that will be read.
  TextProgress(std::string doing, const std::vector<std::string>& files);
  ~TextProgress();
  TextProgress(const TextProgress&) = delete;
  TextProgress& operator=(const TextProgress&) = delete;

  // Of all files' bytes, as far as they can be known before.
  std::int64_t all() const { return all_; }

  // Shows that `done` bytes are read: "counting 12 % of 3.4 MB". Writes only
  // when the percentage changes.
  void Show(std::int64_t done);
  // Something else takes a while.
  void Say(const std::string& what);

 private:
  std::string doing_;
  bool terminal_;
  std::int64_t all_ = 0;
  std::int64_t shown_ = -1;  // percent
  bool wipe_ = false;
};

// "writing 1.2 of 3.4 MB", likewise.
void ShowWritten(std::int64_t bytes, std::int64_t all);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_COMMANDS_SHARED_TEXT_PROGRESS_H_
