#include "drafters/text/rest/rest.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <queue>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/base/params.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/tokenizer/vocabulary.h"
#include "drafters/rows.h"
#include "drafters/text/token_counts.h"
#include "drafters/workbench.h"

namespace banyan {
namespace {

constexpr char kFolder[] = "index";
constexpr char kRestHint[] =
    "; `banyan make index --model TARGET --out FOLDER FILES` makes an index, "
    "scripts/corpus_index that of the preset `rest`";

// What a round costs grows with each of these.
constexpr int kMostNodes = 1024;
constexpr int kMostDepth = 64;
constexpr int kMostSamples = 8192;

// Passages that begin alike, among those in order: a node of their trie.
struct Group {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t depth = 0;  // of the node; what begins alike are as many tokens
  int parent = 0;         // in the plan
  TokenId token = 0;
  int number = 0;  // of those that were met, parents and tokens in their order
};

struct ComesLater {
  bool operator()(const Group& a, const Group& b) const {
    const std::size_t count_a = a.end - a.begin;
    const std::size_t count_b = b.end - b.begin;
    return std::tie(count_a, b.depth, b.number) <
           std::tie(count_b, a.depth, a.number);
  }
};

// The trie of some passages, its largest counts first.
class Trie {
 public:
  explicit Trie(const CorpusPassages& passages) : weight_(passages.weight) {
    std::size_t begin = 0;
    for (const std::size_t end : passages.ends) {
      sorted_.push_back(
          absl::MakeConstSpan(passages.tokens).subspan(begin, end - begin));
      begin = end;
    }
    // Those of one shard are sorted so far.
    std::sort(sorted_.begin(), sorted_.end());
  }

  DraftPlan Largest(int nodes) {
    DraftPlan plan;
    Split({.begin = 0, .end = sorted_.size()}, 0);
    while (!waiting_.empty() && plan.size() <= nodes) {
      const Group group = waiting_.top();
      waiting_.pop();
      const int node =
          plan.Add(group.parent, group.token,
                   weight_ * static_cast<double>(group.end - group.begin));
      Split(group, node);
    }
    return plan;
  }

 private:
  // The groups one token longer, below the node of the plan.
  void Split(const Group& group, int node) {
    std::size_t begin = group.begin;
    while (begin < group.end) {
      if (sorted_[begin].size() == group.depth) {  // it has ended
        ++begin;
        continue;
      }
      const TokenId token = sorted_[begin][group.depth];
      std::size_t end = begin + 1;
      while (end < group.end && sorted_[end][group.depth] == token) ++end;
      waiting_.push({.begin = begin,
                     .end = end,
                     .depth = group.depth + 1,
                     .parent = node,
                     .token = token,
                     .number = met_++});
      begin = end;
    }
  }

  std::vector<absl::Span<const TokenId>> sorted_;
  double weight_;
  std::priority_queue<Group, std::vector<Group>, ComesLater> waiting_;
  int met_ = 0;
};

}  // namespace

namespace {

class RestSession : public PlanSession {
 public:
  RestSession(std::shared_ptr<const CorpusIndex> index,
              const RestOptions& options)
      : index_(std::move(index)), options_(options) {}

 protected:
  // Looks the text up. Fails where the index's files are not what was written.
  absl::Status Follow(const Context& context) override;
  DraftPlan Plan(const Context& context) override;

 private:
  std::shared_ptr<const CorpusIndex> index_;
  RestOptions options_;
  CorpusPassages passages_;  // what came after the match
};

absl::Status RestSession::Follow(const Context& context) {
  BANYAN_ASSIGN_OR_RETURN(
      const CorpusMatch match,
      index_->LongestMatch(context.tokens, options_.min_match,
                           options_.max_match));
  BANYAN_ASSIGN_OR_RETURN(
      passages_, index_->After(match, options_.depth, options_.samples));
  return absl::OkStatus();
}

DraftPlan RestSession::Plan(const Context& /*context*/) {
  return Trie(passages_).Largest(options_.nodes);
}

}  // namespace

Rest::Rest(std::shared_ptr<const CorpusIndex> index, int vocab_size,
           const RestOptions& options, const SamplingRule& rule)
    : PlanDrafter(vocab_size, CountRule(rule), /*carried=*/nullptr),
      index_(std::move(index)),
      options_(options) {}

std::unique_ptr<DraftSession> Rest::NewSession() const {
  return std::make_unique<RestSession>(index_, options_);
}

namespace {

BuiltDrafter BuildRest(ParamsReader& in, const RestOptions& options,
                       Workbench& bench) {
  const Params* name = in.TakeRequired(kFolder);
  EnsureMatchLengths(in, options.min_match, options.max_match);
  BANYAN_ASSIGN_OR_RETURN(const SamplingRule rule, bench.TakeRule(in));
  BANYAN_RETURN_IF_ERROR(in.Finish());
  const auto open = [&bench](const std::string& folder)
      -> absl::StatusOr<std::shared_ptr<const CorpusIndex>> {
    BANYAN_ASSIGN_OR_RETURN(std::shared_ptr<const CorpusIndex> index,
                            CorpusIndex::Open(folder));
    const std::string names = bench.tokenizer() == nullptr
                                  ? std::string()
                                  : NameOfTokens(*bench.tokenizer());
    BANYAN_RETURN_IF_ERROR(
        index->CheckFits(names, bench.target().vocab_size()));
    return index;
  };
  BANYAN_ASSIGN_OR_RETURN(
      std::shared_ptr<const CorpusIndex> index,
      bench.OpenFolder<CorpusIndex>(kFolder, *name, open, kRestHint));
  return std::make_unique<Rest>(std::move(index), bench.target().vocab_size(),
                                options, rule);
}

}  // namespace

DrafterRow RestRow() {
  Keys<RestOptions> keys;
  keys.Described(NameKey(kFolder, "A name of `models`: a corpus index."));
  AddMatchLengths(keys);
  keys.Between("nodes", &RestOptions::nodes, 1, kMostNodes,
               "The most nodes that are drafted.");
  keys.Between("depth", &RestOptions::depth, 1, kMostDepth,
               "The most levels that are drafted.");
  keys.Between("samples", &RestOptions::samples, 1, kMostSamples,
               "The most places of a match that are read.");
  keys.Described(SamplingKey());
  return {
      .name = "rest",
      .sentence =
          "REST: what followed the last tokens in a corpus on disk, by counts.",
      .draw_kinds = EveryDrawKind(),
      .keys = keys.Rows(),
      .build = keys.ReadFor(BuildRest),
      .examples = {"{index: index}",
                   "{index: index, min_match: 1, max_match: 3, nodes: 3,"
                   " depth: 2, samples: 2, sampling: {temperature: 0.5}}"},
      .folder_key = kFolder,
      .model_key = "index"};
}

}  // namespace banyan
