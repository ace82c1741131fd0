#include "experiments/report/html_page.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "core/base/check.h"
#include "core/json/ordered_json.h"
#include "experiments/report/page_files.h"
#include "nlohmann/json.hpp"

namespace banyan {
namespace {

std::string HtmlEscaped(absl::string_view text) {
  return absl::StrReplaceAll(
      text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

// JSON that may stand in a script element. A parser of HTML looks for nothing
// there that does not begin with "<", and in JSON that occurs in texts alone.
std::string ScriptJson(const nlohmann::ordered_json& data) {
  return absl::StrReplaceAll(
      data.dump(-1, ' ', false,
                nlohmann::ordered_json::error_handler_t::replace),
      {{"<", "\\u003c"}});
}

// The question, as a JSON text and so with valid UTF-8 alone.
std::string Title(const nlohmann::ordered_json& data) {
  const nlohmann::ordered_json question = data.value("question", "");
  const std::string valid = question.dump(
      -1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  return HtmlEscaped(
      ParseOrderedJson(valid, "the question")->get<std::string>());
}

// What a {{name}} of page.html stands for.
std::string Filling(absl::string_view name,
                    const nlohmann::ordered_json& data) {
  if (name == "title") return Title(data);
  if (name == "report") return ScriptJson(data);
  const std::optional<absl::string_view> file = PageFile(name);
  Check(file.has_value(), absl::StrCat("page.html: no file ", name));
  return std::string(*file);
}

}  // namespace

// One walk over the template: what was filled in is not looked at again, so a
// text that looks like a {{name}} stays as it is.
std::string HtmlPage(const nlohmann::ordered_json& data) {
  absl::string_view rest = PageFile("page.html").value();
  std::string page;
  while (true) {
    const auto open = rest.find("{{");
    absl::StrAppend(&page, rest.substr(0, open));
    if (open == absl::string_view::npos) return page;
    rest.remove_prefix(open + 2);
    const auto close = rest.find("}}");
    Check(close != absl::string_view::npos, "page.html: a {{ without }}");
    absl::StrAppend(&page, Filling(rest.substr(0, close), data));
    rest.remove_prefix(close + 2);
  }
}

}  // namespace banyan
