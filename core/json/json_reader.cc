#include "core/json/json_reader.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/strings/escaping.h"
#include "core/json/flat_map.h"

namespace banyan {

namespace {

std::string Quoted(absl::string_view text) {
  return absl::StrCat("'", absl::CHexEscape(text), "'");
}

bool IsAscii(char byte) { return static_cast<unsigned char>(byte) < 0x80; }

// A name, a number or a single sign, as it stands there.
std::string FoundAt(absl::string_view text, std::size_t begin) {
  constexpr std::size_t kShown = 40;
  constexpr absl::string_view kWord =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+-.";
  if (begin >= text.size()) return "the end";
  if (text[begin] == '"') return "a text";
  const std::size_t end =
      std::min(text.find_first_not_of(kWord, begin), text.size());
  return Quoted(
      text.substr(begin, std::clamp(end - begin, std::size_t{1}, kShown)));
}

// Where a text between quotes goes wrong, `stopped` being the offset of the
// first byte that it cannot have.
JsonFault FaultWithin(absl::string_view text, std::size_t begin,
                      std::size_t stopped) {
  if (stopped >= text.size())
    return {begin, "expected a closing quote for this text, found the end"};
  const auto fault = [text](std::size_t at, absl::string_view words) {
    return JsonFault{at, absl::StrCat(words, Quoted(text.substr(at, 1)))};
  };
  if (static_cast<unsigned char>(text[stopped]) < ' ')
    return fault(stopped,
                 "expected a closing quote or an escape, found the control "
                 "character ");
  const absl::string_view before = text.substr(begin, stopped - begin);
  const std::size_t backslashes =
      before.size() - 1 - before.find_last_not_of('\\');
  const bool is_whole = IsAscii(text[stopped]) && IsAscii(before.back());
  if (backslashes % 2 == 0 && !is_whole) {
    // A character that ends too early is at fault, not what follows it.
    if (IsAscii(text[stopped]))
      while ((text[--stopped] & 0xC0) == 0x80) continue;
    return fault(stopped, "expected UTF-8, found the byte ");
  }
  const std::size_t escape = begin + before.rfind('\\');
  return {
      escape,
      absl::StrCat("expected an escape that JSON has, found '\\",
                   absl::CHexEscape(text.substr(escape + 1, stopped - escape)),
                   "'")};
}

}  // namespace

std::string Shortened(absl::string_view text, std::size_t limit) {
  const bool is_cut = text.size() > limit;
  while (is_cut && limit > 0 && (text[limit] & 0xC0) == 0x80) --limit;
  return absl::StrCat(text.substr(0, limit), is_cut ? "..." : "");
}

JsonFault FindJsonFault(absl::string_view text, std::size_t begin,
                        std::size_t stopped, const JsonExpected& expected) {
  if (expected.is_text && begin < text.size() && text[begin] == '"')
    return FaultWithin(text, begin, stopped);
  return {begin, absl::StrCat("expected ", expected.words, ", found ",
                              FoundAt(text, begin))};
}

std::size_t JsonTextEnd(absl::string_view text, std::size_t at) {
  for (++at; text[at] != '"'; ++at)
    if (text[at] == '\\') ++at;
  return at + 1;
}

std::size_t JsonNumberEnd(absl::string_view text, std::size_t at) {
  const auto next = [&] { return at < text.size() ? text[at] : '\0'; };
  const auto skip_digits = [&] {
    while (next() >= '0' && next() <= '9') ++at;
  };
  if (next() == '-') ++at;
  if (next() == '0')
    ++at;
  else
    skip_digits();
  if (next() == '.') {
    ++at;
    skip_digits();
  }
  if (next() == 'e' || next() == 'E') {
    ++at;
    if (next() == '+' || next() == '-') ++at;
    skip_digits();
  }
  return at;
}

namespace {

// Real files nest a handful of levels, and what walks a tree may recurse.
constexpr std::size_t kMaxLevels = 64;

// Looks for a key in the first object that it hears, and ends the reading
// there.
class KeyFinder : public JsonEvents {
 public:
  explicit KeyFinder(absl::string_view wanted) : wanted_(wanted) {}

