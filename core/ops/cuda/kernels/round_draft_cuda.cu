// Drafting on the device: chooses the nodes to propose for (the counterparts of
// the policies), draws from their distributions, makes the drawn nodes, and in
// the end the tree, depth first. Does what Drafting, TrunkTree and Merge do for
// one trunk, in the same order and with the same keys.
#include <cstdint>

#include "core/base/draw_math.h"
#include "core/device/cuda/kernel.h"
#include "core/ops/cuda/device/law_block.h"
#include "core/ops/cuda/device/round_layout.h"
#include "core/ops/cuda/device/round_view.h"
#include "core/ops/cuda/kernels/round_kernels.h"
#include "core/ops/cuda/kernels/round_launches.h"

namespace banyan::BANYAN_MAKER {
namespace {

constexpr int kThreads = 128;

// One block. Nodes of a level, and draws, are a thread's each.
struct SelectKernel {
  static constexpr const char* kName = "select";
  RoundView round;
  int level;
  int first_row;
  int width;

  BANYAN_DEVICE void operator()(const Thread& t) const {
    const RoundLayout& at = round.at;
    if (level == 0)
      Begin(t);
    else
      Grow(t);
    t.Sync();
    if (level == at.levels) return Finish(t);
    Choose(t);
    t.Sync();
    if (at.has_draft_rows) WriteDraftRows(t);
  }

  // A bare root.
  BANYAN_DEVICE void Begin(const Thread& t) const {
    if (t.index() != 0) return;
    WriteNode(0, -1, 0, round.State(kRoot), 0, 1);
    round.SetState(kNodes, 1);
    round.SetState(kNewest, 0);
    round.SetState(kWanted, 0);
    round.SetState(kSlots, 0);
    round.SetState(kSlotsBefore, 0);
  }

  BANYAN_DEVICE void WriteNode(int node, int parent, int depth, int token,
                               int place, double path_mass) const {
    const RoundLayout& at = round.at;
    bool final = false;
    for (int i = 0; i < at.ends && node > 0; ++i)
      final = final || round.Get(at.end_list, i) == token;
    round.Set(at.token, node, token);
    round.Set(at.parent, node, parent);
    round.Set(at.at_depth, node, depth);
    round.Set(at.place, node, place);
    round.Set(at.multiplicity, node, 1);
    round.Set(at.closed, node, final ? 1 : 0);
    round.Set(at.first_draw, node, 0);
    round.Set(at.draw_count, node, 0);
    round.Set(at.draft_row, node, -1);
    round.Set(at.law_row, node, -1);
    round.Set(at.first_child, node, 0);
    round.Set(at.child_count, node, 0);
    round.SetNumber(at.path_mass, node, path_mass);
  }

