#include "configs/loader/writer.h"

#include <yaml-cpp/emitter.h>
#include <yaml-cpp/emittermanip.h>

#include <algorithm>
#include <string>

#include "core/base/check.h"
#include "core/base/params.h"

namespace banyan {
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
