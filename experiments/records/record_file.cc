#include "experiments/records/record_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstddef>
#include <limits>
#include <optional>
#include <set>
#include <system_error>

#include "absl/memory/memory.h"
#include "core/base/input_files.h"
#include "google/protobuf/message_lite.h"

namespace banyan {
namespace {

using google::protobuf::MessageLite;

constexpr absl::string_view kMagic = "BANYANR1";
constexpr std::size_t kWordBytes = 4;
constexpr std::size_t kHeaderBytes = 3 * kWordBytes;
// More than a run writes; a file of this size would not fit into memory.
constexpr std::size_t kMaxFileBytes = std::size_t{64} << 30;
// The largest message that protobuf reads.
constexpr std::size_t kMaxPayloadBytes =
    std::numeric_limits<std::int32_t>::max();
constexpr int kReadableByAll = 0644;

std::uint32_t Checksum(absl::string_view bytes) {
  return static_cast<std::uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

void AppendWord(std::uint32_t word, std::string& out) {
  for (std::size_t i = 0; i < kWordBytes; ++i)
    out.push_back(static_cast<char>((word >> (8 * i)) & 0xFFU));
}

// The word at the beginning of at least four bytes.
std::uint32_t Word(absl::string_view bytes) {
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < kWordBytes; ++i)
    word |= std::uint32_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return word;
}

absl::StatusOr<std::string> Frame(const MessageLite& message) {
  std::string payload;
  if (message.ByteSizeLong() > kMaxPayloadBytes ||
      !message.SerializeToString(&payload))
    return absl::InternalError(
        absl::StrCat("an entry of ", message.ByteSizeLong(),
                     " bytes is larger than a message may be"));
  std::string entry;
  AppendWord(static_cast<std::uint32_t>(payload.size()), entry);
  AppendWord(Checksum(entry), entry);
  AppendWord(Checksum(payload), entry);
  return entry + payload;
}

absl::Status SystemError(const std::string& path, absl::string_view what) {
  return absl::InternalError(absl::StrCat(
      path, ": ", what, ": ", std::generic_category().message(errno)));
}

absl::Status Corrupt(const std::string& path, std::size_t byte,
                     absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": the entry at byte ", byte, ": ", what));
}

// The payload of the entry at `byte`; none if the file ends before it does.
absl::StatusOr<std::optional<absl::string_view>> PayloadAt(
    const std::string& path, absl::string_view bytes, std::size_t byte) {
  std::optional<absl::string_view> payload;
  const absl::string_view entry = bytes.substr(byte);
  if (entry.size() < kHeaderBytes) return payload;
  if (Checksum(entry.substr(0, kWordBytes)) != Word(entry.substr(kWordBytes)))
    return Corrupt(path, byte, "its length does not match its checksum");
  const std::size_t length = Word(entry);
  if (entry.size() - kHeaderBytes < length) return payload;
  payload = entry.substr(kHeaderBytes, length);
  if (Checksum(*payload) != Word(entry.substr(2 * kWordBytes)))
    return Corrupt(path, byte, "it does not match its checksum");
  return payload;
}

absl::Status Parse(absl::string_view payload, absl::string_view kind,
                   MessageLite& message) {
  if (message.ParseFromArray(payload.data(), static_cast<int>(payload.size())))
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("it is no ", kind));
}

// What older builds did not record of trunks.
void DescribeTrunks(records::Context& context) {
  for (records::Cell& cell : *context.mutable_cells())
    for (records::Trunk& trunk : *cell.mutable_trunks()) {
      if (trunk.has_chain()) continue;
      const std::string& policy = trunk.policy();
      trunk.set_adapts(policy == "adaptive_chain" || policy == "best_first" ||
                       policy == "expand_rerank" || policy == "auto");
      trunk.set_chain(policy == "chain" || policy == "adaptive_chain");
    }
}

// Numbers the draws of rounds whose builds did not: list after list.
void NumberDraws(records::PromptRecord& record) {
  for (records::Round& round : *record.mutable_rounds()) {
    std::uint32_t now = 0;
    for (records::DrawList& list : *round.mutable_lists()) {
      if (list.times_size() > 0) break;
      for (int draw = 0; draw < list.tokens_size(); ++draw)
        list.add_times(now++);
    }
  }
}

using CellsAndPrompts = std::set<std::pair<std::uint32_t, std::uint32_t>>;

// Reads one whole entry into `file`, the first as its context.
absl::Status ReadEntry(absl::string_view payload, bool first, RecordFile& file,
                       CellsAndPrompts& seen) {
  if (first) {
    BANYAN_RETURN_IF_ERROR(Parse(payload, "context", file.context));
    DescribeTrunks(file.context);
    return CheckContext(file.context);
  }
  records::PromptRecord& record = file.prompts.emplace_back();
  BANYAN_RETURN_IF_ERROR(Parse(payload, "prompt record", record));
  BANYAN_RETURN_IF_ERROR(CheckRecord(record, file.context));
  NumberDraws(record);
  if (seen.insert({record.cell(), record.prompt()}).second)
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("prompt ", record.prompt(), " of cell '",
                   file.context.cells(static_cast<int>(record.cell())).name(),
                   "' is recorded already, in an entry before"));
}

// How many records at the end are of a batch that is not all there.
std::size_t OfATornBatch(const std::vector<records::PromptRecord>& prompts) {
  if (prompts.empty()) return 0;
  const records::PromptRecord& last = prompts.back();
  std::size_t there = 0;
  for (auto at = prompts.rbegin(); at != prompts.rend(); ++at, ++there)
    if (at->batch() != last.batch() || at->cell() != last.cell()) break;
  return there < last.batch_prompts() ? there : 0;
}

}  // namespace

