#include "core/device/ranks/communicator.h"

#include <cstddef>
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

// The value of every rank, in their order.
template <typename T>
absl::StatusOr<std::vector<T>> GatherValues(Communicator& ranks, T mine) {
  const auto count = static_cast<std::size_t>(ranks.size());
  std::vector<T> all(count);
  BANYAN_RETURN_IF_ERROR(ranks.Gather(
      {reinterpret_cast<const std::byte*>(&mine), sizeof(T)},
      std::vector<std::size_t>(count, sizeof(T)),
      {reinterpret_cast<std::byte*>(all.data()), count * sizeof(T)}));
  return all;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> GatherTexts(Communicator& ranks,
                                                     absl::string_view mine) {
  BANYAN_ASSIGN_OR_RETURN(const std::vector<std::size_t> sizes,
                          GatherValues(ranks, mine.size()));
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
  BANYAN_ASSIGN_OR_RETURN(const std::vector<double> all,
                          GatherValues(ranks, mine));
  return all.front();
}

absl::Status WaitForAll(Communicator& ranks) {
  return GatherValues(ranks, std::byte{1}).status();
}

}  // namespace banyan
