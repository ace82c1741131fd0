// Model and Session: what a round needs of a language model.
//
// A Model is immutable weights; a Session is one sequence's cache. A session
// holds a committed prefix and, between a scoring call and the next commit,
// *pending* rows: tokens that were scored but may still be thrown away.
#ifndef BANYAN_CORE_MODEL_MODEL_H_
#define BANYAN_CORE_MODEL_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/base/common.h"
#include "core/base/token.h"
#include "core/base/weight_format.h"
#include "core/model/context.h"
#include "core/model/session_state.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "core/round/plan.h"

namespace banyan {

// DeviceRound: rounds of one sequence that the target's device runs alone: one
// call, and one small copy back.
class Scores;  // core/model/model.h

// A drafter's part in the rounds of its target's device. The model that is
// asked for the rounds (DeviceRounds) knows its class; it is made for that
// model.
class DeviceDrafter {
 public:
  virtual ~DeviceDrafter() = default;
};

// Not safe for concurrent use; nothing else scores or commits with its sessions
// while it runs.
class DeviceRound {
 public:
  virtual ~DeviceRound() = default;

  // The sequence as it stands; before the first round, and whenever rounds were
  // run without it. The sessions hold the context but its root, or less.
  virtual absl::Status Begin(const Context& context) = 0;
  // The longest text that a round may start from, and the shortest.
  virtual int longest_text() const = 0;
  virtual int shortest_text() const = 0;

  // The tree of a drafter of the plan whose tree is uploaded: before each
  // round.
  virtual absl::Status Upload(int drafter, const UploadedTree& tree) = 0;

  // Of the last round (DeviceRounds::RunRounds), until the next: the target's
  // rows, one a node, with the plan's taps; and the masses that a drafter
  // proposed after a node.
  virtual const Scores& scores() const = 0;
  virtual absl::StatusOr<std::vector<double>> Proposal(int drafter,
                                                       int node) = 0;
};

// What was computed for one batch, a row per token in the order of the batch.
// Valid for as long as the model is. Rows stay where they
// were computed until they are read; reading waits for them, and can fail.
class Scores {
 public:
  virtual ~Scores() = default;

  virtual int vocab_size() const = 0;
  // Replaces `logits` by row `row`: one number per token of the vocabulary.
  virtual absl::Status Read(int row, std::vector<double>& logits) const = 0;
  // What `rule` makes of row `row` after `history` and `path`
  // (SamplingRule::Apply), and the row's k largest logits (BestLogits).
  virtual absl::StatusOr<Distribution> Law(
      int row, const SamplingRule& rule, absl::Span<const TokenId> history,
      absl::Span<const TokenId> path) const;
  virtual absl::StatusOr<std::vector<TokenLogit>> Best(int row, int k) const;
  // Writes the hidden state of row `row` at number `tap` of the request's taps.
  // Requires that the request had it, and room for the model's hidden_size().
  virtual absl::Status ReadHidden(int tap, int row,
                                  absl::Span<float> out) const;
};

// Takes the hidden states of a text that is being read, piece by piece: rows 0
// to rows - 1 are the text's next tokens, in order, without logits.
using FeatureSink =
    absl::FunctionRef<absl::Status(const Scores& piece, int rows)>;

class Model;

// What of its model's work a view does. A layer is two blocks, attention and
// feed-forward, each of which adds to what flows past it.
struct ViewOptions {
  // The view that runs these layers whole, ascending.
  static ViewOptions Layers(absl::Span<const int> layers) {
    return {{layers.begin(), layers.end()}, {layers.begin(), layers.end()}};
  }

  // The layers whose blocks it runs; ascending.
  std::vector<int> attention;
  std::vector<int> feed_forward;
  // The model whose weights it runs with: one of the same shape, whose caches
  // are the same kind. Null: the session's own. Asked for scores with it.
  std::shared_ptr<const Model> weights = nullptr;
  SeenText seen = {};
  // Whether a pass with more layers can go on from its rows (DoneRows).
  bool keeps_rows = false;
};

// One sequence. Not safe for concurrent use. Every failing call leaves the
// session as it was.
class Session {
 public:
  virtual ~Session() = default;

  // Committed tokens, and pending rows.
  virtual int length() const = 0;
  virtual int pending() const = 0;

