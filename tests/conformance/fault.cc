#include "tests/conformance/fault.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "configs/loader/yaml.h"
#include "core/base/check.h"
#include "core/base/common.h"
#include "core/base/params.h"
#include "core/base/token.h"
#include "core/random/enumerating_source.h"
#include "core/random/random_source.h"
#include "decode/method.h"
#include "decode/sequence.h"
#include "experiments/proof/controls.h"
#include "tests/conformance/pairing.h"
#include "tests/support/tree_text.h"
#include "tree/draft_tree.h"
#include "tree/policies/catalogue.h"
#include "verifiers/catalogue.h"
#include "verifiers/verifier.h"

namespace banyan {
namespace {

using Text = std::vector<TokenId>;

// Trees by their number of nodes.
constexpr const char* kLadder[] = {
    "chain {nodes: 1}", "expansion {branching: [2]}", "chain {nodes: 2}",
    "expansion {branching: [3]}", "expansion {branching: [2, 1]}"};

// Two errors are as like as twice their product over the sum of their squares:
// 1 if they are equal.
constexpr double kAlike = 0.8;

Params SectionOf(const std::string& spec) {
  absl::StatusOr<Params> section = ParseYaml(Section(spec), spec);
  Check(section.ok(), section.status().message());
  return *std::move(section);
}

bool IsOff(double error) { return !(error <= kProofRounding); }

// The probability of every text, and of all that begins with it.
StringLaw Prefixes(const StringLaw& strings) {
  StringLaw sums;
  for (const auto& [text, probability] : strings)
    for (std::size_t length = 1; length <= text.size(); ++length)
      sums[Text(text.begin(),
                text.begin() + static_cast<std::ptrdiff_t>(length))] +=
          probability;
  return sums;
}

// The shortest output whose probability is off.
Text FirstOff(const StringLaw& strings, const StringLaw& expected) {
  Text first;
  for (const auto& [text, probability] : expected) {
    const auto found = strings.find(text);
    const double other = found == strings.end() ? 0 : found->second;
    if (IsOff(std::abs(other - probability)) &&
        (first.empty() || text.size() < first.size()))
      first = text;
  }
  return first;
}

// By text: how far one distribution is from another.
StringLaw Difference(const StringLaw& strings, const StringLaw& from) {
  StringLaw difference = strings;
  for (const auto& [text, probability] : from) difference[text] -= probability;
  return difference;
}

double Product(const StringLaw& a, const StringLaw& b) {
  double sum = 0;
  for (const auto& [text, value] : a) {
    const auto found = b.find(text);
    if (found != b.end()) sum += value * found->second;
  }
  return sum;
}

class Fault {
 public:
  Fault(const TableModel& target, Decoder& decoder, LawOptions options,
        ExactLaw off)
      : target_(target),
        decoder_(decoder),
        options_(std::move(options)),
        off_(std::move(off)) {}

  std::string Describe() {
    const std::string tree = FindSmallest();
    const StringLaw prefixes = Prefixes(off_.law);
    const StringLaw expected = Prefixes(off_.target_law);
    const Text first = FirstOff(prefixes, expected);
    const auto found = prefixes.find(first);
    std::string text = absl::StrFormat(
        "\n  smallest tree: %s%s\n  first output: %s, with probability %.6f, "
        "the target's is %.6f",
        tree, Drafted(first), absl::StrJoin(first, ","),
        found == prefixes.end() ? 0 : found->second, expected.at(first));
    absl::StrAppend(&text, "\n  ", Likeness());
    return text;
  }

 private:
  // Nothing: the parts are refused, or it does not fit.
  std::optional<ExactLaw> Compute(const LawOptions& options) {
    if (!CheckMethod(decoder_.method()).ok()) return std::nullopt;
    absl::StatusOr<ExactLaw> exact =
        ComputeExactLaw(target_, decoder_, options);
    if (!exact.ok()) return std::nullopt;
    return *std::move(exact);
  }

