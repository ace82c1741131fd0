#include "core/tokenizer/chat_template.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "core/base/messages.h"
#include "core/tokenizer/steps/normalizer.h"

namespace banyan {
namespace {

using Family = ChatTemplate::Family;
using Messages = absl::Span<const ChatMessage>;

struct Row {
  Family family;
  absl::string_view name;
};

constexpr std::array<Row, 9> kRows = {
    Row{Family::kChatMl, "chatml"},
    Row{Family::kLlama3, "llama3"},
    Row{Family::kLlama31, "llama3.1"},
    Row{Family::kLlama2, "llama2"},
    Row{Family::kMistral, "mistral"},
    Row{Family::kMistralV3, "mistral_v3"},
    Row{Family::kMistralTekken, "mistral_tekken"},
    Row{Family::kVicuna, "vicuna"},
    Row{Family::kRaw, "raw"},
};

std::vector<absl::string_view> Names() {
  std::vector<absl::string_view> names;
  for (const Row& row : kRows) names.push_back(row.name);
  return names;
}

// FastChat's, which the papers on Vicuna drafting use.
constexpr absl::string_view kVicunaSystem =
    "A chat between a curious user and an artificial intelligence assistant. "
    "The assistant gives helpful, detailed, and polite answers to the user's "
    "questions.";

// Llama-3.1's template says these where no date is given to it.
constexpr absl::string_view kLlama31Dates =
    "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n";

// The message that a ChatML template writes for a missing system message: a
// literal that opens and closes it. Jinja writes the line's end as \n. What
// follows one opening is not searched again from the next.
std::string DefaultSystem(absl::string_view jinja) {
  constexpr absl::string_view kClose = "<|im_end|>";
  constexpr absl::string_view kNoLiteral = "'\"{}\\";
  for (absl::string_view open :
       {"<|im_start|>system\\n", "<|im_start|>system\n"}) {
    std::size_t close = 0;
    std::size_t stop = 0;
    for (std::size_t at = jinja.find(open); at != absl::string_view::npos;
         at = jinja.find(open, at + 1)) {
      const std::size_t begin = at + open.size();
      if (close < begin) close = jinja.find(kClose, begin);
      if (stop < begin) stop = jinja.find_first_of(kNoLiteral, begin);
      if (close == absl::string_view::npos) break;
      if (close < stop) return std::string(jinja.substr(begin, close - begin));
    }
  }
  return "";
}

absl::StatusOr<Family> DetectInst(absl::string_view jinja) {
  if (absl::StrContains(jinja, "<<SYS>>")) return Family::kLlama2;
  if (absl::StrContains(jinja, "[SYSTEM_PROMPT]"))
    return absl::InvalidArgumentError(
        "the chat template has [SYSTEM_PROMPT], a form of Mistral's that is "
        "not known here");
  if (!absl::StrContains(jinja, "[AVAILABLE_TOOLS]")) return Family::kMistral;
  return absl::StrContains(jinja, "[INST] ") ? Family::kMistralV3
                                             : Family::kMistralTekken;
}

absl::StatusOr<Family> DetectFamily(absl::string_view jinja) {
  const auto has = [jinja](absl::string_view marker) {
    return absl::StrContains(jinja, marker);
  };
  if (has("<|im_start|>")) return Family::kChatMl;
  if (has("<|start_header_id|>") && has("<|end_header_id|>"))
    return has("Cutting Knowledge Date") ? Family::kLlama31 : Family::kLlama3;
  if (has("[INST]")) return DetectInst(jinja);
  if (has("USER: ") && has("ASSISTANT:")) return Family::kVicuna;
  return absl::InvalidArgumentError(absl::StrCat(
      "the model's chat template is of no known family; name one of: ",
      absl::StrJoin(Names(), ", ")));
}

// A first system message, then users and assistants: in turns, if `in_turns`,
// the first and the last a user's.
absl::Status CheckRoles(Messages messages, absl::string_view name,
                        bool takes_system, bool in_turns) {
  const auto refuse = [name](std::size_t i, absl::string_view what) {
    return absl::InvalidArgumentError(
        absl::StrCat("chat template ", name, ": message ", i, ": ", what));
  };
  bool is_users_turn = true;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const std::string& role = messages[i].role;
    if (role == "system") {
      if (i > 0) return refuse(i, "only the first may be the system's");
      if (!takes_system) return refuse(i, "there are no system messages");
      continue;
    }
    if (role != "user" && role != "assistant")
      return refuse(i, absl::StrCat("expected the role system, user or "
                                    "assistant, found '",
                                    role, "'"));
    if (in_turns && (role == "user") != is_users_turn)
      return refuse(i, "expected user and assistant in turns, user first");
    is_users_turn = role != "user";
  }
  if (messages.empty() || (in_turns && is_users_turn))
    return absl::InvalidArgumentError(
        absl::StrCat("chat template ", name,
                     ": expected a message of the user's at the "
                     "end"));
  return absl::OkStatus();
}

// What a family writes that must be one token each.
struct SpecialTokens {
  std::string end_of_turn;  // which a reply ends with
  std::vector<std::string> others;
};

SpecialTokens TokensOf(Family family, const std::string& bos,
                       const std::string& eos) {
  switch (family) {
    case Family::kChatMl:
      return {"<|im_end|>", {"<|im_start|>"}};
    case Family::kLlama3:
    case Family::kLlama31:
      return {"<|eot_id|>", {bos, "<|start_header_id|>", "<|end_header_id|>"}};
    case Family::kLlama2:
    case Family::kMistral:
      return {eos, {bos}};
    case Family::kMistralV3:
    case Family::kMistralTekken:
      return {eos, {bos, "[INST]", "[/INST]"}};
    case Family::kVicuna:
      return {eos, {}};
    case Family::kRaw:
      break;
  }
  return {};
}

bool HasSystem(Messages messages) { return messages[0].role == "system"; }

// Writes a prompt from its beginning to its end.
class PromptWriter {
 public:
  // Of the template's own.
  void Markup(std::initializer_list<absl::string_view> parts) {
    for (const absl::string_view part : parts)
      absl::StrAppend(&prompt_.text, part);
  }

