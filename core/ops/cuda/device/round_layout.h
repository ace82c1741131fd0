// The places of a round's lists in a device's memory (round_tables.h), and the
// plan as the kernels get it. Plain types, because nvcc reads this file too.
#ifndef BANYAN_CORE_OPS_CUDA_DEVICE_ROUND_LAYOUT_H_
#define BANYAN_CORE_OPS_CUDA_DEVICE_ROUND_LAYOUT_H_

#include "core/device/cuda/span.h"
#include "core/prob/draw_kind.h"

namespace banyan {

// Numbers of the round, one each, at the front of the integers.
enum RoundState {
  kTargetLength,  // committed tokens, all but the root
  kDraftLength,
  kRoot,
  kPrompt,
  kRound,
  kUnread,  // tokens before the root that the drafter has not read
  kNodes,   // made so far
  kNewest,  // the first node of the newest level
  kWanted,  // nodes of it that are proposed for
  kSlots,   // draws planned so far, and before this level
  kSlotsBefore,
  kRows,  // of the target's pass
  kPathSize,
  kNext,
  kErrorKind,  // RoundError
  kErrorText,  // which token, and its logit's bits
  kErrorBits,
  kTargetKept,  // rows, and where they go
  kTargetTo,
  kDraftKept,
  kDraftTo,
  kStates = 32,
};

enum RoundError { kNoError, kNoNumber, kNoTokenLeft };

enum class ShapeKind { kFixed, kSequences, kExpandRerank };
enum class JudgeKind { kGreedy, kMatch, kPointMass, kRounds };

struct RoundLayout {
  // The plan.
  ShapeKind shape = ShapeKind::kFixed;
  JudgeKind judge = JudgeKind::kRounds;
  DrawKind draw_kind = DrawKind::kIndependent;
  bool share = false;
  bool law_by_depth = false;
  bool has_draft_rows = false;
  bool rereads = false;       // RoundTablesOptions::draft_rereads
  bool dense_target = false;  // its distributions leave no token out
  bool dense_draft = false;
  int levels = 0;
  int count = 0;
  int top_k = 0, total = 0;
  int vocab = 0;

  // Sizes.
  int nodes = 0;
  int draws = 0;
  int width = 0;  // of the widest level
  int rows = 0;   // of the target's pass
  int draft_rows = 0;
  int unread = 0;    // the most of kUnread
  int law_rows = 0;  // of drafts
  int target_words = 0;
  int draft_words = 0;
  int ends = 0;  // tokens that end a text

  // Places in the doubles.
  int path_mass = 0;
  int draw_scale = 0;
  int draw_mass = 0;  // in the proposal
  int draw_q = 0;
  int law_total = 0;  // of drafts, then of the target's rows
  int doubles = 0;

  // Places in the integers, after the states. Lists by node:
  int token = 0, parent = 0, at_depth = 0, place = 0, multiplicity = 0;
  int closed = 0, first_draw = 0, draw_count = 0, draft_row = 0, law_row = 0;
  int row = 0, first_child = 0, child_count = 0, kept = 0, wants = 0;
  // Lists by draw:
  int draw_node = 0, draw_token = 0, draw_child = 0, draw_made = 0;
  int draw_first = 0;  // the first draw of the same token at the node
  // Other lists:
  int path = 0;
  int row_node = 0;
  int law_error = 0;  // three each, as law_total
  int read_back = 0;  // integers up to here are what a round found
  int wanted = 0;
  int below = 0;        // nodes below each, itself counted
  int unread_text = 0;  // those tokens, in the text's order
  int kept_rows = 0;    // RoundTables::kept_rows
  int target_slots = 0, draft_slots = 0;
  int target_tokens = 0, target_positions = 0, target_visible = 0;
  int draft_tokens = 0, draft_positions = 0, draft_visible = 0;
  int draft_parents = 0;
  int place_first = 0, place_count = 0, place_list = 0;
  int end_list = 0;
  int integers = 0;
};

// The sampling rule that makes a distribution.
struct LawRule {
  double temperature = 1;
  double penalty = 1;
  double top_p = 1;
  double min_p = 0;
  int top_k = 0;
  int used = 0;       // tokens from here on are none
  DeviceSpan banned;  // integers, each once

  bool truncates() const { return top_k > 0 || top_p < 1 || min_p > 0; }
};

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_CUDA_DEVICE_ROUND_LAYOUT_H_
