// Made record sets for tests of the answer.
#ifndef BANYAN_TESTS_EXPERIMENTS_REPORT_ANSWER_SETS_H_
#define BANYAN_TESTS_EXPERIMENTS_REPORT_ANSWER_SETS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/records/record.pb.h"
#include "experiments/records/record_set.h"
#include "tests/experiments/test_files.h"

namespace banyan {

struct MadeCell {
  std::string method;
  double temperature = 0;
  double speed = 1;  // speedup, prompt by prompt within a tenth
  std::vector<records::Opponent> opponents = {};
  std::string target = "small";
  bool lossless = true;
  std::string nodes = {};  // of its policy, along an axis
  double level_ms = 0;     // of drafting, a round of one level
  records::Evidence evidence = records::UNKNOWN;
  int differs = -1;  // the prompt whose text is not plain decoding's
  int per_pass =
      4;  // tokens; 1 of plain decoding, and where a level takes time
  double noise = 0;  // standard deviation of the logarithm of its times
};

records::Opponent Held(std::uint32_t cell, records::Opponent::Role role);

inline constexpr auto kReference = records::Opponent::REFERENCE;
inline constexpr auto kSameNodes = records::Opponent::SAME_NODES;

// A set with a cell for each, of which those without speed 1 have a trunk; the
// first cell of their target and temperature is everybody's baseline.
class AnswerTest : public FolderTest {
 protected:
  // Sets of one number have the same noise.
  RecordSet SetOf(const std::vector<MadeCell>& cells, int prompts = 8,
                  int missing = 0, std::uint64_t noise = 0);

  std::string question_ = "Is it?";
  std::string reference_choice_;
  bool fast_ = false;

 private:
  int sets_ = 0;
};

std::vector<std::string> LinesOf(const std::string& text);

// A plain cell, two chains and two trees: one beats its drafter's chain and one
// loses to it.
std::vector<MadeCell> Trees(double temperature, std::uint32_t first);

}  // namespace banyan

#endif  // BANYAN_TESTS_EXPERIMENTS_REPORT_ANSWER_SETS_H_
