// Reads a GGUF file's keys one by one, and refuses those that it cannot honour.
#ifndef BANYAN_CORE_GGUF_GGUF_KEYS_H_
#define BANYAN_CORE_GGUF_GGUF_KEYS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/base/messages.h"
#include "core/gguf/gguf_file.h"

namespace banyan {

// Reading a GGUF file's keys one by one.

// Keeps all errors, "FILE: key: expected ..., found ...", and gives them at the
// end; what is wrong reads as its fallback, as 0 or as nothing.
class GgufKeys {
 public:
  GgufKeys(const Gguf& contents, std::string file)
      : contents_(contents), file_(std::move(file)) {}

  bool Has(absl::string_view key) const;
  // A whole number from 0 on; the first form requires the key.
  std::int64_t Count(absl::string_view key);
  std::int64_t CountOr(absl::string_view key, std::int64_t fallback);
  double Real(absl::string_view key);
  double RealOr(absl::string_view key, double fallback);
  bool FlagOr(absl::string_view key, bool fallback);
  std::string Text(absl::string_view key);
  std::string TextOr(absl::string_view key, absl::string_view fallback);
  // Empty if the key is not there.
  std::vector<absl::string_view> Texts(absl::string_view key);
  std::vector<double> Numbers(absl::string_view key);

  void Fail(absl::string_view key, absl::string_view message);
  // The same: "expected WHAT, found what the key has".
  void Unexpected(absl::string_view key, absl::string_view what);
  absl::Status status() const { return errors_.status(); }
  const Gguf& contents() const { return contents_; }

 private:
  // Null: no such key, or, told, no list.
  const GgufList* List(absl::string_view key, absl::string_view what);

  const Gguf& contents_;
  std::string file_;
  Errors errors_;
};

// Keys of a GGUF file that change what a model computes and are not read here.

// Refuses each of them by name, unless it has a value with which the model is
// the same as without the key. A key that is not known changes nothing. `head`
// is the size of an attention head, `context` the most tokens of a text.
void RefuseUnreadKeys(absl::string_view architecture, std::int64_t head,
                      std::int64_t context, GgufKeys& in);

}  // namespace banyan

#endif  // BANYAN_CORE_GGUF_GGUF_KEYS_H_
