// Looking up a row of a catalogue by the name a configuration gives.
//
// A catalogue is one table in one file: a span of rows, each with a `name` and
// a `sentence`, in the order in which they are listed.
#ifndef BANYAN_CORE_BASE_CATALOGUE_H_
#define BANYAN_CORE_BASE_CATALOGUE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/check.h"
#include "core/base/nearest.h"
#include "core/base/params.h"

namespace banyan {

// The row whose name stands under `name:` in `section`. `kind` names the
// catalogue in messages: "policy".
template <typename Row>
absl::StatusOr<const Row*> FindRow(absl::Span<const Row> rows,
                                   absl::string_view kind,
                                   const Params& section) {
  const Params* name = section.Find("name");
  if (name == nullptr)
    return section.Error(std::string(kind) + ": missing key 'name'");
  std::string text;
  absl::Status status = Convert(*name, text);
  if (!status.ok()) return status;
  std::vector<absl::string_view> known;
  for (const Row& row : rows) {
    if (row.name == text) return &row;
    known.push_back(row.name);
  }
  return name->Error(UnknownName(kind, text, known));
}

// Appends `added`, which are parts from outside the project. Requires names
// that no row has. Rows move, so nothing may hold one yet.
template <typename Row>
void AppendRows(absl::Span<const Row> added, std::vector<Row>& rows) {
  for (const Row& row : added) {
    for (const Row& other : rows)
      Check(other.name != row.name,
            std::string(row.name) + ": a part of this name is there already");
    rows.push_back(row);
  }
}

}  // namespace banyan

#endif  // BANYAN_CORE_BASE_CATALOGUE_H_