  // Of a message's.
  void Say(absl::string_view content) {
    const std::size_t begin = prompt_.text.size();
    absl::StrAppend(&prompt_.text, content);
    prompt_.said.push_back({begin, prompt_.text.size()});
  }

  void StripEnd() {
    absl::StripTrailingAsciiWhitespace(&prompt_.text);
    for (ByteRange& said : prompt_.said) {
      said.begin = std::min(said.begin, prompt_.text.size());
      said.end = std::min(said.end, prompt_.text.size());
    }
  }

  bool empty() const { return prompt_.text.empty(); }
  PromptText Take() { return std::move(prompt_); }

 private:
  PromptText prompt_;
};

}  // namespace

ChatTemplate::ChatTemplate(Family family)
    : family_(family), bos_("<s>"), eos_("</s>"), before_reply_(" ") {
  if (family == Family::kLlama3 || family == Family::kLlama31)
    bos_ = "<|begin_of_text|>";
  if (family == Family::kVicuna) default_system_ = std::string(kVicunaSystem);
  if (family == Family::kMistralTekken) before_reply_.clear();
}

absl::StatusOr<ChatTemplate> ChatTemplate::Named(absl::string_view name) {
  for (const Row& row : kRows)
    if (row.name == name) return ChatTemplate(row.family);
  return absl::InvalidArgumentError(
      UnknownName("chat template", name, Names()));
}

