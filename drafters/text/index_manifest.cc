#include "drafters/text/index_manifest.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "core/base/bytes.h"
#include "core/base/input_files.h"
#include "core/json/json_value.h"

namespace banyan {

namespace {

constexpr std::size_t kDigits = 16;

std::size_t ExtentsOf(std::size_t bytes) {
  return (bytes + kExtentBytes - 1) / kExtentBytes;
}

std::string SumOf(absl::Span<const std::byte> file, std::size_t extent) {
  return absl::StrFormat(
      "%016x", Fnv1a(file.subspan(extent * kExtentBytes, kExtentBytes)));
}

}  // namespace

std::size_t ExtentSumsSize(std::size_t file_bytes) {
  return ExtentsOf(file_bytes) * kDigits;
}

std::string ExtentSums(absl::Span<const std::byte> file) {
  std::string sums;
  sums.reserve(ExtentSumsSize(file.size()));
  for (std::size_t i = 0; i < ExtentsOf(file.size()); ++i)
    sums += SumOf(file, i);
  return sums;
}

CheckedExtents::CheckedExtents(std::string path, std::string sums)
    : path_(std::move(path)),
      sums_(std::move(sums)),
      is_whole_(new std::atomic<bool>[sums_.size() / kDigits]()) {}

absl::Status CheckedExtents::Check(absl::Span<const std::byte> file,
                                   std::size_t offset, std::size_t size) const {
  if (size == 0 || offset >= file.size()) return absl::OkStatus();
  const std::size_t end = ExtentsOf(std::min(offset + size, file.size()));
  for (std::size_t i = offset / kExtentBytes; i < end; ++i)
    if (!is_whole_[i].load(std::memory_order_relaxed))
      BANYAN_RETURN_IF_ERROR(CheckOne(file, i));
  return absl::OkStatus();
}

absl::Status CheckedExtents::CheckOne(absl::Span<const std::byte> file,
                                      std::size_t extent) const {
  const absl::string_view expected =
      absl::string_view(sums_).substr(extent * kDigits, kDigits);
  const std::string found = SumOf(file, extent);
  if (found != expected) {
    const std::size_t first = extent * kExtentBytes;
    return absl::DataLossError(
        absl::StrCat(path_, ": the file was changed: expected bytes ", first,
                     " to ", std::min(first + kExtentBytes, file.size()) - 1,
                     " whose FNV-1a is ", expected, ", found ", found));
  }
  is_whole_[extent].store(true, std::memory_order_relaxed);
  return absl::OkStatus();
}

namespace {

constexpr char kFormat[] = "banyan corpus index";
constexpr std::int64_t kVersion = 2;
// A million shards' worth.
constexpr std::size_t kMostManifestBytes = std::size_t{1} << 29;
constexpr std::size_t kDigitsOfName = 16;

constexpr absl::string_view kManifestKeys[] = {
    "format",      "version",      "tokenizer", "vocab_size",
    "token_bytes", "shard_tokens", "shards",    "manifest_fnv1a"};
constexpr absl::string_view kShardKeys[] = {
    "tokens",         "suffixes",         "tokens_fnv1a", "suffixes_fnv1a",
    "tokens_extents", "suffixes_extents", "documents",    "cut",
    "text_fnv1a"};

// A whole number within these bounds.
absl::Status Read(const JsonAt& value, std::int64_t least, std::int64_t most,
                  std::int64_t& out) {
  BANYAN_ASSIGN_OR_RETURN(out, value.Int());
  if (out >= least && out <= most) return absl::OkStatus();
  return value.Expected(
      least == most ? absl::StrCat(least)
                    : absl::StrCat("a number from ", least, " to ", most));
}

absl::Status ReadDigits(const JsonAt& value, std::size_t count,
                        absl::string_view what, std::string& out) {
  BANYAN_ASSIGN_OR_RETURN(out, value.String());
  bool digits = out.size() == count;
  for (const char c : out) digits = digits && absl::ascii_isxdigit(c);
  return digits ? absl::OkStatus() : value.Expected(what);
}

absl::Status ReadManifestName(const JsonAt& value, std::string& out) {
  return ReadDigits(value, kDigitsOfName, "sixteen digits of base 16", out);
}

// The sums of a file of `bytes` bytes.
absl::Status ReadExtents(const JsonAt& value, std::int64_t bytes,
                         std::string& out) {
  return ReadDigits(value, ExtentSumsSize(static_cast<std::size_t>(bytes)),
                    "sixteen digits of base 16 for each extent", out);
}

absl::Status ReadShard(const JsonAt& json, const IndexManifest& manifest,
                       IndexShard& shard) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  BANYAN_RETURN_IF_ERROR(json.HasOnly(kShardKeys));
  BANYAN_RETURN_IF_ERROR(
      Read(json.At("tokens"), 0, manifest.shard_tokens, shard.tokens));
  // What holds a token holds a separator.
  const std::int64_t most = shard.tokens > 0 ? shard.tokens - 1 : 0;
  BANYAN_RETURN_IF_ERROR(Read(json.At("suffixes"), 0, most, shard.suffixes));
  BANYAN_RETURN_IF_ERROR(
      ReadManifestName(json.At("tokens_fnv1a"), shard.tokens_fnv1a));
  BANYAN_RETURN_IF_ERROR(
      ReadManifestName(json.At("suffixes_fnv1a"), shard.suffixes_fnv1a));
  BANYAN_RETURN_IF_ERROR(ReadExtents(json.At("tokens_extents"),
                                     shard.tokens * manifest.token_bytes,
                                     shard.tokens_extents));
  BANYAN_RETURN_IF_ERROR(
      ReadExtents(json.At("suffixes_extents"),
                  shard.suffixes * static_cast<std::int64_t>(kSuffixBytes),
                  shard.suffixes_extents));
  BANYAN_RETURN_IF_ERROR(Read(json.At("documents"), 0, kMost, shard.documents));
  BANYAN_RETURN_IF_ERROR(Read(json.At("cut"), 0, kMost, shard.cut));
  return ReadManifestName(json.At("text_fnv1a"), shard.text_fnv1a);
}

JsonValue JsonOf(const IndexManifest& manifest) {
  JsonValue shards = JsonValue::List();
  for (const IndexShard& shard : manifest.shards)
    shards.Add({{"tokens", shard.tokens},
                {"suffixes", shard.suffixes},
                {"tokens_fnv1a", shard.tokens_fnv1a},
                {"suffixes_fnv1a", shard.suffixes_fnv1a},
                {"tokens_extents", shard.tokens_extents},
                {"suffixes_extents", shard.suffixes_extents},
                {"documents", shard.documents},
                {"cut", shard.cut},
                {"text_fnv1a", shard.text_fnv1a}});
  return {{"format", kFormat},
          {"version", kVersion},
          {"tokenizer", manifest.tokenizer},
          {"vocab_size", manifest.vocab_size},
          {"token_bytes", manifest.token_bytes},
          {"shard_tokens", manifest.shard_tokens},
          {"shards", std::move(shards)}};
}

std::string NameOf(const JsonValue& manifest) {
  return absl::StrFormat("%016x", Fnv1a(manifest.Text(2)));
}

// Shards follow one another in the corpus, and tokens are a document's.
absl::Status CheckOrder(const JsonAt& json, const IndexShard& before,
                        const IndexShard& shard) {
  const JsonAt documents = json.At("documents");
  if (shard.documents < before.documents)
    return documents.Expected(absl::StrCat("at least ", before.documents,
                                           ", as in the shard before"));
  if (shard.tokens > 0 && shard.documents == 0 && shard.cut == 0)
    return documents.Expected("at least 1 where `cut` is 0");
  return absl::OkStatus();
}

absl::Status ReadShards(const JsonAt& json, IndexManifest& manifest) {
  BANYAN_ASSIGN_OR_RETURN(const std::vector<JsonAt> shards, json.Items());
  IndexShard before;
  for (const JsonAt& one : shards) {
    IndexShard shard;
    BANYAN_RETURN_IF_ERROR(ReadShard(one, manifest, shard));
    BANYAN_RETURN_IF_ERROR(CheckOrder(one, before, shard));
    before = shard;
    manifest.shards.push_back(std::move(shard));
  }
  return absl::OkStatus();
}

absl::Status ReadManifest(const JsonAt& json, IndexManifest& manifest) {
  // First, so that another version is told as such.
  BANYAN_ASSIGN_OR_RETURN(const std::string format, json.At("format").String());
  if (format != kFormat)
    return json.At("format").Expected(absl::StrCat("'", kFormat, "'"));
  std::int64_t number = 0;
  BANYAN_ASSIGN_OR_RETURN(number, json.At("version").Int());
  if (number != kVersion)
    return json.At("version").Expected(absl::StrCat(
        kVersion, "; build the index again with `banyan make index`"));
  BANYAN_RETURN_IF_ERROR(json.HasOnly(kManifestKeys));
  BANYAN_ASSIGN_OR_RETURN(manifest.tokenizer, json.At("tokenizer").String());
  BANYAN_RETURN_IF_ERROR(
      Read(json.At("vocab_size"), 1, std::numeric_limits<int>::max(), number));
  manifest.vocab_size = static_cast<int>(number);
  const int bytes = TokenBytesFor(manifest.vocab_size);
  BANYAN_RETURN_IF_ERROR(Read(json.At("token_bytes"), bytes, bytes, number));
  manifest.token_bytes = bytes;
  BANYAN_RETURN_IF_ERROR(Read(json.At("shard_tokens"), 2,
                              std::numeric_limits<std::int32_t>::max(),
                              manifest.shard_tokens));
  BANYAN_RETURN_IF_ERROR(ReadShards(json.At("shards"), manifest));
  std::string name;
  BANYAN_RETURN_IF_ERROR(ReadManifestName(json.At("manifest_fnv1a"), name));
  const std::string expected = NameOf(JsonOf(manifest));
  return name == expected
             ? absl::OkStatus()
             : json.At("manifest_fnv1a")
                   .Error(absl::StrCat("expected ", expected, ", found ", name,
                                       ": the file was changed"));
}

std::string ShardPath(const std::string& folder, std::size_t shard,
                      absl::string_view ending) {
  return absl::StrFormat("%s/%03d.%s", folder, shard, ending);
}

}  // namespace

