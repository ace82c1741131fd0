// The host device's memory, which knows who wrote and who read each word last.
//
// Real devices let threads read what nobody has written, or what another thread
// is just writing, and mostly get away with it. Here both are faults.
#ifndef BANYAN_CORE_DEVICE_CUDA_HOST_MEMORY_H_
#define BANYAN_CORE_DEVICE_CUDA_HOST_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace banyan {

// A thread at a moment. `barriers` counts those that its block has passed,
// `warp_barriers` those of its warp.
struct ThreadMoment {
  std::uint32_t launch : 31 = 0;  // from 1 on
  // The launch before may still run: it has not been awaited.
  std::uint32_t early : 1 = 0;
  std::uint32_t block = 0;
  std::uint16_t thread = 0;
  std::uint16_t barriers = 0;
  std::uint32_t warp_barriers = 0;
};

// What was accessed against the rules, in words; ends the block that did it.
struct MemoryFault {
  std::string what;
};

// One allocation. Its bytes belong to it.
class HostMemory {
 public:
  static constexpr std::size_t kWord = 4;

  // Fresh: nothing in it has been written.
  HostMemory(std::string name, std::size_t bytes);
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  std::byte* data() { return bytes_.data(); }
  std::size_t bytes() const { return size_; }
  const std::string& name() const { return name_; }

  // As if it had just been allocated, of memory that is tracked.
  void Poison() { Fill(false); }
  // From now on accesses are told apart; to be called before the first launch
  // that may write here. What only copies write, as weights, does without.
  void Track();
  // Something outside of kernels has written these bytes.
  void MarkWritten(std::size_t first, std::size_t count);

  // An access by a thread, which throws a MemoryFault if it breaks the rules:
  // within the allocation, written before it is read, and of whatever another
  // thread does to the same word, parted by a barrier. Writes are of whole
  // words.
  void Read(std::size_t first, std::size_t count, const ThreadMoment& by) {
    if (words_ != nullptr || !all_written_) ReadWords(first, count, by);
  }
  void Write(std::size_t first, std::size_t count, const ThreadMoment& by);
  // A word changed in one step, which needs no barrier between threads that do
  // the same.
  void Atomic(std::size_t first, const ThreadMoment& by);

  // Copies that are under way (kernel.h). Where one goes nothing may be touched
  // from Expect, which counts as a write, until Arrived; where it comes from
  // nothing may be written from Hold, which counts as a read, until LetGo.
  void Expect(std::size_t first, std::size_t count, const ThreadMoment& by);
  void Arrived(std::size_t first, std::size_t count, const ThreadMoment& by);
  void Hold(std::size_t first, std::size_t count, const ThreadMoment& by);
  void LetGo(std::size_t first, std::size_t count);

 private:
  struct Word {
    ThreadMoment writer;  // launch 0: none since the memory was filled
    ThreadMoment reader;
    std::uint32_t filling = 0;  // what is said here is of that one, or nothing
    bool written = false;
    bool atomic = false;        // the last write was
    bool many_readers = false;  // since the last barrier of the block
    bool many_warps = false;
    bool many_blocks = false;  // in this launch
    bool expected = false;     // a copy of the writer goes here
    std::uint16_t held = 0;    // by as many copies
  };

  void ReadWords(std::size_t first, std::size_t count, const ThreadMoment& by);
  // All of it is something else now.
  void Fill(bool written) {
    ++filling_;
    all_written_ = written;
  }
  Word& WordAt(std::size_t at) {
    Word& word = words_[at];
    if (word.filling != filling_)
      word = {.filling = filling_, .written = all_written_};
    return word;
  }
  [[noreturn]] void Fault(const std::string& what, std::size_t first) const;

  std::string name_;
  std::size_t size_;
  std::vector<std::byte> bytes_;
  // Since all of it was filled last: whether with numbers, or with nothing.
  bool all_written_ = false;
  std::uint32_t filling_ = 1;
  // Zeros until they are touched, of which large arrays cost nothing.
  std::unique_ptr<Word[], decltype(&std::free)> words_;
};

}  // namespace banyan

#endif  // BANYAN_CORE_DEVICE_CUDA_HOST_MEMORY_H_
