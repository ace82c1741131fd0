// The header of a safetensors file: the JSON object before the bytes.
#ifndef BANYAN_CORE_CHECKPOINT_SAFETENSORS_HEADER_H_
#define BANYAN_CORE_CHECKPOINT_SAFETENSORS_HEADER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/base/dtype.h"
#include "core/json/json_reader.h"

namespace banyan {

// Reads the header without a tree of it. It nests no deeper than three levels.
// An error is "tensor 'x': what is wrong".
class SafetensorsHeader : public JsonEvents {
 public:
  struct Entry {
    DType dtype = DType::kF32;
    std::vector<std::int64_t> shape;
    std::vector<std::int64_t> offsets;
  };

  // The header's text must outlive this.
  explicit SafetensorsHeader(absl::string_view text)
      : reader_(text, "header") {}

  // Reads the whole text. Once.
  absl::Status Read() { return reader_.Read(*this); }
  const std::map<std::string, Entry, std::less<>>& entries() const {
    return entries_;
  }

  absl::Status OnScalar(JsonScalar value) override;
  absl::Status OnKey(std::string key) override;
  absl::Status OnList() override;
  absl::Status OnListEnd() override;
  absl::Status OnObject() override;
  absl::Status OnObjectEnd() override;

 private:
  // What the next value is a part of.
  enum class Inside { kFile, kHeader, kTensor, kNumbers, kMetadata };

  absl::Status Error(absl::string_view what) const;
  absl::Status Unexpected(absl::string_view found) const;
  std::string Place() const;

  JsonReader reader_;
  Inside inside_ = Inside::kFile;
  std::map<std::string, Entry, std::less<>> entries_;
  std::string name_;        // of the tensor being read
  std::string field_;       // the last one read of it, or of the metadata
  int fields_ = 0;          // how many
  Entry* entry_ = nullptr;  // the tensor being read, in entries_
  std::vector<std::int64_t>* numbers_ = nullptr;  // the list being read
};

}  // namespace banyan

#endif  // BANYAN_CORE_CHECKPOINT_SAFETENSORS_HEADER_H_
