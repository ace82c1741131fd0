#include "configs/loader/yaml.h"

#include <yaml-cpp/emitter.h>
#include <yaml-cpp/emittermanip.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <iostream>
#include <memory>
#include <sstream>
#include <utility>

#include "configs/loader/params_builder.h"
#include "core/base/check.h"
#include "core/base/input_files.h"

namespace banyan {

namespace {

// A thousand times the largest configuration one would write.
constexpr std::size_t kMaxBytes = std::size_t{16} << 20;

// Ends the text with a line end and a document's end. yaml-cpp 0.7 takes the
// end of the file for the end of a quoted text that is not closed, so that one
// forgotten quote swallows the rest; a document's end it refuses there.
std::string WithEnd(absl::string_view text) {
  return absl::StrCat(text, absl::EndsWith(text, "\n") ? "" : "\n", "...\n");
}

// What yaml-cpp complained about.
absl::Status NotYaml(const YAML::Exception& fault, absl::string_view text,
                     const std::shared_ptr<const std::string>& file) {
  const Origin at{file, std::max(fault.mark.line, 0) + 1,
                  std::max(fault.mark.column, 0) + 1};
  const auto lines = std::count(text.begin(), text.end(), '\n');
  if (fault.msg == YAML::ErrorMsg::DOC_IN_SCALAR && at.line == lines)
    return ErrorAt(at, "not valid YAML: a quoted text is not closed");
  return ErrorAt(at, absl::StrCat("not valid YAML: ", fault.msg));
}

// Runs the parser over `text`. Fails with what yaml-cpp complains about; what
// the builder complains about stays in the builder.
absl::Status Read(const std::string& text,
                  const std::shared_ptr<const std::string>& file,
                  ParamsBuilder& builder) {
  try {
    std::istringstream in(text);
    YAML::Parser parser(in);
    // The second call is there to see whether a second document begins.
    const bool any = parser.HandleNextDocument(builder);
    if (any && builder.status().ok()) parser.HandleNextDocument(builder);
  } catch (const YAML::Exception& fault) {
    return NotYaml(fault, text, file);
  } catch (const std::exception& fault) {
    return ErrorAt({file, 1, 1},
                   absl::StrCat("cannot be read as YAML: ", fault.what()));
  }
  return absl::OkStatus();
}

absl::StatusOr<Params> Parse(absl::string_view text,
                             const std::string& file_name,
                             ParamsBuilder::Include include) {
  const auto file = std::make_shared<const std::string>(file_name);
  const Origin start{file, 1, 1};
  if (text.size() > kMaxBytes)
    return ErrorAt(
        start, absl::StrCat("the file is larger than ", kMaxBytes, " bytes"));
  BANYAN_RETURN_IF_ERROR(CheckText(text, file));
  ParamsBuilder builder(file, std::move(include));
  const absl::Status read = Read(WithEnd(text), file, builder);
  // The builder's fault came first: afterwards it ignores what it hears.
  BANYAN_RETURN_IF_ERROR(builder.status());
  BANYAN_RETURN_IF_ERROR(read);
  for (const std::string& note : builder.notes())
    std::cerr << "banyan: note: " << note << "\n";
  Params root = builder.TakeRoot();
  if (root.kind() == Params::Kind::kNull)
    return ErrorAt(start, "the file is empty; expected a map");
  return root;
}

}  // namespace

absl::StatusOr<Params> LoadYamlFile(const std::string& path) {
  BANYAN_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxBytes));
  const std::filesystem::path folder =
      std::filesystem::path(path).parent_path();
  return Parse(text, path,
               [&](const std::string& name) -> absl::StatusOr<Params> {
                 const std::string included = (folder / name).string();
                 BANYAN_ASSIGN_OR_RETURN(const std::string inner,
                                         ReadFile(included, kMaxBytes));
                 return Parse(inner, included, nullptr);
               });
}

absl::StatusOr<Params> ParseYaml(absl::string_view text,
                                 const std::string& file_name) {
  return Parse(text, file_name, nullptr);
}

namespace {

bool IsScalar(const Params& value) {
  return value.kind() == Params::Kind::kScalar ||
         value.kind() == Params::Kind::kNull;
}

void Emit(const Params& value, YAML::Emitter& out) {
  switch (value.kind()) {
    case Params::Kind::kNull:
      out << YAML::Null;
      return;
    case Params::Kind::kScalar:
      out << value.text();
      return;
    case Params::Kind::kList:
      out << (std::all_of(value.items().begin(), value.items().end(), IsScalar)
                  ? YAML::Flow
                  : YAML::Block)
          << YAML::BeginSeq;
      for (const Params& item : value.items()) Emit(item, out);
      out << YAML::EndSeq;
      return;
    case Params::Kind::kMap:
      out << YAML::Block << YAML::BeginMap;
      for (const Params::Entry& entry : value.entries()) {
        out << YAML::Key << entry.key << YAML::Value;
        Emit(entry.value, out);
      }
      out << YAML::EndMap;
      return;
  }
}

}  // namespace

std::string ToYaml(const Params& value) {
  YAML::Emitter out;
  Emit(value, out);
  Check(out.good(), out.GetLastError());
  return std::string(out.c_str(), out.size()) + "\n";
}

}  // namespace banyan
