// What the tests of tokenizers share.
#ifndef BANYAN_TESTS_CORE_TOKENIZER_SUPPORT_H_
#define BANYAN_TESTS_CORE_TOKENIZER_SUPPORT_H_

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/token.h"
#include "core/tokenizer/tokenizer.h"

namespace banyan {

using Json = nlohmann::json;
using Ids = std::vector<TokenId>;

// The texts of the files; a test that cannot have them fails.
std::string ReadText(const std::string& path);

// A tokenizer.json that can be read: byte-level, one word "ab", the special
// tokens <s> and </s>. Tests change it.
Json SmallTokenizer();

// Fails the test if `json` is refused.
std::unique_ptr<Tokenizer> MakeTokenizer(const Json& json);

// What the refusal of `json` says; fails the test if it is none.
std::string Refusal(const Json& json);
std::string RefusalOfText(const std::string& text);

// The folder of data beside the project, which it does not bring along: "" if
// it is not there.
std::string SharedData();

// The ids the stream decoder's text of which is all of Decode's, pushed one by
// one; fails the test where they differ.
void ExpectStreamGivesTheSame(const Tokenizer& tokenizer, const Ids& ids);

}  // namespace banyan

#endif  // BANYAN_TESTS_CORE_TOKENIZER_SUPPORT_H_
