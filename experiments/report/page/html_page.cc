#include "experiments/report/page/html_page.h"

#include "absl/strings/str_replace.h"
#include "core/base/check.h"
#include "core/base/common.h"
#include "core/terminal/drawing.h"
#include "tree/render.h"

namespace banyan {
namespace {

// JSON that may stand in a script element. A parser of HTML looks for nothing
// there that does not begin with "<", and in JSON that occurs in texts alone.
std::string ScriptJson(const JsonValue& data) {
  return absl::StrReplaceAll(data.Text(), {{"<", "\\u003c"}});
}

// What a {{name}} of page.html stands for.
std::string Filling(absl::string_view name, absl::string_view question,
                    const JsonValue& data) {
  if (name == "title") return XmlEscaped(question);
  if (name == "report") return ScriptJson(data);
  if (name == "tree.css") return TreeStyle();
  if (name == "series.css")
    return absl::StrCat(SeriesRules("", /*dark=*/false),
                        "@media (prefers-color-scheme: dark) {\n",
                        SeriesRules("", /*dark=*/true),
                        SeriesRules("figure .plot ", /*dark=*/true), "}\n");
  const std::optional<absl::string_view> file = PageFile(name);
  Check(file.has_value(), absl::StrCat("page.html: no file ", name));
  return std::string(*file);
}

}  // namespace

// One walk over the template: what was filled in is not looked at again, so a
// text that looks like a {{name}} stays as it is.
std::string HtmlPage(absl::string_view question, const JsonValue& data) {
  absl::string_view rest = PageFile("page.html").value();
  std::string page;
  while (true) {
    const auto open = rest.find("{{");
    absl::StrAppend(&page, rest.substr(0, open));
    if (open == absl::string_view::npos) return page;
    rest.remove_prefix(open + 2);
    const auto close = rest.find("}}");
    Check(close != absl::string_view::npos, "page.html: a {{ without }}");
    absl::StrAppend(&page, Filling(rest.substr(0, close), question, data));
    rest.remove_prefix(close + 2);
  }
}

}  // namespace banyan
