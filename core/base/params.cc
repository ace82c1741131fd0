#include "core/base/params.h"

#include <cmath>
#include <filesystem>

namespace banyan {
namespace {

// What stands there, for messages. Long scalars are cut.
std::string Found(const Params& value) {
  constexpr std::size_t kShown = 40;
  switch (value.kind()) {
    case Params::Kind::kNull:
      return "nothing";
    case Params::Kind::kList:
      return "a list";
    case Params::Kind::kMap:
      return "a map";
    case Params::Kind::kScalar:
      break;
  }
  const std::string& text = value.text();
  return absl::StrCat("'", text.substr(0, kShown),
                      text.size() > kShown ? "...'" : "'");
}

}  // namespace

absl::Status ErrorAt(const Origin& at, absl::string_view message) {
  if (at.file == nullptr) return absl::InvalidArgumentError(message);
  return absl::InvalidArgumentError(
      absl::StrCat(*at.file, ":", at.line, ":", at.column, ": ", message));
}

absl::Status ErrorAt(const Origin& at, const absl::Status& error) {
  if (error.ok()) return error;
  return absl::Status(error.code(), ErrorAt(at, error.message()).message());
}

Params::Params() = default;
Params::Params(Origin origin) : origin_(std::move(origin)) {}
Params::Params(const Params& other) = default;
Params::Params(Params&& other) noexcept = default;
Params& Params::operator=(const Params& other) = default;
Params& Params::operator=(Params&& other) noexcept = default;
Params::~Params() = default;

Params Params::Scalar(std::string text, Origin origin) {
  Params result(std::move(origin));
  result.kind_ = Kind::kScalar;
  result.text_ = std::move(text);
  return result;
}

Params Params::List(std::vector<Params> items, Origin origin) {
  Params result(std::move(origin));
  result.kind_ = Kind::kList;
  result.items_ = std::move(items);
  return result;
}

Params Params::Map(std::vector<Entry> entries, Origin origin) {
  Params result(std::move(origin));
  result.kind_ = Kind::kMap;
  result.entries_ = std::move(entries);
  return result;
}

absl::Span<const Params::Entry> Params::entries() const { return entries_; }

const Params* Params::Find(absl::string_view key) const {
  for (const Entry& entry : entries_)
    if (entry.key == key) return &entry.value;
  return nullptr;
}

const Origin& Params::PlaceOf(absl::string_view key) const {
  const Params* value = Find(key);
  return value == nullptr ? origin_ : value->origin_;
}

absl::Status Params::Error(absl::string_view message) const {
  return ErrorAt(origin_, message);
}

absl::Status Params::Expected(absl::string_view what) const {
  return Error(absl::StrCat("expected ", what, ", found ", Found(*this)));
}

absl::Status Convert(const Params& value, int& out) {
  if (value.kind() != Params::Kind::kScalar ||
      !absl::SimpleAtoi(value.text(), &out))
    return value.Expected("a whole number");
  return absl::OkStatus();
}

absl::Status Convert(const Params& value, double& out) {
  double number = 0;
  if (value.kind() != Params::Kind::kScalar ||
      !absl::SimpleAtod(value.text(), &number) || !std::isfinite(number))
    return value.Expected("a finite number");
  out = number;
  return absl::OkStatus();
}

absl::Status Convert(const Params& value, bool& out) {
  if (value.text() != "true" && value.text() != "false")
    return value.Expected("true or false");
  out = value.text() == "true";
  return absl::OkStatus();
}

absl::Status Convert(const Params& value, std::string& out) {
  if (value.kind() != Params::Kind::kScalar) return value.Expected("a text");
  out = value.text();
  return absl::OkStatus();
}

absl::Status Convert(const Params& value, Params& out) {
  out = value;
  return absl::OkStatus();
}

absl::Status Convert(const Params& value, std::map<int, double>& out) {
  if (value.kind() != Params::Kind::kMap)
    return value.Expected("a map from whole numbers to numbers");
  out.clear();
  for (const Params::Entry& entry : value.entries()) {
    int key = 0;
    double number = 0;
    if (!absl::SimpleAtoi(entry.key, &key))
      return ErrorAt(entry.key_origin,
                     absl::StrCat("expected a whole number as key, found '",
                                  entry.key, "'"));
    absl::Status status = Convert(entry.value, number);
    if (!status.ok()) return status;
    if (!out.emplace(key, number).second)
      return ErrorAt(entry.key_origin,
                     absl::StrCat("key ", key, " is given twice"));
  }
  return absl::OkStatus();
}

std::string Beside(const Params& value, const std::string& path) {
  const std::filesystem::path written(path);
  if (written.is_absolute() || value.origin().file == nullptr) return path;
  return (std::filesystem::path(*value.origin().file).parent_path() / written)
      .string();
}

std::string EitherOf(absl::Span<const absl::string_view> names) {
  std::string listed;
  for (std::size_t i = 0; i < names.size(); ++i)
    absl::StrAppend(&listed,
                    i == 0                  ? ""
                    : i + 1 == names.size() ? " or "
                                            : ", ",
                    names[i]);
  return listed;
}

ParamsReader::ParamsReader(const Params& section, std::string what)
    : section_(section), what_(std::move(what)) {
  if (section.kind() != Params::Kind::kMap &&
      section.kind() != Params::Kind::kNull)
    Note(section.Error(
        absl::StrCat(what_, ": expected a map, found ", Found(section))));
}

bool ParamsReader::OneOf(absl::string_view key, std::string& out,
                         absl::Span<const absl::string_view> names) {
  const bool found = Optional(key, out);
  Ensure(std::find(names.begin(), names.end(), out) != names.end(), key,
         absl::StrCat("must be ", EitherOf(names)));
  return found;
}

const Params* ParamsReader::Take(absl::string_view key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end())
    known_.emplace_back(key);
  return section_.Find(key);
}

