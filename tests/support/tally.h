// How many cases a test proved, refused and left out, held as numbers: a loop
// that turned empty or shorter, or a case that changed its answer, is a red
// test.
//
// The numbers stand in tests/goldens/counts, a file for each test program and
// in it a line for each test:
//
//   71 proven, 34 unlawful, 0 left out: Suite.Test/parameter
//
// Each test prints its line after `counted: `. Where a change of the lines is
// meant, tests/goldens/counts.sh PROGRAM renews them; look at the difference.
#ifndef BANYAN_TESTS_SUPPORT_TALLY_H_
#define BANYAN_TESTS_SUPPORT_TALLY_H_

#include <cstdint>
#include <string>

namespace banyan {

enum class CaseResult {
  kProven,
  kUnlawful,  // refused, as it must be
  kLeftOut,   // neither: too large, or it claims nothing
};

// Of one test. A case that failed is counted nowhere.
class Tally {
 public:
  void Count(CaseResult result, std::int64_t cases = 1);

  // "71 proven, 34 unlawful, 0 left out".
  std::string ToText() const;

 private:
  std::int64_t proven_ = 0;
  std::int64_t unlawful_ = 0;
  std::int64_t left_out_ = 0;
};

// Prints the running test's line, and fails the test unless the program's file
// has that line. Call it once a test, at its end. A new parameter of a test
// that has lines, a new verifier say, does not fail for want of one: what it
// proved is proven, and ExpectATestForEveryCount alone says that its line is to
// be filed.
void ExpectCounts(const Tally& tally, const std::string& program);

// Fails the running test if the program's file has a line for no test of the
// program, or none for a test that has lines with other parameters. Call it in
// one test of each program: a test that is gone shows, and so does a parameter,
// a file's name say, that came after the program was built and its tests
// listed.
void ExpectATestForEveryCount(const std::string& program);

}  // namespace banyan

#endif  // BANYAN_TESTS_SUPPORT_TALLY_H_
