// The text that a chat is given to a model as.
//
// Models bring their chat template as a Jinja program. It is not run here: the
// family is recognised by markers in its text, and rendered by a few lines of
// ours. What a family's templates differ in, as its default system message, is
// read off the text where it can be; what they do about tools, dates or hidden
// reasoning is not. A configuration can name the family instead. Which it was,
// and the ids it gave, belong into the record of an experiment.
//
//   name            prompt of a user's "Hi"
//   chatml          <|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n
//   llama3          BOS<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>
//                   <|start_header_id|>assistant<|end_header_id|>\n\n
//   llama3.1        the same, after a system message with the fixed dates that
//                   its template says where nothing else is asked for
//   llama2          BOS[INST] Hi [/INST], and BOS before every turn
//   mistral         BOS[INST] Hi [/INST]
//   mistral_v3      BOS[INST] Hi[/INST]
//   mistral_tekken  BOS[INST]Hi[/INST]
//   vicuna          SYSTEM USER: Hi ASSISTANT:
//   raw             Hi
//
// The text of a message is plain text: it never becomes a control token. Markup
// that is no token, as vicuna's USER:, can be imitated by a message, as in any
// other program.
#ifndef BANYAN_CORE_TOKENIZER_CHAT_TEMPLATE_H_
#define BANYAN_CORE_TOKENIZER_CHAT_TEMPLATE_H_

#include <string>

#include "core/base/common.h"
#include "core/tokenizer/tokenizer.h"

namespace banyan {

struct ChatMessage {
  std::string role;  // system (the first only), user or assistant
  std::string content;
};

class ChatTemplate {
 public:
  enum class Family {
    kChatMl,
    kLlama3,
    kLlama31,
    kLlama2,
    kMistral,
    kMistralV3,
    kMistralTekken,
    kVicuna,
    kRaw,
  };

  // The one called `name`; fails with InvalidArgument and the known names.
  static absl::StatusOr<ChatTemplate> Named(absl::string_view name);
  // The one whose markers the Jinja text has; fails if it has none that are
  // known.
  static absl::StatusOr<ChatTemplate> Detect(absl::string_view jinja);
  // The one called `name`, or if that is empty the model's own; with the
  // model's texts for the beginning and the end. Fails if the model lacks the
  // token that ends a turn: no reply would end, and what is measured of replies
  // would be of none.
  static absl::StatusOr<ChatTemplate> ForModel(const Tokenizer& tokenizer,
                                               absl::string_view name);

  absl::string_view name() const;

  // What is wrong with the other special tokens that it writes, for a model
  // that lacks some; empty if it lacks none.
  const std::string& warning() const { return warning_; }

  // The prompt after which the assistant's next message is to come; give it to
  // Tokenizer::EncodePrompt. Fails with InvalidArgument on a role or an order
  // of roles that the family does not know.
  absl::StatusOr<PromptText> Render(
      absl::Span<const ChatMessage> messages) const;

 private:
  explicit ChatTemplate(Family family);

  absl::Status CheckTokens(const Tokenizer& tokenizer);
  PromptText RenderFamily(absl::Span<const ChatMessage> messages) const;
  PromptText RenderChatMl(absl::Span<const ChatMessage> messages) const;
  PromptText RenderLlama3(absl::Span<const ChatMessage> messages) const;
  PromptText RenderLlama2(absl::Span<const ChatMessage> messages) const;
  PromptText RenderMistral(absl::Span<const ChatMessage> messages) const;
  PromptText RenderVicuna(absl::Span<const ChatMessage> messages) const;

  Family family_;
  std::string bos_;
  std::string eos_;
  std::string default_system_;  // where the chat begins with another message
  std::string before_reply_;    // mistral
  std::string warning_;
};

}  // namespace banyan

#endif  // BANYAN_CORE_TOKENIZER_CHAT_TEMPLATE_H_