  // The nodes that the last level's draws made: one for each token that was
  // drawn at a node, in the order of their first draws.
  BANYAN_DEVICE void Grow(const Thread& t) const {
    const RoundLayout& at = round.at;
    const int begin = round.State(kSlotsBefore);
    const int end = round.State(kSlots);
    const int nodes = round.State(kNodes);
    for (int slot = begin + t.index(); slot < end; slot += kThreads) {
      int first = -1;
      if (round.Get(at.draw_made, slot) != 0) {
        first = round.Get(at.first_draw, round.Get(at.draw_node, slot));
        while (round.Get(at.draw_token, first) !=
               round.Get(at.draw_token, slot))
          ++first;
      }
      round.Set(at.draw_first, slot, first);
    }
    t.Sync();
    for (int slot = begin + t.index(); slot < end; slot += kThreads) {
      int child = -1;
      if (round.Get(at.draw_first, slot) == slot) {
        child = nodes + CountNew(begin, slot);
        const int node = round.Get(at.draw_node, slot);
        const int rank = slot - round.Get(at.first_draw, node);
        int place = 0;
        if (at.shape == ShapeKind::kFixed)
          place = round.Get(
              at.place_list,
              round.Get(at.place_first, round.Get(at.place, node)) + rank);
        WriteNode(child, node, level, round.Get(at.draw_token, slot), place,
                  round.Number(at.path_mass, node) *
                      round.Number(at.draw_mass, slot));
      }
      round.Set(at.draw_child, slot, child);
    }
    t.Sync();
    // Repeated draws lead to the first one's node.
    for (int slot = begin + t.index(); slot < end; slot += kThreads) {
      const int first = round.Get(at.draw_first, slot);
      if (first < 0 || first == slot) continue;
      round.Set(at.draw_child, slot, round.Get(at.draw_child, first));
    }
    t.Sync();
    for (int i = t.index(); i < round.State(kWanted); i += kThreads) {
      const int node = round.Get(at.wanted, i);
      const int first = round.Get(at.first_draw, node);
      int children = 0;
      for (int k = 0; k < round.Get(at.draw_count, node); ++k) {
        const int slot = first + k;
        if (round.Get(at.draw_made, slot) == 0) continue;
        const int child = round.Get(at.draw_child, slot);
        if (round.Get(at.draw_first, slot) == slot) {
          if (children++ == 0) round.Set(at.first_child, node, child);
        } else {
          round.Set(at.multiplicity, child,
                    round.Get(at.multiplicity, child) + 1);
        }
      }
      round.Set(at.child_count, node, children);
    }
    t.Sync();
    if (t.index() == 0) {
      round.SetState(kNewest, nodes);
      round.SetState(kNodes, nodes + CountNew(begin, end));
      round.SetState(kSlotsBefore, end);
      round.SetState(kWanted, 0);
    }
  }
  BANYAN_DEVICE int CountNew(int begin, int end) const {
    int count = 0;
    for (int slot = begin; slot < end; ++slot)
      count += round.Get(round.at.draw_first, slot) == slot ? 1 : 0;
    return count;
  }

  // How many draws an open node gets.
  BANYAN_DEVICE int Draws(int node) const {
    const RoundLayout& at = round.at;
    if (round.Get(at.closed, node) != 0) return 0;
    switch (at.shape) {
      case ShapeKind::kFixed:
        return round.Get(at.place_count, round.Get(at.place, node));
      case ShapeKind::kSequences:
        return node == 0 ? at.count : round.Get(at.multiplicity, node);
      case ShapeKind::kExpandRerank:
        return at.top_k;
    }
    return 0;
  }
  // Whether node a stands before node b where the best come first.
  BANYAN_DEVICE bool Better(int a, int b) const {
    const double of_a = round.Number(round.at.path_mass, a);
    const double of_b = round.Number(round.at.path_mass, b);
    return of_a != of_b ? of_a > of_b : a < b;
  }

  BANYAN_DEVICE void Choose(const Thread& t) const {
    const RoundLayout& at = round.at;
    const int newest = round.State(kNewest);
    const int nodes = round.State(kNodes);
    const bool ranked = at.shape == ShapeKind::kExpandRerank;
    for (int node = newest + t.index(); node < nodes; node += kThreads)
      round.Set(at.wants, node, Draws(node) > 0 ? 1 : 0);
    t.Sync();
    for (int node = newest + t.index(); node < nodes; node += kThreads) {
      if (round.Get(at.wants, node) == 0) continue;
      int before = 0;
      for (int other = newest; other < nodes; ++other)
        if (round.Get(at.wants, other) != 0)
          before += (ranked ? Better(other, node) : other < node) ? 1 : 0;
      if (ranked && before >= at.top_k) continue;
      round.Set(at.wanted, before, node);
      (void)round.integers.AtomicAdd(kWanted, 1);
    }
    t.Sync();
    const int wanted = round.State(kWanted);
    const int slots = round.State(kSlots);
    t.Sync();  // all have read what is changed below
    for (int i = t.index(); i < wanted; i += kThreads) {
      const int node = round.Get(at.wanted, i);
      const int draws = Draws(node);
      int first = slots;
      for (int j = 0; j < i; ++j) first += Draws(round.Get(at.wanted, j));
      round.Set(at.first_draw, node, first);
      round.Set(at.draw_count, node, draws);
      if (i == wanted - 1) round.SetState(kSlots, first + draws);
    }
  }

