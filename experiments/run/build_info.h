// How this program was built; written anew when the sources' revision changes.
#ifndef BANYAN_EXPERIMENTS_RUN_BUILD_INFO_H_
#define BANYAN_EXPERIMENTS_RUN_BUILD_INFO_H_

namespace banyan {

// A commit, with "-dirty" after it if the sources differ; or "unknown" outside
// a repository.
extern const char* const kBuildRevision;
extern const char* const kBuildCompiler;
extern const char* const kBuildFlags;
extern const char* const kBuildType;

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_RUN_BUILD_INFO_H_
