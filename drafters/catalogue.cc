#include "drafters/catalogue.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/catalogue.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "drafters/composed/cascade/cascade.h"
#include "drafters/composed/hybrid/hybrid.h"
#include "drafters/composed/relay/relay.h"
#include "drafters/drafter.h"
#include "drafters/heads/eagle/doctor.h"
#include "drafters/heads/eagle/eagle.h"
#include "drafters/heads/eagle/growth.h"
#include "drafters/heads/medusa/growth.h"
#include "drafters/heads/medusa/medusa.h"
#include "drafters/heads/pass/pass.h"
#include "drafters/models/common_tokens/common_tokens.h"
#include "drafters/models/retokenized/retokenized.h"
#include "drafters/models/small_model/small_model.h"
#include "drafters/target/early_exit/early_exit.h"
#include "drafters/target/lookahead/lookahead.h"
#include "drafters/target/skip/skip.h"
#include "drafters/target/triforce/triforce.h"
#include "drafters/text/bigram/bigram.h"
#include "drafters/text/copy/copy.h"
#include "drafters/text/grammar/grammar.h"
#include "drafters/text/ngram/ngram.h"
#include "drafters/text/random/random.h"
#include "drafters/text/recycling/recycling.h"
#include "drafters/text/reference/reference.h"
#include "drafters/text/rest/rest.h"
#include "drafters/text/sam/sam.h"
#include "drafters/text/suffix/suffix.h"
#include "drafters/text/trie/trie.h"
#include "drafters/text/unigram/unigram.h"
#include "drafters/workbench.h"
#include "tree/draft_tree.h"

