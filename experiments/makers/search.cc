#include "experiments/makers/search.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <utility>

#include "absl/algorithm/container.h"
#include "core/base/draw_math.h"
#include "core/random/random_source.h"
#include "decode/decoder.h"
#include "drafters/catalogue.h"
#include "drafters/row.h"
#include "experiments/plan/params_edit.h"
#include "experiments/timing/pass_timing.h"

namespace banyan {
namespace {

// Numbers in [0, 1) of a walk: of a start or a step, the i-th.
class Chances {
 public:
  Chances(std::uint64_t seed, std::uint64_t place)
      : source_(seed), place_(static_cast<std::uint32_t>(place)) {}
  int Below(int bound) {
    const double u = source_.Uniform(
        {.prompt = place_, .node = next_++, .purpose = Purpose::kOrder});
    return std::min(bound - 1, static_cast<int>(u * bound));
  }
  template <typename T>
  void Shuffle(std::vector<T>& items) {
    for (int i = static_cast<int>(items.size()); i > 1; --i)
      std::swap(items[static_cast<std::size_t>(i - 1)],
                items[static_cast<std::size_t>(Below(i))]);
  }

 private:
  SeededSource source_;
  std::uint32_t place_;
  std::uint32_t next_ = 0;
};

Params NumberList(const std::vector<int>& numbers) {
  std::vector<Params> items;
  for (int number : numbers)
    items.push_back(Params::Scalar(absl::StrCat(number)));
  return Params::List(std::move(items));
}

// The blocks of one kind, by layer.
std::vector<int> Between(const Candidate& blocks, int first, int end) {
  std::vector<int> layers;
  for (int block : blocks)
    if (block >= first && block < end) layers.push_back(block - first);
  return layers;
}

// What rounds took and brought.
struct Measured {
  std::vector<double> round_ms;
  std::vector<double> draft_ms;
  double tokens = 0;
};

absl::StatusOr<Measured> Decode(const SearchTask& task, Decoder& decoder) {
  decoder.StayOnHost();  // a view's rounds are the host's
  Measured measured;
  SeededSource random(task.seed);
  for (const Prompt& prompt : task.prompts)
    BANYAN_RETURN_IF_ERROR(
        decoder
            .Decode(prompt, task.stop, random,
                    [&](const RoundRecord& round) {
                      const PhaseTimes& times = round.times;
                      measured.round_ms.push_back(
                          static_cast<double>(times.TotalNs()) / 1e6);
                      measured.draft_ms.push_back(
                          static_cast<double>(std::accumulate(
                              times.draft_ns.begin(), times.draft_ns.end(),
                              std::int64_t{0})) /
                          1e6);
                      measured.tokens +=
                          static_cast<double>(round.emitted.size());
                    })
            .status());
  if (measured.round_ms.empty())
    return absl::InvalidArgumentError("search: no round was decoded");
  return measured;
}

// The walk, which asks for ratings by candidate and remembers them.
class Walk {
 public:
  Walk(const SearchTask& task, const SearchSpace& space,
       absl::FunctionRef<absl::Status(const SearchStep&)> rated)
      : task_(task), space_(space), rated_(rated) {}

  absl::StatusOr<SearchResult> Run() {
    for (const SearchStep& step : task_.known) known_[step.candidate] = step;
    for (std::uint64_t start = 0; !Done(); ++start) {
      BANYAN_RETURN_IF_ERROR(Climb(space_.Random(task_.seed, start)));
    }
    if (best_ < 0)
      return absl::FailedPreconditionError(
          "search: the target has none of the views that were tried");
    SearchResult result = {.path = path_};
    BANYAN_ASSIGN_OR_RETURN(
        result.method,
        space_.Put(path_[static_cast<std::size_t>(best_)].candidate,
                   task_.method));
    return result;
  }

 private:
  bool Done() const {
    return static_cast<int>(path_.size()) >=
           std::min(task_.steps, space_.size());
  }

