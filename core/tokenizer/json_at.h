// A value in a JSON file that knows where it stands, so that whatever is wrong
// with it can be said with the file and the path:
//
//   tokenizer.json: pre_tokenizer.pretokenizers[0].type: expected ...
#ifndef BANYAN_CORE_TOKENIZER_JSON_AT_H_
#define BANYAN_CORE_TOKENIZER_JSON_AT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace banyan {

// Reads a whole text. A text that is not JSON, or nests too deep, is an
// InvalidArgument error "file:line:column: what". Of a key given twice the
// last value counts.
absl::StatusOr<nlohmann::json> ParseJson(absl::string_view text,
                                         const std::string& file);

class JsonAt {
 public:
  // The root of a file. The JSON must outlive every JsonAt made from it.
  JsonAt(const nlohmann::json& json, const std::string& file);

  // A missing key and a null are the same to all that is read here.
  bool is_null() const { return json_ == nullptr || json_->is_null(); }
  bool is_object() const { return json_ != nullptr && json_->is_object(); }
  bool is_string() const { return json_ != nullptr && json_->is_string(); }
  // Requires a value.
  const nlohmann::json& json() const { return *json_; }

  // The value of a key: null if this is no object or has no such key.
  JsonAt At(absl::string_view key) const;
  // The item of a list. Requires a list and an index in it.
  JsonAt At(std::size_t index) const;
  // The items of a list; fails if this is none.
  absl::StatusOr<std::vector<JsonAt>> Items() const;

  // The value; each fails if it is missing or of another kind.
  absl::StatusOr<std::string> String() const;
  absl::StatusOr<std::int64_t> Int() const;
  absl::StatusOr<bool> Bool() const;
  // The same, but `absent` where the value is null.
  absl::StatusOr<std::string> StringOr(absl::string_view absent) const;
  absl::StatusOr<bool> BoolOr(bool absent) const;
  // A text of exactly one character.
  absl::StatusOr<std::string> Character() const;

  // Fails unless this is an object all of whose keys are `known`.
  absl::Status HasOnly(absl::Span<const absl::string_view> known) const;

  // InvalidArgument "file: path: message".
  absl::Status Error(absl::string_view message) const;
  // The same: "expected WHAT, found what stands there".
  absl::Status Expected(absl::string_view what) const;

 private:
  JsonAt(const nlohmann::json* json, std::shared_ptr<const std::string> file,
         std::string path);

  const nlohmann::json* json_;
  std::shared_ptr<const std::string> file_;
  std::string path_;
};

}  // namespace banyan

#endif  // BANYAN_CORE_TOKENIZER_JSON_AT_H_
