// One made-up round of a made-up record.
#ifndef BANYAN_TESTS_SUPPORT_MADE_MADE_ROUNDS_H_
#define BANYAN_TESTS_SUPPORT_MADE_MADE_ROUNDS_H_

#include <cstdint>
#include <random>
#include <vector>

#include "experiments/records/record.pb.h"

namespace banyan {

using MadeDice = std::mt19937_64;

// A number in [0, 1) with few digits, so that what is printed is what was made.
double MadeShare(MadeDice& dice);
// A number in [0, sides).
int Roll(MadeDice& dice, int sides);

struct MadeRound {
  int trunks = 0;  // 0: a bare root
  std::uint32_t root = 0;
  std::vector<std::uint32_t> path;  // tokens that are accepted
  std::uint32_t next = 0;
  double slower = 1;
  bool probes = false;  // some nodes have probes below them
};

// A tree in depth-first order around the path: every trunk draws some tokens at
// each of its nodes, some twice, some dropped; refused ones may have a child.
records::Round Make(const MadeRound& made, MadeDice& dice);

}  // namespace banyan

#endif  // BANYAN_TESTS_SUPPORT_MADE_MADE_ROUNDS_H_
