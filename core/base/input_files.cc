#include "core/base/input_files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <mutex>
#include <system_error>

#include "core/base/check.h"

namespace banyan {

namespace {

bool IsGivenStream(absl::string_view path) {
  return path == "/dev/stdin" || absl::StartsWith(path, "/dev/fd/") ||
         absl::StartsWith(path, "/proc/self/fd/");
}

// What else can be read; of a directory reading says it itself.
absl::string_view KindOf(mode_t mode) {
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path,
                                     std::size_t max_bytes) {
  constexpr std::size_t kChunk = std::size_t{1} << 16;
  const auto error = [&path](int code) {
    const std::string message =
        absl::StrCat(path, ": ", std::generic_category().message(code));
    return code == ENOENT ? absl::NotFoundError(message)
                          : absl::InvalidArgumentError(message);
  };
  struct stat about = {};
  if (stat(path.c_str(), &about) != 0) return error(errno);
  if (!S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode) &&
      !IsGivenStream(path))
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": expected an ordinary file, found ", KindOf(about.st_mode)));
  const auto close = [](std::FILE* file) { std::fclose(file); };
  const std::unique_ptr<std::FILE, decltype(close)> file(
      std::fopen(path.c_str(), "rb"), close);
  if (file == nullptr) return error(errno);
  std::string text;
  std::size_t got = kChunk;
  while (got == kChunk && text.size() <= max_bytes) {
    const std::size_t had = text.size();
    text.resize(had + kChunk);
    got = std::fread(text.data() + had, 1, kChunk, file.get());
    text.resize(had + got);
  }
  if (std::ferror(file.get()) != 0) return error(errno);
  if (text.size() > max_bytes)
    return absl::InvalidArgumentError(absl::StrCat(
        path, ":1:1: the file is larger than ", max_bytes, " bytes"));
  return text;
}

FileState StateOf(const struct stat& about) {
  return {.device = about.st_dev,
          .inode = about.st_ino,
          .bytes = static_cast<std::uint64_t>(about.st_size),
          .written = {about.st_mtim.tv_sec, about.st_mtim.tv_nsec},
          .changed = {about.st_ctim.tv_sec, about.st_ctim.tv_nsec}};
}

std::optional<FileState> FileStateAt(const std::string& path) {
  struct stat about = {};
  if (stat(path.c_str(), &about) != 0) return std::nullopt;
  return StateOf(about);
}

// In a list that a signal handler walks: a range that is no longer guarded
// stays in it, empty, for the next guard.
struct GuardedRange {
  std::atomic<std::uintptr_t> begin = 0;
  std::atomic<std::uintptr_t> end = 0;
  std::atomic<bool> was_hit = false;
  bool is_taken = true;          // under the list's mutex
  GuardedRange* next = nullptr;  // never changes once it is in the list
};