  // Commits `tokens` after the committed prefix without giving their logits.
  // With `taps`, `sink` gets the hidden states at them; without, it is not
  // called, and all else is the same. Fails if `sink` does, or if the model has
  // no such hidden states. Requires that nothing is pending.
  virtual absl::Status Prefill(absl::Span<const TokenId> tokens,
                               absl::Span<const int> taps,
                               FeatureSink sink) = 0;
  // The same without taps.
  absl::Status Prefill(absl::Span<const TokenId> tokens);
  // Commits the pending rows `path`, a chain that starts at a row which follows
  // the committed prefix, and drops every other pending row. An empty path
  // drops them all, and so does a device that fails underway: the committed
  // prefix stays.
  virtual absl::Status Commit(absl::Span<const int> path) = 0;

  // A reader of the same committed cache that does a part of the model's work
  // (drafting by early exit, by skipping, over a part of the cache). It scores
  // with pending rows of its own, which vanish when this session commits a
  // path, and never changes this session; it cannot prefill or commit a path.
  // Where chunks are to be chosen, the committed text's last token is scored
  // again for it.
  // Unimplemented where a model has no layers; InvalidArgument for options that
  // make no sense; FailedPrecondition without an inert layer of a grown model:
  // what such a reader drafts would be accepted always, which says nothing
  // about a model trained at that size.
  virtual absl::StatusOr<std::unique_ptr<Session>> View(
      const ViewOptions& options);
};

// A tap says where a hidden state is taken: after how many of the model's
// layers (0: the embedding), or after the final norm, whose output the output
// head reads. A view has no hidden state after a layer that it does not run.
inline constexpr int kAfterFinalNorm = -1;

// Rows that a view has computed already, as far as it goes.
struct DoneRows {
  // It keeps its rows, sees all of the text, and runs whole layers: the first
  // of those that the session of the request runs, with the same weights. Null:
  // nothing was computed.
  Session* view = nullptr;
  // By row of the batch the view's pending row that was computed for it; -1:
  // none was, nor for any row below it.
  std::vector<int> rows = {};
};

struct ScoreRequest {
  Session* session;            // made by the model that is asked
  const TokenBatch* batch;     // becomes the session's next pending rows
  std::vector<int> taps = {};  // hidden states wanted (Scores::ReadHidden)
  // Of the rows from this one on logits may be read.
  int logits_from = 0;
  // What the rows start from in the place of their tokens' embeddings:
  // hidden_size() numbers each, in their order, for models that read features.
  // Empty: from the tokens, which otherwise only name the rows.
  absl::Span<const float> vectors = {};
  // The rows that start from `vectors`, ascending; empty: all.
  std::vector<int> vector_rows = {};
  // What the pass need not compute again: its rows are the same, to the last
  // bit, and the logits with them.
  DoneRows done = {};
};

// A matrix of a model, "layers.2.down", and how it is kept in memory.
struct KeptMatrix {
  std::string name;
  WeightFormat format = WeightFormat::kF32;
};

// What a model is made of and where it runs, for reports and records.
struct ModelFacts {
  WeightFormat format = WeightFormat::kF32;  // that it was asked for
  std::vector<KeptMatrix> matrices;          // in the order of a pass
  std::string source_format;                 // Architecture::source_format
  std::size_t streamed_bytes = 0;            // of weights, that a pass reads
  std::size_t disk_bytes = 0;                // of them, from a file on disk
  double operations_per_token = 0;           // sums and products with them
  std::vector<TokenId> end_of_text;          // tokens that end a text
  std::string device;                        // BackendFacts::device
  std::string backend;                       // Backend::description()
  std::size_t device_peak_bytes = 0;         // Backend::peak_bytes(), so far
  std::size_t activation_bytes = 0;          // of the widest pass so far
};

// Says how large a model is and where it comes from.
struct ModelShape {
  int vocab_size = 0;
  // The most tokens a session may hold, pending rows' positions included.
  int context_limit = 0;
  // Transformer layers and the size of a hidden state; 0 if it has none.
  int layers = 0;
  int hidden_size = 0;
  // Names the model that this one is grown from: it computes the same, at the
  // cost of its own size. It is empty for any other model.
  std::string grown_from = {};
};

// OnDisk is the facet of a model that reads weights from disk in every pass.
class OnDisk {
 public:
  virtual ~OnDisk() = default;
  // Reads from disk what a pass reads from there, once, and computes nothing:
  // the limit of such passes. Returns the bytes that were read meanwhile, some
  // of which are for the pass after.
  virtual absl::StatusOr<std::uint64_t> ReadFromDisk() const = 0;
};

// Trimmable is the facet of a model that can leave out rows of its output
// matrix.
class Trimmable {
 public:
  virtual ~Trimmable() = default;
  // Returns this model restricted to the given output tokens (FR-Spec); all
  // other logits are -infinity. Weights are shared. Unimplemented if trimming
  // would save nothing; see TrimOutputs. Requires at least one token of the
  // vocabulary, ascending.
  virtual absl::StatusOr<std::shared_ptr<const Model>> WithOutputs(
      absl::Span<const TokenId> tokens) const = 0;
};

// By sequence of a call: what its round found, or what is wrong with one of its
// rows. That sequence is then as it was, and the others went on.
using RoundsFound = std::vector<absl::StatusOr<RoundFindings>>;

// DeviceRounds is the facet of a model whose device can run rounds alone.
class DeviceRounds {
 public:
  virtual ~DeviceRounds() = default;
  // Returns rounds of this session, with drafters made for it
  // (DeviceCounterpart::Make; null: its tree is uploaded), one for each of the
  // plan's, of which the plan knows what no model knows. What they hold
  // outlives them. Unimplemented where the device has none of this plan.
  virtual absl::StatusOr<std::unique_ptr<DeviceRound>> NewDeviceRound(
      Session& session, RoundPlan plan,
      std::vector<std::unique_ptr<DeviceDrafter>> drafters) const = 0;
  // Drafts, scores, judges and commits a round of each, made here with one
  // plan, in one call whose passes they share. Fails with all sequences as they
  // were; the rounds may then be run again.
  virtual absl::StatusOr<RoundsFound> RunRounds(
      absl::Span<DeviceRound* const> rounds) const = 0;
  // Whether they are faster there than rounds of the host.
  virtual bool by_default() const = 0;
};

class Network;  // core/transformer/network.h

// Points to what only some models can do; a pointer is null where the model
// cannot. Facets live as long as the model.
struct ModelFacets {
  const OnDisk* on_disk = nullptr;
  const Trimmable* trimmable = nullptr;
  const DeviceRounds* device_rounds = nullptr;
  const Network* network = nullptr;  // transformers have one
};

// Safe for concurrent use. A call may return before its work is done; reading
// the numbers (Scores) waits for the work.
class Model {
 public:
  virtual ~Model() = default;

