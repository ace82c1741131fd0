// A system that refuses one of its calls.
#ifndef BANYAN_TESTS_SUPPORT_REFUSED_CALL_H_
#define BANYAN_TESTS_SUPPORT_REFUSED_CALL_H_

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>

#include "absl/functional/function_ref.h"

namespace banyan {

// A filter of system calls by which `number` gets `answer`.
struct CallFilter {
  CallFilter(unsigned number, unsigned answer)
      : filter{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
               BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
               BPF_STMT(BPF_RET | BPF_K, answer),
               BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)} {}
  sock_filter filter[4];
  sock_fprog program = {4, filter};
};

// From here on the system call `number` fails with `code` in this thread and in
// what it starts, for good: call it in a child process. False if the system has
// no such filters.
inline bool RefuseCall(unsigned number, unsigned code) {
  const CallFilter refused(number, SECCOMP_RET_ERRNO | code);
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &refused.program) == 0;
}

// What `work` returns in a process of its own; -1 if that ended otherwise or
// has not ended after two minutes.
inline int InChild(absl::FunctionRef<int()> work) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(120);
    _exit(work());
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace banyan

#endif  // BANYAN_TESTS_SUPPORT_REFUSED_CALL_H_
