// Sources of chance that reuse what they gave before.
#ifndef BANYAN_EXPERIMENTS_PROOF_WRONG_CHANCE_H_
#define BANYAN_EXPERIMENTS_PROOF_WRONG_CHANCE_H_

#include <memory>

#include "core/random/random_source.h"

namespace banyan {

// Every round gets the coins and draws of the first, where they still fit.
std::unique_ptr<RandomSource> SameEveryRound(RandomSource& honest);
// All draws at a node are judged by one coin.
std::unique_ptr<RandomSource> OneCoinANode(RandomSource& honest);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_PROOF_WRONG_CHANCE_H_
