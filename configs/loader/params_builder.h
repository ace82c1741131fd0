// The events of one YAML document, gathered into Params.
//
// yaml-cpp's own document tree drops repeated keys and expands nothing within
// bounds; its events show everything as it was written, so the checks that
// yaml.h promises are made here. After the first fault all further events are
// ignored.
#ifndef BANYAN_CONFIGS_LOADER_PARAMS_BUILDER_H_
#define BANYAN_CONFIGS_LOADER_PARAMS_BUILDER_H_

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/mark.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/base/params.h"

namespace banyan {

// What must hold of a text before yaml-cpp may see it.
//
// yaml-cpp 0.7 takes a byte 0x04 for the end of the file, guesses UTF-16 from
// zero bytes, does not take a lone carriage return for a line end, and skips a
// line at the file's start that begins with '%', whatever it says: each would
// silently change what the file says. Such files are refused here.

bool IsUtf8(absl::string_view text);

// OK if `text` is UTF-8 without control characters other than tab, line feed
// and carriage return before a line feed, and opens with no '%' line; else an
// error at the first fault.
absl::Status CheckText(absl::string_view text,
                       const std::shared_ptr<const std::string>& file);

class ParamsBuilder : public YAML::EventHandler {
 public:
  // Gives the configuration in another file, for `!include PATH`.
  using Include =
      std::function<absl::StatusOr<Params>(const std::string& path)>;

  // Without `include`, the tag is refused.
  ParamsBuilder(std::shared_ptr<const std::string> file, Include include);

  // The first fault, or OK.
  const absl::Status& status() const { return status_; }
  // What the user is to be told of old names of keys: "file:line:column: ...".
  const std::vector<std::string>& notes() const { return notes_; }
  // Gives away the document's value, once the parser has finished and status()
  // is OK; null if there was no document, or nothing in it.
  Params TakeRoot() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override;
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override;
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override;
  void OnScalar(const YAML::Mark& mark, const std::string& tag,
                YAML::anchor_t anchor, const std::string& text) override;
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag,
                       YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override;
  void OnSequenceEnd() override;
  void OnMapStart(const YAML::Mark& mark, const std::string& tag,
                  YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override;
  void OnMapEnd() override;

 private:
  // A finished value, with what a copy of it costs and how many levels of lists
  // and maps it has.
  struct Value {
    Params params;
    int size = 1;
    int height = 0;
  };
  // A list or map still being read. A map's `key` is set while its value is
  // awaited.
  struct Frame {
    Params::Kind kind = Params::Kind::kList;
    bool has_brackets = false;
    Origin origin;
    YAML::anchor_t anchor = 0;
    std::vector<Params> items;
    std::vector<Params::Entry> entries;
    std::map<std::string, Origin> keys;
    std::optional<Params::Entry> key;
    int size = 1;
    int height = 1;
  };

  Origin At(const YAML::Mark& mark) const;
  void Fail(const Origin& at, absl::string_view message);
  // Whether an event may go on: no fault so far, and an allowed tag.
  bool Accepts(const YAML::Mark& mark, absl::string_view tag);
  // Whether the innermost open value is a map whose next event is a key.
  bool AwaitsKey() const;
  bool Charge(int size, const Origin& at);
  void IncludeFile(const std::string& path, const Origin& at);
  void Open(Params::Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor,
            YAML::EmitterStyle::value style);
  void Close();
  void TakeKey(const std::string& written, const Origin& at);
  // The name that a key has today.
  std::string NameToday(const std::string& key, const Origin& at);
  // Keeps a copy for aliases, then puts the value into the innermost open one.
  void Deliver(Value value, YAML::anchor_t anchor);

  std::shared_ptr<const std::string> file_;
  Include include_;
  absl::Status status_;
  std::vector<std::string> notes_;
  bool started_ = false;
  int total_size_ = 0;
  std::map<YAML::anchor_t, Value> anchored_;
  std::vector<Frame> open_;
  Params root_;
};

}  // namespace banyan

#endif  // BANYAN_CONFIGS_LOADER_PARAMS_BUILDER_H_
