// Drafting in steps: chooses the nodes that a drafter proposes for (the
// counterparts of the policies), draws from their distributions, and makes the
// drawn nodes. Does what Drafting and TrunkTree do for one trunk, in the same
// order and with the same keys.
#ifndef BANYAN_CORE_ROUND_DRAFT_STEPS_H_
#define BANYAN_CORE_ROUND_DRAFT_STEPS_H_

#include "core/base/draw_math.h"
#include "core/round/book.h"
#include "core/round/layout.h"
#include "core/round/workers.h"

namespace banyan {

// Grows a drafter's tree by what was drawn at the level above, and chooses the
// nodes of the next level that are proposed for. All workers call it together,
// as everything here.
template <typename Workers, typename Book>
class SelectStep {
 public:
  BANYAN_STEP SelectStep(const Workers& workers, const Book& round, int drafter)
      : w_(workers),
        round_(round),
        drafter_(drafter),
        of_(round.of.drafters[drafter]) {}

  // `first_row`: of the level's rows, among all of the drafter's; `rows`: how
  // many there are, some perhaps of no node.
  BANYAN_STEP void Run(int level, int first_row, int rows) const {
    if (of_.shape == ShapeKind::kUploaded) return Plant();
    if (level == 0)
      Begin();
    else
      Grow(level);
    w_.Sync();
    if (level == of_.levels) return;
    Choose();
    w_.Sync();
    if (of_.has_rows) WriteRows(level, first_row, rows);
  }

 private:
  // The tree that was uploaded; its scales and masses are where they belong.
  BANYAN_STEP void Plant() const {
    const int nodes = Up(0);
    const int draws = Up(1);
    for (int i = w_.index(); i < nodes; i += w_.count()) {
      const int node = of_.first_node + i;
      const int first = 2 + i * kUpNodeNumbers;
      const int parent = Up(first + kUpParent);
      const int distribution = Up(first + kUpDistribution);
      round_.Set(book::kToken, node, Up(first + kUpToken));
      round_.Set(book::kParent, node,
                 parent < 0 ? -1 : of_.first_node + parent);
      round_.Set(book::kDepth, node, Up(first + kUpDepth));
      round_.Set(book::kFirstDraw, node,
                 of_.first_draw + Up(first + kUpFirstDraw));
      round_.Set(book::kDrawCount, node, Up(first + kUpDrawCount));
      round_.Set(book::kDraftRow, node, -1);
      round_.Set(book::kDistributionRow, node,
                 distribution < 0 ? -1 : of_.first_distribution + distribution);
      if (distribution >= 0)
        round_.Set(book::kDistributionError,
                   of_.first_distribution + distribution, kNoError);
    }
    for (int i = w_.index(); i < draws; i += w_.count()) {
      const int draw = of_.first_draw + i;
      const int first = 2 + nodes * kUpNodeNumbers + i * kUpDrawNumbers;
      round_.Set(book::kDrawNode, draw,
                 of_.first_node + Up(first + kUpDrawNode));
      round_.Set(book::kDrawToken, draw, Up(first + kUpDrawToken));
      round_.Set(book::kDrawChild, draw,
                 of_.first_node + Up(first + kUpDrawChild));
      round_.Set(book::kDrawDense, draw, Up(first + kUpDrawDense));
      round_.Set(book::kDrawMade, draw, 1);
    }
    if (w_.index() != 0) return;
    round_.Set(book::kNodesEnd, drafter_, of_.first_node + nodes);
    round_.Set(book::kDrawsEnd, drafter_, of_.first_draw + draws);
  }
  BANYAN_STEP int Up(int i) const {
    return round_.Get(book::kUploadedTree, of_.first_uploaded + i);
  }

  // A bare root.
  BANYAN_STEP void Begin() const {
    if (w_.index() != 0) return;
    WriteNode(of_.first_node, -1, 0, round_.Get(book::kRoot), 0, 1);
    round_.Set(book::kNodesEnd, drafter_, of_.first_node + 1);
    round_.Set(book::kNewest, drafter_, of_.first_node);
    round_.Set(book::kWantedCount, drafter_, 0);
    round_.Set(book::kDrawsEnd, drafter_, of_.first_draw);
    round_.Set(book::kDrawsBefore, drafter_, of_.first_draw);
  }

