// A signal that asks a run to end after the record that it decodes.
#ifndef BANYAN_EXPERIMENTS_RUN_STOP_SIGNAL_H_
#define BANYAN_EXPERIMENTS_RUN_STOP_SIGNAL_H_

#include <csignal>

namespace banyan {

// While it exists SIGUSR1 does not end the process but is remembered. One at a
// time.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  bool came() const;

 private:
  struct sigaction before_;
};

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_RUN_STOP_SIGNAL_H_
