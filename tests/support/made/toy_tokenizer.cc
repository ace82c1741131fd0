#include "tests/support/made/toy_tokenizer.h"

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/check.h"
#include "core/base/common.h"

namespace banyan {
namespace {

using Json = nlohmann::json;

bool Has(const std::vector<std::string>& tokens, const std::string& token) {
  return std::find(tokens.begin(), tokens.end(), token) != tokens.end();
}

// The merges that give `token`; none of a single character.
void AddMerges(const std::vector<std::string>& tokens, const std::string& token,
               Json& merges) {
  for (std::size_t at = 1; at < token.size(); ++at)
    if (Has(tokens, token.substr(0, at)) && Has(tokens, token.substr(at)))
      merges.push_back(
          absl::StrCat(token.substr(0, at), " ", token.substr(at)));
}

}  // namespace

std::shared_ptr<const Tokenizer> ToyTokenizer(
    const std::vector<std::string>& tokens,
    const ToyTokenizerOptions& options) {
  Json json = Json::parse(R"({
    "added_tokens": [],
    "decoder": {"type": "Fuse"},
    "model": {"type": "BPE", "vocab": {}, "merges": []}
  })");
  TokenizerConfig config;
  int id = 0;
  for (const std::string& token : tokens) {
    if (token.front() == '<' && token.back() == '>') {
      json["added_tokens"].push_back(
          {{"id", id}, {"content", token}, {"special", true}});
      if (token == "<end>" || token == "<stop>") config.eos_token = token;
      if (token == "<begin>")
        json["post_processor"] = Json::parse(absl::StrCat(
            R"({"type": "TemplateProcessing", "single": [
                  {"SpecialToken": {"id": "<begin>", "type_id": 0}},
                  {"Sequence": {"id": "A", "type_id": 0}}],
                "special_tokens": {"<begin>": {"id": "<begin>", "ids": [)",
            id, R"(], "tokens": ["<begin>"]}}})"));
    } else {
      json["model"]["vocab"][token] = id;
      AddMerges(tokens, token, json["model"]["merges"]);
    }
    ++id;
  }
  if (!options.pattern.empty())
    json["pre_tokenizer"] = {{"type", "Split"},
                             {"pattern", {{"Regex", options.pattern}}},
                             {"behavior", "Isolated"},
                             {"invert", false}};
  if (!options.normalizer.empty())
    json["normalizer"] = {{"type", options.normalizer}};
  absl::StatusOr<std::unique_ptr<Tokenizer>> made =
      Tokenizer::FromJson(json.dump(), "toy.json", config);
  Check(made.ok(), made.status().message());
  return *std::move(made);
}

}  // namespace banyan