  BANYAN_STEP void WriteNode(int node, int parent, int depth, int token,
                             int place, double path_mass) const {
    bool final = false;
    for (int i = 0; i < round_.of.ends && parent >= 0; ++i)
      final = final || round_.Get(book::kEndList, i) == token;
    round_.Set(book::kToken, node, token);
    round_.Set(book::kParent, node, parent);
    round_.Set(book::kDepth, node, depth);
    round_.Set(book::kPlace, node, place);
    round_.Set(book::kMultiplicity, node, 1);
    round_.Set(book::kClosed, node, final ? 1 : 0);
    round_.Set(book::kFirstDraw, node, 0);
    round_.Set(book::kDrawCount, node, 0);
    round_.Set(book::kDraftRow, node, -1);
    round_.Set(book::kDistributionRow, node, -1);
    round_.SetNumber(book::kPathMass, node, path_mass);
  }

  // The nodes that the last level's draws made: one for each token that was
  // drawn at a node, in the order of their first draws.
  BANYAN_STEP void Grow(int level) const {
    const int begin = round_.Get(book::kDrawsBefore, drafter_);
    const int end = round_.Get(book::kDrawsEnd, drafter_);
    const int nodes = round_.Get(book::kNodesEnd, drafter_);
    for (int draw = begin + w_.index(); draw < end; draw += w_.count()) {
      int first = -1;
      if (round_.Get(book::kDrawMade, draw) != 0) {
        first = round_.Get(book::kFirstDraw, round_.Get(book::kDrawNode, draw));
        while (round_.Get(book::kDrawToken, first) !=
               round_.Get(book::kDrawToken, draw))
          ++first;
      }
      round_.Set(book::kDrawFirst, draw, first);
    }
    w_.Sync();
    for (int draw = begin + w_.index(); draw < end; draw += w_.count()) {
      int child = -1;
      if (round_.Get(book::kDrawFirst, draw) == draw) {
        child = nodes + CountNew(begin, draw);
        const int node = round_.Get(book::kDrawNode, draw);
        const int rank = draw - round_.Get(book::kFirstDraw, node);
        int place = 0;
        if (of_.shape == ShapeKind::kFixed)
          place = round_.Get(book::kPlaceList,
                             of_.first_place +
                                 round_.Get(book::kPlaceFirst, PlaceOf(node)) +
                                 rank);
        WriteNode(child, node, level, round_.Get(book::kDrawToken, draw), place,
                  round_.Number(book::kPathMass, node) *
                      round_.Number(book::kDrawMass, draw));
      }
      round_.Set(book::kDrawChild, draw, child);
    }
    w_.Sync();
    // Repeated draws lead to the first one's node.
    for (int draw = begin + w_.index(); draw < end; draw += w_.count()) {
      const int first = round_.Get(book::kDrawFirst, draw);
      if (first < 0 || first == draw) continue;
      const int child = round_.Get(book::kDrawChild, first);
      round_.Set(book::kDrawChild, draw, child);
      round_.Count(book::kMultiplicity, child);
    }
    w_.Sync();
    if (w_.index() == 0) {
      round_.Set(book::kNewest, drafter_, nodes);
      round_.Set(book::kNodesEnd, drafter_, nodes + CountNew(begin, end));
      round_.Set(book::kDrawsBefore, drafter_, end);
      round_.Set(book::kWantedCount, drafter_, 0);
    }
  }
  BANYAN_STEP int CountNew(int begin, int end) const {
    int count = 0;
    for (int draw = begin; draw < end; ++draw)
      count += round_.Get(book::kDrawFirst, draw) == draw ? 1 : 0;
    return count;
  }

  // A node's in the list of all places.
  BANYAN_STEP int PlaceOf(int node) const {
    return of_.first_place + round_.Get(book::kPlace, node);
  }
  // How many draws a node gets that is open.
  BANYAN_STEP int Draws(int node) const {
    if (round_.Get(book::kClosed, node) != 0) return 0;
    switch (of_.shape) {
      case ShapeKind::kFixed:
        return round_.Get(book::kPlaceCount, PlaceOf(node));
      case ShapeKind::kSequences:
        return node == of_.first_node ? of_.width
                                      : round_.Get(book::kMultiplicity, node);
      case ShapeKind::kReranked:
        return of_.width;
      case ShapeKind::kUploaded:
        return 0;
    }
    return 0;
  }

