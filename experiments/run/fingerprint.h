// Names for what is read from disk: fingerprints of files, and whether a file
// is still the one that has it.
#ifndef BANYAN_EXPERIMENTS_RUN_FINGERPRINT_H_
#define BANYAN_EXPERIMENTS_RUN_FINGERPRINT_H_

#include <map>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/base/input_files.h"
#include "experiments/records/record.pb.h"

namespace banyan {

// The file at a path or, of a folder, its ordinary files in the order of their
// names: all but hidden ones, those for people (.md, .txt) and those that are
// written there later (.banyan, .partial). Each has its size and a hash of its
// bytes; of the shards of a corpus index (.tokens, .suffixes), which have sums
// of their own, of 4 KiB of every 1,024th part; of a packed model, of its
// header. Nothing for a path where there is nothing to read.
std::vector<records::File> FilesAt(const std::string& path);

// What the system knows of each of these files, by its path. No file is read.
using FileStates = std::map<std::string, FileState>;
FileStates StatesAt(const std::string& path);

// FailedPrecondition, with the name of a file at `path`, unless all are as in
// `before`, which StatesAt(path) gave.
absl::Status CheckUnchanged(const std::string& path, const FileStates& before);

// Of the weights among a folder's files: *.safetensors, and index.json, which
// has the sums of a corpus index; of a packed model that of the files it was
// packed from. Empty without such files.
std::string WeightsFingerprint(absl::Span<const records::File> files);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_RUN_FINGERPRINT_H_