std::int64_t IndexManifest::tokens() const {
  std::int64_t sum = 0;
  for (const IndexShard& shard : shards) sum += shard.suffixes;
  return sum;
}

std::int64_t IndexManifest::bytes() const {
  std::int64_t sum = 0;
  for (const IndexShard& shard : shards)
    sum += shard.tokens * token_bytes +
           shard.suffixes * static_cast<std::int64_t>(kSuffixBytes);
  return sum;
}

std::string TokensPath(const std::string& folder, std::size_t shard) {
  return ShardPath(folder, shard, "tokens");
}

std::string SuffixesPath(const std::string& folder, std::size_t shard) {
  return ShardPath(folder, shard, "suffixes");
}

int TokenBytesFor(int vocab_size) {
  return vocab_size <= std::numeric_limits<std::uint16_t>::max() ? 2 : 4;
}

std::string ToJson(const IndexManifest& manifest) {
  JsonValue out = JsonOf(manifest);
  const std::string name = NameOf(out);
  out["manifest_fnv1a"] = name;
  return out.Text(2) + "\n";
}

absl::StatusOr<IndexManifest> ReadIndexManifest(const std::string& folder,
                                                absl::string_view file) {
  const std::string path = absl::StrCat(folder, "/", file);
  BANYAN_ASSIGN_OR_RETURN(const std::string text,
                          ReadFile(path, kMostManifestBytes));
  BANYAN_ASSIGN_OR_RETURN(const JsonTree tree, JsonTree::Parse(text, path));
  IndexManifest manifest;
  BANYAN_RETURN_IF_ERROR(ReadManifest(tree.root(), manifest));
  if (manifest.shards.empty() && file == kIndexFile)
    return tree.root().At("shards").Expected("at least one shard");
  return manifest;
}

}  // namespace banyan