  // Row r of all that the drafter scores in the round sees what its parent's
  // row sees, and itself.
  BANYAN_DEVICE void WriteDraftRow(int row, int token, int position,
                                   int parent_row) const {
    const RoundLayout& at = round.at;
    round.Set(at.draft_tokens, row, token);
    round.Set(at.draft_positions, row, position);
    round.Set(at.draft_parents, row, parent_row);
    for (int word = 0; word < at.draft_words; ++word)
      round.Set(at.draft_visible, row * at.draft_words + word,
                parent_row < 0 ? 0
                               : round.Get(at.draft_visible,
                                           parent_row * at.draft_words + word));
    round.SetBit(at.draft_visible, at.draft_words, row, row);
  }
  BANYAN_DEVICE void WriteDraftRows(const Thread& t) const {
    const RoundLayout& at = round.at;
    // The root's position: that of a pair is its first token's.
    const int root = round.State(kTargetLength) - (at.rereads ? 1 : 0);
    if (level == 0) {
      if (t.index() != 0) return;
      const int padding = at.unread - round.State(kUnread);
      for (int row = 0; row < padding; ++row) WriteDraftRow(row, 0, root, -1);
      for (int row = padding; row <= at.unread; ++row)
        WriteDraftRow(row,
                      row == at.unread
                          ? round.State(kRoot)
                          : round.Get(at.unread_text, row - padding),
                      root - (at.unread - row), row > padding ? row - 1 : -1);
      round.Set(at.draft_row, 0, at.unread);
      return;
    }
    for (int i = t.index(); i < width; i += kThreads) {
      if (i >= round.State(kWanted)) {
        WriteDraftRow(first_row + i, 0, root, -1);
        continue;
      }
      const int node = round.Get(at.wanted, i);
      WriteDraftRow(first_row + i, round.Get(at.token, node),
                    root + round.Get(at.at_depth, node),
                    round.Get(at.draft_row, round.Get(at.parent, node)));
      round.Set(at.draft_row, node, first_row + i);
    }
  }

  // The tree that was drafted, and its rows.
  BANYAN_DEVICE void Finish(const Thread& t) const {
    const RoundLayout& at = round.at;
    const int nodes = round.State(kNodes);
    for (int node = t.index(); node < nodes; node += kThreads) {
      bool kept = true;
      if (at.shape == ShapeKind::kExpandRerank && node > 0) {
        int better = 0;
        for (int other = 1; other < nodes; ++other)
          better += Better(other, node) ? 1 : 0;
        kept = better < at.total;
      }
      round.Set(at.kept, node, kept ? 1 : 0);
      round.Set(at.below, node, 0);
    }
    t.Sync();
    for (int node = t.index(); node < nodes; node += kThreads) {
      if (round.Get(at.kept, node) == 0) continue;
      for (int a = node; a >= 0; a = round.Get(at.parent, a))
        (void)round.integers.AtomicAdd(std::int64_t{at.below} + a, 1);
    }
    t.Sync();
    for (int node = t.index(); node < nodes; node += kThreads) {
      int row = -1;
      if (round.Get(at.kept, node) != 0) {
        row = 0;
        for (int a = node; a > 0; a = round.Get(at.parent, a)) {
          ++row;  // the parent itself
          const int first = round.Get(at.first_child, round.Get(at.parent, a));
          for (int older = first; older < a; ++older)
            row += round.Get(at.below, older);
        }
        round.Set(at.row_node, row, node);
        round.Set(at.target_tokens, row, round.Get(at.token, node));
        round.Set(at.target_positions, row,
                  round.State(kTargetLength) + round.Get(at.at_depth, node));
      }
      round.Set(at.row, node, row);
    }
    const int rows = round.Get(at.below, 0);
    for (int row = t.index(); row < at.rows; row += kThreads) {
      for (int word = 0; word < at.target_words; ++word)
        round.Set(at.target_visible, row * at.target_words + word, 0);
      round.SetBit(at.target_visible, at.target_words, row, row);
      if (row < rows) continue;
      round.Set(at.target_tokens, row, 0);
      round.Set(at.target_positions, row, round.State(kTargetLength));
    }
    t.Sync();
    for (int row = t.index(); row < rows; row += kThreads) {
      const int node = round.Get(at.row_node, row);
      for (int a = round.Get(at.parent, node); a >= 0;
           a = round.Get(at.parent, a))
        round.SetBit(at.target_visible, at.target_words, row,
                     round.Get(at.row, a));
    }
    if (t.index() == 0) round.SetState(kRows, rows);
  }
};

// A distribution's row without the first `taken` draws from slot `slots` on.
struct Left {
  const RoundView& round;
  const Global<const double>& laws;
  std::int64_t first;  // of the row
  int slots;
  int taken;

