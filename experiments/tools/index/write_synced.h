// Writing files that are whole or not there, even where the machine stops.
#ifndef BANYAN_EXPERIMENTS_TOOLS_INDEX_WRITE_SYNCED_H_
#define BANYAN_EXPERIMENTS_TOOLS_INDEX_WRITE_SYNCED_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace banyan {

// Writes a file as OutputFile does, all at once. Internal, "PATH: reason", if
// that fails (a full disk): PATH is then as it was.
absl::Status WriteSynced(const std::string& path,
                         absl::Span<const std::byte> bytes);

// Has the disk take the names in a folder too. Fails as WriteSynced.
absl::Status SyncFolder(const std::string& folder);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_TOOLS_INDEX_WRITE_SYNCED_H_
