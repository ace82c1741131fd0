#include "experiments/report/context_differences.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "experiments/records/machine.h"
#include "experiments/records/record.pb.h"
#include "experiments/report/cell_text.h"

namespace banyan {
namespace {

// Bandwidth is measured with a few per cent of noise.
constexpr double kSameBandwidth = 0.1;
// Of an experiment that the other has not.
constexpr std::size_t kMostLines = 20;

void Compare(absl::string_view name, absl::string_view a, absl::string_view b,
             std::vector<std::string>& differences) {
  const auto text = [](absl::string_view value) {
    return value.empty() ? absl::string_view("-") : value;
  };
  if (a != b)
    differences.push_back(absl::StrCat(name, ": ", text(a), " | ", text(b)));
}

bool SameBandwidth(double a, double b) {
  return std::fabs(a - b) <= kSameBandwidth * std::max(a, b);
}

std::string Gigabytes(double bytes_per_s) {
  return absl::StrCat(bytes_per_s / 1e9, " GB/s");
}

std::string TrunksText(const records::Cell& cell) {
  return absl::StrJoin(
      cell.trunks(), " + ", [](std::string* out, const records::Trunk& trunk) {
        absl::StrAppend(out, trunk.drafter(), " ", trunk.policy(), " ",
                        LawName(trunk.law()));
      });
}

std::string ModelText(const records::Model& model) {
  return absl::StrCat(model.directory(), " ", model.weights());
}

std::string ModelsText(const records::Cell& cell) {
  return absl::StrJoin(
      cell.models(), ", ", [](std::string* out, const records::Model& model) {
        absl::StrAppend(out, model.name(), " ", ModelText(model));
      });
}

// Lines of an experiment that the other one has not, or not so often.
void AddLines(absl::string_view own, absl::string_view other,
              absl::string_view whose, std::vector<std::string>& out) {
  std::multiset<absl::string_view> missing = absl::StrSplit(own, '\n');
  const std::vector<absl::string_view> others = absl::StrSplit(other, '\n');
  for (const absl::string_view line : others) {
    const auto found = missing.find(line);
    if (found != missing.end()) missing.erase(found);
  }
  std::size_t shown = 0;
  const std::vector<absl::string_view> lines = absl::StrSplit(own, '\n');
  for (const absl::string_view line : lines) {
    const auto found = missing.find(line);
    if (found == missing.end()) continue;
    missing.erase(found);
    if (++shown > kMostLines) break;
    out.push_back(absl::StrCat("only in ", whose, "'s experiment: ",
                               absl::StripAsciiWhitespace(line)));
  }
}

}  // namespace

std::vector<std::string> ContextDifferences(const records::Context& a,
                                            const records::Context& b) {
  std::vector<std::string> out;
  Compare("revision", a.build().revision(), b.build().revision(), out);
  Compare("compiler", a.build().compiler(), b.build().compiler(), out);
  Compare("flags", a.build().flags(), b.build().flags(), out);
  Compare("build type", a.build().type(), b.build().type(), out);
  Compare("cpu", a.machine().cpu(), b.machine().cpu(), out);
  Compare("device", DeviceOf(a.machine()), DeviceOf(b.machine()), out);
  if (a.machine().has_gpu() || b.machine().has_gpu())
    Compare("gpu", ProcessorOf(a.machine()), ProcessorOf(b.machine()), out);
  Compare("instruction set", a.machine().instruction_set(),
          b.machine().instruction_set(), out);
  Compare("cores", absl::StrCat(a.machine().cores()),
          absl::StrCat(b.machine().cores()), out);
  Compare("threads", absl::StrCat(a.machine().threads()),
          absl::StrCat(b.machine().threads()), out);
  if (!SameBandwidth(a.machine().bytes_per_s(), b.machine().bytes_per_s()))
    Compare("bandwidth", Gigabytes(a.machine().bytes_per_s()),
            Gigabytes(b.machine().bytes_per_s()), out);
  Compare("workload", a.workload().hash(), b.workload().hash(), out);
  Compare("experiment", a.experiment_hash(), b.experiment_hash(), out);
  AddLines(a.experiment(), b.experiment(), "a", out);
  AddLines(b.experiment(), a.experiment(), "b", out);
  return out;
}

std::vector<std::string> CellDifferences(const records::Cell& a,
                                         const records::Cell& b) {
  std::vector<std::string> out;
  Compare("method", a.method(), b.method(), out);
  Compare("target", ModelText(a.target()), ModelText(b.target()), out);
  Compare("models", ModelsText(a), ModelsText(b), out);
  Compare("verifier", a.verifier(), b.verifier(), out);
  Compare("trunks", TrunksText(a), TrunksText(b), out);
  Compare("rows", a.unmerged() ? "unmerged" : "merged",
          b.unmerged() ? "unmerged" : "merged", out);
  Compare("sampling", a.sampling(), b.sampling(), out);
  Compare("temperature", absl::StrCat(a.temperature()),
          absl::StrCat(b.temperature()), out);
  Compare("chat template", a.chat(), b.chat(), out);
  Compare("seed", absl::StrCat(a.seed()), absl::StrCat(b.seed()), out);
  Compare("prompts at a time", absl::StrCat(std::max(a.batch(), 1U)),
          absl::StrCat(std::max(b.batch(), 1U)), out);
  Compare("new tokens at most", absl::StrCat(a.max_new_tokens()),
          absl::StrCat(b.max_new_tokens()), out);
  for (std::string& difference : out)
    difference = absl::StrCat("cell ", a.name(), ", ", difference);
  return out;
}

}  // namespace banyan
