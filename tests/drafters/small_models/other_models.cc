#include "tests/drafters/small_models/other_models.h"

#include <cstddef>
#include <nlohmann/json.hpp>
#include <utility>

#include "configs/loader/yaml.h"
#include "core/base/check.h"
#include "core/base/common.h"
#include "core/base/params.h"
#include "core/prob/sampling_rule.h"
#include "core/tokenizer/steps/both_ways.h"
#include "drafters/catalogue.h"
#include "tests/conformance/pairing.h"
#include "tests/conformance/toys.h"
#include "tests/support/made/toy_tokenizer.h"

namespace banyan {
namespace {

constexpr int kBytes = 256;

std::string ByteToken(int byte) {
  return BytesToCharacters(std::string(1, static_cast<char>(byte)));
}

// Byte-level; `merged` of two parts each, which are tokens before it.
std::shared_ptr<const Tokenizer> ByteTokenizer(
    const std::vector<int>& bytes, const std::vector<std::string>& merged) {
  nlohmann::json json = nlohmann::json::parse(R"({
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
    "decoder": {"type": "ByteLevel"},
    "model": {"type": "BPE", "vocab": {}, "merges": []}
  })");
  nlohmann::json& vocab = json["model"]["vocab"];
  int id = 0;
  for (int byte : bytes) vocab[ByteToken(byte)] = id++;
  for (const std::string& text : merged) {
    for (std::size_t at = 1; at < text.size(); ++at) {
      const std::string left = BytesToCharacters(text.substr(0, at));
      const std::string right = BytesToCharacters(text.substr(at));
      if (vocab.contains(left) && vocab.contains(right))
        json["model"]["merges"].push_back(absl::StrCat(left, " ", right));
    }
    vocab[BytesToCharacters(text)] = id++;
  }
  absl::StatusOr<std::unique_ptr<Tokenizer>> made =
      Tokenizer::FromJson(json.dump(), "bytes.json");
  Check(made.ok(), made.status().message());
  return *std::move(made);
}

}  // namespace

OtherPair::OtherPair(const std::vector<std::string>& targets,
                     const std::vector<std::string>& models, int seed)
    : OtherPair(ToyTokenizer(targets), ToyTokenizer(models), seed) {}

OtherPair::OtherPair(const std::vector<std::string>& targets,
                     std::shared_ptr<const Tokenizer> models, int seed)
    : OtherPair(ToyTokenizer(targets), std::move(models), seed) {}

OtherPair::OtherPair(std::shared_ptr<const Tokenizer> targets,
                     std::shared_ptr<const Tokenizer> models, int seed)
    : target(std::move(targets)),
      own(std::move(models)),
      model(Toy({.vocab_size = own->vocab_size(), .seed = seed})) {}

OtherModel OtherPair::Open() const {
  return MakeOtherModel(*Toy({.vocab_size = vocab_size()}), target, model, own);
}

std::optional<TokenId> OtherPair::SameAs(TokenId token) const {
  if (target->IsSpecial(token))
    return token == target->eos_id() ? own->eos_id() : std::nullopt;
  for (TokenId id = own->vocab_size() - 1; id >= 0; --id)
    if (!own->IsSpecial(id) &&
        *own->TokenBytes(id) == *target->TokenBytes(token))
      return id;
  return std::nullopt;
}

std::string OtherPair::TextOf(absl::Span<const TokenId> tokens) const {
  std::string text;
  for (TokenId token : tokens)
    absl::StrAppend(&text, *target->TokenText(token));
  return text;
}

std::vector<TokenId> OtherPair::Cut(absl::Span<const TokenId> tokens) const {
  std::vector<TokenId> all;
  std::string part;
  const auto flush = [&] {
    const auto ids = own->Encode(part, {.add_special = false});
    Check(ids.ok(), ids.status().message());
    all.insert(all.end(), ids->begin(), ids->end());
    part.clear();
  };
  for (TokenId token : tokens) {
    if (!target->IsSpecial(token)) {
      const std::string bytes = *target->TokenBytes(token);
      for (const char letter : bytes)
        if (own->FindToken(std::string(1, letter)).has_value()) part += letter;
      continue;
    }
    flush();
    if (const auto same = SameAs(token)) all.push_back(*same);
  }
  flush();
  return all;
}

OtherPair Bytes(const std::vector<std::string>& merged, int without) {
  std::vector<int> up, down;
  for (int byte = 0; byte < kBytes; ++byte) up.push_back(byte);
  for (int byte = kBytes - 1; byte >= 0; --byte)
    if (byte != without) down.push_back(byte);
  return {ByteTokenizer(up, {}), ByteTokenizer(down, merged), 6};
}

std::string RefusalBeside(std::shared_ptr<const Tokenizer> target,
                          std::shared_ptr<const Tokenizer> own,
                          const std::string& spec) {
  Workbench bench(Toy({}), SamplingRule(), std::make_shared<Assets>());
  bench.SetTokenizer(std::move(target));
  bench.AddModel("other", Toy({}), std::move(own));
  const absl::StatusOr<Params> section =
      ParseYaml(Section(spec), "drafter.yaml");
  Check(section.ok(), section.status().message());
  return std::string(BuildDrafter(*section, bench).status().message());
}

}  // namespace banyan
