#include "experiments/records/machine.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "experiments/records/record.pb.h"

namespace banyan {

void AddDifference(absl::string_view name, absl::string_view a,
                   absl::string_view b, std::vector<std::string>& differences) {
  const auto text = [](absl::string_view value) {
    return value.empty() ? absl::string_view("-") : value;
  };
  if (a != b)
    differences.push_back(absl::StrCat(name, ": ", text(a), " | ", text(b)));
}

std::vector<std::string> MachineDifferences(const records::Context& a,
                                            const records::Context& b) {
  std::vector<std::string> out;
  const auto compare = [&out](absl::string_view name, absl::string_view of_a,
                              absl::string_view of_b) {
    AddDifference(name, of_a, of_b, out);
  };
  compare("revision", a.build().revision(), b.build().revision());
  compare("compiler", a.build().compiler(), b.build().compiler());
  compare("flags", a.build().flags(), b.build().flags());
  compare("build type", a.build().type(), b.build().type());
  compare("cpu", a.machine().cpu(), b.machine().cpu());
  compare("device", DeviceOf(a.machine()), DeviceOf(b.machine()));
  if (a.machine().has_gpu() || b.machine().has_gpu())
    compare("gpu", ProcessorOf(a.machine()), ProcessorOf(b.machine()));
  compare("instruction set", a.machine().instruction_set(),
          b.machine().instruction_set());
  compare("order of sums", SumsOf(a.machine()), SumsOf(b.machine()));
  compare("cores", absl::StrCat(a.machine().cores()),
          absl::StrCat(b.machine().cores()));
  compare("threads", absl::StrCat(a.machine().threads()),
          absl::StrCat(b.machine().threads()));
  return out;
}

}  // namespace banyan