  // Goes up the ladder to the first tree that is off, and stays there.
  std::string FindSmallest() {
    std::vector<Trunk>& trunks = decoder_.method().trunks;
    std::vector<std::unique_ptr<TreePolicy>> own;
    for (Trunk& trunk : trunks) own.push_back(std::move(trunk.policy));
    for (const char* spec : kLadder) {
      for (Trunk& trunk : trunks) trunk.policy = PolicyFor(spec);
      std::optional<ExactLaw> exact = Compute(options_);
      if (!exact.has_value() || !IsOff(exact->max_abs_error)) continue;
      off_ = *std::move(exact);
      return spec;
    }
    for (std::size_t i = 0; i < trunks.size(); ++i)
      trunks[i].policy = std::move(own[i]);
    return "its own";
  }

  static std::unique_ptr<TreePolicy> PolicyFor(const std::string& spec) {
    absl::StatusOr<PolicyChoice> choice = BuildPolicy(SectionOf(spec));
    Check(choice.ok(), choice.status().message());
    return std::move(choice->policy);
  }

  // ", drafted TREE": the smallest tree from which a text came.
  std::string Drafted(const Text& text) {
    std::optional<DraftTree> smallest;
    EnumeratingSource source(options_.max_branches,
                             EnumeratingSource::Keys::kMayRepeat);
    Text prompt = {target_.begin()};
    prompt.insert(prompt.end(), options_.prompt.begin(), options_.prompt.end());
    do {
      absl::StatusOr<Sequence> sequence =
          decoder_.Begin({.tokens = prompt}, {.max_new_tokens = 100});
      if (!sequence.ok()) return "";
      const absl::StatusOr<RoundRecord> round =
          decoder_.Step(*sequence, source);
      if (!round.ok()) return "";
      const std::size_t common = std::min(text.size(), round->emitted.size());
      if (std::equal(text.begin(),
                     text.begin() + static_cast<std::ptrdiff_t>(common),
                     round->emitted.begin()) &&
          (!smallest.has_value() || round->tree.size() < smallest->size()))
        smallest = round->tree;
    } while (source.Advance());
    return smallest.has_value() ? absl::StrCat(", drafted ", ToText(*smallest))
                                : "";
  }

  // A control's own error is what it adds to the distribution of a verifier
  // that is right, on the same drafter and tree.
  std::string Likeness() {
    const StringLaw off = Difference(off_.law, off_.target_law);
    std::unique_ptr<Verifier> own = std::move(decoder_.method().verifier);
    double best = 0;
    const ControlRow* nearest = nullptr;
    for (const ControlRow& row : ControlCatalogue()) {
      if (row.rounds > std::max(options_.rounds, 1)) continue;
      const double likeness = LikenessTo(row, off);
      if (!(likeness > best)) continue;
      best = likeness;
      nearest = &row;
    }
    decoder_.method().verifier = std::move(own);
    if (nearest == nullptr || best < kAlike) return "like none of the controls";
    return absl::StrFormat("like the control %s (%.2f of 1): %s", nearest->name,
                           best, nearest->sentence);
  }

  double LikenessTo(const ControlRow& row, const StringLaw& off) {
    Method& method = decoder_.method();
    method.verifier = Right();
    const std::optional<ExactLaw> right = Compute(options_);
    LawOptions options = options_;
    if (row.wrap != nullptr) method.verifier = row.wrap(Right(), method.rule);
    if (row.chance != nullptr) options.wrap = row.chance;
    const std::optional<ExactLaw> wrong = Compute(options);
    if (!right.has_value() || !wrong.has_value()) return 0;
    const StringLaw error = Difference(wrong->law, right->law);
    return 2 * Product(error, off) /
           (Product(error, error) + Product(off, off));
  }

  static std::unique_ptr<Verifier> Right() {
    absl::StatusOr<std::unique_ptr<Verifier>> verifier =
        BuildVerifier(SectionOf("multi_round"));
    Check(verifier.ok(), verifier.status().message());
    return *std::move(verifier);
  }

  const TableModel& target_;
  Decoder& decoder_;
  LawOptions options_;
  ExactLaw off_;
};

}  // namespace

std::string DescribeFault(const TableModel& target, Decoder& decoder,
                          const LawOptions& options, ExactLaw off) {
  return Fault(target, decoder, options, std::move(off)).Describe();
}

}  // namespace banyan
