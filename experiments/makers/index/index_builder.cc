#include "experiments/makers/index/index_builder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/strip.h"
#include "core/base/bytes.h"
#include "core/base/check.h"
#include "core/base/output_files.h"
#include "drafters/text/corpus_index.h"
#include "experiments/makers/index/sort_suffixes.h"

namespace banyan {

namespace {

absl::Status SystemError(const std::string& path, int code) {
  return absl::InternalError(
      absl::StrCat(path, ": ", std::generic_category().message(code)));
}

}  // namespace

absl::Status WriteSynced(const std::string& path,
                         absl::Span<const std::byte> bytes) {
  const absl::StatusOr<std::unique_ptr<OutputFile>> file =
      OutputFile::Open(path);
  if (!file.ok()) return absl::InternalError(file.status().message());
  BANYAN_RETURN_IF_ERROR((*file)->Append(bytes));
  return (*file)->Finish();
}

absl::Status SyncFolder(const std::string& folder) {
  const int descriptor =
      open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return SystemError(folder, errno);
  const int code = fsync(descriptor) == 0 ? 0 : errno;
  close(descriptor);
  return code == 0 ? absl::OkStatus() : SystemError(folder, code);
}

namespace {

namespace fs = std::filesystem;

// Of tokens; with four times as much for sorting it is less than 2 GiB.
constexpr std::int64_t kDefaultShardBytes = 400'000'000;
constexpr int kBitsOfByte = 8;
constexpr std::uint32_t kSeparator = std::numeric_limits<std::uint32_t>::max();
// In no UTF-8 text: "ab", "c" are not "a", "bc".
constexpr absl::string_view kTextEnd = "\xff";

std::string HexName(std::uint64_t name) {
  return absl::StrFormat("%016x", name);
}

std::uint64_t WithText(std::uint64_t name, absl::string_view text) {
  return Fnv1a(BytesOf(kTextEnd), Fnv1a(BytesOf(text), name));
}

// Documents that a shard and those before it have begun.
std::int64_t Begun(const IndexShard& shard) {
  return shard.documents + (shard.cut > 0 ? 1 : 0);
}

// Whether a name is that of a shard's file: a number, and what is in it.
bool IsOfAShard(absl::string_view name) {
  const std::size_t digits = name.find_first_not_of("0123456789");
  return digits != absl::string_view::npos && digits > 0 &&
         (name.substr(digits) == ".tokens" ||
          name.substr(digits) == ".suffixes");
}

// Of a folder that is there; it is then this builder's until it is closed.
absl::StatusOr<int> Lock(const std::string& folder) {
  const auto error = [&folder](int code) {
    return absl::InvalidArgumentError(absl::StrCat(
        folder, ": cannot be locked: ", std::generic_category().message(code)));
  };
  const int descriptor =
      open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return error(errno);
  if (flock(descriptor, LOCK_EX | LOCK_NB) == 0) return descriptor;
  const int code = errno;
  close(descriptor);
  if (code != EWOULDBLOCK) return error(code);
  return absl::FailedPreconditionError(
      absl::StrCat(folder, ": another run is building this index"));
}

}  // namespace

std::int64_t FreeBytes(const std::string& folder) {
  std::error_code error;
  const fs::space_info space = fs::space(folder, error);
  // Writing says it better.
  if (error) return std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(space.available);
}

std::int64_t DefaultShardTokens(int token_bytes) {
  return kDefaultShardBytes / token_bytes;
}

std::int64_t MostShardTokens(int token_bytes) {
  return std::numeric_limits<std::int32_t>::max() / token_bytes;
}

IndexBuilder::IndexBuilder(std::string folder,
                           const IndexBuilderOptions& options, bool made,
                           int lock)
    : folder_(std::move(folder)),
      options_(options),
      made_(made),
      lock_(lock),
      name_before_(kFnv1aStart),
      name_(kFnv1aStart) {
  const int token_bytes = TokenBytesFor(options.vocab_size);
  manifest_ = {.tokenizer = options.tokenizer,
               .vocab_size = options.vocab_size,
               .token_bytes = token_bytes,
               .shard_tokens = options.shard_tokens > 0
                                   ? options.shard_tokens
                                   : DefaultShardTokens(token_bytes)};
}

IndexBuilder::~IndexBuilder() {
  if (!whole_ && manifest_.shards.empty()) {
    std::error_code ignored;
    fs::remove(Path(kBuildingFile), ignored);
    if (made_) fs::remove(folder_, ignored);
  }
  close(lock_);
}

std::string IndexBuilder::Path(absl::string_view name) const {
  return absl::StrCat(folder_, "/", name);
}

absl::StatusOr<std::unique_ptr<IndexBuilder>> IndexBuilder::Open(
    const std::string& folder, const IndexBuilderOptions& options) {
  Check(options.vocab_size >= 1, "a vocabulary has a token");
  std::error_code error;
  const bool made = fs::create_directories(folder, error);
  if (error || !fs::is_directory(folder, error))
    return absl::InvalidArgumentError(
        absl::StrCat(folder, ": the folder cannot be made",
                     error ? absl::StrCat(": ", error.message()) : ""));
  BANYAN_ASSIGN_OR_RETURN(const int lock, Lock(folder));
  auto builder =
      absl::WrapUnique(new IndexBuilder(folder, options, made, lock));
  const std::int64_t shard_tokens = builder->manifest_.shard_tokens;
  Check(shard_tokens >= 2 &&
            shard_tokens <= MostShardTokens(builder->manifest_.token_bytes),
        "a shard holds a token and its separator, and can be sorted");
  const absl::Status begun = builder->Begin();
  if (begun.ok()) return builder;
  builder->whole_ = true;  // what is there is not this one's to remove
  return begun;
}

absl::Status IndexBuilder::Begin() {
  std::error_code error;
  if (fs::exists(Path(kIndexFile), error))
    return absl::AlreadyExistsError(absl::StrCat(
        Path(kIndexFile),
        ": the index is whole: expected a new folder, or one whose "
        "index is being built"));
  absl::StatusOr<IndexManifest> found =
      ReadIndexManifest(folder_, kBuildingFile);
  const bool under_way = !absl::IsNotFound(found.status());
  BANYAN_RETURN_IF_ERROR(CheckFolder(under_way));
  if (!under_way) return WriteManifest();
  BANYAN_RETURN_IF_ERROR(found.status());
  return found->shards.empty() ? WriteManifest() : GoOn(*std::move(found));
}

absl::Status IndexBuilder::CheckFolder(bool under_way) const {
  std::error_code error;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(folder_, error)) {
    const std::string name = entry.path().filename().string();
    // Of a builder that was killed while it wrote the file.
    const absl::string_view whole = absl::StripSuffix(name, ".partial");
    if (whole == kBuildingFile || (under_way && IsOfAShard(whole))) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(folder_, ": expected ",
                     under_way ? "the files of an index under way"
                               : "an empty folder, or none",
                     ", found ", name));
  }
  return absl::OkStatus();
}

