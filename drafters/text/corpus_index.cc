#include "drafters/text/corpus_index.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <limits>
#include <system_error>

#include "absl/memory/memory.h"
#include "core/base/bytes.h"
#include "core/base/check.h"
#include "core/base/messages.h"

namespace banyan {
namespace {

static_assert(std::endian::native == std::endian::little,
              "entries are little-endian and are read as they are");

constexpr int kBitsOfByte = 8;

absl::StatusOr<std::unique_ptr<MappedFile>> OpenSized(const std::string& path,
                                                      std::int64_t bytes) {
  BANYAN_ASSIGN_OR_RETURN(std::unique_ptr<MappedFile> file,
                          MappedFile::Open(path));
  if (file->bytes().size() != static_cast<std::size_t>(bytes))
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": expected ", bytes, " bytes, as the index says, found ",
        file->bytes().size()));
  return file;
}

absl::Status CheckSum(const MappedFile& file, const std::string& expected) {
  const std::string found = absl::StrFormat("%016x", Fnv1a(file.bytes()));
  if (found == expected) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      file.path(), ": the file was changed: expected bytes whose FNV-1a is ",
      expected, ", found ", found));
}

// The entry, a number of the file as it is.
std::uint32_t EntryAt(const MappedFile& file, std::int64_t entry) {
  std::uint32_t place = 0;
  std::memcpy(
      &place,
      file.bytes().data() + static_cast<std::size_t>(entry) * kSuffixBytes,
      kSuffixBytes);
  return place;
}

// A token as four bytes with the highest first, of which files have the last.
std::uint32_t TokenAt(const std::byte* bytes, std::size_t width) {
  std::uint32_t token = 0;
  for (std::size_t i = 0; i < width; ++i)
    token = token << kBitsOfByte | std::to_integer<std::uint32_t>(bytes[i]);
  return token;
}

}  // namespace

std::int64_t CorpusPlaces::count() const {
  std::int64_t sum = 0;
  for (const SuffixRange& range : shards) sum += range.end - range.begin;
  return sum;
}

absl::StatusOr<std::unique_ptr<CorpusIndex>> CorpusIndex::Open(
    const std::string& folder, absl::string_view file) {
  absl::StatusOr<IndexManifest> manifest = ReadIndexManifest(folder, file);
  std::error_code none;
  if (absl::IsNotFound(manifest.status()) &&
      std::filesystem::exists(absl::StrCat(folder, "/", kBuildingFile), none))
    return absl::NotFoundError(absl::StrCat(
        folder, "/", kIndexFile, ": the index is not whole yet: found ",
        kBuildingFile,
        "; `banyan make index` as it was started goes on with it"));
  BANYAN_RETURN_IF_ERROR(manifest.status());
  auto index = absl::WrapUnique(new CorpusIndex(folder, *std::move(manifest)));
  for (std::size_t i = 0; i < index->manifest_.shards.size(); ++i)
    BANYAN_RETURN_IF_ERROR(index->OpenShard(i));
  return index;
}

absl::Status CorpusIndex::OpenShard(std::size_t number) {
  const IndexShard& facts = manifest_.shards[number];
  Shard& shard = shards_.emplace_back();
  BANYAN_ASSIGN_OR_RETURN(shard.tokens,
                          OpenSized(TokensPath(folder_, number),
                                    facts.tokens * manifest_.token_bytes));
  BANYAN_ASSIGN_OR_RETURN(
      shard.suffixes,
      OpenSized(SuffixesPath(folder_, number),
                facts.suffixes * static_cast<std::int64_t>(kSuffixBytes)));
  shard.tokens_extents =
      CheckedExtents(shard.tokens->path(), facts.tokens_extents);
  shard.suffixes_extents =
      CheckedExtents(shard.suffixes->path(), facts.suffixes_extents);
  const absl::Span<const std::byte> text = shard.tokens->bytes();
  const auto width = static_cast<std::size_t>(manifest_.token_bytes);
  for (const std::byte byte : text.last(std::min(width, text.size())))
    if (byte != std::byte{0xff})
      return absl::InvalidArgumentError(absl::StrCat(
          shard.tokens->path(), ": expected a separator at its end, found ",
          TokenAt(text.data() + text.size() - width, width)));
  return absl::OkStatus();
}

