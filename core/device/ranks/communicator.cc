#include "core/device/ranks/communicator.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/fnv1a.h"
#include "core/base/status_macros.h"

namespace banyan {
namespace {

absl::Span<std::byte> WritableBytes(std::string& text) {
  return {reinterpret_cast<std::byte*>(text.data()), text.size()};
}

}  // namespace

absl::StatusOr<std::vector<std::string>> GatherTexts(Communicator& ranks,
                                                     absl::string_view mine) {
  const auto count = static_cast<std::size_t>(ranks.size());
  const std::uint64_t length = mine.size();
  std::vector<std::uint64_t> lengths(count);
  BANYAN_RETURN_IF_ERROR(ranks.Gather(
      {reinterpret_cast<const std::byte*>(&length), sizeof(length)},
      std::vector<std::size_t>(count, sizeof(length)),
      {reinterpret_cast<std::byte*>(lengths.data()), count * sizeof(length)}));
  const std::vector<std::size_t> sizes(lengths.begin(), lengths.end());
  std::size_t size = 0;
  for (const std::size_t one : sizes) size += one;
  std::string all(size, '\0');
  BANYAN_RETURN_IF_ERROR(
      ranks.Gather(BytesOf(mine), sizes, WritableBytes(all)));
  std::vector<std::string> texts;
  std::size_t at = 0;
  for (const std::size_t one : sizes) {
    texts.push_back(all.substr(at, one));
    at += one;
  }
  return texts;
}

absl::StatusOr<std::string> Broadcast(Communicator& ranks,
                                      absl::string_view mine) {
  BANYAN_ASSIGN_OR_RETURN(
      std::vector<std::string> texts,
      GatherTexts(ranks, ranks.rank() == 0 ? mine : absl::string_view()));
  return texts.front();
}

absl::StatusOr<double> Agree(Communicator& ranks, double mine) {
  const auto count = static_cast<std::size_t>(ranks.size());
  std::vector<double> all(count);
  BANYAN_RETURN_IF_ERROR(ranks.Gather(
      {reinterpret_cast<const std::byte*>(&mine), sizeof(mine)},
      std::vector<std::size_t>(count, sizeof(mine)),
      {reinterpret_cast<std::byte*>(all.data()), count * sizeof(mine)}));
  return all.front();
}

absl::Status WaitForAll(Communicator& ranks) {
  constexpr std::byte kHere{1};
  const auto count = static_cast<std::size_t>(ranks.size());
  std::vector<std::byte> all(count);
  return ranks.Gather({&kHere, 1}, std::vector<std::size_t>(count, 1),
                      absl::MakeSpan(all));
}

}  // namespace banyan