  BANYAN_STEP void Choose() const {
    const int newest = round_.Get(book::kNewest, drafter_);
    const int end = round_.Get(book::kNodesEnd, drafter_);
    const bool ranked = of_.shape == ShapeKind::kReranked;
    for (int node = newest + w_.index(); node < end; node += w_.count())
      round_.Set(book::kWants, node, Draws(node) > 0 ? 1 : 0);
    w_.Sync();
    for (int node = newest + w_.index(); node < end; node += w_.count()) {
      if (round_.Get(book::kWants, node) == 0) continue;
      int before = 0;
      for (int other = newest; other < end; ++other)
        if (round_.Get(book::kWants, other) != 0)
          before += (ranked ? Better(round_, other, node) : other < node);
      if (ranked && before >= of_.width) continue;
      round_.Set(book::kWanted, of_.first_node + before, node);
      round_.Count(book::kWantedCount, drafter_);
    }
    w_.Sync();
    const int wanted = round_.Get(book::kWantedCount, drafter_);
    const int draws = round_.Get(book::kDrawsEnd, drafter_);
    w_.Sync();  // all have read what is changed below
    for (int i = w_.index(); i < wanted; i += w_.count()) {
      const int node = Wanted(i);
      const int own = Draws(node);
      int first = draws;
      for (int j = 0; j < i; ++j) first += Draws(Wanted(j));
      round_.Set(book::kFirstDraw, node, first);
      round_.Set(book::kDrawCount, node, own);
      if (i == wanted - 1) round_.Set(book::kDrawsEnd, drafter_, first + own);
    }
  }
  BANYAN_STEP int Wanted(int i) const {
    return round_.Get(book::kWanted, of_.first_node + i);
  }

 public:
  // Whether node a stands before node b of a tree where the best come first.
  BANYAN_STEP static bool Better(const Book& round, int a, int b) {
    const double of_a = round.Number(book::kPathMass, a);
    const double of_b = round.Number(book::kPathMass, b);
    return of_a != of_b ? of_a > of_b : a < b;
  }

 private:
  // Row `row` of all that the drafter runs in the round sees what its parent's
  // row sees, and itself.
  BANYAN_STEP void WriteRow(int row, int token, int position,
                            int parent_row) const {
    const int slot = of_.first_slot + row;
    round_.Set(book::kDraftTokens, slot, token);
    round_.Set(book::kDraftPositions, slot, position);
    round_.Set(book::kDraftParents, slot, parent_row);
    const int first = of_.first_word + row * of_.words;
    const int above = of_.first_word + parent_row * of_.words;
    for (int word = 0; word < of_.words; ++word)
      round_.Set(
          book::kDraftVisible, first + word,
          parent_row < 0 ? 0 : round_.Get(book::kDraftVisible, above + word));
    round_.SetBit(book::kDraftVisible, first, row);
  }
  BANYAN_STEP void WriteRows(int level, int first_row, int rows) const {
    // The root's position: that of a pair is its first token's.
    const int root = round_.Get(book::kTargetLength) - (of_.rereads ? 1 : 0);
    if (level == 0) {
      if (w_.index() != 0) return;
      const int padding = of_.unread - round_.Get(book::kUnread, drafter_);
      for (int row = 0; row < padding; ++row) WriteRow(row, 0, root, -1);
      for (int row = padding; row <= of_.unread; ++row)
        WriteRow(row,
                 row == of_.unread
                     ? round_.Get(book::kRoot)
                     : round_.Get(book::kUnreadText,
                                  of_.first_unread + row - padding),
                 root - (of_.unread - row), row > padding ? row - 1 : -1);
      round_.Set(book::kDraftRow, of_.first_node, of_.unread);
      return;
    }
    const int wanted = round_.Get(book::kWantedCount, drafter_);
    for (int i = w_.index(); i < rows; i += w_.count()) {
      if (i >= wanted) {
        WriteRow(first_row + i, 0, root, -1);
        continue;
      }
      const int node = Wanted(i);
      WriteRow(first_row + i, round_.Get(book::kToken, node),
               root + round_.Get(book::kDepth, node),
               round_.Get(book::kDraftRow, round_.Get(book::kParent, node)));
      round_.Set(book::kDraftRow, node, first_row + i);
    }
  }

