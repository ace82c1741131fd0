#include "core/transformer/model_split.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/check.h"
#include "core/base/weight_format.h"

namespace banyan {

Partition::Partition(int size, int unit, int ranks) {
  const std::int64_t units = (size + unit - 1) / unit;
  for (int rank = 0; rank < ranks; ++rank)
    // Rank 0 has a largest part.
    ends_.push_back(std::min(
        size,
        unit * static_cast<int>((units * (rank + 1) + ranks - 1) / ranks)));
}

Stretch Partition::of(int rank) const {
  const auto place = static_cast<std::size_t>(rank);
  const int first = rank == 0 ? 0 : ends_[place - 1];
  return {first, ends_[place] - first};
}

Partition Partition::Widened(int times) const {
  Partition wide = *this;
  for (int& end : wide.ends_) end *= times;
  return wide;
}

ModelSplit::ModelSplit(const Architecture& architecture,
                       std::shared_ptr<Communicator> ranks)
    : ranks_(std::move(ranks)),
      rank_(ranks_ == nullptr ? 0 : ranks_->rank()),
      count_(ranks_ == nullptr ? 1 : ranks_->size()),
      group_(architecture.heads / architecture.kv_heads),
      key_heads_(architecture.kv_heads, 1, count_),
      queries_(key_heads_.Widened(group_ * architecture.head_dim)),
      hidden_(architecture.hidden_size, kPanelRows, count_),
      inner_(architecture.feed_forward_size, kPanelRows, count_) {}

Partition ModelSplit::Logits(int rows) const {
  return {rows, kPanelRows, count_};
}

absl::Status ModelSplit::Gather(const Tensor& rows, const Partition& parts,
                                DeviceMemory& memory) {
  if (whole()) return absl::OkStatus();
  Check(rows.columns == parts.size(), "a gather of other columns");
  const auto count = static_cast<std::size_t>(rows.rows);
  const auto bytes_of = [&](int rank) {
    return static_cast<std::size_t>(parts.of(rank).count) * sizeof(float);
  };
  const auto place = [&](std::size_t row, int column) {
    return (rows.offset + row * rows.stride +
            static_cast<std::size_t>(column)) *
           sizeof(float);
  };
  std::vector<std::size_t> sizes;
  for (int rank = 0; rank < count_; ++rank)
    sizes.push_back(count * bytes_of(rank));
  mine_.resize(sizes[static_cast<std::size_t>(rank_)]);
  const std::size_t own = bytes_of(rank_);
  for (std::size_t row = 0; own > 0 && row < count; ++row)
    BANYAN_RETURN_IF_ERROR(
        memory.Download(*rows.buffer, place(row, parts.of(rank_).first),
                        absl::MakeSpan(mine_).subspan(row * own, own)));
  BANYAN_RETURN_IF_ERROR(Exchange(sizes));
  const std::byte* from = all_.data();
  for (int rank = 0; rank < count_; ++rank) {
    const std::size_t size = bytes_of(rank);
    for (std::size_t row = 0; row < count; ++row, from += size)
      if (rank != rank_ && size > 0)
        BANYAN_RETURN_IF_ERROR(memory.Upload({from, size}, *rows.buffer,
                                             place(row, parts.of(rank).first)));
  }
  return absl::OkStatus();
}

absl::Status ModelSplit::GatherMasses(std::vector<float>& masses,
                                      std::size_t chunks) {
  if (whole()) return absl::OkStatus();
  std::vector<std::size_t> sizes;
  for (int rank = 0; rank < count_; ++rank)
    sizes.push_back(static_cast<std::size_t>(key_heads_.of(rank).count) *
                    chunks * sizeof(float));
  mine_.resize(sizes[static_cast<std::size_t>(rank_)]);
  Check(masses.size() * sizeof(float) == mine_.size(),
        "the masses of other key heads");
  if (!mine_.empty()) std::memcpy(mine_.data(), masses.data(), mine_.size());
  BANYAN_RETURN_IF_ERROR(Exchange(sizes));
  masses.resize(all_.size() / sizeof(float));
  if (!all_.empty()) std::memcpy(masses.data(), all_.data(), all_.size());
  return absl::OkStatus();
}

void ModelSplit::Note(absl::Span<const int> numbers) {
  if (whole()) return;
  const std::size_t count = numbers.size();
  note_ =
      Fnv1a({reinterpret_cast<const std::byte*>(&count), sizeof(count)}, note_);
  note_ = Fnv1a(
      {reinterpret_cast<const std::byte*>(numbers.data()), count * sizeof(int)},
      note_);
  noted_ = true;
}

// Fills all_ with the mine_ of every rank.
absl::Status ModelSplit::Exchange(absl::Span<const std::size_t> sizes) {
  std::vector<std::size_t> sent(sizes.begin(), sizes.end());
  const std::size_t extra = noted_ ? sizeof(note_) : 0;
  if (noted_) {
    const auto* note = reinterpret_cast<const std::byte*>(&note_);
    mine_.insert(mine_.end(), note, note + extra);
    for (std::size_t& size : sent) size += extra;
    noted_ = false;
  }
  std::size_t total = 0;
  for (const std::size_t size : sent) total += size;
  all_.resize(total);
  BANYAN_RETURN_IF_ERROR(ranks_->Gather(mine_, sent, absl::MakeSpan(all_)));
  if (extra == 0) return absl::OkStatus();
  // Takes the notes out.
  std::size_t from = 0;
  std::size_t to = 0;
  for (std::size_t rank = 0; rank < sent.size(); ++rank) {
    if (std::memcmp(&all_[from + sizes[rank]], &note_, extra) != 0)
      return absl::DataLossError(absl::StrCat(
          "rank ", rank, " and rank ", rank_,
          " have drafted or accepted different tokens: their machines or "
          "programs compute differently"));
    std::memmove(&all_[to], &all_[from], sizes[rank]);
    from += sent[rank];
    to += sizes[rank];
  }
  all_.resize(to);
  return absl::OkStatus();
}

}  // namespace banyan
