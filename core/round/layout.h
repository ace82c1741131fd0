// Where a round's lists lie: one book of integers and one of doubles, whose
// lists are named here, once. Plain, for nvcc reads this too.
#ifndef BANYAN_CORE_ROUND_LAYOUT_H_
#define BANYAN_CORE_ROUND_LAYOUT_H_

#include "core/prob/draw_kind.h"

namespace banyan {

enum class ShapeKind { kFixed, kSequences, kReranked, kUploaded };
enum class JudgeKind { kGreedy, kMatch, kPointMass, kRounds };
// What is wrong with a row of logits.
enum RoundError { kNoError, kNoNumber, kNoTokenLeft };

// What there is one of in a list.
enum class Per {
  kRound,
  kDrafter,
  kNode,          // of every drafter's tree, one drafter's after another's
  kDraw,          // likewise
  kDistribution,  // a distribution: the drafters', then the target's
  kRun,     // of a distribution: what is summed at once (core/base/draw_math.h)
  kRow,     // of the target's pass: a node of the merged tree, depth first
  kOwn,     // of a row and a drafter
  kLevel,   // of the deepest tree, and one
  kSlot,    // of a drafter's passes: their rows, one drafter's after another's
  kUnread,  // tokens that a drafter may lag by, likewise
  kPlace,   // of fixed shapes
  kEnd,     // tokens that end a text
  kUploaded,  // of an uploaded tree: a number of it (UploadedNode)
  kRowWord,   // of a row: a word of what it sees
  kSlotWord,  // likewise
};

// Integers. Those of the round come first, each alone.
#define BANYAN_ROUND_INTEGERS(LIST)                                           \
  LIST(kTargetLength, kRound) /* committed tokens, all but the root */        \
  LIST(kRoot, kRound)                                                         \
  LIST(kPrompt, kRound)                                                       \
  LIST(kRound, kRound)                                                        \
  LIST(kRows, kRound) /* of the target's pass */                              \
  LIST(kPathSize, kRound)                                                     \
  LIST(kNext, kRound)                                                         \
  LIST(kErrorKind, kRound) /* RoundError; which token, its logit's bits */    \
  LIST(kErrorText, kRound)                                                    \
  LIST(kErrorBits, kRound)                                                    \
  LIST(kErrorDrafter, kRound) /* whose row it is; -1: the target's */         \
  LIST(kTargetKept, kRound)   /* rows, and where they go */                   \
  LIST(kTargetTo, kRound)                                                     \
  LIST(kDraftLength, kDrafter) /* tokens that its session holds */            \
  LIST(kUnread, kDrafter)   /* tokens before the root that it has not read */ \
  LIST(kNodesEnd, kDrafter) /* after the nodes made so far */                 \
  LIST(kNewest, kDrafter)   /* the first node of its newest level */          \
  LIST(kWantedCount, kDrafter) /* nodes of it that are proposed for */        \
  LIST(kDrawsEnd, kDrafter)    /* after the draws planned so far */           \
  LIST(kDrawsBefore, kDrafter) /* the same before this level */               \
  LIST(kDraftKept, kDrafter)   /* rows, and where they go */                  \
  LIST(kDraftTo, kDrafter)                                                    \
  LIST(kToken, kNode)                                                         \
  LIST(kParent, kNode) /* in its drafter's tree; -1 of a root */              \
  LIST(kDepth, kNode)                                                         \
  LIST(kPlace, kNode) /* of a fixed shape */                                  \
  LIST(kMultiplicity, kNode)                                                  \
  LIST(kClosed, kNode)                                                        \
  LIST(kFirstDraw, kNode)                                                     \
  LIST(kDrawCount, kNode)                                                     \
  LIST(kDraftRow, kNode)        /* in its drafter's passes; -1: none */       \
  LIST(kDistributionRow, kNode) /* what was proposed after it; -1: nothing */ \
  LIST(kKept, kNode)                                                          \
  LIST(kSame, kNode) /* the first node with its path, of all drafters' */     \
  LIST(kRow, kNode)  /* of the target's pass; -1: not kept */                 \
  LIST(kFirstChild, kNode) /* in the merged tree; -1: none */                 \
  LIST(kNextChild, kNode)  /* of its parent */                                \
  LIST(kWants, kNode)                                                         \
  LIST(kBelow, kNode)  /* merged nodes below it, itself counted */            \
  LIST(kBefore, kNode) /* and below its older siblings */                     \
  LIST(kDrawNode, kDraw)                                                      \
  LIST(kDrawToken, kDraw)                                                     \
  LIST(kDrawChild, kDraw)                                                     \
  LIST(kDrawMade, kDraw)                                                      \
  LIST(kDrawDense, kDraw) /* of an uploaded one: leaves no token out */       \
  LIST(kDrawFirst, kDraw) /* the first of the same token at the node */       \
  LIST(kPath, kRow)                                                           \
  LIST(kRowNode, kRow)                                                        \
  LIST(kOwnNode, kOwn) /* the drafter's node there; -1: none */               \
  LIST(kDistributionError, kDistribution) /* RoundError */                    \
  LIST(kDistributionToken, kDistribution) /* whose logit it is */             \
  LIST(kDistributionBits, kDistribution)                                      \
  /* Up to here a round is read back. */                                      \
  LIST(kWanted, kNode)  /* of the newest level, from its first node on */     \
  LIST(kRunPlace, kRun) /* where its largest number stands */                 \
  LIST(kUploadedTree, kUploaded) /* UploadedNode */                           \
  LIST(kUnreadText, kUnread)     /* those tokens, in the text's order */      \
  LIST(kKeptRows, kLevel) /* the root's and the path's, the last ones */      \
  LIST(kTargetSlots, kRow)                                                    \
  LIST(kDraftSlots, kSlot)                                                    \
  LIST(kTargetTokens, kRow)                                                   \
  LIST(kTargetPositions, kRow)                                                \
  LIST(kDraftTokens, kSlot)                                                   \
  LIST(kDraftPositions, kSlot)                                                \
  LIST(kDraftParents, kSlot)                                                  \
  LIST(kPlaceFirst, kPlace)                                                   \
  LIST(kPlaceCount, kPlace)                                                   \
  LIST(kPlaceList, kPlace)                                                    \
  LIST(kEndList, kEnd)                                                        \
  LIST(kTargetVisible, kRowWord)                                              \
  LIST(kDraftVisible, kSlotWord)

#define BANYAN_ROUND_DOUBLES(LIST)                     \
  LIST(kRunBest, kRun) /* its largest number */        \
  LIST(kRunSum, kRun)  /* of exponentials */           \
  LIST(kRunMass, kRun)                                 \
  /* From here on a round is read back. */             \
  LIST(kPathMass, kNode)                               \
  LIST(kDrawScale, kDraw)                              \
  LIST(kDrawMass, kDraw) /* in the proposal */         \
  LIST(kDrawQ, kDraw)    /* in what it is judged by */ \
  LIST(kDistributionTotal, kDistribution)

namespace book {
#define BANYAN_NAME(name, per) name,
enum Integers { BANYAN_ROUND_INTEGERS(BANYAN_NAME) kIntegerLists };
enum Doubles { BANYAN_ROUND_DOUBLES(BANYAN_NAME) kDoubleLists };
#undef BANYAN_NAME
}  // namespace book

constexpr int kMostRoundDrafters = 8;

// What an uploaded tree has for a node and for a draw, after the numbers of
// both; nodes, draws and distributions counted from its own first ones.
enum UploadedNode {
  kUpToken,
  kUpParent,  // -1 of the root
  kUpDepth,
  kUpFirstDraw,
  kUpDrawCount,
  kUpDistribution,  // -1: none was needed
  kUpNodeNumbers,
};
enum UploadedDraw {
  kUpDrawNode,
  kUpDrawToken,
  kUpDrawChild,
  kUpDrawDense,
  kUpDrawNumbers,
};

// A drafter's plan, and where its part of the lists begins and how long it is.
struct DrafterLayout {
  ShapeKind shape = ShapeKind::kFixed;
  DrawKind draw_kind = DrawKind::kIndependent;
  bool share_draws = false;
  bool by_depth = false;
  bool has_rows = false;  // passes of its own
  bool rereads = false;
  bool dense = false;  // its distributions leave no token out
  int levels = 0;
  int width = 0;  // of sequences, or of a re-ranked level
  int total = 0;  // nodes that re-ranking keeps
  int first_node = 0, nodes = 0;
  int first_draw = 0, draws = 0;
  int first_distribution = 0, distributions = 0;
  int first_slot = 0, slots = 0;
  int words = 0;  // of a slot in kDraftVisible
  int first_word = 0;
  int unread = 0, first_unread = 0;  // the most of kUnread
  int first_place = 0;
  int first_uploaded = 0;
};

struct RoundLayout {
  JudgeKind judge = JudgeKind::kRounds;
  bool dense_target = false;
  int vocab = 0;
  int count = 0;  // of drafters
  DrafterLayout drafters[kMostRoundDrafters];
  int levels = 0;  // of the deepest
  int nodes = 0, draws = 0;
  int rows = 0;           // of the target's pass, at most
  int distributions = 0;  // of drafters
  int words = 0;          // of a row in kTargetVisible
  int ends = 0;
  int integer_at[book::kIntegerLists];
  int double_at[book::kDoubleLists];
  int integers = 0;
  int doubles = 0;
};

}  // namespace banyan

#endif  // BANYAN_CORE_ROUND_LAYOUT_H_