  const Workers& w_;
  const Book& round_;
  const int drafter_;
  const DrafterLayout& of_;
};

// A distribution's row without the first `taken` draws from `draws` on.
template <typename Book, typename Distributions>
struct LeftOfDistribution {
  const Book& round;
  const Distributions& distributions;
  std::int64_t first;  // of the row
  int draws;
  int taken;

  BANYAN_STEP double operator()(int token) const {
    for (int k = 0; k < taken; ++k)
      if (round.Get(book::kDrawToken, draws + k) == token) return 0.0;
    return distributions.Read(first + token);
  }
};

// The draws at the `number`th node of a level, one after another.
// `first_distribution`: the level's first distribution.
template <typename Workers, typename Book, typename Distributions>
BANYAN_STEP void DrawStep(const Workers& w, const Book& round,
                          const Distributions& distributions, int drafter,
                          int number, int first_distribution) {
  const DrafterLayout& of = round.of.drafters[drafter];
  if (number >= round.Get(book::kWantedCount, drafter)) return;
  const int node = round.Get(book::kWanted, of.first_node + number);
  const int distribution = first_distribution + (of.by_depth ? 0 : number);
  const std::int64_t first = std::int64_t{distribution} * round.of.vocab;
  const int draws = round.Get(book::kFirstDraw, node);
  const int count = round.Get(book::kDrawCount, node);
  // Shared draws are those of the level's first node.
  const int key =
      (of.share_draws ? round.Get(book::kWanted, of.first_node) : node) -
      of.first_node;
  if (w.index() == 0) round.Set(book::kDistributionRow, node, distribution);
  LawScale counts;
  const bool failed =
      round.Get(book::kDistributionError, distribution) != kNoError;
  if (!failed)
    counts.row_total = counts.summed =
        round.Number(book::kDistributionTotal, distribution);
  const bool ranked = of.draw_kind == DrawKind::kDeterministic;
  if (!counts.empty() && (!ranked || counts.total() > 1)) counts.Normalize();
  const double proposal_scale = counts.scale;

  LeftOfDistribution<Book, Distributions> left = {round, distributions, first,
                                                  draws, 0};
  double total = 0;
  Largest largest;
  if (!failed) {
    if (!ranked || count > 1) total = KeptTotal(w, round, distribution);
    if (ranked) largest = KeptBest(w, round, distribution);
  }
  int made = 0;
  for (; made < count && !counts.empty(); ++made) {
    const int draw = draws + made;
    const int token =
        ranked ? largest.place
               : round.chance.Draw(round, w, left, total, Purpose::kDraft, key,
                                   made, drafter);
    const double number_there = distributions.Read(first + token);
    if (w.index() == 0) {
      round.Set(book::kDrawNode, draw, node);
      round.Set(book::kDrawToken, draw, token);
      round.Set(book::kDrawMade, draw, 1);
      round.SetNumber(book::kDrawMass, draw, proposal_scale * number_there);
      round.SetNumber(book::kDrawScale, draw, counts.scale);
      round.SetNumber(book::kDrawQ, draw,
                      ranked ? 1.0 : counts.scale * number_there);
    }
    if (of.draw_kind == DrawKind::kIndependent || made + 1 == count) continue;
    w.Sync();
    left.taken = made + 1;
    total = w.SumAgain(token, left);
    if (ranked) largest = w.BestAgain(token, left);
    counts.TakeOut(number_there, total);
  }
  for (int k = made + w.index(); k < count; k += w.count()) {
    round.Set(book::kDrawNode, draws + k, node);
    round.Set(book::kDrawToken, draws + k, -1);
    round.Set(book::kDrawMade, draws + k, 0);
  }
}

}  // namespace banyan

#endif  // BANYAN_CORE_ROUND_DRAFT_STEPS_H_
