#include "core/device/cuda/host_memory.h"

#include <cstddef>
#include <cstdlib>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/check.h"

namespace banyan {
namespace {

// Not a number, as a float, a double or bfloat16s, and rubbish as an integer.
constexpr std::byte kPoison{0xff};
constexpr int kWarp = 32;

// Whether `earlier`, of the same launch, is parted from `now` by a barrier that
// both passed, or is the same thread's.
bool Ordered(const ThreadMoment& earlier, const ThreadMoment& now) {
  if (earlier.block != now.block) return false;
  if (earlier.thread == now.thread) return true;
  if (earlier.barriers != now.barriers) return true;
  return earlier.thread / kWarp == now.thread / kWarp &&
         earlier.warp_barriers < now.warp_barriers;
}

// Whether `earlier` is of the launch before, which may still run.
bool Unawaited(const ThreadMoment& earlier, const ThreadMoment& now) {
  return now.early != 0 && earlier.launch != 0 &&
         earlier.launch + 1 == now.launch;
}

std::string Name(const ThreadMoment& thread, const ThreadMoment& now) {
  return thread.block == now.block ? absl::StrCat("thread ", thread.thread)
                                   : absl::StrCat("thread ", thread.thread,
                                                  " of block ", thread.block);
}

std::string Between(const ThreadMoment& other, const ThreadMoment& now) {
  return other.block == now.block
             ? " with no barrier between"
             : " in the same launch, where no barrier parts blocks";
}

}  // namespace

HostMemory::HostMemory(std::string name, std::size_t bytes)
    : name_(std::move(name)),
      size_(bytes),
      bytes_(bytes, kPoison),
      words_(nullptr, &std::free) {}

void HostMemory::Track() {
  if (words_ != nullptr) return;
  words_.reset(static_cast<Word*>(
      std::calloc((size_ + kWord - 1) / kWord + 1, sizeof(Word))));
  Check(words_ != nullptr, "no memory to tell accesses apart");
}

void HostMemory::MarkWritten(std::size_t first, std::size_t count) {
  if (count == size_) return Fill(true);
  if (words_ == nullptr && all_written_) return;
  Track();
  // A word that is written in part is taken as written: what comes from outside
  // comes in whole arrays.
  for (std::size_t word = first / kWord; word * kWord < first + count; ++word)
    words_[word] = {.filling = filling_, .written = true};
}

void HostMemory::Fault(const std::string& what, std::size_t first) const {
  throw MemoryFault{absl::StrCat(what, " (", name_, ", byte ", first, ")")};
}

void HostMemory::ReadWords(std::size_t first, std::size_t count,
                           const ThreadMoment& by) {
  Track();
  for (std::size_t at = first / kWord; at * kWord < first + count; ++at) {
    Word& word = WordAt(at);
    if (!word.written) Fault("reads what nothing has written", at * kWord);
    if (word.expected)
      Fault(absl::StrCat("reads what a copy of ", Name(word.writer, by),
                         " is bringing"),
            at * kWord);
    if (Unawaited(word.writer, by))
      Fault("reads what the launch before wrote, which was not awaited",
            at * kWord);
    if (word.writer.launch == by.launch && !Ordered(word.writer, by))
      Fault(absl::StrCat("reads what ", Name(word.writer, by), " wrote",
                         Between(word.writer, by)),
            at * kWord);
    ThreadMoment& reader = word.reader;
    if (reader.launch != by.launch) {
      word.many_readers = word.many_warps = word.many_blocks = false;
      reader = by;
      continue;
    }
    const bool other_warp = reader.thread / kWarp != by.thread / kWarp;
    // Readers that a barrier parts from this one need not be remembered: what
    // comes after this one comes after them.
    const bool beside = reader.block == by.block &&
                        reader.barriers == by.barriers &&
                        (word.many_warps || other_warp ||
                         reader.warp_barriers == by.warp_barriers);
    word.many_readers =
        beside && (word.many_readers || reader.thread != by.thread);
    word.many_warps = beside && (word.many_warps || other_warp);
    word.many_blocks = word.many_blocks || reader.block != by.block;
    reader = by;
  }
}

void HostMemory::Write(std::size_t first, std::size_t count,
                       const ThreadMoment& by) {
  Track();
  for (std::size_t at = first / kWord; at * kWord < first + count; ++at) {
    Word& word = WordAt(at);
    if (word.expected)
      Fault(absl::StrCat("writes where a copy of ", Name(word.writer, by),
                         " goes"),
            at * kWord);
    if (word.held > 0) Fault("writes what a copy under way reads", at * kWord);
    if (Unawaited(word.writer, by) || Unawaited(word.reader, by))
      Fault("writes what the launch before touches, which was not awaited",
            at * kWord);
    if (word.writer.launch == by.launch && !Ordered(word.writer, by))
      Fault(absl::StrCat("writes what ", Name(word.writer, by), " wrote",
                         Between(word.writer, by)),
            at * kWord);
    if (word.reader.launch == by.launch) {
      const bool by_warp = word.reader.thread / kWarp == by.thread / kWarp &&
                           word.reader.warp_barriers < by.warp_barriers;
      const bool many = word.many_readers && !(by_warp && !word.many_warps) &&
                        word.reader.barriers == by.barriers;
      if (word.many_blocks || many || !Ordered(word.reader, by))
        Fault(absl::StrCat("writes what ", Name(word.reader, by), " reads",
                           Between(word.reader, by)),
              at * kWord);
    }
    word.writer = by;
    word.written = true;
    word.atomic = false;
  }
}

void HostMemory::Expect(std::size_t first, std::size_t count,
                        const ThreadMoment& by) {
  Write(first, count, by);
  for (std::size_t at = first / kWord; at * kWord < first + count; ++at)
    words_[at].expected = true;
}

void HostMemory::Arrived(std::size_t first, std::size_t count,
                         const ThreadMoment& by) {
  for (std::size_t at = first / kWord; at * kWord < first + count; ++at) {
    words_[at].expected = false;
    words_[at].writer = by;
  }
}

void HostMemory::Hold(std::size_t first, std::size_t count,
                      const ThreadMoment& by) {
  Read(first, count, by);
  if (words_ == nullptr) return;
  for (std::size_t at = first / kWord; at * kWord < first + count; ++at)
    ++WordAt(at).held;
}

void HostMemory::LetGo(std::size_t first, std::size_t count) {
  if (words_ == nullptr) return;
  for (std::size_t at = first / kWord; at * kWord < first + count; ++at)
    if (WordAt(at).held > 0) --WordAt(at).held;
}

void HostMemory::Atomic(std::size_t first, const ThreadMoment& by) {
  Track();
  Word& word = WordAt(first / kWord);
  if (!word.written) Fault("reads what nothing has written", first);
  if (!word.atomic || word.writer.launch != by.launch) {
    Read(first, kWord, by);
    Write(first, kWord, by);
  }
  word.writer = by;
  word.atomic = true;
}

}  // namespace banyan
