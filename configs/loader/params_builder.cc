#include "configs/loader/params_builder.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/strip.h"

namespace banyan {

namespace {

unsigned char Byte(absl::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at]);
}

// How many bytes the UTF-8 character that opens `text` (not empty) has; 0 if
// none stands there. The Unicode Standard, table 3-7.
std::size_t CharacterSize(absl::string_view text) {
  const unsigned char lead = Byte(text, 0);
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  const std::size_t size = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (text.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i)
    if (Byte(text, i) < 0x80 || Byte(text, i) > 0xBF) return 0;
  const unsigned char second = Byte(text, 1);
  const bool too_long =
      (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
  const bool surrogate = lead == 0xED && second > 0x9F;
  const bool too_large = lead == 0xF4 && second > 0x8F;
  return too_long || surrogate || too_large ? 0 : size;
}

// What is wrong with the character that opens `text`; empty if nothing is.
std::string Fault(absl::string_view text) {
  const unsigned char byte = Byte(text, 0);
  const std::string shown =
      absl::StrCat("0x", absl::Hex(byte, absl::kZeroPad2));
  if (CharacterSize(text) == 0)
    return absl::StrCat("byte ", shown, " is not UTF-8");
  if (byte == '\r')
    return text.substr(0, 2) == "\r\n"
               ? ""
               : "a carriage return without a line feed";
  if ((byte < 0x20 && byte != '\t' && byte != '\n') || byte == 0x7F)
    return absl::StrCat("control character ", shown);
  return "";
}

// Fails if the first line of `text` that is neither empty nor a comment is a
// directive.
absl::Status CheckOpening(absl::string_view text,
                          const std::shared_ptr<const std::string>& file) {
  absl::ConsumePrefix(&text, "\xEF\xBB\xBF");  // byte order mark
  Origin at{file, 0, 1};
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++at.line;
    if (!line.empty() && line[0] == '%')
      return ErrorAt(at, "directives ('%' lines) are not supported");
    line = absl::StripLeadingAsciiWhitespace(line);
    if (!line.empty() && line[0] != '#') break;
  }
  return absl::OkStatus();
}

}  // namespace

