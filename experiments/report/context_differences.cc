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
#include "experiments/records/cell_names.h"
#include "experiments/records/machine.h"
#include "experiments/records/record.pb.h"

namespace banyan {
namespace {

// Bandwidth is measured with a few per cent of noise.
constexpr double kSameBandwidth = 0.1;
// Of an experiment that the other has not.
constexpr std::size_t kMostLines = 20;

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
                        DrawKindName(trunk.draws()));
      });
}

// By model, the file of the tokens that it drafts. Empty: it takes none, or the
// record is older than what it drafts was written down.
std::string VocabulariesText(const records::Cell& cell) {
  std::vector<std::string> texts;
  for (const records::Trunk& trunk : cell.trunks())
    for (const records::DraftedTokens& drafted : trunk.drafted())
      texts.push_back(
          absl::StrCat(drafted.model(), " ",
                       drafted.file().empty() ? "all tokens" : drafted.file()));
  return absl::StrJoin(texts, ", ");
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
  std::vector<std::string> out = MachineDifferences(a, b);
  if (!SameBandwidth(a.machine().bytes_per_s(), b.machine().bytes_per_s()))
    AddDifference("bandwidth", Gigabytes(a.machine().bytes_per_s()),
                  Gigabytes(b.machine().bytes_per_s()), out);
  AddDifference("workload", a.workload().hash(), b.workload().hash(), out);
  AddDifference("experiment", a.experiment_hash(), b.experiment_hash(), out);
  AddLines(a.experiment(), b.experiment(), "a", out);
  AddLines(b.experiment(), a.experiment(), "b", out);
  return out;
}

std::vector<std::string> CellDifferences(const records::Cell& a,
                                         const records::Cell& b) {
  std::vector<std::string> out;
  AddDifference("method", a.method(), b.method(), out);
  AddDifference("target", ModelText(a.target()), ModelText(b.target()), out);
  AddDifference("models", ModelsText(a), ModelsText(b), out);
  AddDifference("verifier", a.verifier(), b.verifier(), out);
  AddDifference("trunks", TrunksText(a), TrunksText(b), out);
  const std::string vocabularies = VocabulariesText(a);
  const std::string others = VocabulariesText(b);
  if (!vocabularies.empty() && !others.empty())
    AddDifference("draft vocabularies", vocabularies, others, out);
  AddDifference("rows", a.unmerged() ? "unmerged" : "merged",
                b.unmerged() ? "unmerged" : "merged", out);
  AddDifference("sampling", a.sampling(), b.sampling(), out);
  AddDifference("temperature", absl::StrCat(a.temperature()),
                absl::StrCat(b.temperature()), out);
  AddDifference("chat template", a.chat(), b.chat(), out);
  AddDifference("seed", absl::StrCat(a.seed()), absl::StrCat(b.seed()), out);
  AddDifference("prompts at a time", absl::StrCat(std::max(a.batch(), 1U)),
                absl::StrCat(std::max(b.batch(), 1U)), out);
  AddDifference("new tokens at most", absl::StrCat(a.max_new_tokens()),
                absl::StrCat(b.max_new_tokens()), out);
  for (std::string& difference : out)
    difference = absl::StrCat("cell ", a.name(), ", ", difference);
  return out;
}

}  // namespace banyan
