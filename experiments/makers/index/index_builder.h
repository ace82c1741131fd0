// Builds a corpus index (drafters/text/index_manifest.h), shard by shard.
//
//   BANYAN_ASSIGN_OR_RETURN(auto builder, IndexBuilder::Open(folder, options));
//   BANYAN_RETURN_IF_ERROR(builder->Add(text, tokenize));  // each document
//   BANYAN_ASSIGN_OR_RETURN(IndexManifest built, builder->Finish());
//
// A shard holds as many whole documents as fit. A document longer than a shard
// is cut where shards end, and no match spans the cut. Each shard is synced to
// disk before the next is begun: a builder that ends early, by an error or a
// kill, leaves every shard that it finished. A builder that fails before its
// first shard leaves nothing, unless it is killed. A later builder with the
// same documents and options continues after the finished shards; the folder is
// then byte for byte that of an uninterrupted build.
#ifndef BANYAN_EXPERIMENTS_MAKERS_INDEX_INDEX_BUILDER_H_
#define BANYAN_EXPERIMENTS_MAKERS_INDEX_INDEX_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/base/common.h"
#include "core/base/token.h"
#include "drafters/text/index_manifest.h"

namespace banyan {

// Writing files that are whole or not there, even where the machine stops.

// Writes a file as OutputFile does, all at once. Internal, "PATH: reason", if
// that fails (a full disk): PATH is then as it was.
absl::Status WriteSynced(const std::string& path,
                         absl::Span<const std::byte> bytes);

// Has the disk take the names in a folder too. Fails as WriteSynced.
absl::Status SyncFolder(const std::string& folder);

// What the disk of a folder has free, in bytes.
std::int64_t FreeBytes(const std::string& folder);

struct IndexBuilderOptions {
  std::string tokenizer;  // IndexManifest::tokenizer
  int vocab_size = 0;
  // IndexManifest::shard_tokens. 0: as many as are sorted in less than 2 GiB.
  std::int64_t shard_tokens = 0;
  std::function<std::int64_t(const std::string& folder)> free_bytes = FreeBytes;
  // Called before shard number `shard`, from 0, of `tokens` tokens is sorted.
  std::function<void(std::size_t shard, std::int64_t tokens)> on_sort =
      [](std::size_t /*shard*/, std::int64_t /*tokens*/) {};
};

// Tokens of a shard whose sorting takes less than 2 GiB, the text included.
std::int64_t DefaultShardTokens(int token_bytes);
// The most that can be sorted.
std::int64_t MostShardTokens(int token_bytes);

class IndexBuilder {
 public:
  // What gives a document's tokens; called only if they are not in a shard yet.
  using Tokenize = absl::FunctionRef<absl::StatusOr<std::vector<TokenId>>()>;

  // Makes the folder, or goes on with one. FailedPrecondition if another
  // builder has it; AlreadyExists if its index is whole; InvalidArgument if it
  // cannot be made, holds something else, was begun with other options or has
  // lost a file; DataLoss if a finished shard is not as it was written.
  static absl::StatusOr<std::unique_ptr<IndexBuilder>> Open(
      const std::string& folder, const IndexBuilderOptions& options);
  ~IndexBuilder();
  IndexBuilder(const IndexBuilder&) = delete;
  IndexBuilder& operator=(const IndexBuilder&) = delete;

  // The next document. InvalidArgument if a token is outside the vocabulary, or
  // the documents so far are not those of the finished shards;
  // ResourceExhausted if disk or memory have no room for a shard; Internal if
  // it cannot be written. After an error nothing can be added.
  absl::Status Add(absl::string_view text, Tokenize tokenize);

  // Writes the last shard and index.json. InvalidArgument if there was no token
  // at all, or the documents are fewer than those of the finished shards.
  absl::StatusOr<IndexManifest> Finish();

  // Shards that were there when it was opened.
  std::size_t shards_before() const { return shards_before_; }
  // Tokens that were added and were not there yet.
  std::int64_t new_tokens() const { return new_tokens_; }
  // ResourceExhausted unless the disk has room for `tokens` tokens, without
  // their separators; `what` is "shard 3 takes".
  absl::Status RequireSpace(absl::string_view what, double tokens) const;

 private:
  // Where a shard ends in the corpus (IndexShard).
  struct End {
    std::int64_t documents = 0;
    std::int64_t cut = 0;
  };

  IndexBuilder(std::string folder, const IndexBuilderOptions& options,
               bool made, int lock);

  absl::Status Begin();
  // Nothing stands in the folder but, if an index is under way, its files.
  absl::Status CheckFolder(bool under_way) const;
  absl::Status GoOn(IndexManifest found);
  absl::Status AddDocument(absl::string_view text, Tokenize tokenize);
  absl::Status CheckSameText();
  absl::Status CheckTokens(absl::Span<const TokenId> tokens) const;
  // Of the document under way, all but the first `taken`.
  absl::Status AddTokens(absl::Span<const TokenId> tokens, std::int64_t taken);
  void Put(std::uint32_t token);
  void Put(absl::Span<const TokenId> piece);  // and a separator
  absl::Status WriteShard(End end);
  absl::Status WriteFiles(std::size_t number, IndexShard& shard) const;
  absl::Status WriteManifest() const;
  std::string Path(absl::string_view name) const;
  absl::Status Refusal(absl::string_view key, const std::string& found,
                       const std::string& expected) const;

  std::string folder_;
  IndexBuilderOptions options_;
  bool made_;  // the folder
  int lock_;   // the folder's descriptor
  IndexManifest manifest_;
  bool whole_ = false;
  // What was there when it was opened, and how many shards' texts were seen to
  // be those given again.
  std::size_t shards_before_ = 0;
  End before_;
  std::size_t seen_again_ = 0;
  std::vector<std::byte> text_;  // of the shard under way
  std::int64_t documents_ = 0;   // begun
  std::uint64_t name_before_;    // of the texts before the last document's
  std::uint64_t name_;           // and with it
  std::int64_t new_tokens_ = 0;
  absl::Status failed_;
};

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_MAKERS_INDEX_INDEX_BUILDER_H_