const Params* ParamsReader::TakeRequired(absl::string_view key) {
  const Params* value = Take(key);
  if (value == nullptr)
    Note(section_.Error(absl::StrCat(what_, ": missing key '", key, "'")));
  return value;
}

void ParamsReader::Ensure(bool holds, absl::string_view key,
                          absl::string_view message) {
  if (holds) return;
  const Params* value = section_.Find(key);
  if (value == nullptr) {
    Note(section_.Error(absl::StrCat(what_, ": '", key, "' ", message)));
  } else {
    Note(value->Error(absl::StrCat(what_, ": '", key, "' ", message, ", found ",
                                   Found(*value))));
  }
}

void ParamsReader::Note(const absl::Status& status) { status_.Update(status); }

absl::Status ParamsReader::Finish() const {
  // A misspelt key also makes the right one missing: name the misspelt one.
  const std::vector<absl::string_view> known(known_.begin(), known_.end());
  for (const Params::Entry& entry : section_.entries()) {
    if (std::find(known.begin(), known.end(), entry.key) != known.end())
      continue;
    return ErrorAt(
        entry.key_origin,
        absl::StrCat(what_, ": ", UnknownName("key", entry.key, known)));
  }
  return status_;
}

std::string PartName(const Params& section) {
  const Params* const name = section.Find("name");
  if (name == nullptr) return {};
  const Params* const python =
      name->text() == kPythonPart ? section.Find("class") : nullptr;
  return python == nullptr ? name->text() : python->text();
}

namespace {

std::string (*file_of_class)(const std::string& name) = nullptr;

void AddPythonFiles(const Params& value, std::vector<std::string>& files) {
  const Params* const name = value.Find("name");
  const Params* const python = value.Find("class");
  if (name != nullptr && python != nullptr && name->text() == kPythonPart) {
    std::string file = file_of_class(python->text());
    if (!file.empty() &&
        std::find(files.begin(), files.end(), file) == files.end())
      files.push_back(std::move(file));
  }
  for (const Params::Entry& entry : value.entries())
    AddPythonFiles(entry.value, files);
  for (const Params& item : value.items()) AddPythonFiles(item, files);
}

}  // namespace

void SetPythonFiles(std::string (*file_of)(const std::string& name)) {
  file_of_class = file_of;
}

std::vector<std::string> PythonFiles(const Params& value) {
  std::vector<std::string> files;
  if (file_of_class != nullptr) AddPythonFiles(value, files);
  return files;
}

}  // namespace banyan