  absl::Status Climb(Candidate at) {
    BANYAN_ASSIGN_OR_RETURN(double speed, SpeedOf(at));
    for (bool moved = true; moved && !Done();) {
      moved = false;
      for (Candidate& next :
           space_.Neighbours(at, task_.seed, std::uint64_t{path_.size()})) {
        if (Done()) break;
        BANYAN_ASSIGN_OR_RETURN(const double other, SpeedOf(next));
        if (other <= speed) continue;
        at = std::move(next);
        speed = other;
        moved = true;
        break;
      }
    }
    return absl::OkStatus();
  }

  // 0: refused.
  absl::StatusOr<double> SpeedOf(const Candidate& candidate) {
    const auto seen = places_.find(candidate);
    if (seen != places_.end()) return path_[seen->second].rating.speed;
    SearchStep step = {.candidate = candidate};
    const auto known = known_.find(candidate);
    if (known != known_.end()) {
      step.rating = known->second.rating;
    } else {
      BANYAN_ASSIGN_OR_RETURN(step.rating, Rate(candidate));
    }
    const double speed = step.rating.speed;
    step.best = !step.rating.refused &&
                (best_ < 0 ||
                 speed > path_[static_cast<std::size_t>(best_)].rating.speed);
    if (step.best) best_ = static_cast<int>(path_.size());
    places_[candidate] = path_.size();
    path_.push_back(step);
    if (known == known_.end()) BANYAN_RETURN_IF_ERROR(rated_(step));
    return speed;
  }

  absl::StatusOr<Rating> Rate(const Candidate& candidate) {
    if (plain_ms_ == 0) {
      BANYAN_ASSIGN_OR_RETURN(const LoadedMethod plain,
                              PlainMethod(task_.context));
      BANYAN_ASSIGN_OR_RETURN(Measured measured, Decode(task_, *plain.decoder));
      plain_ms_ = Median(std::move(measured.round_ms));
    }
    BANYAN_ASSIGN_OR_RETURN(const Params file,
                            space_.Put(candidate, task_.method));
    const absl::StatusOr<LoadedMethod> method =
        ReadMethodFile(file, task_.context);
    if (absl::IsFailedPrecondition(method.status()))
      return Rating{.refused = true};
    BANYAN_RETURN_IF_ERROR(method.status());
    BANYAN_ASSIGN_OR_RETURN(Measured measured, Decode(task_, *method->decoder));
    Rating rating;
    rating.tokens_per_round =
        measured.tokens / static_cast<double>(measured.round_ms.size());
    rating.draft_ms = Median(std::move(measured.draft_ms));
    rating.round_ms = Median(std::move(measured.round_ms));
    rating.speed = rating.tokens_per_round * plain_ms_ / rating.round_ms;
    return rating;
  }