namespace banyan {

namespace {

// Of the sections of drafters in `value`, in their order.
void AddTitles(const Params& value, std::vector<std::string>& titles) {
  const auto add = [&titles](const Params& inner) {
    if (inner.Find("name") != nullptr)
      titles.push_back(DrafterTitle(inner));
    else
      AddTitles(inner, titles);
  };
  for (const Params::Entry& entry : value.entries()) add(entry.value);
  for (const Params& item : value.items()) add(item);
}

// How many sections of drafters `value` is and has in it. Aliases make a short
// file hold very many.
int CountDrafters(const Params& value) {
  int count = value.Find("name") != nullptr ? 1 : 0;
  for (const Params::Entry& entry : value.entries())
    count += CountDrafters(entry.value);
  for (const Params& item : value.items()) count += CountDrafters(item);
  return count;
}

}  // namespace

absl::Span<const DrafterRow> DrafterCatalogue() {
  static const auto& every =
      *new std::vector<DraftLaw>(kEveryLaw.begin(), kEveryLaw.end());
  static const auto& rows = *new std::vector<DrafterRow>{
      {"small_model",
       "A language model of the target's vocabulary with its own cache.",
       every,
       SmallModel::Build,
       {"{model: draft}"},
       /*folder_key=*/{},
       /*growable=*/nullptr,
       /*examine=*/nullptr,
       "model"},
      {"medusa",
       "Heads on the target's last hidden state, one a depth; no pass of its "
       "own.",
       every,
       Medusa::Build,
       {"{heads: heads}"},
       "heads",
       OpenGrowableMedusa,
       /*examine=*/nullptr,
       "heads"},
      {"eagle",
       "A network on the target's hidden states that feeds itself: EAGLE of "
       "every version, and multi-token prediction.",
       every,
       Eagle::Build,
       {"{head: head}"},
       "heads",
       OpenGrowableEagle,
       ExamineEagle,
       "pairs",
       DescribeEagle},
      {"ngram",
       "What followed the last tokens earlier in the text, by its counts.",
       every,
       NGram::Build,
       {"{}", "{max_order: 3, history: 4}",
        "{max_order: 2, history: 0, sampling: {temperature: 0.5}}"}},
      {"copy",
       "Copies what came after the longest match of the last tokens.",
       {DraftLaw::kDeterministic},
       Copy::Build,
       {"{}", "{min_match: 1, max_match: 3, history: 5}",
        "{first: true, min_match: 1, max_match: 3, span: 2}"}},
      {"random",
       "Every token alike: what a drafter that knows nothing costs.",
       every,
       Random::Build,
       {"{}"}},
      {"unigram",
       "How often each token stands in a file of counts.",
       every,
       Unigram::Build,
       {"{counts: counts.safetensors}",
        "{counts: counts.safetensors, sampling: {temperature: 0}}"}},
      {"bigram",
       "How often each token follows the last one in a file of counts.",
       every,
       Bigram::Build,
       {"{counts: counts.safetensors}",
        "{counts: counts.safetensors, sampling: {temperature: 0.5}}"}},
      {"early_exit",
       "The target's first layers, up to an exit; its pass goes on from them.",
       every,
       EarlyExit::Build,
       {"{exits: [1]}", "{exits: [1, 2], settled: 0.6}"}},
      {"skip",
       "The target without some of its attention and feed-forward blocks.",
       every,
       BuildSkip,
       {"{attention: [1], feed_forward: [0, 1]}"}},
      {"triforce",
       "The target over a part of its cache: the first tokens, the latest, and "
       "chunks by attention.",
       every,
       Triforce::Build,
       {"{first: 1, latest: 1}",
        "{first: 0, latest: 1, chunks: 1, chunk: 2, choose_every: 1}"}},
      {"cascade",
       "A drafter in fewer passes: a cheaper one guesses what it will be "
       "asked.",
       every,
       Cascade::Build,
       {"{upper: {name: medusa, heads: heads}, ahead: 2, width: 2,"
        " lower: {name: bigram, counts: counts.safetensors}}",
        "{upper: {name: small_model, model: draft}, lower: {name: cascade,"
        " upper: {name: ngram}, lower: {name: copy, min_match: 1}}}"}},
      {"relay",
       "Another drafter for each span of a tree's levels.",
       every,
       Relay::Build,
       {"{spans: [{levels: 1, drafter: {name: small_model, model: draft}},"
        " {drafter: {name: ngram}}]}",
        "{spans: [{levels: 1, drafter:"
        " {name: bigram, counts: counts.safetensors}},"
        " {drafter: {name: eagle, head: head}}]}"}},
      {"lookahead",
       "The target's own guesses of what is to come, iterated beside the tree "
       "in the pass that judges it.",
       {DraftLaw::kDeterministic},
       Lookahead::Build,
       {"{level: 2, window: 3, guesses: 2}",
        "{level: 3, window: 2, guesses: 2, pool_from_prompt: true}"}},
      {"pass",
       "Trained vectors, or tokens, in the place of those to come, from whose "
       "rows the target guesses what follows them.",
       every,
       Pass::Build,
       {"{embeddings: embeddings}", "{tokens: [0, 1], after: 1}"},
       "embeddings"},
      {"hybrid",
       "Each round, of several drafters the one that promises most.",
       every,
       Hybrid::Build,
       {"{drafters: [{drafter: {name: copy, min_match: 1}, depth: 1},"
        " {drafter: {name: small_model, model: draft}}], start: 1}",
        "{drafters: [{drafter: {name: ngram}},"
        " {drafter: {name: eagle, head: head}}], start: 1, memory: 2}"}},
      {"reference",
       "Spans of a given text, or of the prompt, while the output goes along "
       "with it.",
       {DraftLaw::kDeterministic},
       Reference::Build,
       {"{}", "{mode: rewrite, match: 1, span: 3}"}},
      {"grammar",
       "What a regular expression leaves no choice about; the target stays "
       "free.",
       {DraftLaw::kDeterministic},
       Grammar::Build,
       {"{pattern: 'ab(a|b)*'}", "{pattern: 'b(a|ba)b*', tokens: 1}"}},
      {"suffix",
       "What followed, and how often, where the end of the text stood before; "
       "here or in texts of earlier prompts.",
       every,
       Suffix::Build,
       {"{}",
        "{mode: tree, depth: 4, factor: 2, offset: 1, min_probability: 0.2}",
        "{mode: tree, offset: 2, sampling: {temperature: 0.5}}"}},
      {"sam",
       "What followed the longest repeated end of the text; where that is "
       "short, it hands over to another drafter.",
       every,
       Sam::Build,
       {"{threshold: 1}",
        "{threshold: 2, tokens: 1, fallback:"
        " {name: small_model, model: draft}}",
        "{threshold: 2, tokens: 4, fallback_depth: 1, fallback:"
        " {name: copy, min_match: 1}}"}},
      {"recycling",
       "What the target ranked first behind each token where it was last "
       "scored.",
       {DraftLaw::kDeterministic},
       Recycling::Build,
       {"{}", "{successors: 1}"}},
      {"trie",
       "The most frequent ways on from the last tokens, in the prompt and in "
       "outputs.",
       every,
       Trie::Build,
       {"{}",
        "{branch_length: 1, max_match: 1, nodes: 2,"
        " sampling: {temperature: 0.5}}"}},
      {"common_tokens",
       "A language model of another vocabulary, by the tokens that it and the "
       "target have.",
       every,
       CommonTokens::Build,
       {"{model: fewer}", "{model: more}",
        "{model: others, sampling: {temperature: 0.5}}"}},
      {"retokenized",
       "The text that a language model of another vocabulary writes, in the "
       "target's tokens.",
       {DraftLaw::kDeterministic},
       Retokenized::Build,
       {"{model: fewer}", "{model: more, write: 6}", "{model: others}"}},
      {"rest",
       "What followed the last tokens in a corpus on disk, by its counts.",
       every,
       Rest::Build,
       {"{index: index}",
        "{index: index, min_match: 1, max_match: 3, nodes: 3,"
        " depth: 2, samples: 2, sampling: {temperature: 0.5}}"},
       "index"},
  };
  return rows;
}

std::vector<absl::string_view> DrafterFolderKeys() {
  std::vector<absl::string_view> keys;
  for (const DrafterRow& row : DrafterCatalogue()) {
    const bool known =
        std::find(keys.begin(), keys.end(), row.folder_key) != keys.end();
    if (!row.folder_key.empty() && !known) keys.push_back(row.folder_key);
  }
  return keys;
}

std::string DrafterTitle(const Params& section) {
  std::vector<std::string> parts;
  AddTitles(section, parts);
  const Params* name = section.Find("name");
  const std::string own = name == nullptr ? "" : name->text();
  return parts.empty()
             ? own
             : absl::StrCat(own, "(", absl::StrJoin(parts, ", "), ")");
}

absl::StatusOr<std::unique_ptr<Drafter>> BuildDrafter(const Params& section,
                                                      Workbench& bench) {
  BANYAN_ASSIGN_OR_RETURN(const DrafterRow* row,
                          FindRow(DrafterCatalogue(), "drafter", section));
  if (const int count = CountDrafters(section); count > kMostDrafters)
    return section.Error(absl::StrCat("drafter ", row->name, ": expected at ",
                                      "most ", kMostDrafters,
                                      " drafters in it, found ", count));
  ParamsReader in(section, absl::StrCat("drafter ", row->name));
  in.Take("name");
  return row->build(in, bench);
}

}  // namespace banyan