absl::StatusOr<ChatTemplate> ChatTemplate::Detect(absl::string_view jinja) {
  BANYAN_ASSIGN_OR_RETURN(const Family family, DetectFamily(jinja));
  ChatTemplate result(family);
  if (family == Family::kChatMl) result.default_system_ = DefaultSystem(jinja);
  if (family == Family::kVicuna && !absl::StrContains(jinja, kVicunaSystem))
    result.default_system_.clear();
  // Older templates put no space before a reply.
  if (family == Family::kMistral &&
      !absl::StrContains(jinja, "' ' + message") &&
      !absl::StrContains(jinja, "\" \" + message"))
    result.before_reply_.clear();
  return result;
}

absl::StatusOr<ChatTemplate> ChatTemplate::ForModel(const Tokenizer& tokenizer,
                                                    absl::string_view name) {
  if (name.empty() && tokenizer.chat_template().empty())
    return absl::InvalidArgumentError(
        absl::StrCat("the model has no chat template; name one of: ",
                     absl::StrJoin(Names(), ", ")));
  BANYAN_ASSIGN_OR_RETURN(
      ChatTemplate result,
      name.empty() ? Detect(tokenizer.chat_template()) : Named(name));
  if (tokenizer.bos_id().has_value()) {
    BANYAN_ASSIGN_OR_RETURN(const absl::string_view bos,
                            tokenizer.TokenText(*tokenizer.bos_id()));
    result.bos_ = std::string(bos);
  }
  if (tokenizer.eos_id().has_value()) {
    BANYAN_ASSIGN_OR_RETURN(const absl::string_view eos,
                            tokenizer.TokenText(*tokenizer.eos_id()));
    result.eos_ = std::string(eos);
  }
  BANYAN_RETURN_IF_ERROR(result.CheckTokens(tokenizer));
  return result;
}

absl::Status ChatTemplate::CheckTokens(const Tokenizer& tokenizer) {
  const auto lacks = [&tokenizer](const std::string& token) {
    const auto ids = tokenizer.Encode(token, {.add_special = false});
    return !ids.ok() || ids->size() != 1;
  };
  const SpecialTokens tokens = TokensOf(family_, bos_, eos_);
  if (!tokens.end_of_turn.empty() && lacks(tokens.end_of_turn))
    return absl::InvalidArgumentError(absl::StrCat(
        "chat template ", name(), " ends turns with ", tokens.end_of_turn,
        ", which is no token of the model: no reply would end"));
  std::vector<std::string> missing;
  for (const std::string& token : tokens.others)
    if (lacks(token)) missing.push_back(token);
  if (!missing.empty())
    warning_ = absl::StrCat(
        "chat template ", name(), " writes ", absl::StrJoin(missing, ", "),
        missing.size() == 1 ? ", which is no token" : ", which are no tokens",
        " of the model: it reads the letters");
  return absl::OkStatus();
}

absl::string_view ChatTemplate::name() const {
  for (const Row& row : kRows)
    if (row.family == family_) return row.name;
  return "";
}

absl::StatusOr<PromptText> ChatTemplate::Render(Messages messages) const {
  const bool in_turns =
      family_ == Family::kLlama2 || family_ == Family::kMistral ||
      family_ == Family::kMistralV3 || family_ == Family::kMistralTekken;
  BANYAN_RETURN_IF_ERROR(
      CheckRoles(messages, name(), family_ != Family::kMistral, in_turns));
  PromptText prompt = RenderFamily(messages);
  SpecialTokens tokens = TokensOf(family_, bos_, eos_);
  prompt.markup = std::move(tokens.others);
  prompt.markup.push_back(std::move(tokens.end_of_turn));
  return prompt;
}

PromptText ChatTemplate::RenderFamily(Messages messages) const {
  switch (family_) {
    case Family::kChatMl:
      return RenderChatMl(messages);
    case Family::kLlama3:
    case Family::kLlama31:
      return RenderLlama3(messages);
    case Family::kLlama2:
      return RenderLlama2(messages);
    case Family::kMistral:
    case Family::kMistralV3:
    case Family::kMistralTekken:
      return RenderMistral(messages);
    case Family::kVicuna:
      return RenderVicuna(messages);
    case Family::kRaw:
      break;
  }
  PromptWriter out;
  for (const ChatMessage& message : messages) out.Say(message.content);
  return out.Take();
}

