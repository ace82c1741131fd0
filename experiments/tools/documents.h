// The documents of a text file.
#ifndef BANYAN_EXPERIMENTS_TOOLS_DOCUMENTS_H_
#define BANYAN_EXPERIMENTS_TOOLS_DOCUMENTS_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace banyan {

// What is done with a document; `bytes_read` are those of the file up to its
// end.
using DocumentVisitor = absl::FunctionRef<absl::Status(
    absl::string_view text, std::int64_t bytes_read)>;

// Visits the documents of a file in order: of a file whose name ends in .jsonl
// the text under `text` in the JSON object on each line, as `training corpus`
// writes them, or each of those under `turns`, as `training talk` does; any
// other file is one document. NotFound if there is no such file;
// InvalidArgument if it cannot be read, is larger than 4 GiB, or has a line
// that is no such object; else the visitor's first error. What is wrong with a
// line or a document says "FILE:LINE: ", or "FILE: " where it is the whole
// file.
absl::Status ForEachDocument(const std::string& path, DocumentVisitor visit);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_TOOLS_DOCUMENTS_H_