absl::Status IndexBuilder::Refusal(absl::string_view key,
                                   const std::string& found,
                                   const std::string& expected) const {
  return absl::InvalidArgumentError(absl::StrCat(
      Path(kBuildingFile), ": ", key, ": expected this run's ", expected,
      ", found ", found,
      ": an index goes on with the options and texts it was begun with"));
}

absl::Status IndexBuilder::GoOn(IndexManifest found) {
  if (found.tokenizer != manifest_.tokenizer)
    return Refusal("tokenizer", found.tokenizer, manifest_.tokenizer);
  if (found.vocab_size != manifest_.vocab_size)
    return Refusal("vocab_size", absl::StrCat(found.vocab_size),
                   absl::StrCat(manifest_.vocab_size));
  if (found.shard_tokens != manifest_.shard_tokens)
    return Refusal("shard_tokens", absl::StrCat(found.shard_tokens),
                   absl::StrCat(manifest_.shard_tokens));
  BANYAN_ASSIGN_OR_RETURN(const std::unique_ptr<CorpusIndex> shards,
                          CorpusIndex::Open(folder_, kBuildingFile));
  BANYAN_RETURN_IF_ERROR(shards->CheckSums());
  manifest_ = std::move(found);
  shards_before_ = manifest_.shards.size();
  before_ = {.documents = manifest_.shards.back().documents,
             .cut = manifest_.shards.back().cut};
  return absl::OkStatus();
}

