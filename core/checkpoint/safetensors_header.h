// The header of a safetensors file: the JSON object before the bytes.
#ifndef BANYAN_CORE_CHECKPOINT_SAFETENSORS_HEADER_H_
#define BANYAN_CORE_CHECKPOINT_SAFETENSORS_HEADER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/checkpoint/stored_tensor.h"

namespace banyan {

// Reads the header as the JSON library goes through it (its SAX interface:
// every function returns whether to go on). It nests no deeper than three
// levels, and keeps the first error, "tensor 'x': what is wrong".
class SafetensorsHeader {
 public:
  using Number = nlohmann::json::number_integer_t;
  using Unsigned = nlohmann::json::number_unsigned_t;

  struct Entry {
    DType dtype = DType::kF32;
    std::vector<std::int64_t> shape;
    std::vector<std::int64_t> offsets;
  };

  // Reads the whole text. Once.
  absl::Status Read(absl::string_view text);
  const std::map<std::string, Entry, std::less<>>& entries() const {
    return entries_;
  }

  bool null() { return Unexpected("null"); }
  bool boolean(bool) { return Unexpected("true or false"); }
  bool string(std::string& text);
  bool binary(nlohmann::json::binary_t&) { return Unexpected("bytes"); }
  bool number_float(double, const std::string& text);
  bool number_integer(Number number);
  bool number_unsigned(Unsigned number);
  bool start_array(std::size_t);
  bool end_array();
  bool start_object(std::size_t);
  bool end_object();
  bool key(std::string& name);
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& fault);

 private:
  // What the next value is a part of.
  enum class Inside { kFile, kHeader, kTensor, kNumbers, kMetadata };

  bool Fail(absl::string_view what);
  bool Unexpected(absl::string_view found);
  std::string Place() const;

  Inside inside_ = Inside::kFile;
  absl::Status status_;
  std::map<std::string, Entry, std::less<>> entries_;
  bool has_metadata_ = false;
  std::string name_;            // of the tensor being read
  std::set<std::string> keys_;  // read so far of it, or of the metadata
  std::string field_;           // the last of them
  Entry* entry_ = nullptr;      // the tensor being read, in entries_
  std::vector<std::int64_t>* numbers_ = nullptr;  // the list being read
};

}  // namespace banyan

#endif  // BANYAN_CORE_CHECKPOINT_SAFETENSORS_HEADER_H_