  absl::Status OnKey(std::string key) override {
    return level_ == 1 && key == wanted_ ? absl::CancelledError()
                                         : absl::OkStatus();
  }
  absl::Status OnScalar(JsonScalar) override { return absl::OkStatus(); }
  absl::Status OnList() override { return Move(1); }
  absl::Status OnListEnd() override { return Move(-1); }
  absl::Status OnObject() override { return Move(1); }
  absl::Status OnObjectEnd() override { return Move(-1); }

 private:
  absl::Status Move(int levels) {
    level_ += levels;
    return absl::OkStatus();
  }

  absl::string_view wanted_;
  int level_ = 0;
};

}  // namespace

// What the library tells of a text goes through here (its SAX interface: every
// function returns whether to go on).
class JsonReader::Listener {
 public:
  Listener(JsonReader& reader, JsonEvents& events)
      : reader_(reader), events_(events) {}

  // What was wrong, or what still is, now that the library has ended.
  absl::Status Finish() {
    // The library takes a zero byte for the end of the text.
    if (status_.ok() &&
        SkipJsonSpace(reader_.text_, reader_.end_) < reader_.text_.size())
      NotJson(reader_.text_.size());
    return status_;
  }

  bool null() { return Scalar(nullptr, Step() + 4); }
  bool boolean(bool value) { return Scalar(value, Step() + (value ? 4 : 5)); }
  bool number_integer(std::int64_t number) { return Number(number); }
  bool number_unsigned(std::uint64_t number) { return Number(number); }
  bool number_float(double number, const std::string&) {
    return Number(number);
  }
  bool string(std::string& text) {
    return Scalar(std::move(text), JsonTextEnd(reader_.text_, Step()));
  }
  bool binary(nlohmann::json::binary_t&) { return false; }  // is in no text
  bool start_array(std::size_t) { return Enter(false); }
  bool start_object(std::size_t) { return Enter(true); }
  bool end_array() { return Leave(); }
  bool end_object() { return Leave(); }

  bool key(std::string& name) {
    reader_.end_ = JsonTextEnd(reader_.text_, Step());
    last_ = Last::kKey;
    const std::size_t hash = absl::Hash<absl::string_view>()(name);
    if (!levels_.back().hashes.insert(hash).second && reader_.checks_keys_ &&
        !IsNew(name))
      return false;
    return Give(events_.OnKey(std::move(name)));
  }

  bool parse_error(std::size_t bytes_read, const std::string&,
                   const nlohmann::detail::exception& fault) {
    constexpr int kOutOfRange = 406;  // the number that the library gives it
    return NotJson(bytes_read - 1, fault.id == kOutOfRange);
  }

 private:
  enum class Last { kNothing, kOpening, kKey, kValue };

  struct Level {
    bool is_object = false;
    std::size_t begin = 0;        // in the text
    FlatSet<std::size_t> hashes;  // of its keys
  };

  // Moves past space, commas and colons to the next token, and returns its
  // offset.
  std::size_t Step() {
    std::size_t at = reader_.end_;
    while (IsJsonSpace(reader_.text_[at]) || reader_.text_[at] == ',' ||
           reader_.text_[at] == ':')
      ++at;
    return reader_.begin_ = at;
  }

  bool Scalar(JsonScalar value, std::size_t end) {
    reader_.end_ = end;
    last_ = Last::kValue;
    return Give(events_.OnScalar(std::move(value)));
  }
  bool Number(JsonScalar number) {
    return Scalar(std::move(number), JsonNumberEnd(reader_.text_, Step()));
  }

  bool Enter(bool is_object) {
    reader_.end_ = Step() + 1;
    last_ = Last::kOpening;
    if (levels_.size() == kMaxLevels)
      return Fail(reader_.begin_,
                  absl::StrCat("more than ", kMaxLevels, " levels"));
    levels_.push_back({is_object, reader_.begin_, {}});
    return Give(is_object ? events_.OnObject() : events_.OnList());
  }
  bool Leave() {
    reader_.end_ = Step() + 1;
    last_ = Last::kValue;
    const bool is_object = levels_.back().is_object;
    levels_.pop_back();
    return Give(is_object ? events_.OnObjectEnd() : events_.OnListEnd());
  }

