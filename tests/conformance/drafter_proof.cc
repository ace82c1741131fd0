#include "tests/conformance/drafter_proof.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <utility>

#include "configs/loader/yaml.h"
#include "core/base/check.h"
#include "core/base/common.h"
#include "core/base/params.h"
#include "core/base/token.h"
#include "decode/method.h"
#include "drafters/catalogue.h"
#include "drafters/draft_vocabulary.h"
#include "drafters/heads/eagle/head.h"
#include "drafters/heads/medusa/heads.h"
#include "drafters/heads/pass/pass.h"
#include "drafters/text/token_counts.h"
#include "tests/conformance/pairing.h"
#include "tests/conformance/toys.h"
#include "tests/support/decoding.h"
#include "tests/support/made/made_index.h"
#include "tests/support/made/toy_head.h"
#include "tests/support/made/toy_tokenizer.h"
#include "tests/support/shared_models.h"

namespace banyan {
namespace {

std::vector<TokenId> PromptOf(int letters) {
  if (letters == 2) return {0, 1, 0, 0, 1, 0};
  return {1, 0, 2, 1, 0, 1, 1, 0};
}

// Counts in which the last letter was followed by nothing.
TokenCounts CountsOf(int letters) {
  if (letters == 2)
    return {.unigram = {5, 3},
            .offsets = {0, 2, 2},
            .tokens = {0, 1},
            .counts = {1, 3}};
  return {.unigram = {5, 3, 1},
          .offsets = {0, 2, 4, 4},
          .tokens = {1, 2, 0, 2},
          .counts = {3, 1, 2, 2}};
}

// A corpus in shards of one document each. After the prompt's end it goes on
// in several ways.
std::vector<MadeDocument> CorpusOf(int letters) {
  if (letters == 2)
    return {{0, 1, 0, 0, 1, 1}, {0, 1, 0, 1, 0, 0}, {0, 1, 0, 0, 0}};
  return {{1, 0, 2, 0, 1}, {1, 0, 2, 1, 2}, {1, 0, 1, 2}, {2, 1, 0, 0, 2}};
}

// Two heads that look at such a state.
class ToyHeads : public MedusaHeads {
 public:
  explicit ToyHeads(int letters) : letters_(letters) {}
  int count() const override { return 2; }
  absl::Status Score(absl::Span<const float> hidden,
                     std::vector<std::vector<double>>& logits) const override {
    logits.clear();
    for (int head = 0; head < count(); ++head) {
      const TokenId told[] = {static_cast<TokenId>(hidden[0]),
                              static_cast<TokenId>(hidden[1]) % letters_,
                              static_cast<TokenId>(head)};
      logits.push_back(
          LogitsAfter(*Toy({.vocab_size = letters_, .seed = 3}), told));
    }
    return absl::OkStatus();
  }

