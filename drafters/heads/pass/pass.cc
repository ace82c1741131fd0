#include "drafters/heads/pass/pass.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>

#include "core/base/check.h"
#include "core/base/input_files.h"
#include "core/base/params.h"
#include "core/checkpoint/architecture.h"
#include "core/checkpoint/stored_tensor.h"
#include "core/checkpoint/tensor_file.h"
#include "core/checkpoint/weight_rows.h"
#include "core/model/context.h"
#include "core/prob/distribution.h"
#include "drafters/rows.h"
#include "drafters/workbench.h"
#include "tree/draft_tree.h"
#include "tree/tree_policy.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"

namespace banyan {

namespace {

constexpr char kTensor[] = "lookahead.embeddings";
constexpr int kMostVectors = 1024;  // published are four
// A thousand times one of ours.
constexpr std::size_t kMostPassConfigBytes = std::size_t{1} << 17;

// How many vectors config.json says there are.
absl::StatusOr<int> ReadConfig(const std::string& path, const Model& target) {
  BANYAN_ASSIGN_OR_RETURN(const std::string text,
                          ReadFile(path, kMostPassConfigBytes));
  BANYAN_ASSIGN_OR_RETURN(ConfigReader in, ConfigReader::Parse(text, path));
  const auto expect = [&in](absl::string_view key, int ours) {
    const int found = in.Size(key);
    if (in.status().ok() && found != ours)
      in.Unexpected(key, absl::StrCat(ours, ", as the target has"));
  };
  expect("hidden_size", target.hidden_size());
  expect("vocab_size", target.vocab_size());
  const int vectors = in.Size("lookahead_vectors", kMostVectors);
  BANYAN_RETURN_IF_ERROR(in.status());
  return vectors;
}

absl::StatusOr<std::vector<float>> ReadVectors(const std::string& path,
                                               int rows, int columns) {
  BANYAN_ASSIGN_OR_RETURN(const std::unique_ptr<TensorFile> file,
                          TensorFile::Open(path));
  const WeightSource source = {.tensor = kTensor,
                               .stored_shape = {rows, columns},
                               .rows = rows,
                               .columns = columns};
  const auto error = [&path](absl::string_view what) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": tensor '", kTensor, "': ", what));
  };
  const StoredTensor* tensor = file->Find(kTensor);
  if (tensor == nullptr) return error("is missing");
  const absl::Status stored = CheckStored(*tensor, source);
  if (!stored.ok()) return error(stored.message());
  std::vector<float> values(static_cast<std::size_t>(rows) *
                            static_cast<std::size_t>(columns));
  const absl::Status read =
      ReadRows(*tensor, source, {.count = rows}, values.data());
  if (absl::IsDataLoss(read)) return read;  // which names the file
  if (!read.ok()) return error(read.message());
  return values;
}

}  // namespace

absl::StatusOr<std::unique_ptr<const LookaheadChain>> LoadLookaheadChain(
    const std::string& folder, const Model& target) {
  BANYAN_ASSIGN_OR_RETURN(
      const int count,
      ReadConfig(absl::StrCat(folder, "/config.json"), target));
  const int size = target.hidden_size();
  BANYAN_ASSIGN_OR_RETURN(
      const std::vector<float> values,
      ReadVectors(absl::StrCat(folder, "/model.safetensors"), count, size));
  auto chain = std::make_unique<LookaheadChain>();
  for (auto at = values.begin(); at != values.end(); at += size)
    chain->push_back(
        {.vector = std::make_shared<const std::vector<float>>(at, at + size)});
  return std::unique_ptr<const LookaheadChain>(std::move(chain));
}

namespace {

using SharedChain = std::shared_ptr<const LookaheadChain>;

absl::StatusOr<SharedChain> TokenChain(const Params& list, int vocab_size) {
  auto chain = std::make_shared<LookaheadChain>();
  std::vector<int> tokens;
  BANYAN_RETURN_IF_ERROR(Convert(list, tokens));
  if (tokens.empty()) return list.Expected("the tokens of the chain, some");
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] < 0 || tokens[i] >= vocab_size)
      return list.items()[i].Expected(
          absl::StrCat("a token of the target, below ", vocab_size));
    chain->push_back({.token = tokens[i]});
  }
  return SharedChain(std::move(chain));
}

// Of the one of both keys that is there.
absl::StatusOr<SharedChain> TakeChain(ParamsReader& in, Workbench& bench) {
  const Params* name = in.Take("embeddings");
  const Params* tokens = in.Take("tokens");
  if ((name == nullptr) == (tokens == nullptr))
    return in.section().Error(
        "drafter pass needs either embeddings, the name of trained vectors, or "
        "tokens in their place");
  if (tokens != nullptr)
    return TokenChain(*tokens, bench.target().vocab_size());
  return bench.OpenFolder<LookaheadChain>(
      "embeddings", *name, [&](const std::string& folder) {
        return LoadLookaheadChain(folder, bench.target());
      });
}

// The nodes with the most path mass, the earlier one in a tie.
std::vector<int> MostLikely(const TrunkTree& tree, int count) {
  std::vector<int> nodes;
  for (int node = 0; node < tree.size(); ++node)
    if (!tree.node(node).probe()) nodes.push_back(node);
  std::stable_sort(nodes.begin(), nodes.end(), [&tree](int a, int b) {
    return tree.path_mass(a) > tree.path_mass(b);
  });
  if (static_cast<int>(nodes.size()) > count)
    nodes.resize(static_cast<std::size_t>(count));
  return nodes;
}