PromptText ChatTemplate::RenderChatMl(Messages messages) const {
  PromptWriter out;
  if (!default_system_.empty() && !HasSystem(messages))
    out.Markup({"<|im_start|>system\n", default_system_, "<|im_end|>\n"});
  for (const ChatMessage& message : messages) {
    out.Markup({"<|im_start|>", message.role, "\n"});
    out.Say(message.content);
    out.Markup({"<|im_end|>\n"});
  }
  out.Markup({"<|im_start|>assistant\n"});
  return out.Take();
}

PromptText ChatTemplate::RenderLlama3(Messages messages) const {
  PromptWriter out;
  out.Markup({bos_});
  const auto open = [&out](absl::string_view role) {
    out.Markup({"<|start_header_id|>", role, "<|end_header_id|>\n\n"});
  };
  const bool is_dated = family_ == Family::kLlama31;
  if (is_dated) {
    open("system");
    out.Markup({kLlama31Dates});
    if (!HasSystem(messages)) out.Markup({"<|eot_id|>"});
  }
  for (const ChatMessage& message : messages) {
    if (!is_dated || message.role != "system") open(message.role);
    out.Say(absl::StripAsciiWhitespace(message.content));
    out.Markup({"<|eot_id|>"});
  }
  open("assistant");
  return out.Take();
}

PromptText ChatTemplate::RenderLlama2(Messages messages) const {
  PromptWriter out;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const ChatMessage& message = messages[i];
    if (message.role == "system") continue;
    if (message.role == "assistant") {
      out.Markup({" "});
      out.Say(absl::StripAsciiWhitespace(message.content));
      out.Markup({" ", eos_});
      continue;
    }
    out.Markup({bos_, "[INST] "});
    if (i == 1 && HasSystem(messages)) {
      out.Markup({"<<SYS>>\n"});
      out.Say(messages[0].content);
      out.Markup({"\n<</SYS>>\n\n"});
      out.Say(message.content);
      out.StripEnd();
    } else {
      out.Say(absl::StripAsciiWhitespace(message.content));
    }
    out.Markup({" [/INST]"});
  }
  return out.Take();
}

// A system message stands before the last of the user's.
PromptText ChatTemplate::RenderMistral(Messages messages) const {
  const absl::string_view open =
      family_ == Family::kMistralTekken ? "[INST]" : "[INST] ";
  const absl::string_view close =
      family_ == Family::kMistral ? " [/INST]" : "[/INST]";
  PromptWriter out;
  out.Markup({bos_});
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const ChatMessage& message = messages[i];
    if (message.role == "user") {
      out.Markup({open});
      if (i + 1 == messages.size() && HasSystem(messages)) {
        out.Say(messages[0].content);
        out.Markup({"\n\n"});
      }
      out.Say(message.content);
      out.Markup({close});
    } else if (message.role == "assistant") {
      out.Markup({before_reply_});
      out.Say(family_ == Family::kMistralV3
                  ? absl::StripAsciiWhitespace(message.content)
                  : message.content);
      out.Markup({eos_});
    }
  }
  return out.Take();
}

PromptText ChatTemplate::RenderVicuna(Messages messages) const {
  PromptWriter out;
  if (HasSystem(messages))
    out.Say(messages[0].content);
  else
    out.Markup({default_system_});
  if (!out.empty()) out.Markup({" "});
  for (const ChatMessage& message : messages) {
    if (message.role == "system") continue;
    out.Markup({message.role == "user" ? "USER: " : "ASSISTANT: "});
    out.Say(message.content);
    out.Markup({message.role == "user" ? " " : absl::string_view(eos_)});
  }
  out.Markup({"ASSISTANT:"});
  return out.Take();
}

}  // namespace banyan
