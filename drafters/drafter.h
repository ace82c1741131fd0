// Drafter and DraftSession: propose what may follow the nodes of a draft tree.
//
// A Drafter is shared by all sequences, as a Model is: weights, tables, traits.
// A DraftSession is one sequence's state, as a Session is. What only some
// drafters do is a facet, which is handed over at construction: a drafter made
// of drafters has to say which facets it has.
#ifndef BANYAN_DRAFTERS_DRAFTER_H_
#define BANYAN_DRAFTERS_DRAFTER_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/model/model.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"

namespace banyan {

class DraftSession;

struct DrafterTraits {
  // The draw kinds that it can give, in no order. A drafter that only ranks
  // candidates has kDeterministic alone; its proposals are ranked.
  std::vector<DrawKind> draw_kinds;
  // The longest text, in tokens, after which it can propose. After a longer one
  // nothing is asked: the round goes on without it.
  int longest_text = std::numeric_limits<int>::max();
  // Whether nodes may be asked for together with their ancestors, which then
  // come first.
  bool proposes_ahead = false;
  // Number of heads whose distribution depends on depth only; 0 if it depends
  // on the path.
  int depth_heads = 0;
  // The hidden states of the target that sessions read in context.features
  // (core/model/model.h); ascending.
  std::vector<int> taps = {};
  // Whether sessions read context.scored in Observe: what they learn is not in
  // the text alone.
  bool reads_scores = false;
  // The most probes a round: rows that the target scores for the drafter alone.
  int probes = 0;
  // Whether it can be asked for a node that another drafter drew, together with
  // or after the nodes above it. A drafter that plants probes cannot, since it
  // plants a number for each node of its own tree.
  bool below_others = true;
};

// A store that goes from prompt to prompt: how many of its `unit` it holds, and
// how many it dropped so far to stay within its limit.
struct Carried {
  std::string unit;  // "texts"
  std::int64_t held = 0;
  std::int64_t dropped = 0;
};

// Facet of a drafter whose sessions teach later ones: runs with it depend on
// the order of the prompts.
class CarriedState {
 public:
  virtual ~CarriedState() = default;
  // Takes over the text of a prompt that ended, prompt and output, and what its
  // session's End() returned. Prompts come in order. Sessions that were made
  // before do not change. Fails, unchanged, as CheckLesson().
  virtual absl::Status Absorb(absl::Span<const TokenId> text,
                              absl::string_view learnt) = 0;
  // Fails on bytes that End() never returns. Changes nothing.
  virtual absl::Status CheckLesson(absl::Span<const TokenId> text,
                                   absl::string_view learnt) const = 0;
  virtual std::vector<Carried> holdings() const = 0;
};

// Facet of a session that takes part in the target's pass.
class TargetPassPart {
 public:
  virtual ~TargetPassPart() = default;
  // Called once, before Begin, with the target's session, which has read the
  // prompt but its last token and outlives this one. Views of it may be taken
  // and kept; nothing else may be done with it.
  virtual absl::Status TakeViews(Session& target) = 0;
  // Adds probes to a tree that is drafted, down to `max_depth`: rows that are
  // scored, and neither drawn nor verified. Changes nothing else.
  virtual void Plant(const Context& context, int max_depth,
                     TrunkTree& tree) = 0;
  // The rows of the tree that a view of the target has computed; none: empty.
  virtual DoneRows Computed(const DraftTree& tree) const = 0;
};

// What a session is to a device that runs rounds alone.
struct DeviceDraft {
  std::unique_ptr<DeviceDrafter> part;  // null: it has no counterpart there
  SamplingRule rule = SamplingRule();   // that makes its proposals
  // Whether the part keeps there what it reads of the target's features: while
  // the device runs rounds context.features stay as they were. A drafter with
  // taps that does not has its rounds run on the host.
  bool keeps_features = false;
};

// Facet of a session whose rounds a device can run.
class DeviceCounterpart {
 public:
  virtual ~DeviceCounterpart() = default;
  // The counterpart for draws of this kind. It refers to the session, which
  // outlives it. While the device runs rounds nothing else is called.
  virtual absl::StatusOr<DeviceDraft> Make(DrawKind draw_kind) = 0;
  // The host runs the next round: `context` has the text of the device's
  // rounds, and features of the last one.
  virtual void Resume(const Context& context) = 0;
};

// Null: the session does not have it.
struct SessionFacets {
  TargetPassPart* in_target_pass = nullptr;
  DeviceCounterpart* on_device = nullptr;
};

// One sequence's question: what may follow these nodes of its tree under way?
struct DraftRequest {
  DraftSession* session;
  const Context* context;
  const TrunkTree* tree;
  std::vector<int> nodes;
};

// By node of a request.
using Proposals = std::vector<Proposal>;

// Not safe for concurrent use, nor are its sessions.
class Drafter {
 public:
  virtual ~Drafter() = default;
  Drafter(const Drafter&) = delete;
  Drafter& operator=(const Drafter&) = delete;