absl::Status IndexBuilder::Add(absl::string_view text, Tokenize tokenize) {
  Check(!whole_, "a finished index takes no document");
  BANYAN_RETURN_IF_ERROR(failed_);
  failed_ = AddDocument(text, tokenize);
  return failed_;
}

absl::Status IndexBuilder::AddDocument(absl::string_view text,
                                       Tokenize tokenize) {
  ++documents_;
  name_before_ = name_;
  name_ = WithText(name_, text);
  BANYAN_RETURN_IF_ERROR(CheckSameText());
  if (documents_ <= before_.documents) return absl::OkStatus();
  const std::int64_t taken =
      documents_ == before_.documents + 1 ? before_.cut : 0;
  BANYAN_ASSIGN_OR_RETURN(const std::vector<TokenId> tokens, tokenize());
  BANYAN_RETURN_IF_ERROR(CheckTokens(tokens));
  if (taken > static_cast<std::int64_t>(tokens.size()))
    return Refusal("cut", absl::StrCat(taken),
                   absl::StrCat("no more than ", tokens.size()));
  return AddTokens(tokens, taken);
}

absl::Status IndexBuilder::CheckSameText() {
  for (; seen_again_ < shards_before_; ++seen_again_) {
    const IndexShard& shard = manifest_.shards[seen_again_];
    if (Begun(shard) > documents_) break;
    if (Begun(shard) < documents_)
      return Refusal(absl::StrCat("shards[", seen_again_, "].documents"),
                     absl::StrCat(shard.documents), "at least 1");
    if (shard.text_fnv1a != HexName(name_))
      return Refusal(absl::StrCat("shards[", seen_again_, "].text_fnv1a"),
                     shard.text_fnv1a, HexName(name_));
  }
  return absl::OkStatus();
}

absl::Status IndexBuilder::CheckTokens(absl::Span<const TokenId> tokens) const {
  for (const TokenId token : tokens)
    if (token < 0 || token >= manifest_.vocab_size)
      return absl::InvalidArgumentError(absl::StrCat(
          "the tokenizer gives token ", token,
          ", expected one of the vocabulary, 0 to ", manifest_.vocab_size - 1));
  return absl::OkStatus();
}

absl::Status IndexBuilder::AddTokens(absl::Span<const TokenId> tokens,
                                     std::int64_t taken) {
  const auto width = static_cast<std::size_t>(manifest_.token_bytes);
  const auto most = static_cast<std::size_t>(manifest_.shard_tokens);
  tokens.remove_prefix(static_cast<std::size_t>(taken));
  new_tokens_ += static_cast<std::int64_t>(tokens.size());
  while (!tokens.empty()) {
    const bool fits = text_.size() / width + tokens.size() < most;
    if (fits || text_.empty()) {
      const absl::Span<const TokenId> piece =
          fits ? tokens : tokens.first(most - 1);
      Put(piece);
      taken += static_cast<std::int64_t>(piece.size());
      tokens.remove_prefix(piece.size());
    }
    if (!tokens.empty())
      BANYAN_RETURN_IF_ERROR(
          WriteShard({.documents = documents_ - 1, .cut = taken}));
  }
  return absl::OkStatus();
}

void IndexBuilder::Put(std::uint32_t token) {
  for (int i = manifest_.token_bytes - 1; i >= 0; --i)
    text_.push_back(static_cast<std::byte>(token >> kBitsOfByte * i & 0xff));
}