namespace {

static_assert(std::atomic<std::uintptr_t>::is_always_lock_free &&
                  std::atomic<GuardedRange*>::is_always_lock_free,
              "a signal handler reads them");

std::atomic<GuardedRange*> first_range = nullptr;
std::uintptr_t page_bytes = 0;        // set before the handler is
struct sigaction action_before = {};  // as well

void PutZeros(int signal, siginfo_t* about, void* /*context*/) {
  const auto address = reinterpret_cast<std::uintptr_t>(about->si_addr);
  for (GuardedRange* range = first_range; range != nullptr;
       range = range->next) {
    if (address < range->begin || address >= range->end) continue;
    const std::uintptr_t page = address / page_bytes * page_bytes;
    range->was_hit = true;  // before another thread may read zeros
    if (mmap(reinterpret_cast<void*>(page), page_bytes, PROT_READ,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
      break;
    return;
  }
  // The instruction is tried again, and this signal is as it was.
  sigaction(signal, &action_before, nullptr);
}

std::mutex& ListMutex() {
  static std::mutex mutex;
  return mutex;
}

void Install() {
  page_bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  struct sigaction action = {};
  action.sa_sigaction = &PutZeros;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  Check(sigaction(SIGBUS, nullptr, &action_before) == 0 &&
            sigaction(SIGBUS, &action, nullptr) == 0,
        "SIGBUS can be handled");
}

// One that is in the list.
GuardedRange* Take() {
  const std::lock_guard<std::mutex> lock(ListMutex());
  if (first_range == nullptr) Install();
  for (GuardedRange* range = first_range; range != nullptr;
       range = range->next) {
    if (range->is_taken) continue;
    range->is_taken = true;
    range->was_hit = false;
    return range;
  }
  auto* const range = new GuardedRange;
  range->next = first_range;
  first_range = range;
  return range;
}

}  // namespace

CutGuard::CutGuard(absl::Span<const std::byte> mapping) : range_(Take()) {
  range_->begin = reinterpret_cast<std::uintptr_t>(mapping.data());
  range_->end = range_->begin + mapping.size();
}

bool CutGuard::was_hit() const { return range_->was_hit; }

void CutGuard::Freed::operator()(GuardedRange* range) const {
  range->end = 0;  // first: nothing lies before it
  range->begin = 0;
  const std::lock_guard<std::mutex> lock(ListMutex());
  range->is_taken = false;
}

namespace {

absl::Status SystemError(const std::string& path, int code) {
  const std::string message =
      absl::StrCat(path, ": ", std::generic_category().message(code));
  return code == ENOENT ? absl::NotFoundError(message)
                        : absl::InvalidArgumentError(message);
}

}  // namespace

// The file of `descriptor`, mapped; an empty file is an empty span.
absl::StatusOr<MappedFile::Mapping> MappedFile::Map(const std::string& path,
                                                    int descriptor) {
  struct stat about = {};
  if (fstat(descriptor, &about) != 0) return SystemError(path, errno);
  if (!S_ISREG(about.st_mode))
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": expected an ordinary file"));
  Mapping mapping = {{}, StateOf(about)};
  const auto size = static_cast<std::size_t>(about.st_size);
  if (size == 0) return mapping;
  void* start = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (start == MAP_FAILED) return SystemError(path, errno);
  mapping.bytes = {static_cast<const std::byte*>(start), size};
  return mapping;
}

absl::StatusOr<std::unique_ptr<MappedFile>> MappedFile::Open(
    const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return SystemError(path, errno);
  const absl::StatusOr<Mapping> mapping = Map(path, descriptor);
  close(descriptor);  // the mapping stays
  BANYAN_RETURN_IF_ERROR(mapping.status());
  return std::unique_ptr<MappedFile>(new MappedFile(path, *mapping));
}

MappedFile::~MappedFile() {
  guard_.reset();  // before another mapping may lie there
  if (!bytes_.empty())
    munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

absl::Status MappedFile::CheckLength() const {
  const std::optional<FileState> now = FileStateAt(path_);
  if (now.has_value() && now->IsSameFile(state_) && now->bytes < bytes_.size())
    return absl::DataLossError(absl::StrCat(
        path_, ": expected ", bytes_.size(), " bytes, as when it was opened, ",
        "found ", now->bytes, ": it was cut short since"));
  if (guard_->was_hit())
    return absl::DataLossError(absl::StrCat(
        path_, ": expected ", bytes_.size(),
        " bytes, as when it was opened, found fewer while it was read"));
  return absl::OkStatus();
}

void MappedFile::Release(absl::Span<const std::byte> part) const {
  if (part.empty()) return;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const auto begin = static_cast<std::size_t>(part.data() - bytes_.data());
  const std::size_t first = (begin + page - 1) / page * page;
  const std::size_t end = (begin + part.size()) / page * page;
  if (first >= end) return;
  // Advice: that it is not taken is no failure.
  (void)madvise(const_cast<std::byte*>(bytes_.data()) + first, end - first,
                MADV_DONTNEED);
}

}  // namespace banyan
