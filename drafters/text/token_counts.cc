#include "drafters/text/token_counts.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <utility>

#include "core/base/messages.h"
#include "core/base/number_rows.h"
#include "core/checkpoint/safetensors.h"
#include "core/checkpoint/stored_tensor.h"
#include "core/checkpoint/tensor_file.h"

namespace banyan {

namespace {

static_assert(std::endian::native == std::endian::little,
              "stored numbers are little-endian and are copied as they are");

constexpr char kUnigram[] = "unigram";
constexpr char kOffsets[] = "bigram.offsets";
constexpr char kTokens[] = "bigram.tokens";
constexpr char kCounts[] = "bigram.counts";
constexpr std::array<absl::string_view, 4> kNames = {kUnigram, kOffsets,
                                                     kTokens, kCounts};

DType TypeOf(std::int64_t) { return DType::kI64; }
DType TypeOf(std::int32_t) { return DType::kI32; }

// Reads the tensors of one file and says what is wrong with them.
class CountsReader {
 public:
  explicit CountsReader(const TensorFile& file) : file_(file) {}

  absl::Status Error(absl::string_view tensor, absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat(
        file_.path(), ": tensor ", QuotedName(tensor), ": ", what));
  }

  absl::Status CheckNames() const {
    for (const auto& [name, tensor] : file_.tensors())
      if (std::find(kNames.begin(), kNames.end(), name) == kNames.end())
        return Error(name,
                     absl::StrCat("expected none but ",
                                  absl::StrJoin(kNames, ", "), ", found this"));
    return absl::OkStatus();
  }

  // The `size` numbers of a tensor; `why` says where that size comes from. A
  // negative size is any.
  template <typename T>
  absl::Status Read(absl::string_view name, std::int64_t size,
                    absl::string_view why, std::vector<T>& out) const {
    const StoredTensor* tensor = file_.Find(name);
    if (tensor == nullptr) return Error(name, "is missing");
    const bool fits = tensor->dtype == TypeOf(T{}) &&
                      tensor->shape.size() == 1 &&
                      (size < 0 || tensor->shape.front() == size);
    if (!fits)
      return Error(name,
                   absl::StrCat("expected ", DTypeName(TypeOf(T{})), " [",
                                size < 0 ? "any" : absl::StrCat(size), "]", why,
                                ", found ", DTypeName(tensor->dtype), " ",
                                ShapeText(tensor->shape)));
    out.resize(static_cast<std::size_t>(tensor->shape.front()));
    if (!out.empty())
      std::memcpy(out.data(), tensor->data.data(), tensor->data.size());
    return tensor->CheckWhole();
  }

 private:
  const TensorFile& file_;
};

// "entry 3 is -1, expected WHAT".
template <typename T>
std::string Entry(std::size_t index, T value, absl::string_view expected) {
  return absl::StrCat("entry ", index, " is ", value, ", expected ", expected);
}

absl::Status CheckUnigram(const TokenCounts& counts,
                          const CountsReader& reader) {
  bool any = false;
  for (std::size_t i = 0; i < counts.unigram.size(); ++i) {
    if (counts.unigram[i] < 0)
      return reader.Error(kUnigram, Entry(i, counts.unigram[i], "at least 0"));
    any = any || counts.unigram[i] > 0;
  }
  if (any) return absl::OkStatus();
  return reader.Error(kUnigram,
                      "expected some token to be counted, found none");
}

absl::Status CheckOffsets(const TokenCounts& counts,
                          const CountsReader& reader) {
  const std::vector<std::int64_t>& offsets = counts.offsets;
  if (offsets.front() != 0)
    return reader.Error(kOffsets, Entry(0, offsets.front(), "0"));
  for (std::size_t i = 1; i < offsets.size(); ++i)
    if (offsets[i] < offsets[i - 1])
      return reader.Error(kOffsets,
                          Entry(i, offsets[i],
                                absl::StrCat("at least ", offsets[i - 1],
                                             ", the entry before it")));
  const auto pairs = static_cast<std::int64_t>(counts.tokens.size());
  if (offsets.back() == pairs) return absl::OkStatus();
  return reader.Error(kOffsets,
                      Entry(offsets.size() - 1, offsets.back(),
                            absl::StrCat(pairs, ", the size of ", kTokens)));
}

// Requires valid offsets.
absl::Status CheckPairs(const TokenCounts& counts, const CountsReader& reader) {
  const auto vocab_size = static_cast<TokenId>(counts.unigram.size());
  for (std::size_t i = 0; i < counts.tokens.size(); ++i) {
    if (counts.tokens[i] < 0 || counts.tokens[i] >= vocab_size)
      return reader.Error(
          kTokens, Entry(i, counts.tokens[i],
                         absl::StrCat("a token from 0 to ", vocab_size - 1)));
    if (counts.counts[i] < 1)
      return reader.Error(kCounts, Entry(i, counts.counts[i], "at least 1"));
  }
  for (std::size_t t = 0; t + 1 < counts.offsets.size(); ++t) {
    const auto end = static_cast<std::size_t>(counts.offsets[t + 1]);
    for (auto i = static_cast<std::size_t>(counts.offsets[t]) + 1; i < end; ++i)
      if (counts.tokens[i] <= counts.tokens[i - 1])
        return reader.Error(
            kTokens,
            Entry(i, counts.tokens[i],
                  absl::StrCat("more than ", counts.tokens[i - 1],
                               ", the one before it in the row of token ", t)));
  }
  return absl::OkStatus();
}

template <typename T>
TensorEntry Header(const char* name, const std::vector<T>& numbers) {
  return {.name = name,
          .dtype = TypeOf(T{}),
          .shape = {static_cast<std::int64_t>(numbers.size())}};
}

template <typename T>
absl::Status Append(SafetensorsWriter& file, const std::vector<T>& numbers) {
  return file.Append(
      absl::MakeConstSpan(reinterpret_cast<const std::byte*>(numbers.data()),
                          numbers.size() * sizeof(T)));
}

}  // namespace

