// How many cases a test proved, refused and left out. A loop over a catalogue
// that turned empty, or lost cases, is a red test: each test states the fewest
// cases that it must prove, and a case is left out with a reason only.
#ifndef BANYAN_TESTS_SUPPORT_TALLY_H_
#define BANYAN_TESTS_SUPPORT_TALLY_H_

#include <cstdint>
#include <map>
#include <string>

namespace banyan {

enum class CaseResult {
  kProven,
  kUnlawful,  // refused, as it must be
  kTooLarge,  // more leaves than its size allows: left to the smaller sizes
};

// Of one test. A case that failed is counted nowhere.
class Tally {
 public:
  void Count(CaseResult result, std::int64_t cases = 1);
  // Neither proven nor refused.
  void LeaveOut(const std::string& reason, std::int64_t cases = 1);

  std::int64_t proven() const { return proven_; }
  std::int64_t all() const;
  // "71 proven, 34 unlawful, 2 left out (lossy: 2)".
  std::string ToText() const;

 private:
  std::int64_t proven_ = 0;
  std::int64_t unlawful_ = 0;
  std::map<std::string, std::int64_t> left_out_;  // by reason
};

// Prints the tally, and fails the test if fewer than `least` cases were proven
// or there was no case at all. Call it once a test, at its end.
void ExpectCounts(const Tally& tally, std::int64_t least);

}  // namespace banyan

#endif  // BANYAN_TESTS_SUPPORT_TALLY_H_