  BANYAN_DEVICE double operator()(int token) const {
    for (int k = 0; k < taken; ++k)
      if (round.Get(round.at.draw_token, slots + k) == token) return 0.0;
    return laws.Read(first + token);
  }
};

// A block a node: its draws, one after another.
struct DrawKernel {
  static constexpr const char* kName = "draw";
  RoundView round;
  Global<const double> laws;
  int first_law;

  BANYAN_DEVICE void operator()(const Thread& t) const {
    const RoundLayout& at = round.at;
    const int i = t.block();
    if (i >= round.State(kWanted)) return;
    const int node = round.Get(at.wanted, i);
    const int law = first_law + (at.law_by_depth ? 0 : i);
    const std::int64_t first = std::int64_t{law} * at.vocab;
    const int slots = round.Get(at.first_draw, node);
    const int draws = round.Get(at.draw_count, node);
    // Shared draws are those of the level's first node.
    const int key = at.share ? round.Get(at.wanted, 0) : node;
    if (t.index() == 0) round.Set(at.law_row, node, law);
    LawScale counts;
    const bool failed = round.Get(at.law_error, law * 3) != kNoError;
    if (!failed)
      counts.row_total = counts.summed = round.Number(at.law_total, law);
    const bool ranked = at.draw_kind == DrawKind::kDeterministic;
    if (!counts.empty() && (!ranked || counts.total() > 1)) counts.Normalize();
    const double proposal_scale = counts.scale;

    const LawBlock block(t, at.vocab);
    Left left = {round, laws, first, slots, 0};
    double total = 0;
    Largest largest;
    if (!failed) {
      total = block.Sum(left);
      if (ranked) largest = block.Best(left);
    }
    int made = 0;
    for (; made < draws && !counts.empty(); ++made) {
      const int slot = slots + made;
      const int token =
          ranked ? largest.place
                 : block.Place(
                       round.Uniform(Purpose::kDraft, key, made) * total, left);
      const double number = laws.Read(first + token);
      if (t.index() == 0) {
        round.Set(at.draw_node, slot, node);
        round.Set(at.draw_token, slot, token);
        round.Set(at.draw_made, slot, 1);
        round.SetNumber(at.draw_mass, slot, proposal_scale * number);
        round.SetNumber(at.draw_scale, slot, counts.scale);
        round.SetNumber(at.draw_q, slot, ranked ? 1.0 : counts.scale * number);
      }
      if (at.draw_kind == DrawKind::kIndependent) continue;
      t.Sync();
      left.taken = made + 1;
      total = block.SumAgain(token, left);
      if (ranked) largest = block.BestAgain(token, left);
      counts.TakeOut(number, total);
    }
    for (int k = made + t.index(); k < draws; k += t.threads()) {
      round.Set(at.draw_node, slots + k, node);
      round.Set(at.draw_token, slots + k, -1);
      round.Set(at.draw_made, slots + k, 0);
    }
  }
};

}  // namespace

void LaunchSelect(CudaDevice& device, const SelectLaunch& launch) {
  Launch(device, {.blocks = 1, .threads = kThreads},
         SelectKernel{{device, launch.round},
                      launch.level,
                      launch.first_row,
                      launch.width});
}

void LaunchDraw(CudaDevice& device, const DrawLaunch& launch) {
  if (launch.width == 0) return;
  Launch(device,
         {.blocks = launch.width,
          .threads = LawThreads(launch.round.layout.vocab),
          .shared_bytes = LawSharedBytes(launch.round.layout.vocab)},
         DrawKernel{{device, launch.round},
                    {device, launch.round.draft_laws},
                    launch.first_law});
}

}  // namespace banyan::BANYAN_MAKER