absl::StatusOr<TokenCounts> ReadTokenCounts(const std::string& path,
                                            int vocab_size) {
  BANYAN_ASSIGN_OR_RETURN(const std::unique_ptr<TensorFile> file,
                          TensorFile::Open(path));
  const CountsReader reader(*file);
  TokenCounts counts;
  BANYAN_RETURN_IF_ERROR(reader.CheckNames());
  BANYAN_RETURN_IF_ERROR(reader.Read(
      kUnigram, vocab_size, ", the target's vocabulary", counts.unigram));
  BANYAN_RETURN_IF_ERROR(reader.Read(kOffsets, std::int64_t{vocab_size} + 1,
                                     ", the vocabulary and 1", counts.offsets));
  BANYAN_RETURN_IF_ERROR(reader.Read(kTokens, -1, "", counts.tokens));
  BANYAN_RETURN_IF_ERROR(
      reader.Read(kCounts, static_cast<std::int64_t>(counts.tokens.size()),
                  absl::StrCat(", as ", kTokens), counts.counts));
  BANYAN_RETURN_IF_ERROR(CheckUnigram(counts, reader));
  BANYAN_RETURN_IF_ERROR(CheckOffsets(counts, reader));
  BANYAN_RETURN_IF_ERROR(CheckPairs(counts, reader));
  return counts;
}

absl::Status WriteTokenCounts(const std::string& path,
                              const TokenCounts& counts) {
  BANYAN_ASSIGN_OR_RETURN(
      const std::unique_ptr<SafetensorsWriter> file,
      SafetensorsWriter::Create(
          path,
          {Header(kUnigram, counts.unigram), Header(kOffsets, counts.offsets),
           Header(kTokens, counts.tokens), Header(kCounts, counts.counts)}));
  BANYAN_RETURN_IF_ERROR(Append(*file, counts.unigram));
  BANYAN_RETURN_IF_ERROR(Append(*file, counts.offsets));
  BANYAN_RETURN_IF_ERROR(Append(*file, counts.tokens));
  BANYAN_RETURN_IF_ERROR(Append(*file, counts.counts));
  return file->Finish();
}

namespace {

SamplingRule WithoutBans(SamplingOptions options) {
  options.banned.clear();
  return SamplingRule(std::move(options));
}

bool KeepsCounts(const SamplingOptions& options) {
  return options.repetition_penalty == 1 && options.temperature == 1 &&
         options.top_k == 0 && options.top_p == 1 && options.min_p == 0;
}

Distribution ToDistribution(CountRow counts) {
  return Distribution::Sparse(counts.vocab_size, std::move(counts.tokens),
                              std::move(counts.values));
}

// Where the tokens of `text` stand among the counted ones, as far as they do.
std::vector<TokenId> Places(const CountRow& counts,
                            absl::Span<const TokenId> text) {
  std::vector<TokenId> places;
  for (TokenId token : text) {
    const auto at =
        std::lower_bound(counts.tokens.begin(), counts.tokens.end(), token);
    if (at != counts.tokens.end() && *at == token)
      places.push_back(static_cast<TokenId>(at - counts.tokens.begin()));
  }
  return places;
}

std::vector<double> LogShares(const std::vector<double>& values) {
  const double total = std::accumulate(values.begin(), values.end(), 0.0);
  std::vector<double> logits;
  logits.reserve(values.size());
  for (double value : values) logits.push_back(std::log(value / total));
  return logits;
}

}  // namespace