// `read`, unless a file was cut short before or while it was read.
template <typename Result>
Result CorpusIndex::Whole(Result read) const {
  for (const Shard& shard : shards_) {
    BANYAN_RETURN_IF_ERROR(shard.tokens->CheckLength());
    BANYAN_RETURN_IF_ERROR(shard.suffixes->CheckLength());
  }
  return read;
}

absl::Status CorpusIndex::CheckFits(absl::string_view tokenizer,
                                    int vocab_size) const {
  const auto refusal = [this](absl::string_view key, const auto& found,
                              const auto& expected) {
    return absl::InvalidArgumentError(absl::StrCat(
        folder_, "/", kIndexFile, ": ", key, ": expected ", expected,
        ", found ", found, ": the index is of another tokenizer"));
  };
  if (manifest_.vocab_size > vocab_size)
    return refusal("vocab_size", manifest_.vocab_size,
                   absl::StrCat("no more than the target's ", vocab_size));
  if (tokenizer.empty() || manifest_.tokenizer.empty() ||
      tokenizer == manifest_.tokenizer)
    return absl::OkStatus();
  return refusal("tokenizer", manifest_.tokenizer,
                 absl::StrCat("the target's ", tokenizer));
}

absl::Status CorpusIndex::CheckSums() const { return Whole(ReadSums()); }

absl::Status CorpusIndex::ReadSums() const {
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    BANYAN_RETURN_IF_ERROR(
        CheckSum(*shards_[i].tokens, manifest_.shards[i].tokens_fnv1a));
    BANYAN_RETURN_IF_ERROR(
        CheckSum(*shards_[i].suffixes, manifest_.shards[i].suffixes_fnv1a));
  }
  return absl::OkStatus();
}

bool CorpusIndex::Key(absl::Span<const TokenId> string,
                      std::vector<std::byte>& key) const {
  key.clear();
  for (const TokenId token : string) {
    if (token < 0 || token >= manifest_.vocab_size) return false;
    for (int i = manifest_.token_bytes - 1; i >= 0; --i)
      key.push_back(static_cast<std::byte>(token >> kBitsOfByte * i & 0xff));
  }
  return true;
}

absl::StatusOr<std::size_t> CorpusIndex::PlaceAt(std::size_t shard,
                                                 std::int64_t entry) const {
  BANYAN_RETURN_IF_ERROR(shards_[shard].suffixes_extents.Check(
      shards_[shard].suffixes->bytes(),
      static_cast<std::size_t>(entry) * kSuffixBytes, kSuffixBytes));
  const std::uint32_t place = EntryAt(*shards_[shard].suffixes, entry);
  if (place < manifest_.shards[shard].tokens) return place;
  return absl::DataLossError(absl::StrCat(
      shards_[shard].suffixes->path(), ": entry ", entry, " is ", place,
      ", expected less than ", manifest_.shards[shard].tokens,
      ", the tokens of the shard"));
}

absl::StatusOr<int> CorpusIndex::Order(std::size_t shard, std::int64_t entry,
                                       const Sought& sought) const {
  BANYAN_ASSIGN_OR_RETURN(const std::size_t place, PlaceAt(shard, entry));
  const auto width = static_cast<std::size_t>(manifest_.token_bytes);
  const absl::Span<const std::byte> all = shards_[shard].tokens->bytes();
  BANYAN_RETURN_IF_ERROR(shards_[shard].tokens_extents.Check(
      all, place * width, sought.key.size() + width));
  const absl::Span<const std::byte> text = all.subspan(place * width);
  // The text ends with a separator, and the key has none: what is shorter than
  // the key differs from it.
  const std::size_t length = std::min(sought.key.size(), text.size());
  const int order =
      length == 0 ? 0 : std::memcmp(text.data(), sought.key.data(), length);
  if (order != 0 || !sought.followed) return order;
  for (const std::byte byte : text.subspan(length, width))
    if (byte != std::byte{0xff}) return 0;
  return 1;
}

