#include "drafters/head_tools.h"

#include <cmath>
#include <cstddef>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "core/base/common.h"
#include "core/prob/sampling_rule.h"

namespace banyan {

void Agreement::Count(const Distribution& target, const Distribution& draft) {
  overlap_ += Overlap(target, draft);
  same_ += target.Argmax() == draft.Argmax() ? 1 : 0;
  ++places_;
}

absl::StatusOr<std::vector<Distribution>> LawsAfter(
    const Model& model, const std::vector<TokenId>& tokens) {
  const std::unique_ptr<Session> session = model.NewSession();
  const TokenBatch batch = TokenBatch::Chain(tokens, 0);
  BANYAN_ASSIGN_OR_RETURN(const auto scores, ScoreOne(model, *session, batch));
  std::vector<Distribution> laws;
  for (int row = 0; row < batch.size(); ++row) {
    BANYAN_ASSIGN_OR_RETURN(Distribution law,
                            scores->Law(row, SamplingRule(), {}, {}));
    laws.push_back(std::move(law));
  }
  return laws;
}

namespace {

// A reading is better if it gains so much of the overlap at some step, and what
// it loses elsewhere is less.
constexpr double kClearly = 0.03;

}  // namespace

const Reading* Examination::Better() const {
  const Reading& said = readings.front();
  const Reading* best = nullptr;
  double most = kClearly;
  for (const Reading& other : readings) {
    if (&other == &said || !other.error.empty() ||
        other.overlap.front() < kWeakOverlap)
      continue;
    double gain = 0;
    for (std::size_t step = 0; step < other.overlap.size(); ++step) {
      const double more =
          other.overlap[step] - (said.error.empty() ? said.overlap[step] : 0);
      gain = std::fabs(more) > std::fabs(gain) ? more : gain;
    }
    if (gain > most) {
      most = gain;
      best = &other;
    }
  }
  return best;
}

bool Examination::IsWeak() const {
  const Reading& said = readings.front();
  return !said.error.empty() || said.overlap.front() < kWeakOverlap;
}

std::string PickleIn(const std::string& directory) {
  namespace fs = std::filesystem;
  std::set<std::string> pickles;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end;
       it.increment(error)) {
    const fs::path& path = it->path();
    if (path.extension() == ".bin" || path.extension() == ".pt")
      pickles.insert(path.string());
  }
  if (pickles.empty()) return "";
  return absl::StrCat("a pickle: scripts/train convert ", *pickles.begin(),
                      " --out DIR makes them of it");
}

}  // namespace banyan