// The probe of `trunk` below a node; -1: there is none.
int NextLink(const DraftTree& tree, int node, int trunk) {
  for (const int child : tree.node(node).children)
    if (tree.node(child).probe_of == trunk) return child;
  return -1;
}

class PassSession : public QuietSession, private TargetPassPart {
 public:
  PassSession(const LookaheadChain& chain, int after)
      : QuietSession({.in_target_pass = this}), chain_(chain), after_(after) {}

  absl::Status Begin(const Context& /*context*/) override {
    return absl::OkStatus();
  }
  absl::Status Observe(const Context& context,
                       const RoundOutcome& outcome) override;

  // By link, of the chain that stood after the last accepted node.
  std::vector<std::vector<double>> logits;

 private:
  absl::Status TakeViews(Session& /*target*/) override {
    return absl::OkStatus();
  }
  void Plant(const Context& context, int max_depth, TrunkTree& tree) override;
  DoneRows Computed(const DraftTree& /*tree*/) const override { return {}; }

  const LookaheadChain& chain_;
  int after_;
};

void PassSession::Plant(const Context& /*context*/, int max_depth,
                        TrunkTree& tree) {
  for (int node : MostLikely(tree, after_))
    for (const LookaheadLink& link : chain_) {
      if (tree.node(node).depth >= max_depth) break;
      node = tree.AddProbe(node, link.token, link.vector);
    }
}

absl::Status PassSession::Observe(const Context& context,
                                  const RoundOutcome& outcome) {
  logits.clear();
  const std::vector<int>& path = outcome.verdict.path;
  int node = path.empty() ? 0 : path.back();
  while ((node = NextLink(outcome.tree, node, outcome.trunk)) >= 0) {
    logits.emplace_back();
    BANYAN_RETURN_IF_ERROR(context.scored->Read(node, logits.back()));
  }
  return absl::OkStatus();
}

}  // namespace

Pass::Pass(std::shared_ptr<const LookaheadChain> chain, int after,
           SamplingRule rule)
    : Drafter({.draw_kinds = EveryDrawKind(),
               .proposes_ahead = true,
               .depth_heads = static_cast<int>(chain->size()),
               .reads_scores = true,
               .probes = after * static_cast<int>(chain->size()),
               .below_others = false},
              /*carried=*/nullptr),
      chain_(std::move(chain)),
      after_(after),
      rules_(std::move(rule)) {
  Check(after_ >= 1 && !chain_->empty(), "a chain after one node at least");
}

std::unique_ptr<DraftSession> Pass::NewSession() const {
  return std::make_unique<PassSession>(*chain_, after_);
}

absl::StatusOr<std::vector<Proposals>> Pass::Propose(
    absl::Span<const DraftRequest> requests) {
  std::vector<Proposals> all;
  for (const DraftRequest& request : requests) {
    BANYAN_ASSIGN_OR_RETURN(
        Proposals laws,
        DepthLaws(SessionOf<PassSession>(request).logits, {},
                  rules_.Of(request.tree->draw_kind()), request));
    all.push_back(std::move(laws));
  }
  return all;
}

namespace {

BuiltDrafter BuildPass(ParamsReader& in, int after, Workbench& bench) {
  BANYAN_ASSIGN_OR_RETURN(SamplingRule rule, bench.TakeRule(in));
  BANYAN_ASSIGN_OR_RETURN(const SharedChain chain, TakeChain(in, bench));
  const int links = static_cast<int>(chain->size());
  const char* source =
      in.section().Find("tokens") != nullptr ? "tokens" : "embeddings";
  in.Ensure(links < bench.target().context_limit(), source,
            absl::StrCat("must leave room for the text: a chain has ", links,
                         " links, and the target's context is ",
                         bench.target().context_limit()));
  if (!in.Has("after")) after = links + 1;  // all nodes of a drafted chain
  in.Ensure(after >= 1 && after <= kMaxDraws / links, "after",
            absl::StrCat("must lie between 1 and ", kMaxDraws / links,
                         " nodes, with a chain of ", links, " rows each"));
  BANYAN_RETURN_IF_ERROR(in.Finish());
  return std::make_unique<Pass>(chain, after, std::move(rule));
}

}  // namespace

DrafterRow PassRow() {
  Keys<int> keys;
  keys.Described("embeddings", "a name of `models`",
                 "Trained vectors: a directory of look-ahead embeddings.");
  keys.Described("tokens", "list of int",
                 "Tokens in the place of `embeddings`.");
  keys.Optional("after", std::identity(),
                "How many nodes of a tree have the chain. Left out: one more "
                "than the chain has links.");
  keys.Described(SamplingKey());
  return {
      .name = "pass",
      .sentence =
          "PaSS: trained vectors, or tokens, in place of the next ones; the "
          "target predicts after them in its own pass.",
      .draw_kinds = EveryDrawKind(),
      .keys = keys.Rows(),
      .build = keys.ReadFor(BuildPass),
      .examples = {"{embeddings: embeddings}", "{tokens: [0, 1], after: 1}"},
      .folder_key = "embeddings",
      .model_key = "embeddings"};
}

}  // namespace banyan