 private:
  int letters_;
};

// Toys in the place of what rows read from a checkpoint, which is made for a
// transformer: opened before any drafter asks.
void PutFolders(const std::string& folder, int letters, Workbench& bench) {
  bench.AddFolder("heads", "heads", Params::Scalar(folder));
  const auto heads = bench.OpenFolder<MedusaHeads>(
      "heads", Params::Scalar("heads"), [&](const std::string& /*path*/) {
        return std::make_unique<ToyHeads>(letters);
      });
  Check(heads.ok(), heads.status().message());
  bench.AddFolder("head", "heads", Params::Scalar(folder));
  const auto head = bench.OpenFolder<EagleHead>(
      "heads", Params::Scalar("head"), [&](const std::string& /*path*/) {
        return std::make_unique<ToyHead>(
            WithStates(*Toy({.vocab_size = letters, .seed = 4})));
      });
  Check(head.ok(), head.status().message());
  bench.AddFolder("embeddings", "embeddings", Params::Scalar(folder));
  const auto chain = bench.OpenFolder<LookaheadChain>(
      "embeddings", Params::Scalar("embeddings"),
      [](const std::string& /*path*/) {
        const std::vector<float> one = {1, 0};
        const std::vector<float> none = {0, 0};
        return std::make_shared<const LookaheadChain>(LookaheadChain{
            {.vector = std::make_shared<const std::vector<float>>(one)},
            {.vector = std::make_shared<const std::vector<float>>(none)}});
      });
  Check(chain.ok(), chain.status().message());
}

// The target's tokens, and models whose tokens are fewer, more, and others in
// another order. One of the target's three is merged of the other two, so that
// a text has more than one way to be written.
void PutTokenizers(int letters, Workbench& bench) {
  std::vector<std::string> tokens = {"a", "b"};
  if (letters == 3) tokens.emplace_back("bb");
  bench.SetTokenizer(ToyTokenizer(tokens));
  int seed = 5;
  for (const auto& [name, own] :
       {std::pair<std::string, std::vector<std::string>>("fewer", {"b"}),
        {"more", {"a", "b", "ab", "ba", "c", "aba"}},
        {"others", {"bb", "x", "b", "a"}}})
    bench.AddModel(
        name, Toy({.vocab_size = static_cast<int>(own.size()), .seed = seed++}),
        ToyTokenizer(own));
}

}  // namespace

std::vector<std::string> DrafterSpecs() {
  std::vector<std::string> specs;
  for (const DrafterRow& row : DrafterCatalogue())
    for (absl::string_view example : row.examples)
      specs.push_back(absl::StrCat(row.name, " ", example));
  return specs;
}

std::vector<std::string> CarryingSpecs() {
  return {"ngram {reset: never}",
          "suffix {reset: never}",
          "suffix {reset: never, mode: tree, factor: 2, depth: 5}",
          "sam {reset: never, threshold: 1, bias: 0, tokens: 3}",
          "or_else {first: {name: sam, reset: never, threshold: 3, bias: 1},"
          " second: {name: ngram, reset: never}}",
          "trie {reset: never}",
          "trie {reset: never, branch_length: 2, max_match: 2, nodes: 3}",
          "recycling {reset: never}",
          "recycling {reset: never, successors: 1}",
          "hybrid {drafters: [{drafter: {name: trie, reset: never}, depth: 1},"
          " {drafter: {name: suffix, reset: never}}]}"};
}

DrafterProof::DrafterProof(const ProofSize& size, double temperature)
    : size_(size),
      sampling_({.temperature = temperature}),
      target_(WithStates(
          *Toy({.vocab_size = size.letters, .seed = 1, .layers = 3}))),
      bench_(target_, SamplingRule(sampling_), std::make_shared<Assets>()) {
  bench_.AddModel("draft", Toy({.vocab_size = size.letters, .seed = 2}));
  PutTokenizers(size.letters, bench_);
  // Not where the draft vocabulary is, which would be theirs.
  const std::string folders = folder_.path() + "/folders";
  Check(std::filesystem::create_directory(folders), folders);
  PutFolders(folders, size.letters, bench_);
  MustBuildIndex(folder_.path() + "/index", CorpusOf(size.letters),
                 {.vocab_size = size.letters, .shard_tokens = 8});
  bench_.AddFolder("index", "index", Params::Scalar(folder_.path() + "/index"));
  // All but one token of the last drafts.
  DraftVocabulary some = {.vocab_size = size.letters};
  for (TokenId token = 1; token < size.letters; ++token)
    some.tokens.push_back(token);
  folder_.Write("vocabulary.json", ToJson(some));
  const absl::Status written = WriteTokenCounts(
      folder_.path() + "/counts.safetensors", CountsOf(size.letters));
  Check(written.ok(), written.message());
}

std::unique_ptr<Drafter> DrafterProof::Make(const std::string& spec) {
  const absl::StatusOr<Params> section =
      ParseYaml(Section(spec), folder_.path() + "/examples.yaml");
  Check(section.ok(), section.status().message());
  absl::StatusOr<std::unique_ptr<Drafter>> made =
      BuildDrafter(*section, bench_);
  Check(made.ok(), made.status().message());
  return *std::move(made);
}

void DrafterProof::Prove(const DrafterPairing& pairing,
                         std::unique_ptr<Drafter> drafter, Tally& tally) {
  std::vector<Trunk> trunks;
  trunks.push_back(
      TrunkOf(std::move(drafter), pairing.policy, pairing.draw_kind));
  const absl::StatusOr<Proof> proof = banyan::Prove(
      {.what = absl::StrCat(pairing.drafter, " + ", pairing.policy, " ",
                            Name(pairing.draw_kind), " + ", pairing.verifier,
                            ", temperature ", sampling_.temperature),
       .target = target_,
       .size = size_,
       .prompt = PromptOf(size_.letters)},
      WithTrunks(*target_, pairing.verifier, std::move(trunks), sampling_));
  ASSERT_TRUE(proof.ok()) << proof.status();
  tally.Count(proof->result);
  if (proof->result == CaseResult::kProven)
    PrintProven(pairing.verifier, pairing.kind, pairing.drafter);
  if (proof->accepted > 0) ++accepted_;
}

}  // namespace banyan