CountRule::CountRule(const SamplingRule& rule)
    : rule_(WithoutBans(rule.options())),
      banned_(rule.options().banned),
      keeps_counts_(KeepsCounts(rule.options())) {}

void CountRule::LeaveOutBanned(CountRow& counts) const {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < counts.tokens.size(); ++i) {
    if (std::find(banned_.begin(), banned_.end(), counts.tokens[i]) !=
        banned_.end())
      continue;
    counts.tokens[kept] = counts.tokens[i];
    counts.values[kept++] = counts.values[i];
  }
  counts.tokens.resize(kept);
  counts.values.resize(kept);
}

absl::StatusOr<Proposal> CountRule::Apply(
    DrawKind draw_kind, CountRow counts, absl::Span<const TokenId> history,
    absl::Span<const TokenId> path) const {
  if (!banned_.empty()) LeaveOutBanned(counts);
  const bool ranked = draw_kind == DrawKind::kDeterministic && !keeps_counts_;
  if (ranked || keeps_counts_ || counts.tokens.empty())
    return Proposal{ToDistribution(std::move(counts)), ranked};
  const int vocab_size = counts.vocab_size;
  if (greedy() && !reads_text()) {  // without a logarithm a token
    const Distribution law_of_counts = ToDistribution(std::move(counts));
    return Proposal{Distribution::OneHot(vocab_size, law_of_counts.Argmax())};
  }
  // The rule sees the counted tokens alone, numbered from 0.
  std::vector<TokenId> seen;
  std::vector<TokenId> on_path;
  if (reads_text()) {
    seen = Places(counts, history);
    on_path = Places(counts, path);
  }
  BANYAN_ASSIGN_OR_RETURN(const Distribution numbered,
                          rule_.Apply(LogShares(counts.values), seen, on_path));
  CountRow result = {.vocab_size = vocab_size};
  numbered.ForEach([&](TokenId number, double mass) {
    result.tokens.push_back(counts.tokens[static_cast<std::size_t>(number)]);
    result.values.push_back(mass);
  });
  return Proposal{ToDistribution(std::move(result))};
}

UnigramLaw::UnigramLaw(std::shared_ptr<const TokenCounts> counts,
                       const SamplingRule& rule)
    : counts_(std::move(counts)), rule_(rule) {}

// Made when it is first asked for: drafters are built often, and the bigram
// rarely needs this.
const CountRow& UnigramLaw::Seen() {
  if (seen_.vocab_size > 0) return seen_;
  const std::vector<std::int64_t>& counts = counts_->unigram;
  seen_.vocab_size = static_cast<int>(counts.size());
  for (std::size_t token = 0; token < counts.size(); ++token) {
    if (counts[token] == 0) continue;
    seen_.tokens.push_back(static_cast<TokenId>(token));
    seen_.values.push_back(static_cast<double>(counts[token]));
  }
  return seen_;
}

absl::StatusOr<Proposal> UnigramLaw::After(DrawKind draw_kind,
                                           absl::Span<const TokenId> history,
                                           absl::Span<const TokenId> path) {
  if (rule_.reads_text()) return rule_.Apply(draw_kind, Seen(), history, path);
  Proposal& made = draw_kind == DrawKind::kDeterministic ? scores_ : law_;
  if (made.q.vocab_size() == 0) {
    BANYAN_ASSIGN_OR_RETURN(made, rule_.Apply(draw_kind, Seen(), {}, {}));
  }
  return made;
}

std::vector<KeyRow> CountsKeys() {
  return {
      NameKey("counts",
              "A file that `banyan make counts` wrote, relative to this one."),
      SamplingKey()};
}

absl::StatusOr<CountsAndRule> TakeCounts(ParamsReader& in, Workbench& bench) {
  const Params* file = in.TakeRequired("counts");
  BANYAN_ASSIGN_OR_RETURN(SamplingRule rule, bench.TakeRule(in));
  BANYAN_RETURN_IF_ERROR(in.Finish());
  const int vocab_size = bench.target().vocab_size();
  const auto open = bench.OpenFile<TokenCounts>(
      *file, absl::StrCat("of ", vocab_size, " tokens"),
      [&](const std::string& path)
          -> absl::StatusOr<std::shared_ptr<const TokenCounts>> {
        BANYAN_ASSIGN_OR_RETURN(TokenCounts counts,
                                ReadTokenCounts(path, vocab_size));
        return std::make_shared<TokenCounts>(std::move(counts));
      });
  BANYAN_ASSIGN_OR_RETURN(std::shared_ptr<const TokenCounts> counts, open);
  return CountsAndRule{std::move(counts), std::move(rule)};
}

}  // namespace banyan
