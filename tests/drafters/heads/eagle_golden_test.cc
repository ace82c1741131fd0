// Heads of every layout beside another implementation, written from the
// published descriptions (tests/goldens/eagle.py): what they read of the
// target, what comes out of true pairs, of trees, and after acceptance.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/common.h"
#include "core/base/token.h"
#include "core/checkpoint/stored_tensor.h"
#include "core/checkpoint/tensor_file.h"
#include "core/model/context.h"
#include "core/model/model.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "core/transformer/transformer.h"
#include "drafters/heads/eagle/eagle.h"
#include "drafters/heads/eagle/head.h"
#include "tests/core/transformer/walk.h"
#include "tests/support/made/golden_model.h"
#include "tests/support/shared_models.h"
#include "tests/support/solo.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"

namespace banyan {
namespace {

constexpr char kFolder[] = "tests/goldens/eagle/";

// What the other implementation computed.
class Golden {
 public:
  explicit Golden(const std::string& name) {
    auto file =
        TensorFile::Open(absl::StrCat(kFolder, name, "/expected.safetensors"));
    Check(file.ok(), file.status().message());
    file_ = *std::move(file);
  }

  std::vector<double> Numbers(const std::string& name) const {
    return Read<double>(name);
  }
  std::vector<int> Ints(const std::string& name) const {
    std::vector<int> numbers;
    for (std::int64_t number : Read<std::int64_t>(name))
      numbers.push_back(static_cast<int>(number));
    return numbers;
  }
  // Row `row` of a matrix, or of what stands in `shape[0]` parts.
  std::vector<double> Row(const std::string& name, std::size_t row) const {
    const std::vector<double> all = Numbers(name);
    const auto rows =
        static_cast<std::size_t>(file_->Find(name)->shape.front());
    const std::size_t size = all.size() / rows;
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(row * size);
    return {begin, begin + static_cast<std::ptrdiff_t>(size)};
  }

 private:
  template <typename T>
  std::vector<T> Read(const std::string& name) const {
    const StoredTensor* tensor = file_->Find(name);
    Check(tensor != nullptr, name);
    std::vector<T> numbers(tensor->data.size() / sizeof(T));
    std::memcpy(numbers.data(), tensor->data.data(), tensor->data.size());
    return numbers;
  }

  std::unique_ptr<TensorFile> file_;
};

double Largest(const std::vector<double>& numbers) {
  double largest = 0;
  for (double number : numbers)
    if (std::isfinite(number)) largest = std::max(largest, std::fabs(number));
  return largest;
}

double BoundFor(const std::vector<double>& numbers) {
  return 150 * std::ldexp(Largest(numbers), -24);
}

template <typename Found>
void ExpectNear(const Found& found, const std::vector<double>& wanted,
                const std::string& what) {
  ASSERT_EQ(found.size(), wanted.size()) << what;
  const double bound = BoundFor(wanted);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    ASSERT_NEAR(found[i], wanted[i], bound) << what << ", number " << i;
}

// Expects the distribution of these logits, within the roundings of logits.
void ExpectLaw(const Distribution& found, const std::vector<double>& logits,
               const std::string& what) {
  const double most = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (double logit : logits) sum += std::exp(logit - most);
  const double bound = 4 * BoundFor(logits);
  for (std::size_t token = 0; token < logits.size(); ++token) {
    const double wanted = std::exp(logits[token] - most) / sum;
    ASSERT_NEAR(found.Mass(static_cast<TokenId>(token)), wanted, bound * wanted)
        << what << ", token " << token;
  }
}

std::unique_ptr<Transformer> Target(std::shared_ptr<Backend> backend) {
  return LoadModel(absl::StrCat(kFolder, "target"), std::move(backend));
}

// A head's folder, and whose numbers it must give.
struct GoldenHead {
  std::string folder;
  std::string numbers;
};

void PrintTo(const GoldenHead& head, std::ostream* out) { *out << head.folder; }

class EagleGolden : public testing::TestWithParam<GoldenHead> {
 protected:
  EagleGolden()
      : golden_(GetParam().numbers), target_(Target(Backends().front())) {
    auto head = LoadEagleHead(GetParam().folder, *target_);
    Check(head.ok(), head.status().message());
    head_ = *std::move(head);
  }

