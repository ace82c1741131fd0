// What a speculation round is made of, for whoever runs it in steps
// (core/round/steps.h): on a device without the host, or here in plain loops.
#ifndef BANYAN_CORE_ROUND_PLAN_H_
#define BANYAN_CORE_ROUND_PLAN_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "core/base/token.h"
#include "core/prob/draw_kind.h"
#include "core/prob/sampling_rule.h"
#include "core/round/layout.h"

namespace banyan {

// Which nodes a drafter proposes for, and how many draws each gets.

// A tree that is known before the round.
struct FixedPlaces {
  bool share_draws = false;  // by the nodes of a level
  // Of every place, depth first; -1 of the first. A bare root has this one.
  std::vector<int> parents = {-1};
};
// `width` chains from the root.
struct SequencesShape {
  int width = 0;
  int levels = 0;
};
// The best `width` nodes of a level get `width` draws each; the best `nodes` of
// all that are drawn are kept.
struct RerankedShape {
  int width = 0;
  int levels = 0;
  int nodes = 0;
};
// A tree that the host drafts before the round: as many nodes and draws at
// most.
struct UploadedShape {
  int nodes = 0;  // the root too
  int draws = 0;
  int levels = 0;
};
using RoundShape =
    std::variant<FixedPlaces, SequencesShape, RerankedShape, UploadedShape>;

// A drafter's part.
struct RoundDrafter {
  std::string name = {};  // for errors
  RoundShape shape = FixedPlaces();
  DrawKind draw_kind = DrawKind::kIndependent;
  SamplingRule rule = SamplingRule();
  int used_vocab = 0;  // tokens that it may draw
  // By token: which of its logits is the token's, -1 if none; empty: they are
  // in the tokens' order.
  std::vector<int> columns = {};
  // Its rows are pairs (ScoreRequest::vectors): a row stands a place before its
  // token, and what a round keeps is read again before the next root, with the
  // target's states. Else its own rows stay.
  bool rereads = false;
  // One distribution a level, whatever the path, and no rows of its own; else
  // one a node.
  bool by_depth = false;
  int most_levels = 0;  // that it can draft
};

struct RoundPlan {
  std::vector<RoundDrafter> drafters;  // draft in this order; none: a bare root
  JudgeKind judge = JudgeKind::kRounds;
  SamplingRule target_rule = SamplingRule();
  int vocab_size = 0;
  int used_vocab = 0;  // tokens that may be emitted
  int least_rows = 1;  // of the target's pass, some perhaps of no node
  std::vector<TokenId> end_of_text;  // nothing is drafted below these
  // Of the target's states, that whoever asks wants to read or a drafter reads
  // (core/model/model.h); ascending.
  std::vector<int> taps = {};
  std::uint64_t seed = 0;
};

// A drafted tree on its way to the device. Draws of a node stand together.
struct UploadedTree {
  std::vector<int> nodes;      // UploadedNode's numbers, node after node
  std::vector<int> draws;      // UploadedDraw's
  std::vector<double> scales;  // by draw: of its distribution's row
  std::vector<double> q;       // its mass in it
  std::vector<std::vector<double>> distributions;  // rows, a number a token
};

// A sequence as it stands between two rounds.
struct RoundStart {
  std::vector<TokenId> text;  // committed; the last one is the root
  std::uint32_t prompt = 0;
  std::uint32_t round = 0;
  int target = 0;           // tokens that the target's session holds
  std::vector<int> drafts;  // and each drafter's
};

// What a round found. Nodes stand in depth-first order, the root first; a
// node's draws in the order of time.
struct RoundFindings {
  struct Draw {
    int node;
    int drafter;
    int time;  // its number among all draws of the round
    int own;   // the node, in the drafter's tree
    TokenId token;
    int child;
    double q;  // its mass in the distribution it is judged by
  };
  std::vector<TokenId> tokens;
  std::vector<int> parents;
  std::vector<Draw> draws;
  std::vector<int> first_times;  // by drafter: of its draws
  std::vector<int> path;
  TokenId next = 0;
};

}  // namespace banyan

#endif  // BANYAN_CORE_ROUND_PLAN_H_