bool IsUtf8(absl::string_view text) {
  while (!text.empty()) {
    const std::size_t size = CharacterSize(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

absl::Status CheckText(absl::string_view text,
                       const std::shared_ptr<const std::string>& file) {
  BANYAN_RETURN_IF_ERROR(CheckOpening(text, file));
  Origin at{file, 1, 1};
  while (!text.empty()) {
    const std::string fault = Fault(text);
    if (!fault.empty()) return ErrorAt(at, fault);
    const std::size_t size = CharacterSize(text);
    at.column += static_cast<int>(size);
    if (text[0] == '\n') {
      ++at.line;
      at.column = 1;
    }
    text.remove_prefix(size);
  }
  return absl::OkStatus();
}

namespace {

// Deeper than any configuration, far less than a stack: Params are copied and
// destroyed by recursion.
constexpr int kMaxLevels = 64;
// Aliases of aliases grow exponentially. A value, a key and a copy kept for
// aliases cost one each, and one more for each kBytesPerValue bytes of text, so
// that the limit bounds memory too (some 200 bytes each).
constexpr int kMaxSize = 1'000'000;
constexpr std::size_t kBytesPerValue = 64;

// Keys that had another name once.
constexpr std::pair<absl::string_view, absl::string_view> kRenamedKeys[] = {
    {"law", "draws"}};

int TextSize(absl::string_view text) {
  return 1 + static_cast<int>(text.size() / kBytesPerValue);
}

bool IsSamePlace(const Origin& a, const Origin& b) {
  return a.line == b.line && a.column == b.column;
}

// What a value costs, with everything in it, and its levels.
void Measure(const Params& value, int level, int& size, int& height) {
  size += 1 + static_cast<int>(value.text().size() / kBytesPerValue);
  if (value.kind() == Params::Kind::kList || value.kind() == Params::Kind::kMap)
    height = std::max(height, level + 1);
  for (const Params& item : value.items())
    Measure(item, level + 1, size, height);
  for (const Params::Entry& entry : value.entries()) {
    size += TextSize(entry.key);
    Measure(entry.value, level + 1, size, height);
  }
}

}  // namespace

ParamsBuilder::ParamsBuilder(std::shared_ptr<const std::string> file,
                             Include include)
    : file_(std::move(file)), include_(std::move(include)) {}

Origin ParamsBuilder::At(const YAML::Mark& mark) const {
  return {file_, mark.line + 1, mark.column + 1};
}

void ParamsBuilder::Fail(const Origin& at, absl::string_view message) {
  status_.Update(ErrorAt(at, message));
}

bool ParamsBuilder::Accepts(const YAML::Mark& mark, absl::string_view tag) {
  // yaml-cpp's names for "unquoted, no tag" and "quoted, no tag".
  if (tag != "?" && tag != "!")
    Fail(At(mark), absl::StrCat("tag '", tag,
                                "' is not supported; write the value without "
                                "a tag"));
  return status_.ok();
}

bool ParamsBuilder::AwaitsKey() const {
  return !open_.empty() && open_.back().kind == Params::Kind::kMap &&
         !open_.back().key.has_value();
}

bool ParamsBuilder::Charge(int size, const Origin& at) {
  if (size > kMaxSize - total_size_) {
    Fail(at, absl::StrCat("more than ", kMaxSize,
                          " values, counting the copies made for aliases"));
    return false;
  }
  total_size_ += size;
  return true;
}

void ParamsBuilder::OnDocumentStart(const YAML::Mark& mark) {
  if (started_)
    Fail(At(mark),
         "a second document, or text after the end of the first, starts here; "
         "expected one document");
  started_ = true;
}

void ParamsBuilder::OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) {
  if (!status_.ok()) return;
  Origin at = At(mark);
  if (AwaitsKey()) return Fail(at, "expected a text as key, found nothing");
  if (!open_.empty() && open_.back().key.has_value()) {
    const Params::Entry& entry = *open_.back().key;
    // At the end of the file yaml-cpp 0.7 takes a text without ':' for a key
    // all the same, and puts the value that is not there where the key is.
    if (IsSamePlace(entry.key_origin, at))
      return Fail(
          at,
          absl::StrCat("expected ",
                       open_.back().has_brackets ? "a closing bracket" : "':'",
                       " after '", entry.key, "'"));
    // A value left out is reported where the next thing begins, maybe lines
    // below; the key is the better place.
    if (entry.key_origin.line != at.line) at = entry.key_origin;
  }
  if (Charge(1, at)) Deliver({Params(at)}, anchor);
}

void ParamsBuilder::OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) {
  if (!status_.ok()) return;
  const Origin at = At(mark);
  if (AwaitsKey()) return Fail(at, "expected a text as key, found an alias");
  const auto found = anchored_.find(anchor);
  if (found == anchored_.end())
    return Fail(at, "the alias stands inside the value it names");
  const Value& value = found->second;
  if (static_cast<int>(open_.size()) + value.height > kMaxLevels)
    return Fail(at, absl::StrCat("more than ", kMaxLevels,
                                 " levels once the alias is copied"));
  if (Charge(value.size, at)) Deliver(value, YAML::NullAnchor);
}

void ParamsBuilder::OnScalar(const YAML::Mark& mark, const std::string& tag,
                             YAML::anchor_t anchor, const std::string& text) {
  if (!status_.ok()) return;
  const Origin at = At(mark);
  if (tag == "!include" && include_ != nullptr && !AwaitsKey()) {
    if (anchor != YAML::NullAnchor)
      return Fail(at, "an anchor on an included file is not supported");
    return IncludeFile(text, at);
  }
  if (!Accepts(mark, tag)) return;
  // yaml-cpp 0.7 turns two escapes into bare Latin-1 bytes.
  if (!IsUtf8(text))
    return Fail(at, "the escapes \\N and \\_ are not supported");
  if (!Charge(TextSize(text), at)) return;
  if (!AwaitsKey())
    return Deliver({Params::Scalar(text, at), TextSize(text)}, anchor);
  if (anchor != YAML::NullAnchor)
    return Fail(at, "an anchor on a key is not supported");
  TakeKey(text, at);
}

void ParamsBuilder::IncludeFile(const std::string& path, const Origin& at) {
  absl::StatusOr<Params> file = include_(path);
  if (!file.ok())
    return Fail(at, absl::StrCat("!include: ", file.status().message()));
  Value value = {*std::move(file), 0, 0};
  Measure(value.params, 0, value.size, value.height);
  if (static_cast<int>(open_.size()) + value.height > kMaxLevels)
    return Fail(at, absl::StrCat("more than ", kMaxLevels,
                                 " levels once the file is included"));
  if (Charge(value.size, at)) Deliver(std::move(value), YAML::NullAnchor);
}

void ParamsBuilder::OnSequenceStart(const YAML::Mark& mark,
                                    const std::string& tag,
                                    YAML::anchor_t anchor,
                                    YAML::EmitterStyle::value style) {
  if (Accepts(mark, tag)) Open(Params::Kind::kList, mark, anchor, style);
}

void ParamsBuilder::OnMapStart(const YAML::Mark& mark, const std::string& tag,
                               YAML::anchor_t anchor,
                               YAML::EmitterStyle::value style) {
  if (Accepts(mark, tag)) Open(Params::Kind::kMap, mark, anchor, style);
}

void ParamsBuilder::OnSequenceEnd() { Close(); }

void ParamsBuilder::OnMapEnd() { Close(); }

void ParamsBuilder::Open(Params::Kind kind, const YAML::Mark& mark,
                         YAML::anchor_t anchor,
                         YAML::EmitterStyle::value style) {
  const Origin at = At(mark);
  const bool has_brackets = style == YAML::EmitterStyle::Flow;
  if (AwaitsKey())
    return Fail(at,
                absl::StrCat("expected a text as key, found a ",
                             kind == Params::Kind::kMap ? "map" : "list",
                             has_brackets ? "; is its bracket closed?" : ""));
  if (open_.size() >= kMaxLevels)
    return Fail(at, absl::StrCat("more than ", kMaxLevels, " levels"));
  if (!Charge(1, at)) return;
  Frame frame;
  frame.kind = kind;
  frame.has_brackets = has_brackets;
  frame.origin = at;
  frame.anchor = anchor;
  open_.push_back(std::move(frame));
}

namespace {

// {python: "module:Class"} is short for a name and a class.
void NamePythonPart(std::vector<Params::Entry>& entries) {
  const auto find = [&](absl::string_view key) {
    return std::find_if(entries.begin(), entries.end(),
                        [&](const auto& entry) { return entry.key == key; });
  };
  const auto python = find(kPythonPart);
  if (python == entries.end() || find("name") != entries.end() ||
      find("class") != entries.end() ||
      python->value.kind() != Params::Kind::kScalar)
    return;
  const Origin at = python->key_origin;
  python->key = "class";
  entries.insert(entries.begin(),
                 {"name", at, Params::Scalar(std::string(kPythonPart), at)});
}

}  // namespace

void ParamsBuilder::Close() {
  if (!status_.ok()) return;
  Frame frame = std::move(open_.back());
  open_.pop_back();
  NamePythonPart(frame.entries);
  Params params = frame.kind == Params::Kind::kMap
                      ? Params::Map(std::move(frame.entries), frame.origin)
                      : Params::List(std::move(frame.items), frame.origin);
  Deliver({std::move(params), frame.size, frame.height}, frame.anchor);
}

// An overlay names a key by its path: "methods.chain.policy.law".
std::string ParamsBuilder::NameToday(const std::string& key, const Origin& at) {
  const std::size_t begin = key.rfind('.') + 1;  // 0 without a dot
  for (const auto& [old_name, name] : kRenamedKeys) {
    if (absl::string_view(key).substr(begin) != old_name) continue;
    notes_.push_back(absl::StrCat(*at.file, ":", at.line, ":", at.column, ": '",
                                  old_name, "' is now called '", name, "'"));
    return absl::StrCat(absl::string_view(key).substr(0, begin), name);
  }
  return key;
}

void ParamsBuilder::TakeKey(const std::string& written, const Origin& at) {
  const std::string text = NameToday(written, at);
  Frame& map = open_.back();
  const auto [first, is_new] = map.keys.emplace(text, at);
  if (!is_new)
    return Fail(
        at,
        absl::StrCat("key '", text, "' is given twice; first given at ", *file_,
                     ":", first->second.line, ":", first->second.column));
  map.size += TextSize(text);
  map.key = Params::Entry{text, at, Params()};
}

void ParamsBuilder::Deliver(Value value, YAML::anchor_t anchor) {
  if (anchor != YAML::NullAnchor) {
    if (!Charge(value.size, value.params.origin())) return;
    anchored_[anchor] = value;
  }
  if (open_.empty()) {
    root_ = std::move(value.params);
    return;
  }
  Frame& into = open_.back();
  into.size += value.size;
  into.height = std::max(into.height, value.height + 1);
  if (into.kind == Params::Kind::kList) {
    into.items.push_back(std::move(value.params));
    return;
  }
  into.key->value = std::move(value.params);
  into.entries.push_back(*std::move(into.key));
  into.key.reset();
}

}  // namespace banyan
