// Corpus indices made of documents of tokens, without a model.
#ifndef BANYAN_TESTS_SUPPORT_MADE_MADE_INDEX_H_
#define BANYAN_TESTS_SUPPORT_MADE_MADE_INDEX_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/base/token.h"
#include "drafters/text/corpus_index.h"
#include "drafters/text/index_manifest.h"
#include "experiments/makers/index/index_builder.h"

namespace banyan {

using MadeDocument = std::vector<TokenId>;

// Adds a document whose text is its tokens, written with commas.
absl::Status AddDocument(IndexBuilder& builder, const MadeDocument& document);

// Builds the index in `folder`, which is new or goes on.
absl::StatusOr<IndexManifest> TryBuildIndex(
    const std::string& folder, const std::vector<MadeDocument>& documents,
    const IndexBuilderOptions& options);
// The same, and opens it. A failure ends the program.
std::unique_ptr<CorpusIndex> MustBuildIndex(
    const std::string& folder, const std::vector<MadeDocument>& documents,
    const IndexBuilderOptions& options);

// Documents of 0 to `longest` of these tokens.
std::vector<MadeDocument> RandomDocuments(const MadeDocument& letters,
                                          int count, int longest);

// All strings of up to `length` of the letters, the empty one first.
std::vector<MadeDocument> StringsOf(const MadeDocument& letters,
                                    std::size_t length);

}  // namespace banyan

#endif  // BANYAN_TESTS_SUPPORT_MADE_MADE_INDEX_H_