absl::StatusOr<std::int64_t> CorpusIndex::Bound(std::size_t shard,
                                                SuffixRange range,
                                                const Sought& sought,
                                                bool past) const {
  while (range.begin < range.end) {
    const std::int64_t middle = range.begin + (range.end - range.begin) / 2;
    BANYAN_ASSIGN_OR_RETURN(const int order, Order(shard, middle, sought));
    if (order < 0 || (past && order == 0))
      range.begin = middle + 1;
    else
      range.end = middle;
  }
  return range.begin;
}

absl::StatusOr<bool> CorpusIndex::FindBegins(const Sought& sought,
                                             CorpusPlaces& places) const {
  bool any = false;
  places.shards.clear();
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    const SuffixRange all = {0, manifest_.shards[i].suffixes};
    BANYAN_ASSIGN_OR_RETURN(const std::int64_t begin,
                            Bound(i, all, sought, /*past=*/false));
    SuffixRange& found = places.shards.emplace_back(SuffixRange{begin, begin});
    if (begin == all.end) continue;
    BANYAN_ASSIGN_OR_RETURN(const int order, Order(i, begin, sought));
    if (order != 0) continue;
    found.end = begin + 1;
    any = true;
  }
  return any;
}

// From where they begin in steps that double, so that few are soon counted.
absl::Status CorpusIndex::FindEnds(const Sought& sought,
                                   CorpusPlaces& places) const {
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    SuffixRange& found = places.shards[i];
    if (found.begin == found.end) continue;
    const std::int64_t all = manifest_.shards[i].suffixes;
    for (std::int64_t step = 1; found.end < all; step *= 2) {
      const std::int64_t last = std::min(found.end + step, all) - 1;
      BANYAN_ASSIGN_OR_RETURN(const int order, Order(i, last, sought));
      if (order > 0) {
        BANYAN_ASSIGN_OR_RETURN(
            found.end, Bound(i, {found.end, last}, sought, /*past=*/true));
        break;
      }
      found.end = last + 1;
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<CorpusPlaces> CorpusIndex::Find(
    absl::Span<const TokenId> string) const {
  return Whole(ReadPlaces(string));
}

absl::StatusOr<CorpusMatch> CorpusIndex::LongestMatch(
    absl::Span<const TokenId> text, int shortest, int longest) const {
  Check(shortest >= 1, "a match has a token");
  return Whole(ReadLongestMatch(text, shortest, longest));
}

absl::StatusOr<CorpusPassages> CorpusIndex::After(const CorpusMatch& match,
                                                  int depth, int most) const {
  return Whole(ReadAfter(match, depth, most));
}

absl::StatusOr<CorpusPlaces> CorpusIndex::ReadPlaces(
    absl::Span<const TokenId> string) const {
  CorpusPlaces places;
  Sought sought;
  if (!Key(string, sought.key)) {
    places.shards.resize(shards_.size());
    return places;
  }
  BANYAN_RETURN_IF_ERROR(FindBegins(sought, places).status());
  BANYAN_RETURN_IF_ERROR(FindEnds(sought, places));
  return places;
}

absl::StatusOr<CorpusMatch> CorpusIndex::ReadLongestMatch(
    absl::Span<const TokenId> text, int shortest, int longest) const {
  CorpusMatch match;
  Sought longest_sought, sought = {.key = {}, .followed = true};
  CorpusPlaces places;
  int least = shortest;  // of the lengths that may be it
  int most = longest;
  if (text.size() < static_cast<std::size_t>(longest))
    most = static_cast<int>(text.size());
  while (least <= most) {
    const int length = least + (most - least) / 2;
    bool found = Key(text.last(static_cast<std::size_t>(length)), sought.key);
    if (found) {
      BANYAN_ASSIGN_OR_RETURN(found, FindBegins(sought, places));
    }
    if (found) {
      match.length = length;
      std::swap(match.places, places);
      longest_sought = sought;
      least = length + 1;
    } else {
      most = length - 1;
    }
  }
  if (match.length > 0)
    BANYAN_RETURN_IF_ERROR(FindEnds(longest_sought, match.places));
  return match;
}

absl::Status CorpusIndex::Append(std::size_t shard, std::size_t place,
                                 int depth, CorpusPassages& out) const {
  const auto width = static_cast<std::size_t>(manifest_.token_bytes);
  const absl::Span<const std::byte> text = shards_[shard].tokens->bytes();
  const std::size_t tokens = text.size() / width;
  const std::size_t end =
      std::min(place + static_cast<std::size_t>(depth), tokens);
  if (place < end)
    BANYAN_RETURN_IF_ERROR(shards_[shard].tokens_extents.Check(
        text, place * width, (end - place) * width));
  const std::uint32_t separator = std::numeric_limits<std::uint32_t>::max() >>
                                  kBitsOfByte * (sizeof(std::uint32_t) - width);
  for (std::size_t at = place; at < end; ++at) {
    const std::uint32_t token = TokenAt(text.data() + at * width, width);
    if (token == separator) break;
    if (token >= static_cast<std::uint32_t>(manifest_.vocab_size))
      return absl::DataLossError(absl::StrCat(
          shards_[shard].tokens->path(), ": token ", at, " is ", token,
          ", expected less than ", manifest_.vocab_size, ", the vocabulary"));
    out.tokens.push_back(static_cast<TokenId>(token));
  }
  out.ends.push_back(out.tokens.size());
  return absl::OkStatus();
}

// A place is read only after it was called for with others: memory answers
// several in the time of one.
absl::StatusOr<CorpusPassages> CorpusIndex::ReadAfter(const CorpusMatch& match,
                                                      int depth,
                                                      int most) const {
  const std::int64_t all = match.places.count();
  const std::int64_t read = std::min<std::int64_t>(all, most);
  const auto width = static_cast<std::size_t>(manifest_.token_bytes);
  CorpusPassages out;
  out.weight =
      read > 0 ? static_cast<double>(all) / static_cast<double>(read) : 1;
  struct Chosen {
    std::size_t shard;
    std::int64_t entry;
    std::size_t place;
  };
  std::vector<Chosen> chosen;
  chosen.reserve(static_cast<std::size_t>(read));
  std::size_t shard = 0;
  std::int64_t before = 0;  // places of the shards before
  for (std::int64_t i = 0; i < read; ++i) {
    const std::int64_t number = (2 * i + 1) * all / (2 * read);
    const SuffixRange* range = &match.places.shards[shard];
    while (number - before >= range->end - range->begin) {
      before += range->end - range->begin;
      range = &match.places.shards[++shard];
    }
    chosen.push_back({shard, range->begin + number - before, 0});
    __builtin_prefetch(shards_[shard].suffixes->bytes().data() +
                       static_cast<std::size_t>(chosen.back().entry) *
                           kSuffixBytes);
  }
  for (Chosen& one : chosen) {
    BANYAN_ASSIGN_OR_RETURN(one.place, PlaceAt(one.shard, one.entry));
    one.place += static_cast<std::size_t>(match.length);
    __builtin_prefetch(shards_[one.shard].tokens->bytes().data() +
                       one.place * width);
  }
  out.tokens.reserve(chosen.size() * static_cast<std::size_t>(depth));
  out.ends.reserve(chosen.size());
  for (const Chosen& one : chosen)
    BANYAN_RETURN_IF_ERROR(Append(one.shard, one.place, depth, out));
  return out;
}

}  // namespace banyan