void IndexBuilder::Put(absl::Span<const TokenId> piece) {
  if (text_.empty())
    text_.reserve(static_cast<std::size_t>(manifest_.shard_tokens *
                                           manifest_.token_bytes));
  for (const TokenId token : piece) Put(static_cast<std::uint32_t>(token));
  Put(kSeparator);
}

absl::Status IndexBuilder::RequireSpace(absl::string_view what,
                                        double tokens) const {
  const double bytes =
      tokens *
      static_cast<double>(static_cast<std::size_t>(manifest_.token_bytes) +
                          kSuffixBytes);
  const auto free = static_cast<double>(options_.free_bytes(folder_));
  if (bytes <= free) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrFormat(
      "%s: %s %.1f MB, and the disk has %.1f MB free; with more room the same "
      "command goes on after the %d shards that are whole",
      folder_, what, bytes / 1e6, free / 1e6, manifest_.shards.size()));
}

absl::Status IndexBuilder::WriteShard(End end) {
  const std::size_t number = manifest_.shards.size();
  const auto tokens =
      static_cast<std::int64_t>(text_.size()) / manifest_.token_bytes;
  BANYAN_RETURN_IF_ERROR(RequireSpace(absl::StrCat("shard ", number, " takes"),
                                      static_cast<double>(tokens)));
  options_.on_sort(number, tokens);
  const bool with_last = end.documents == documents_ || end.cut > 0;
  IndexShard shard = {.tokens = tokens,
                      .documents = end.documents,
                      .cut = end.cut,
                      .text_fnv1a = HexName(with_last ? name_ : name_before_)};
  BANYAN_RETURN_IF_ERROR(WriteFiles(number, shard));
  // Before the list names it.
  BANYAN_RETURN_IF_ERROR(SyncFolder(folder_));
  manifest_.shards.push_back(std::move(shard));
  text_.clear();
  return WriteManifest();
}

absl::Status IndexBuilder::WriteFiles(std::size_t number,
                                      IndexShard& shard) const {
  const absl::Span<const std::byte> text = text_;
  BANYAN_ASSIGN_OR_RETURN(
      const SortedSuffixes sorted,
      SortSuffixes(text, static_cast<std::size_t>(manifest_.token_bytes)));
  shard.suffixes = static_cast<std::int64_t>(sorted.count);
  shard.tokens_fnv1a = HexName(Fnv1a(text));
  shard.suffixes_fnv1a = HexName(Fnv1a(sorted.bytes()));
  shard.tokens_extents = ExtentSums(text);
  shard.suffixes_extents = ExtentSums(sorted.bytes());
  const std::string tokens_path = TokensPath(folder_, number);
  BANYAN_RETURN_IF_ERROR(WriteSynced(tokens_path, text));
  const absl::Status written =
      WriteSynced(SuffixesPath(folder_, number), sorted.bytes());
  if (!written.ok()) std::remove(tokens_path.c_str());
  return written;
}

absl::Status IndexBuilder::WriteManifest() const {
  return WriteSynced(Path(kBuildingFile), BytesOf(ToJson(manifest_)));
}

absl::StatusOr<IndexManifest> IndexBuilder::Finish() {
  Check(!whole_, "an index is finished once");
  BANYAN_RETURN_IF_ERROR(failed_);
  if (seen_again_ < shards_before_)
    return Refusal(absl::StrCat("shards[", shards_before_ - 1, "].documents"),
                   absl::StrCat(before_.documents),
                   absl::StrCat("no more than ", documents_));
  if (!text_.empty())
    BANYAN_RETURN_IF_ERROR(WriteShard({.documents = documents_, .cut = 0}));
  if (manifest_.shards.empty())
    return absl::InvalidArgumentError(
        absl::StrCat(folder_, ": expected a text, found no token"));
  const std::string path = Path(kIndexFile);
  if (std::rename(Path(kBuildingFile).c_str(), path.c_str()) != 0)
    return absl::InternalError(
        absl::StrCat(path, ": ", std::generic_category().message(errno)));
  BANYAN_RETURN_IF_ERROR(SyncFolder(folder_));
  whole_ = true;
  return manifest_;
}

}  // namespace banyan
