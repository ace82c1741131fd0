// BranchStore: one BranchTrie for each first token, of what outputs said and,
// while a prompt is decoded, of what it says.
//
// Copies share each trie until one of them puts into it. Where a prompt put a
// branch there are two tries of its first token: one ranks by the counts of
// outputs, as those that are kept do, one by the mix.
#ifndef BANYAN_DRAFTERS_TEXT_TRIE_BRANCH_STORE_H_
#define BANYAN_DRAFTERS_TEXT_TRIE_BRANCH_STORE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "core/base/token.h"
#include "drafters/text/copy_on_write.h"
#include "drafters/text/trie/branch_trie.h"

namespace banyan {

struct StoreLimits {
  int output_nodes = 512;  // of one trie
  int nodes = 1'048'576;   // of all tries together
};

class BranchStore {
 public:
  // The tries of one first token.
  class Tries {
   public:
    explicit Tries(BranchTrie outputs) : outputs_(std::move(outputs)) {}
    const BranchTrie& outputs() const { return *outputs_; }
    // Where no prompt put anything, that of the outputs.
    const BranchTrie& mixed() const {
      return mixed_.has_value() ? *mixed_ : *outputs_;
    }

   private:
    friend class BranchStore;
    CopyOnWrite<BranchTrie> outputs_;
    std::optional<BranchTrie> mixed_;
  };

  // `length` tokens of a branch are kept after its first one, and `mix` is what
  // its counts weigh against one another.
  BranchStore(int length, const BranchTrie::Weights& mix)
      : length_(static_cast<std::size_t>(length)), mix_(mix) {}

  // Null: no branch begins with it.
  const Tries* Of(TokenId first) const;
  // Nodes of the outputs' tries.
  std::int64_t output_nodes() const { return output_nodes_; }

  // The branch that begins at place `at` of a text, as far as the text goes.
  void Put(absl::Span<const TokenId> text, std::size_t at, Source source);
  // An output as a whole, and then within the limits again: a trie of too many
  // nodes that the output put into is pruned as often as it takes; then, if all
  // together are still too many, so is every trie. Requires that no prompt put
  // anything. Returns how many nodes were dropped.
  std::int64_t TakeOver(absl::Span<const TokenId> output,
                        const StoreLimits& limits);

 private:
  using Map = absl::flat_hash_map<TokenId, Tries>;

  std::int64_t Prune(Map::iterator tries);

  std::size_t length_;
  BranchTrie::Weights mix_;
  std::int64_t output_nodes_ = 0;
  Map tries_;
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_TEXT_TRIE_BRANCH_STORE_H_