  const ModelShape& shape() const { return shape_; }
  int vocab_size() const { return shape_.vocab_size; }
  int context_limit() const { return shape_.context_limit; }
  int layers() const { return shape_.layers; }
  int hidden_size() const { return shape_.hidden_size; }
  absl::string_view grown_from() const { return shape_.grown_from; }

  virtual ModelFacts facts() const { return {}; }
  virtual ModelFacets facets() const { return {}; }
  virtual std::unique_ptr<Session> NewSession() const = 0;

  // Scores one batch for each of several distinct sessions in one pass, which
  // reads the weights once. A token's logits depend only on the committed
  // prefix and the token's ancestors: they are bit-identical whatever else
  // shares the tree or the batch, and for any number of threads.
  // Fails as a whole, every session as it was, if a token, parent, position or
  // tap is out of range, or a session is not this model's or comes twice.
  virtual absl::StatusOr<std::vector<std::unique_ptr<Scores>>> Score(
      absl::Span<const ScoreRequest> requests) const = 0;

  // Waits until all work of all sessions is done, and all else that the model's
  // device was given before. A time that is to be of finished work is taken
  // after this.
  virtual absl::Status Finish() const { return absl::OkStatus(); }

  // Call the model's facet, or return Unimplemented if it has none.
  absl::StatusOr<std::uint64_t> ReadFromDisk() const;
  absl::StatusOr<std::unique_ptr<DeviceRound>> NewDeviceRound(
      Session& session, RoundPlan plan,
      std::vector<std::unique_ptr<DeviceDrafter>> drafters) const;

 protected:
  explicit Model(ModelShape shape) : shape_(std::move(shape)) {}

 private:
  ModelShape shape_;
};

// Score() for one session.
absl::StatusOr<std::unique_ptr<Scores>> ScoreOne(const Model& model,
                                                 Session& session,
                                                 const TokenBatch& batch);

// A model with logits for some tokens alone (FR-Spec, arXiv:2502.14856).

// Returns Trimmable::WithOutputs or, where a model is not trimmable or that is
// Unimplemented, a wrapper that computes all logits and keeps those of
// `tokens`. Fails as WithOutputs.
absl::StatusOr<std::shared_ptr<const Model>> TrimOutputs(
    const std::shared_ptr<const Model>& model,
    const std::vector<TokenId>& tokens);

}  // namespace banyan

#endif  // BANYAN_CORE_MODEL_MODEL_H_