  const SearchTask& task_;
  const SearchSpace& space_;
  absl::FunctionRef<absl::Status(const SearchStep&)> rated_;
  std::map<Candidate, SearchStep> known_;
  std::map<Candidate, std::size_t> places_;
  std::vector<SearchStep> path_;
  int best_ = -1;
  double plain_ms_ = 0;
};

}  // namespace

absl::StatusOr<SearchSpace> SearchSpace::Of(const Params& method, int layers) {
  const Params* drafters = method.Find("drafters");
  const Params* name = drafters != nullptr &&
                               drafters->kind() == Params::Kind::kList &&
                               drafters->items().size() == 1
                           ? drafters->items().front().Find("name")
                           : nullptr;
  SearchSpace space;
  space.layers_ = layers;
  std::vector<absl::string_view> searched;
  for (const DrafterRow& row : DrafterCatalogue()) {
    if (row.search == SearchOver::kNothing) continue;
    searched.push_back(row.name);
    if (name == nullptr || name->text() != row.name) continue;
    if (layers < 2)
      return method.Error("the target has no two layers to choose from");
    space.exits_ = row.search == SearchOver::kExits;
    return space;
  }
  return method.Error(
      absl::StrCat("make layers takes a method with one drafter, ",
                   absl::StrJoin(searched, " or ")));
}

int SearchSpace::size() const {
  if (exits_) return layers_ - 1;
  // All sets but the empty one and the whole one.
  return 2 * layers_ >= 31 ? std::numeric_limits<int>::max()
                           : (1 << (2 * layers_)) - 2;
}

Candidate SearchSpace::Random(std::uint64_t seed, std::uint64_t start) const {
  Chances chances(seed, 2 * start);
  if (exits_) return {1 + chances.Below(layers_ - 1)};
  Candidate blocks;
  while (blocks.empty() || static_cast<int>(blocks.size()) == 2 * layers_) {
    blocks.clear();
    for (int block = 0; block < 2 * layers_; ++block)
      if (chances.Below(2) == 1) blocks.push_back(block);
  }
  return blocks;
}

std::vector<Candidate> SearchSpace::Neighbours(const Candidate& of,
                                               std::uint64_t seed,
                                               std::uint64_t step) const {
  Chances chances(seed, 2 * step + 1);
  std::vector<Candidate> all;
  if (exits_) {
    for (int exit = 1; exit < layers_; ++exit)
      if (exit != of.front()) all.push_back({exit});
    chances.Shuffle(all);
    absl::c_stable_sort(all, [&of](const Candidate& a, const Candidate& b) {
      return std::abs(a.front() - of.front()) <
             std::abs(b.front() - of.front());
    });
    return all;
  }
  for (int block = 0; block < 2 * layers_; ++block) {
    Candidate other = of;
    const auto at = absl::c_lower_bound(other, block);
    if (at != other.end() && *at == block)
      other.erase(at);
    else
      other.insert(at, block);
    if (!other.empty() && static_cast<int>(other.size()) < 2 * layers_)
      all.push_back(std::move(other));
  }
  chances.Shuffle(all);
  return all;
}

absl::StatusOr<Params> SearchSpace::Put(const Candidate& candidate,
                                        const Params& method) const {
  if (exits_)
    return WithValue(method, "drafters.0.exits", NumberList(candidate));
  BANYAN_ASSIGN_OR_RETURN(
      const Params half, WithValue(method, "drafters.0.attention",
                                   NumberList(Between(candidate, 0, layers_))));
  return WithValue(half, "drafters.0.feed_forward",
                   NumberList(Between(candidate, layers_, 2 * layers_)));
}

std::string SearchSpace::ToText(const Candidate& candidate) const {
  if (exits_) return absl::StrCat("exit ", candidate.front());
  std::vector<std::string> kinds;
  const auto add = [&](absl::string_view kind, int first) {
    const std::vector<int> layers = Between(candidate, first, first + layers_);
    if (!layers.empty())
      kinds.push_back(absl::StrCat(kind, " ", absl::StrJoin(layers, " ")));
  };
  add("attention", 0);
  add("feed_forward", layers_);
  return absl::StrJoin(kinds, "; ");
}

absl::StatusOr<Candidate> SearchSpace::FromText(const std::string& text) const {
  const absl::Status wrong = absl::InvalidArgumentError(
      absl::StrCat("'", text, "' is no candidate of this search"));
  Candidate candidate;
  for (absl::string_view kind : absl::StrSplit(text, "; ")) {
    std::vector<std::string> words = absl::StrSplit(kind, ' ');
    const bool fits = exits_ ? words.front() == "exit"
                             : words.front() == "attention" ||
                                   words.front() == "feed_forward";
    if (!fits || words.size() < 2) return wrong;
    for (std::size_t i = 1; i < words.size(); ++i) {
      int layer = 0;
      if (!absl::SimpleAtoi(words[i], &layer) || layer < 0 || layer >= layers_)
        return wrong;
      candidate.push_back(words.front() == "feed_forward" ? layer + layers_
                                                          : layer);
    }
  }
  if (ToText(candidate) != text) return wrong;
  return candidate;
}

absl::StatusOr<SearchResult> Search(
    const SearchTask& task, const SearchSpace& space,
    absl::FunctionRef<absl::Status(const SearchStep&)> rated) {
  return Walk(task, space, rated).Run();
}

}  // namespace banyan
