// EnumeratingSource: enumerates exactly all that a function of chance can do.
//
//   EnumeratingSource source(200'000);
//   do {
//     const std::string outcome = Run(source);
//     output[outcome] += source.probability();
//   } while (source.Advance());
//   if (source.exhausted()) ...  // the limit came first: `output` is partial
//
// Run() must depend on nothing but the choices the source makes: where a run
// differs from the last one before the choice that was changed, the program
// ends.
#ifndef BANYAN_CORE_RANDOM_ENUMERATING_SOURCE_H_
#define BANYAN_CORE_RANDOM_ENUMERATING_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "core/base/number_rows.h"
#include "core/random/random_source.h"

namespace banyan {

class EnumeratingSource : public RandomSource {
 public:
  enum class Keys {
    kMustDiffer,  // two choices of one run under one key end the program
    kMayRepeat,   // for the controls that reuse randomness on purpose
  };

  explicit EnumeratingSource(std::int64_t limit, Keys keys = Keys::kMustDiffer)
      : limit_(limit), keys_(keys) {}

  bool Accept(double probability, const ChoiceKey& key) override;
  int Draw(const Weights& weights, const ChoiceKey& key) override;

  // The exact probability of the choices made since the last Advance().
  double probability() const;
  // Prepares the next untried branch; false when there is none left or when
  // `limit` runs have been made.
  bool Advance();

  std::int64_t runs() const { return runs_; }
  // True if the limit ended the enumeration with branches untried.
  bool exhausted() const { return exhausted_; }

 private:
  // One choice of the current run: the outcomes of positive probability and
  // the one taken.
  struct Choice {
    std::vector<int> outcomes;
    std::vector<double> probabilities;
    std::size_t taken = 0;
  };

  void NoteKey(const ChoiceKey& key);
  // Replays the next recorded choice, or records `fresh` and takes its first.
  int Take(const Choice& fresh);

  std::int64_t limit_;
  Keys keys_;
  std::int64_t runs_ = 1;
  bool exhausted_ = false;
  std::vector<Choice> path_;
  std::size_t depth_ = 0;
  std::set<ChoiceKey> seen_;
};

}  // namespace banyan

#endif  // BANYAN_CORE_RANDOM_ENUMERATING_SOURCE_H_
