#include "core/tokenizer/chat_template.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/tokenizer/tokenizer_config.h"
#include "gmock/gmock.h"
#include "tests/core/tokenizer/support.h"

namespace banyan {
namespace {

using testing::HasSubstr;

const ChatMessage kSystem{"system", "Be brief."};
const ChatMessage kHi{"user", " Hi "};
const ChatMessage kYes{"assistant", "Yes."};
const ChatMessage kBye{"user", "Bye"};

std::string Rendered(const absl::StatusOr<ChatTemplate>& chat,
                     const std::vector<ChatMessage>& messages) {
  EXPECT_TRUE(chat.ok()) << chat.status();
  if (!chat.ok()) return "";
  const auto text = chat->Render(messages);
  EXPECT_TRUE(text.ok()) << text.status();
  return text.value_or("");
}

// A chat with a system message, and one without.
struct Case {
  const char* name;
  const char* with_system;
  const char* without;
};

// The texts are what Jinja renders of the families' published templates.
TEST(ChatTemplate, RendersEachFamily) {
  const std::string vicuna =
      "A chat between a curious user and an artificial intelligence assistant. "
      "The assistant gives helpful, detailed, and polite answers to the user's "
      "questions. USER:  Hi  ASSISTANT:";
  const std::vector<Case> cases = {
      {"chatml",
       "<|im_start|>system\nBe brief.<|im_end|>\n"
       "<|im_start|>user\n Hi <|im_end|>\n"
       "<|im_start|>assistant\nYes.<|im_end|>\n"
       "<|im_start|>user\nBye<|im_end|>\n<|im_start|>assistant\n",
       "<|im_start|>user\n Hi <|im_end|>\n<|im_start|>assistant\n"},
      {"llama3",
       "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\n"
       "Be brief.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\n"
       "Hi<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"
       "Yes.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\n"
       "Bye<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
       "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\n"
       "Hi<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
      {"llama3.1",
       "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\n"
       "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n"
       "Be brief.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\n"
       "Hi<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"
       "Yes.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\n"
       "Bye<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
       "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\n"
       "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n"
       "<|eot_id|><|start_header_id|>user<|end_header_id|>\n\n"
       "Hi<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
      {"llama2",
       "<s>[INST] <<SYS>>\nBe brief.\n<</SYS>>\n\n Hi [/INST] Yes. </s>"
       "<s>[INST] Bye [/INST]",
       "<s>[INST] Hi [/INST]"},
      {"mistral_v3",
       "<s>[INST]  Hi [/INST] Yes.</s>[INST] Be brief.\n\nBye[/INST]",
       "<s>[INST]  Hi [/INST]"},
      {"mistral_tekken",
       "<s>[INST] Hi [/INST]Yes.</s>[INST]Be brief.\n\nBye[/INST]",
       "<s>[INST] Hi [/INST]"},
      {"vicuna", "Be brief. USER:  Hi  ASSISTANT: Yes.</s>USER: Bye ASSISTANT:",
       vicuna.c_str()},
      {"raw", "Be brief. Hi Yes.Bye", " Hi "},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.name);
    const auto chat = ChatTemplate::Named(each.name);
    EXPECT_EQ(Rendered(chat, {kSystem, kHi, kYes, kBye}), each.with_system);
    EXPECT_EQ(Rendered(chat, {kHi}), each.without);
    EXPECT_EQ(chat->name(), each.name);
  }
  EXPECT_EQ(Rendered(ChatTemplate::Named("mistral"), {kHi, kYes, kBye}),
            "<s>[INST]  Hi  [/INST] Yes.</s>[INST] Bye [/INST]");
}

TEST(ChatTemplate, IsKnownByItsMarkers) {
  const auto name = [](const std::string& jinja) {
    const auto chat = ChatTemplate::Detect(jinja);
    return chat.ok() ? std::string(chat->name()) : "";
  };
  EXPECT_EQ(name("{{'<|im_start|>' + message['role']"), "chatml");
  EXPECT_EQ(name("'<|start_header_id|>' + r + '<|end_header_id|>"), "llama3");
  EXPECT_EQ(name("<|start_header_id|> <|end_header_id|> Cutting Knowledge "
                 "Date: December 2023"),
            "llama3.1");
  EXPECT_EQ(name("'[INST] ' + '<<SYS>>\\n'"), "llama2");
  EXPECT_EQ(name("'[INST] ' + message['content'] + ' [/INST]'"), "mistral");
  EXPECT_EQ(name("[AVAILABLE_TOOLS] \"[INST] \" + x"), "mistral_v3");
  EXPECT_EQ(name("[AVAILABLE_TOOLS] \"[INST]\" + x"), "mistral_tekken");
  EXPECT_EQ(name("'USER: ' + x + ' ASSISTANT:'"), "vicuna");
}

TEST(ChatTemplate, OfNoKnownFamilyIsRefusedWithTheKnownNames) {
  for (const char* jinja : {"<start_of_turn>", "", "[INST] [SYSTEM_PROMPT]"})
    EXPECT_FALSE(ChatTemplate::Detect(jinja).ok()) << jinja;
  EXPECT_THAT(
      std::string(ChatTemplate::Detect("<start_of_turn>").status().message()),
      HasSubstr("name one of: chatml, llama3, llama3.1, llama2, mistral"));
  EXPECT_THAT(std::string(ChatTemplate::Named("lama3").status().message()),
              HasSubstr("did you mean 'llama3'?"));
}

TEST(ChatTemplate, ReadsTheDefaultSystemMessageOffTheText) {
  EXPECT_EQ(
      Rendered(ChatTemplate::Detect(
                   "{{ '<|im_start|>system\\n' + x + '<|im_end|>' }}"
                   "{{ '<|im_start|>system\\nYou are Q.<|im_end|>\\n' }}"),
               {kBye}),
      "<|im_start|>system\nYou are Q.<|im_end|>\n"
      "<|im_start|>user\nBye<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(Rendered(ChatTemplate::Detect("'USER: ' 'ASSISTANT:'"), {kBye}),
            "USER: Bye ASSISTANT:");
  EXPECT_EQ(Rendered(ChatTemplate::Detect("'[INST] ' + message['content']"),
                     {kBye, kYes, kBye}),
            "<s>[INST] Bye [/INST]Yes.</s>[INST] Bye [/INST]");
}

TEST(ChatTemplate, RefusesRolesAndOrdersItDoesNotKnow) {
  const auto refusal = [](const std::string& name,
                          const std::vector<ChatMessage>& messages) {
    const auto text = ChatTemplate::Named(name)->Render(messages);
    EXPECT_FALSE(text.ok());
    return std::string(text.status().message());
  };
  EXPECT_EQ(refusal("chatml", {{"tool", "x"}}),
            "chat template chatml: message 0: expected the role system, user "
            "or assistant, found 'tool'");
  EXPECT_THAT(refusal("chatml", {kHi, kSystem}), HasSubstr("message 1: only"));
  EXPECT_THAT(refusal("chatml", {}), HasSubstr("at the end"));
  EXPECT_THAT(refusal("llama2", {kHi, kBye}), HasSubstr("in turns"));
  EXPECT_THAT(refusal("llama2", {kHi, kYes}), HasSubstr("at the end"));
  EXPECT_THAT(refusal("mistral", {kSystem, kHi}),
              HasSubstr("there are no system messages"));
}

TEST(ChatTemplate, TakesTheModelsOwnUnlessNamed) {
  TokenizerConfig config;
  config.bos_token = "</s>";
  config.eos_token = "<s>";
  config.chat_template = "'USER: ' 'ASSISTANT:'";
  auto tokenizer =
      Tokenizer::FromJson(SmallTokenizer().dump(), "t.json", config);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  EXPECT_EQ(Rendered(ChatTemplate::ForModel(**tokenizer, ""), {kBye}),
            "USER: Bye ASSISTANT:");
  EXPECT_EQ(Rendered(ChatTemplate::ForModel(**tokenizer, "llama2"),
                     {kBye, kYes, kBye}),
            "</s>[INST] Bye [/INST] Yes. <s></s>[INST] Bye [/INST]");
  const auto plain = MakeTokenizer(SmallTokenizer());
  EXPECT_THAT(
      std::string(ChatTemplate::ForModel(*plain, "").status().message()),
      HasSubstr("the model has no chat template; name one of"));
}

TEST(ChatTemplate, NeedsTheTokenThatEndsATurn) {
  const auto refusal = [](const Json& json, const std::string& name) {
    return std::string(
        ChatTemplate::ForModel(*MakeTokenizer(json), name).status().message());
  };
  EXPECT_EQ(refusal(SmallTokenizer(), "llama3"),
            "chat template llama3 ends turns with <|eot_id|>, which is no "
            "token of the model: no reply would end");
  EXPECT_EQ(refusal(SmallTokenizer(), "vicuna"), "");
  Json lacking = SmallTokenizer();
  lacking["added_tokens"].erase(1);
  EXPECT_THAT(refusal(lacking, "vicuna"), HasSubstr("ends turns with </s>"));
  EXPECT_EQ(refusal(lacking, "raw"), "");
  // A word of the vocabulary that texts are not searched for is none.
  lacking["model"]["vocab"]["</s>"] = 257;
  EXPECT_THAT(refusal(lacking, "llama2"), HasSubstr("ends turns with </s>"));
}

TEST(ChatTemplate, SaysWhichOtherTokensTheModelLacks) {
  Json json = SmallTokenizer();
  int id = 300;
  for (const char* token : {"<|eot_id|>", "<|end_header_id|>", "[INST]"})
    json["added_tokens"].push_back(
        {{"id", id++}, {"content", token}, {"special", true}});
  const auto tokenizer = MakeTokenizer(json);
  const auto warning = [&](const std::string& name) {
    const auto chat = ChatTemplate::ForModel(*tokenizer, name);
    EXPECT_TRUE(chat.ok()) << chat.status();
    return chat.ok() ? chat->warning() : "";
  };
  EXPECT_EQ(warning("llama3.1"),
            "chat template llama3.1 writes <|begin_of_text|>, "
            "<|start_header_id|>, which are no tokens of the model: it reads "
            "the letters");
  EXPECT_EQ(warning("mistral_v3"),
            "chat template mistral_v3 writes [/INST], which is no token of the "
            "model: it reads the letters");
  for (const char* name : {"llama2", "mistral", "vicuna", "raw"})
    EXPECT_EQ(warning(name), "") << name;
}

// Llama-2 templates write the beginning themselves, which the tokenizer adds.
TEST(ChatTemplate, GivesOneBeginning) {
  const auto tokenizer = MakeTokenizer(SmallTokenizer());
  const auto chat = ChatTemplate::ForModel(*tokenizer, "llama2");
  const auto ids = tokenizer->EncodePrompt(Rendered(chat, {kBye}));
  ASSERT_TRUE(ids.ok()) << ids.status();
  EXPECT_EQ(ids->at(0), 256);
  EXPECT_EQ(ids->at(1), '[');
}

}  // namespace
}  // namespace banyan