  // Whether the open object has not had this key, whose hash it has had. Reads
  // that object again, once: hashes are salted, so no file can bring about many
  // different keys of one hash.
  bool IsNew(const std::string& name) {
    const std::size_t begin = levels_.back().begin;
    JsonReader object(reader_.text_.substr(begin, reader_.begin_ - begin), "");
    object.checks_keys_ = false;  // they have been
    KeyFinder finder(name);
    if (!absl::IsCancelled(object.Read(finder))) return true;
    constexpr std::size_t kShown = 60;
    const Origin first = reader_.At(begin + object.token_begin());
    return Fail(
        reader_.begin_,
        absl::StrCat("key '", absl::Utf8SafeCHexEscape(Shortened(name, kShown)),
                     "' is given twice; first given at ", *first.file, ":",
                     first.line, ":", first.column));
  }

  // Returns what may follow the last event. Moves `at` past a comma or colon
  // that is already there.
  JsonExpected Expected(std::size_t& at) const {
    const bool in_object = !levels_.empty() && levels_.back().is_object;
    const auto pass = [&](absl::string_view sign) {
      const bool is_there = absl::StartsWith(reader_.text_.substr(at), sign);
      if (is_there) at = SkipJsonSpace(reader_.text_, at + 1);
      return is_there;
    };
    if (last_ == Last::kOpening)
      return in_object ? JsonExpected{"a key in double quotes or '}'", true}
                       : JsonExpected{"a value or ']'", true};
    if (last_ == Last::kKey && !pass(":")) return {"':'"};
    if (last_ == Last::kValue && levels_.empty()) return {"the end"};
    if (last_ == Last::kValue && !pass(","))
      return {in_object ? "',' or '}'" : "',' or ']'"};
    if (last_ == Last::kValue && in_object)
      return {"a key in double quotes", true};
    return {"a value", true};
  }

  bool NotJson(std::size_t stopped, bool is_out_of_range = false) {
    std::size_t at = SkipJsonSpace(reader_.text_, reader_.end_);
    JsonExpected expected = Expected(at);
    if (is_out_of_range) expected = {"a number that a double can hold"};
    const JsonFault fault = FindJsonFault(reader_.text_, at, stopped, expected);
    return Fail(fault.offset, absl::StrCat("not valid JSON: ", fault.message));
  }

  bool Fail(std::size_t offset, absl::string_view message) {
    return Give(ErrorAt(reader_.At(offset), message));
  }
  bool Give(absl::Status status) {
    if (status.ok()) return true;
    status_ = std::move(status);
    return false;
  }

  JsonReader& reader_;
  JsonEvents& events_;
  Last last_ = Last::kNothing;
  std::vector<Level> levels_;  // the lists and objects that are open
  absl::Status status_;
};

absl::string_view KindOf(const JsonScalar& value) {
  if (std::holds_alternative<std::nullptr_t>(value)) return "null";
  if (std::holds_alternative<bool>(value)) return "true or false";
  if (std::holds_alternative<std::string>(value)) return "a text";
  return "a number";
}

std::string Written(const JsonScalar& value) {
  return std::visit(
      [](const auto& scalar) {
        return nlohmann::json(scalar).dump(
            -1, ' ', false, nlohmann::json::error_handler_t::replace);
      },
      value);
}

JsonReader::JsonReader(absl::string_view text, const std::string& file,
                       int first_line)
    : text_(text),
      file_(std::make_shared<const std::string>(file)),
      first_line_(first_line) {
  constexpr absl::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (absl::StartsWith(text, kByteOrderMark)) end_ = kByteOrderMark.size();
}

absl::Status JsonReader::Read(JsonEvents& events) {
  Listener listener(*this, events);
  nlohmann::json::sax_parse(text_.begin(), text_.end(), &listener);
  return listener.Finish();
}

Origin JsonReader::At(std::size_t offset) const {
  const absl::string_view before = text_.substr(0, offset);
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  return {file_, first_line_ + static_cast<int>(lines),
          static_cast<int>(before.size() - line_start) + 1};
}

}  // namespace banyan
