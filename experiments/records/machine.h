// What a record says of the machine it comes from.
#ifndef BANYAN_EXPERIMENTS_RECORDS_MACHINE_H_
#define BANYAN_EXPERIMENTS_RECORDS_MACHINE_H_

#include <string>

#include "experiments/records/record.pb.h"

namespace banyan {

// Its device; records older than the field come from the cpu.
inline std::string DeviceOf(const records::Machine& machine) {
  return machine.device().empty() ? "cpu" : machine.device();
}

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_RECORDS_MACHINE_H_
