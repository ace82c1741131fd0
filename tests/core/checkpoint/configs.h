// Reading a config.json that a test varies key by key.
#ifndef BANYAN_TESTS_CORE_CHECKPOINT_CONFIGS_H_
#define BANYAN_TESTS_CORE_CHECKPOINT_CONFIGS_H_

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>

#include "core/base/common.h"
#include "core/checkpoint/architecture.h"
#include "core/checkpoint/families/families.h"

namespace banyan {

using Json = nlohmann::json;

// `base` with `key` at `value`.
inline Json With(Json base, const std::string& key, Json value) {
  base[key] = std::move(value);
  return base;
}

// `base` without `key`.
inline Json Without(Json base, const std::string& key) {
  base.erase(key);
  return base;
}

// What `config` describes, if the files hold `tensors`.
inline absl::StatusOr<Architecture> ReadConfig(
    const Json& config, const std::set<std::string>& tensors = {}) {
  BANYAN_ASSIGN_OR_RETURN(ConfigReader in,
                          ConfigReader::Parse(config.dump(), "c.json"));
  return ReadArchitecture(in, [&tensors](absl::string_view name) {
    return tensors.count(std::string(name)) > 0;
  });
}

// Why `config` is refused.
inline std::string Refused(const Json& config) {
  const auto read = ReadConfig(config);
  return read.ok() ? "it was read" : std::string(read.status().message());
}

}  // namespace banyan

#endif  // BANYAN_TESTS_CORE_CHECKPOINT_CONFIGS_H_
