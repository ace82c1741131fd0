// A name for what is drafted or decoded by in a directory.
#ifndef BANYAN_EXPERIMENTS_RUN_FINGERPRINT_H_
#define BANYAN_EXPERIMENTS_RUN_FINGERPRINT_H_

#include <string>

namespace banyan {

// Of the names, sizes and bytes of its ordinary files *.safetensors and
// index.json, which has the sums of a corpus index: all bytes up to 16 MiB a
// file, beyond that 4 KiB of every 1,024th part. Empty without such files.
std::string Fingerprint(const std::string& directory);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_RUN_FINGERPRINT_H_