  const DrafterTraits& traits() const { return traits_; }
  // Null: nothing goes from prompt to prompt.
  CarriedState* carried() const { return carried_; }
  bool Gives(DrawKind draw_kind) const {
    return std::find(traits_.draw_kinds.begin(), traits_.draw_kinds.end(),
                     draw_kind) != traits_.draw_kinds.end();
  }
  bool only_ranks() const {
    return traits_.draw_kinds ==
           std::vector<DrawKind>{DrawKind::kDeterministic};
  }

  // For another sequence, with what was absorbed so far. It refers to the
  // drafter, which outlives it.
  virtual std::unique_ptr<DraftSession> NewSession() const = 0;

  // For each request, which are of different sessions of this drafter, one
  // proposal for each node: the distribution of the next token given the
  // committed context and the node's path. A drafter with a model makes one
  // pass for all; a proposal is bit-identical whatever other requests there
  // are. Ancestors were asked for before. The root comes first, and begins a
  // drafting: what an abandoned round left is dropped. The masses need not sum
  // to 1: Drafting normalises them before it draws, and scores that sum to
  // more. A proposal without mass ends its branch. May warm caches but must not
  // change later proposals: a round can be abandoned after any of its steps.
  virtual absl::StatusOr<std::vector<Proposals>> Propose(
      absl::Span<const DraftRequest> requests) = 0;

 protected:
  Drafter(DrafterTraits traits, CarriedState* carried)
      : traits_(std::move(traits)), carried_(carried) {}

 private:
  DrafterTraits traits_;
  CarriedState* carried_;
};

// Calls come as Begin, then for each round any number of requests to the
// drafter and one Observe, then End.
//
// Begin and Observe may return before their work is done, but only where it is
// on the target's device: times are taken after the target's Model::Finish.
class DraftSession {
 public:
  virtual ~DraftSession() = default;
  DraftSession(const DraftSession&) = delete;
  DraftSession& operator=(const DraftSession&) = delete;

  const SessionFacets& facets() const { return facets_; }

  // The prompt. Called once.
  virtual absl::Status Begin(const Context& context) = 0;
  // How many of its tokens it expects to be accepted in the next round, judging
  // by the committed text; none: it has no opinion.
  virtual std::optional<double> Promise(const Context& context) const = 0;
  // A round is committed: `context` already holds its tokens. All learning
  // happens here.
  virtual absl::Status Observe(const Context& context,
                               const RoundOutcome& outcome) = 0;
  // The prompt has ended, and nothing is asked any more. Returns the state to
  // carry to later prompts beside the text, serialised for Absorb(); empty
  // where nothing is carried.
  virtual std::string End() = 0;

 protected:
  explicit DraftSession(SessionFacets facets) : facets_(facets) {}

 private:
  SessionFacets facets_;
};

// A session that has no opinion of the next round and teaches nothing.
class QuietSession : public DraftSession {
 public:
  std::optional<double> Promise(const Context& /*context*/) const override {
    return std::nullopt;
  }
  std::string End() override { return {}; }

 protected:
  using DraftSession::DraftSession;
};

// A session whose proposals depend on the path alone, for drafters without
// state of a sequence.
class BlankSession final : public QuietSession {
 public:
  BlankSession() : QuietSession(SessionFacets{}) {}
  absl::Status Begin(const Context& /*context*/) override {
    return absl::OkStatus();
  }
  absl::Status Observe(const Context& /*context*/,
                       const RoundOutcome& /*outcome*/) override {
    return absl::OkStatus();
  }
};

// The session of a request, as the class that the drafter's NewSession() makes.
template <typename S>
S& SessionOf(const DraftRequest& request) {
  return static_cast<S&>(*request.session);
}

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_DRAFTER_H_
