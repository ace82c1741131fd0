#include "tests/support/made/made_rounds.h"

#include <algorithm>
#include <cstddef>

namespace banyan {
namespace {

constexpr int kMostDraws = 3;
// Refused tokens come from a few, so that some are drawn twice; accepted ones
// from others.
constexpr int kRefusedTokens = 4;
constexpr std::uint32_t kFirstRefused = 900;
constexpr std::uint32_t kFirstProbe = 990;

class Maker {
 public:
  Maker(const MadeRound& made, MadeDice& dice) : made_(made), dice_(dice) {}

  records::Round Make() {
    AddNode(made_.root, -1);
    Grow(0, 0, /*accepted=*/true);
    std::sort(lists_.begin(), lists_.end(),
              [](const records::DrawList& a, const records::DrawList& b) {
                return a.node() != b.node() ? a.node() < b.node()
                                            : a.trunk() < b.trunk();
              });
    NumberDraws();
    for (const records::DrawList& list : lists_) *round_.add_lists() = list;
    round_.set_next(made_.next);
    round_.set_emitted(static_cast<std::uint32_t>(made_.path.size() + 1));
    AddTimes();
    return round_;
  }

 private:
  int AddNode(std::uint32_t token, int parent) {
    round_.add_tokens(token);
    round_.add_parents(parent);
    round_.add_target_probability(parent < 0 ? 1 : MadeShare(dice_));
    return round_.tokens_size() - 1;
  }

  // In every other round the later lists were drawn first; the rest are as
  // older builds made them, without numbers.
  void NumberDraws() {
    if (made_.next % 2 == 0) return;
    std::uint32_t now = 0;
    for (auto list = lists_.rbegin(); list != lists_.rend(); ++list)
      for (int draw = 0; draw < list->tokens_size(); ++draw)
        list->add_times(now++);
  }

  int Child(int node, std::uint32_t token) const {
    for (int i = 1; i < round_.tokens_size(); ++i)
      if (round_.parents(i) == node && round_.tokens(i) == token) return i;
    return -1;
  }

  // The tokens that a trunk draws at a node; `wanted` is among them if the node
  // has an accepted child and this trunk proposes it.
  std::vector<std::uint32_t> Draws(bool proposes, std::uint32_t wanted) {
    std::vector<std::uint32_t> tokens;
    const int count = Roll(dice_, kMostDraws + 1);
    for (int i = 0; i < count; ++i)
      tokens.push_back(kFirstRefused +
                       static_cast<std::uint32_t>(Roll(dice_, kRefusedTokens)));
    if (proposes)
      tokens.insert(tokens.begin() + Roll(dice_, count + 1), wanted);
    return tokens;
  }

  // Draws the children of a node at `depth`, which is accepted or refused, and
  // plants probes after them, sometimes a chain of two.
  void Grow(int node, int depth, bool accepted) {
    Draft(node, depth, accepted);
    if (!made_.probes || Roll(dice_, 2) == 0) return;
    const int trunk = Roll(dice_, made_.trunks);
    const int length = Roll(dice_, 3);
    for (int i = 0; i < length; ++i) {
      node = AddNode(kFirstProbe + static_cast<std::uint32_t>(i), node);
      round_.set_target_probability(node, 0);
      records::Probe& probe = *round_.add_probes();
      probe.set_node(node);
      probe.set_trunk(trunk);
      probe.set_vector(i > 0);
    }
  }

  void Draft(int node, int depth, bool accepted) {
    const auto place = static_cast<std::size_t>(depth);
    const bool goes_on = accepted && place < made_.path.size();
    if (made_.trunks == 0 || (!goes_on && Roll(dice_, 2) == 0)) return;
    const int proposer = Roll(dice_, made_.trunks);
    for (int trunk = 0; trunk < made_.trunks; ++trunk) {
      const bool proposes =
          goes_on && (trunk == proposer || Roll(dice_, 2) == 0);
      AddList(node, depth, trunk,
              Draws(proposes, goes_on ? made_.path[place] : 0), goes_on);
    }
  }

  void AddList(int node, int depth, int trunk,
               const std::vector<std::uint32_t>& tokens, bool goes_on) {
    records::DrawList list;
    list.set_node(node);
    list.set_trunk(trunk);
    list.set_draws(trunk == 0 ? records::INDEPENDENT : records::DETERMINISTIC);
    list.set_overlap(MadeShare(dice_));
    for (const std::uint32_t token : tokens) {
      list.add_tokens(token);
      list.add_q(MadeShare(dice_));
      list.add_children(ChildFor(node, depth, token, goes_on));
    }
    lists_.push_back(list);
  }

  // The node a draw leads to, made and grown if it is the token's first.
  int ChildFor(int node, int depth, std::uint32_t token, bool goes_on) {
    const auto place = static_cast<std::size_t>(depth);
    const bool accepted = goes_on && token == made_.path[place];
    int child = Child(node, token);
    if (child >= 0) return child;
    if (!accepted && Roll(dice_, 6) == 0) return -1;
    child = AddNode(token, node);
    if (accepted) round_.add_path(child);
    if (accepted || Roll(dice_, 3) == 0) Grow(child, depth + 1, accepted);
    return child;
  }

  std::int64_t Ns(int most) {
    return static_cast<std::int64_t>((1000 + Roll(dice_, most)) * made_.slower);
  }

  void AddTimes() {
    for (int trunk = 0; trunk < made_.trunks; ++trunk)
      round_.add_draft_ns(Ns(90'000));
    round_.set_derive_ns(Ns(2'000));
    round_.set_target_ns(Ns(600'000));
    round_.set_verify_ns(Ns(9'000));
    round_.set_commit_ns(Ns(5'000));
  }

  const MadeRound& made_;
  MadeDice& dice_;
  records::Round round_;
  std::vector<records::DrawList> lists_;
};

}  // namespace

double MadeShare(MadeDice& dice) { return (Roll(dice, 999) + 0.5) / 1000; }

int Roll(MadeDice& dice, int sides) {
  return static_cast<int>(dice() % static_cast<std::uint64_t>(sides));
}

records::Round Make(const MadeRound& made, MadeDice& dice) {
  return Maker(made, dice).Make();
}

}  // namespace banyan