  // The text with the target's states as the other implementation has them.
  Context Text() const {
    Context context = ContextOf(golden_.Ints("ids"));
    AddFeatures(golden_.Numbers("features64"), context);
    return context;
  }
  // The head's logits by the target's tokens, of which it has some in order.
  std::vector<double> OfTarget(const std::vector<double>& logits) const {
    std::vector<double> all = golden_.Row("logits_target64", 0);
    auto next = logits.begin();
    for (double& logit : all)
      if (std::isfinite(logit)) logit = *next++;
    Check(next == logits.end(), "a logit for each token that has one");
    return all;
  }
  void AddFeatures(const std::vector<double>& numbers, Context& context) const {
    Features& features = context.features;
    features.taps = head_->taps();
    features.hidden_size = target_->hidden_size();
    features.values.assign(numbers.begin(), numbers.end());
    features.rows =
        static_cast<int>(numbers.size() / features.taps.size() /
                         static_cast<std::size_t>(features.hidden_size));
  }

  const Golden golden_;
  const std::unique_ptr<Transformer> target_;
  std::unique_ptr<EagleHead> head_;
};

TEST_P(EagleGolden, ReadsTheTargetsStatesWhereTheFilesSay) {
  EXPECT_EQ(head_->taps(), golden_.Ints("taps"));
  const std::vector<TokenId> ids = golden_.Ints("ids");
  const auto session = target_->NewSession();
  std::vector<float> found;
  const auto keep = [&](const Scores& piece, int rows) {
    for (int row = 0; row < rows; ++row)
      for (std::size_t tap = 0; tap < head_->taps().size(); ++tap) {
        std::vector<float> state(
            static_cast<std::size_t>(target_->hidden_size()));
        const absl::Status read =
            piece.ReadHidden(static_cast<int>(tap), row, absl::MakeSpan(state));
        if (!read.ok()) return read;
        found.insert(found.end(), state.begin(), state.end());
      }
    return absl::OkStatus();
  };
  ASSERT_TRUE(session
                  ->Prefill(absl::MakeConstSpan(ids).first(ids.size() - 1),
                            head_->taps(), keep)
                  .ok());
  ExpectNear(found, golden_.Numbers("features64"), "states");
}

TEST_P(EagleGolden, ComputesWhatComesOutOfTruePairs) {
  const Context text = Text();
  const int rows = text.features.rows;
  std::vector<float> vectors;
  ASSERT_TRUE(head_->VectorsOf(text.features.values, rows, vectors).ok());
  const auto session = head_->network().NewSession();
  const TokenBatch batch =
      TokenBatch::Chain(absl::MakeConstSpan(text.tokens).subspan(1), 0);
  const ScoreRequest request = {.session = session.get(),
                                .batch = &batch,
                                .taps = {head_->output_tap()},
                                .vectors = vectors};
  const auto scores = head_->network().Score({&request, 1});
  ASSERT_TRUE(scores.ok()) << scores.status();
  for (int row = 0; row < rows; ++row) {
    const auto at = static_cast<std::size_t>(row);
    std::vector<float> out(
        static_cast<std::size_t>(head_->network().hidden_size()));
    ASSERT_TRUE(scores->front()->ReadHidden(0, row, absl::MakeSpan(out)).ok());
    ExpectNear(out, golden_.Row("hidden64", at), absl::StrCat("pair ", row));
    const auto law = scores->front()->Law(row, SamplingRule(), text.tokens, {});
    ASSERT_TRUE(law.ok()) << law.status();
    ExpectLaw(*law, golden_.Row("logits_target64", at),
              absl::StrCat("pair ", row));
  }
}

// With logits for some tokens alone, all that a head says of them is the same;
// those that its file has none for stay without.
TEST_P(EagleGolden, SaysOfSomeTokensWhatTheWholeHeadSays) {
  const Context text = Text();
  const std::shared_ptr<const EagleHead> whole = std::move(head_);
  std::vector<TokenId> tokens;
  for (TokenId token = 0; token < target_->network().options().used_vocab;
       token += 2)
    tokens.push_back(token);
  const auto some = TrimHead(whole, tokens);
  ASSERT_TRUE(some.ok()) << some.status();
  EXPECT_EQ((*some)->taps(), whole->taps());
  EXPECT_EQ((*some)->output_tap(), whole->output_tap());
  EXPECT_LT((*some)->network().facts().streamed_bytes,
            whole->network().facts().streamed_bytes);
  std::vector<std::vector<double>> logits[2];
  for (const bool trimmed : {false, true}) {
    const EagleHead& head = trimmed ? **some : *whole;
    std::vector<float> vectors;
    ASSERT_TRUE(
        head.VectorsOf(text.features.values, text.features.rows, vectors).ok());
    const auto session = head.network().NewSession();
    const TokenBatch batch =
        TokenBatch::Chain(absl::MakeConstSpan(text.tokens).subspan(1), 0);
    const ScoreRequest request = {
        .session = session.get(), .batch = &batch, .vectors = vectors};
    const auto scores = head.network().Score({&request, 1});
    ASSERT_TRUE(scores.ok()) << scores.status();
    for (int row = 0; row < text.features.rows; ++row)
      ASSERT_TRUE(scores->front()
                      ->Read(row, logits[trimmed ? 1 : 0].emplace_back())
                      .ok());
  }
  int finite = 0;
  for (std::size_t row = 0; row < logits[0].size(); ++row)
    for (std::size_t token = 0; token < logits[0][row].size(); ++token) {
      const double expected = token % 2 == 0
                                  ? logits[0][row][token]
                                  : -std::numeric_limits<double>::infinity();
      EXPECT_EQ(logits[1][row][token], expected) << row << " " << token;
      if (std::isfinite(expected)) ++finite;
    }
  EXPECT_GT(finite, 20);
}

// A view has run the first pair, whose token some layouts hide, and the pass
// runs the others.
TEST_P(EagleGolden, GoesOnFromTheFirstPair) {
  const Context text = Text();
  const Model& network = head_->network();
  std::vector<float> vectors;
  ASSERT_TRUE(
      head_->VectorsOf(text.features.values, text.features.rows, vectors).ok());
  const auto tokens = absl::MakeConstSpan(text.tokens).subspan(1);
  const TokenBatch batch = TokenBatch::Chain(tokens, 0);
  const TokenBatch first = TokenBatch::Chain(tokens.first(1), 0);
  const auto session = network.NewSession();
  const auto apart = network.NewSession();
  ViewOptions options = ViewOptions::Layers({0});
  options.keeps_rows = true;
  const auto view = MustView(*apart, options);
  LogitsOf(network, {.session = view.get(),
                     .batch = &first,
                     .vectors = absl::MakeConstSpan(vectors).first(
                         vectors.size() / tokens.size())});
  std::vector<int> done(tokens.size(), -1);
  done[0] = 0;
  ExpectSame(LogitsOf(network, {.session = apart.get(),
                                .batch = &batch,
                                .vectors = vectors,
                                .done = {view.get(), done}}),
             LogitsOf(network, {.session = session.get(),
                                .batch = &batch,
                                .vectors = vectors}));
}

// The drafter grows the tree level by level, then commits a path of it.
TEST_P(EagleGolden, DraftsTreesAndFollowsWhatIsAccepted) {
  const std::vector<int> tokens = golden_.Ints("tree_tokens");
  const std::vector<int> parents = golden_.Ints("tree_parents");
  const std::vector<int> path = golden_.Ints("path");
  for (int accepted = 0; accepted <= static_cast<int>(path.size());
       ++accepted) {
    SCOPED_TRACE(absl::StrCat(accepted, " accepted"));
    Solo drafter(std::make_unique<Eagle>(
        std::shared_ptr<const EagleHead>(head_.get(),
                                         [](const EagleHead* /*kept*/) {}),
        SamplingRule()));
    Context context = Text();
    ASSERT_TRUE(drafter.Begin(context).ok());
    TrunkTree tree(context.root(), 0, DrawKind::kIndependent);
    std::vector<int> node_of(tokens.size());
    std::vector<int> level = {0};
    int proposed = 0;
    while (!level.empty()) {
      const auto laws = drafter.Propose(context, tree, level);
      ASSERT_TRUE(laws.ok()) << laws.status();
      std::vector<int> next;
      for (std::size_t i = 0; i < level.size(); ++i) {
        const auto of = std::find(node_of.begin(), node_of.end(), level[i]);
        const auto wanted =
            level[i] == 0
                ? golden_.Row("logits_target64", context.tokens.size() - 2)
                : golden_.Row("tree_logits_target64",
                              static_cast<std::size_t>(of - node_of.begin()));
        ExpectLaw((*laws)[i], wanted, absl::StrCat("node ", level[i]));
        ++proposed;
      }
      for (std::size_t child = 0; child < tokens.size(); ++child) {
        const int parent = parents[child];
        const int below =
            parent < 0 ? 0 : node_of[static_cast<std::size_t>(parent)];
        if (std::find(level.begin(), level.end(), below) == level.end() ||
            (parent >= 0 && below == 0))
          continue;
        node_of[child] = tree.AddProbe(below, tokens[child]);
        next.push_back(node_of[child]);
      }
      level = std::move(next);
    }
    EXPECT_EQ(proposed, static_cast<int>(tokens.size()) + 1);
    const std::string after = absl::StrCat("after", accepted, "_");
    context.tokens = golden_.Ints(after + "ids");
    AddFeatures(golden_.Numbers(after + "features64"), context);
    ++context.round;
    const DraftTree unused(std::vector<Node>(1));
    const Verdict verdict;
    ASSERT_TRUE(drafter.Observe(context, {unused, verdict, 0}).ok());
    const TrunkTree fresh(context.root(), 0, DrawKind::kIndependent);
    const auto law = drafter.Propose(context, fresh, {0});
    ASSERT_TRUE(law.ok()) << law.status();
    ExpectLaw(law->front(), OfTarget(golden_.Numbers(after + "logits64")),
              "the next root");
  }
}

std::vector<GoldenHead> HeadsIn(const std::string& folder,
                                const std::vector<std::string>& names) {
  std::vector<GoldenHead> heads;
  for (const std::string& name : names)
    heads.push_back({absl::StrCat(folder, name), name});
  return heads;
}

std::string NameOf(const testing::TestParamInfo<GoldenHead>& head) {
  return head.param.numbers;
}

INSTANTIATE_TEST_SUITE_P(
    EveryLayout, EagleGolden,
    testing::ValuesIn(HeadsIn(
        kFolder, {"eagle1", "eagle1_plain", "eagle3_safeai", "eagle3_specforge",
                  "eagle3_speculators", "eagle31_fc_norm", "eagle31_input_norm",
                  "eagle3_four_taps", "mtp_mimo", "mtp_fast"})),
    NameOf);

// The same heads as `scripts/train convert --layout speculators` writes them,
// to which tests/training/test_eagle_layouts.py holds these files.
INSTANTIATE_TEST_SUITE_P(
    Converted, EagleGolden,
    testing::ValuesIn(HeadsIn("tests/goldens/eagle_layouts/",
                              {"eagle3_safeai", "eagle3_specforge"})),
    NameOf);

}  // namespace
}  // namespace banyan
