#include "drafters/text/trie/branch_store.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "core/base/check.h"
#include "core/base/token.h"
#include "drafters/text/trie/branch_trie.h"

namespace banyan {

const BranchStore::Tries* BranchStore::Of(TokenId first) const {
  const auto found = tries_.find(first);
  return found == tries_.end() ? nullptr : &found->second;
}

void BranchStore::Put(absl::Span<const TokenId> text, std::size_t at,
                      Source source) {
  if (at + 1 >= text.size()) return;  // nothing comes after it
  const absl::Span<const TokenId> branch = text.subspan(at + 1, length_);
  auto found = tries_.find(text[at]);
  if (found == tries_.end())
    found = tries_.emplace(text[at], Tries(BranchTrie(BranchTrie::Weights())))
                .first;
  Tries& tries = found->second;
  if (source == Source::kPrompt) {
    if (!tries.mixed_.has_value()) tries.mixed_ = tries.outputs_->Weighed(mix_);
    tries.mixed_->Put(branch, source);
    return;
  }
  const int before = tries.outputs_->size();
  tries.outputs_.Own().Put(branch, source);
  output_nodes_ += tries.outputs_->size() - before;
  if (tries.mixed_.has_value()) tries.mixed_->Put(branch, source);
}

std::int64_t BranchStore::TakeOver(absl::Span<const TokenId> output,
                                   const StoreLimits& limits) {
  for (std::size_t at = 0; at < output.size(); ++at)
    Put(output, at, Source::kOutput);
  std::int64_t dropped = 0;
  for (TokenId first : output) {
    for (auto tries = tries_.find(first);
         tries != tries_.end() &&
         tries->second.outputs().size() > limits.output_nodes;
         tries = tries_.find(first))
      dropped += Prune(tries);
  }
  while (output_nodes_ > limits.nodes)
    for (auto tries = tries_.begin(); tries != tries_.end();)
      dropped += Prune(tries++);
  return dropped;
}

// Takes the trie away if nothing is left of it.
std::int64_t BranchStore::Prune(Map::iterator tries) {
  Check(!tries->second.mixed_.has_value(), "branches of outputs alone");
  const int dropped = tries->second.outputs_.Own().Prune();
  output_nodes_ -= dropped;
  if (tries->second.outputs().size() == 0) tries_.erase(tries);
  return dropped;
}

}  // namespace banyan
