// A disk that is soon full.
#ifndef BANYAN_TESTS_SUPPORT_FEW_BYTES_H_
#define BANYAN_TESTS_SUPPORT_FEW_BYTES_H_

#include <sys/resource.h>

#include <csignal>

namespace banyan {

// While it lives files may have no more than some bytes, which is to a writer
// as a full disk.
class FewBytes {
 public:
  explicit FewBytes(rlim_t bytes) {
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &limit_);
    const rlimit few = {bytes, limit_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &few);
  }
  ~FewBytes() {
    setrlimit(RLIMIT_FSIZE, &limit_);
    (void)std::signal(SIGXFSZ, handler_);
  }
  FewBytes(const FewBytes&) = delete;
  FewBytes& operator=(const FewBytes&) = delete;

 private:
  void (*handler_)(int);
  rlimit limit_ = {};
};

}  // namespace banyan

#endif  // BANYAN_TESTS_SUPPORT_FEW_BYTES_H_
