#include "decode/proofs.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/common.h"

namespace banyan {
namespace {

using Words = std::vector<std::string>;

// "multi_round" of "multi_round {order: shuffled}".
std::string NameOf(const std::string& spec) {
  return spec.substr(0, spec.find(' '));
}

// The hash of a part by its kind and name.
std::map<std::pair<std::string, std::string>, std::string> PartHashes() {
  std::map<std::pair<std::string, std::string>, std::string> hashes;
  for (absl::string_view line :
       absl::StrSplit(kProofParts, '\n', absl::SkipEmpty())) {
    const Words words = absl::StrSplit(line, ' ');
    hashes[{words[0], words[1]}] = words[2];
  }
  return hashes;
}

}  // namespace

std::vector<ProofLine> ReadProofs(absl::string_view record) {
  std::vector<ProofLine> lines;
  for (absl::string_view text : absl::StrSplit(record, '\n')) {
    const Words words = absl::StrSplit(text, absl::MaxSplits(' ', 5));
    ProofLine line;
    if (words.size() != 6 || words[0] == "#" ||
        !absl::SimpleAtoi(words[3], &line.pairings))
      continue;
    line.pair = {words[0], words[1], words[2]};
    line.hashes = words[4];
    line.by = words[5];
    lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<ProofLine> ProofRecord() { return ReadProofs(kProofRecord); }

std::string ToText(const ProofLine& line) {
  return absl::StrJoin({line.pair.verifier, line.pair.kind, line.pair.part,
                        absl::StrCat(line.pairings), line.hashes, line.by},
                       " ");
}

std::string CurrentHashes(const ProofPair& pair) {
  const auto hashes = PartHashes();
  const auto common = hashes.find({"common", "-"});
  const auto verifier = hashes.find({"verifier", pair.verifier});
  const auto part = hashes.find({pair.kind, pair.part});
  if (common == hashes.end() || verifier == hashes.end() ||
      part == hashes.end())
    return "";
  return absl::StrJoin({common->second, verifier->second, part->second}, ".");
}

std::vector<ProofPair> PairsOf(const Method& method) {
  const std::string verifier = NameOf(method.verifier_name);
  std::vector<ProofPair> pairs;
  const auto add = [&](const std::string& kind, const std::string& part) {
    ProofPair pair = {verifier, kind, part};
    if (std::find(pairs.begin(), pairs.end(), pair) == pairs.end())
      pairs.push_back(std::move(pair));
  };
  for (const Trunk& trunk : method.trunks) {
    add("policy", NameOf(trunk.policy_name));
    // "cascade(small_model, ngram)": those it is made of too.
    const Words drafters = absl::StrSplit(
        trunk.drafter_name, absl::ByAnyChar("(), "), absl::SkipEmpty());
    for (const std::string& drafter : drafters) add("drafter", drafter);
    if (trunk.drafter->carried() != nullptr && !drafters.empty())
      add("carried", drafters.front());
  }
  if (method.trunks.size() > 1)
    add("trunks", method.trunks.front().policy->of_method() == nullptr
                      ? "merged"
                      : "taking_turns");
  return pairs;
}

bool IsProven(const Method& method) {
  if (!IsLossless(method)) return false;
  const std::vector<ProofLine> record = ProofRecord();
  const std::vector<ProofPair> pairs = PairsOf(method);
  return std::all_of(pairs.begin(), pairs.end(), [&](const ProofPair& pair) {
    const std::string hashes = CurrentHashes(pair);
    return !hashes.empty() && std::any_of(record.begin(), record.end(),
                                          [&](const ProofLine& line) {
                                            return line.pair == pair &&
                                                   line.hashes == hashes;
                                          });
  });
}

}  // namespace banyan
