#include "experiments/run/stop_signal.h"

#include <csignal>

namespace banyan {
namespace {

volatile std::sig_atomic_t g_came = 0;

void Remember(int) { g_came = 1; }

}  // namespace

StopSignal::StopSignal() : before_() {
  g_came = 0;
  struct sigaction action = {};
  action.sa_handler = Remember;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGUSR1, &action, &before_);
}

StopSignal::~StopSignal() { sigaction(SIGUSR1, &before_, nullptr); }

bool StopSignal::came() const { return g_came != 0; }

}  // namespace banyan
