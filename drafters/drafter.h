// Drafter: says, for nodes of a tree under way, what the next token may be.
#ifndef BANYAN_DRAFTERS_DRAFTER_H_
#define BANYAN_DRAFTERS_DRAFTER_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/model/device_round.h"
#include "core/model/model.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"

namespace banyan {

class Drafter;

// What a drafter is to a device that runs rounds alone: its part there, null if
// it has none, and the rule that makes its laws.
struct DrafterTwin {
  std::unique_ptr<DeviceDrafter> part;
  SamplingRule rule = SamplingRule();
  // Whether the part keeps there what it reads of the target's features: while
  // the device runs rounds context.features stay as they were. A drafter with
  // taps that does not has its rounds run on the host.
  bool keeps_features = false;
};

// A store that goes from prompt to prompt: how many of its `unit` it holds, and
// how many it dropped so far to stay within its limit.
struct Carried {
  std::string unit;  // "texts"
  std::int64_t held = 0;
  std::int64_t dropped = 0;
};

// One sequence's question: what may follow these nodes of its tree under way?
struct DraftRequest {
  Drafter* drafter;
  const Context* context;
  const TrunkTree* tree;
  std::vector<int> nodes;
};

// One sequence's drafter; not safe for concurrent use.
//
// A method has one drafter a trunk, which no sequence uses; each sequence is
// given a clone. Calls to that come as Begin, then for each round any number of
// Propose and one Observe. Propose may warm caches but must not change what
// later proposals say: a round can be abandoned after any of its steps. What is
// learnt is learnt in Observe.
//
// Begin and Observe may return before their work is done, but only where it is
// on the target's device: times are taken after the target's Model::Finish.
class Drafter {
 public:
  virtual ~Drafter() = default;

  // Another one for another sequence, with weights and tables shared, and with
  // what this one carries from prompt to prompt.
  virtual std::unique_ptr<Drafter> Clone() const = 0;

  // The laws its proposals can be drawn by, in no order. One that only ranks
  // candidates can give kDeterministic alone; its proposal is then a list of
  // scores.
  virtual std::vector<DraftLaw> laws() const = 0;

  // True if what it learnt from one prompt stays for the next: runs with it
  // depend on the order of the prompts.
  virtual bool carries_state() const { return false; }
  // A clone's prompt has ended, and nothing is asked of it any more: what it
  // learnt for the next prompts beside the text itself, as bytes that Absorb
  // reads. It may let go of what it shares with others.
  virtual std::string End() { return {}; }
  // A prompt has ended: takes over its text, the prompt and what was emitted,
  // and what its drafter's End() said. Prompts come in their order; a clone
  // sees what was taken over before it was made. Fails, unchanged, as
  // CheckLesson() does.
  virtual absl::Status Absorb(absl::Span<const TokenId> /*text*/,
                              absl::string_view /*learnt*/) {
    return absl::OkStatus();
  }
  // Fails on bytes that End() never gives. Changes nothing.
  virtual absl::Status CheckLesson(absl::Span<const TokenId> /*text*/,
                                   absl::string_view /*learnt*/) const {
    return absl::OkStatus();
  }
  // What it has taken over; empty where it carries nothing.
  virtual std::vector<Carried> carried() const { return {}; }

  // The hidden states of the target that it reads in context.features, by tap
  // (core/model/model.h); ascending.
  virtual std::vector<int> taps() const { return {}; }

  // Of how many depths the laws hang on the depth alone, whatever the path: as
  // many as it has heads. 0: they hang on the path.
  virtual int heads() const { return 0; }

  // The longest text after which it can say anything, in tokens. Nothing is
  // asked of it behind a longer one: the round goes on without it.
  virtual int longest_text() const { return std::numeric_limits<int>::max(); }

  // The target's session, which has read the prompt but its last token and
  // outlives this drafter's work on it: once a prompt, before Begin. Views of
  // it may be taken and kept; nothing else may be done with it.
  virtual absl::Status TakeViews(Session& /*target*/) {
    return absl::OkStatus();
  }
  // The prompt. Forgets the previous one, unless it carries state.
  virtual absl::Status Begin(const Context& context) = 0;

  // How many of its tokens it expects to be accepted in the next round, by its
  // own judgement of the committed text, which Begin or Observe has told it;
  // none: it has no opinion.
  virtual std::optional<double> Promise(const Context& /*context*/) const {
    return std::nullopt;
  }

  // One proposal for each of `nodes`, in their order: the law of the token
  // after that node, given the committed context and the node's path. One pass
  // of the drafter. Their ancestors were proposed for before them. The masses
  // need not sum to 1: Drafting normalises a law before it draws, and scores
  // that sum to more, so that no path outweighs its parent. A proposal without
  // mass ends its branch.
  virtual absl::StatusOr<std::vector<Distribution>> Propose(
      const Context& context, const TrunkTree& tree,
      absl::Span<const int> nodes) = 0;
  // Whether nodes may be asked for together with their ancestors, which then
  // stand before them.
  virtual bool proposes_ahead() const { return false; }
  // Propose() for several sequences, in their order: all drafters are clones of
  // this one's like. Unless overridden one after the other; a drafter with a
  // pass of its own makes one pass for all. A proposal does not depend on the
  // company, to the last bit.
  virtual absl::StatusOr<std::vector<std::vector<Distribution>>> ProposeAll(
      absl::Span<const DraftRequest> requests);

  // The tree is drafted: adds probes, rows that the target scores beside it and
  // nobody draws or judges, down to `max_depth`. Their rows come back in
  // Observe. Changes nothing else.
  virtual void Plant(const Context& /*context*/, int /*max_depth*/,
                     TrunkTree& /*tree*/) {}
  // How many it plants at most a round.
  virtual int probes() const { return 0; }
  // Whether it reads context.scored in Observe.
  virtual bool reads_rows() const { return false; }
  // What of the tree that the target is to score a view of it has computed.
  virtual DoneRows Computed(const DraftTree& /*tree*/) const { return {}; }

  // For rounds on the target's device, drawn by this law. The part refers to
  // this drafter, which outlives it; while the device runs rounds, nothing else
  // is called.
  virtual absl::StatusOr<DrafterTwin> OnDevice(DraftLaw /*law*/) {
    return DrafterTwin();
  }
  // The host has the next round: `context` holds what the device's brought, and
  // features of the last one.
  virtual void Resume(const Context& /*context*/) {}

  // The round is committed: `context` already holds its tokens.
  virtual absl::Status Observe(const Context& context,
                               const RoundOutcome& outcome) = 0;

 protected:
  // Propose() by way of ProposeAll(), for a drafter with a pass of its own.
  absl::StatusOr<std::vector<Distribution>> ProposeAlone(
      const Context& context, const TrunkTree& tree,
      absl::Span<const int> nodes);
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_DRAFTER_H_
