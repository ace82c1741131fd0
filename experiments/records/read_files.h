// Whether two runs of a cell read the same files.
#ifndef BANYAN_EXPERIMENTS_RECORDS_READ_FILES_H_
#define BANYAN_EXPERIMENTS_RECORDS_READ_FILES_H_

#include <string>
#include <vector>

#include "experiments/records/record.pb.h"

namespace banyan {

struct FileDifference {
  std::string path;
  std::string a, b;  // fingerprints; empty: it was not read
};

// The files that are not the same in both, by the names of file and folder: the
// same model may lie elsewhere on another machine. Of records older than the
// list of files, the folders whose weights differ.
std::vector<FileDifference> DifferingFiles(const records::Cell& a,
                                           const records::Cell& b);

// The first such file of any cell; empty: there is none. Requires the same
// cells.
std::string FirstDifferingFile(const records::Context& a,
                               const records::Context& b);

// Whether both ran with the same measured costs, or without any.
bool SameCosts(const records::Context& a, const records::Context& b);

// Whether the cells name the files that they read.
bool NamesFiles(const records::Context& context);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_RECORDS_READ_FILES_H_