absl::StatusOr<RecordFile> ReadRecordFile(const std::string& path) {
  BANYAN_ASSIGN_OR_RETURN(const std::string bytes,
                          ReadFile(path, kMaxFileBytes));
  if (!absl::StartsWith(bytes, kMagic) && !absl::StartsWith(kMagic, bytes))
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": is no record file: it does not begin with \"", kMagic, "\""));
  RecordFile file{.path = path};
  std::size_t end = kMagic.size();
  std::vector<std::size_t> begins;  // of the entries
  CellsAndPrompts seen;
  while (end < bytes.size()) {
    BANYAN_ASSIGN_OR_RETURN(const std::optional<absl::string_view> payload,
                            PayloadAt(path, bytes, end));
    if (!payload.has_value()) break;
    const absl::Status read =
        ReadEntry(*payload, end == kMagic.size(), file, seen);
    if (!read.ok()) return Corrupt(path, end, read.message());
    begins.push_back(end);
    end += kHeaderBytes + payload->size();
  }
  if (end == kMagic.size())
    return absl::DataLossError(
        absl::StrCat(path,
                     ": ends before its context does: nothing was "
                     "recorded, and it may be removed"));
  if (const std::size_t torn = OfATornBatch(file.prompts); torn > 0) {
    file.prompts.resize(file.prompts.size() - torn);
    end = begins[begins.size() - torn];
  }
  file.whole_bytes = static_cast<std::int64_t>(end);
  file.torn_bytes = static_cast<std::int64_t>(bytes.size() - end);
  return file;
}

absl::StatusOr<std::unique_ptr<RecordWriter>> RecordWriter::Create(
    const std::string& path, const records::Context& context) {
  BANYAN_ASSIGN_OR_RETURN(const std::string entry, Frame(context));
  const int descriptor = open(
      path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kReadableByAll);
  if (descriptor < 0 && errno == EEXIST)
    return absl::AlreadyExistsError(
        absl::StrCat(path, ": there is a file already"));
  if (descriptor < 0) return SystemError(path, "cannot be made");
  auto writer = absl::WrapUnique(new RecordWriter(path, descriptor));
  BANYAN_RETURN_IF_ERROR(writer->Lock());  // another may have been quicker
  const absl::Status written = writer->Write(absl::StrCat(kMagic, entry));
  if (written.ok()) return writer;
  unlink(path.c_str());
  return written;
}

absl::StatusOr<std::unique_ptr<RecordWriter>> RecordWriter::Replace(
    const std::string& path, const records::Context& context) {
  BANYAN_ASSIGN_OR_RETURN(const std::string entry, Frame(context));
  const int descriptor = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) return SystemError(path, "cannot be written");
  auto writer = absl::WrapUnique(new RecordWriter(path, descriptor));
  BANYAN_RETURN_IF_ERROR(writer->Lock());
  if (ReadRecordFile(path).status().code() != absl::StatusCode::kDataLoss)
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": another process has written it"));
  if (ftruncate(descriptor, 0) != 0)
    return SystemError(path, "cannot be emptied");
  BANYAN_RETURN_IF_ERROR(writer->Write(absl::StrCat(kMagic, entry)));
  return writer;
}

absl::StatusOr<std::unique_ptr<RecordWriter>> RecordWriter::Resume(
    const RecordFile& file) {
  const int descriptor = open(file.path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) return SystemError(file.path, "cannot be written");
  auto writer = absl::WrapUnique(new RecordWriter(file.path, descriptor));
  BANYAN_RETURN_IF_ERROR(writer->Lock());
  struct stat facts = {};
  if (fstat(descriptor, &facts) != 0)
    return SystemError(file.path, "its size cannot be read");
  if (facts.st_size != file.whole_bytes + file.torn_bytes)
    return absl::FailedPreconditionError(
        absl::StrCat(file.path, ": has ", facts.st_size, " bytes, and had ",
                     file.whole_bytes + file.torn_bytes,
                     " when it was read: another process has written it"));
  if (ftruncate(descriptor, file.whole_bytes) != 0 ||
      lseek(descriptor, 0, SEEK_END) < 0)
    return SystemError(file.path, "its torn end cannot be cut");
  writer->end_ = file.whole_bytes;
  return writer;
}

RecordWriter::~RecordWriter() { close(descriptor_); }

absl::Status RecordWriter::Lock() {
  if (flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return absl::OkStatus();
  if (errno != EWOULDBLOCK) return SystemError(path_, "cannot be locked");
  return absl::FailedPreconditionError(
      absl::StrCat(path_, ": another run is writing this file"));
}

absl::Status RecordWriter::Write(absl::string_view bytes) {
  const auto length = static_cast<std::int64_t>(bytes.size());
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      if (written == 0) errno = EIO;  // a file takes something or says why not
      failed_ = SystemError(path_, "an entry cannot be written");
      // If even that fails, a reader still sees a torn tail.
      static_cast<void>(ftruncate(descriptor_, end_) == 0);
      return failed_;
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  end_ += length;
  return absl::OkStatus();
}

absl::Status RecordWriter::Append(const records::PromptRecord& record) {
  BANYAN_RETURN_IF_ERROR(failed_);
  const absl::StatusOr<std::string> entry = Frame(record);
  if (!entry.ok())
    return absl::InternalError(
        absl::StrCat(path_, ": ", entry.status().message()));
  return Write(*entry);
}

}  // namespace banyan
