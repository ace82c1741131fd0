#include "tests/core/transformer/walk.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "core/base/check.h"
#include "core/base/common.h"
#include "core/ops/cpu/cpu_backend.h"
#include "core/ops/devices.h"
#include "tests/support/host_part.h"
#include "tests/support/made/golden_model.h"
#include "tests/support/must_read.h"

namespace banyan {
namespace {

TokenId RandomToken(const Model& model, Dice& dice) {
  return dice.Below(model.vocab_size());
}

}  // namespace

testing::AssertionResult SameBits(const Logits& got, const Logits& expected) {
  if (got.size() != expected.size())
    return testing::AssertionFailure()
           << got.size() << " logits for " << expected.size();
  for (std::size_t i = 0; i < got.size(); ++i)
    if (std::bit_cast<std::uint64_t>(got[i]) !=
        std::bit_cast<std::uint64_t>(expected[i]))
      return testing::AssertionFailure()
             << "token " << i << " has " << testing::PrintToString(got[i])
             << ", expected " << testing::PrintToString(expected[i])
             << ", off by " << got[i] - expected[i];
  return testing::AssertionSuccess();
}

void ExpectSame(const std::vector<Logits>& got,
                const std::vector<Logits>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t row = 0; row < got.size(); ++row)
    EXPECT_TRUE(SameBits(got[row], expected[row])) << "row " << row;
}

std::vector<std::shared_ptr<Backend>> Backends(const std::string& sums) {
  std::vector<std::shared_ptr<Backend>> backends;
  for (const std::string& set : CpuBackend::InstructionSets())
    for (int threads : {1, 2}) {
      auto backend =
          CpuBackend::Create({.threads = threads, .instruction_set = set});
      Check(backend.ok(), backend.status().message());
      if ((*backend)->facts().sums == sums)
        backends.push_back(*std::move(backend));
    }
  return backends;
}

std::vector<std::string> DeviceNames() {
  std::vector<std::string> names;
  for (const DeviceRow& row : DeviceTable())
    if (row.name != "cuda" || OpenDevice(row.name).ok())  // there may be no GPU
      names.emplace_back(row.name);
  return names;
}

std::shared_ptr<Backend> HostDeviceBackend() {
  const char* const other = std::getenv("BANYAN_TEST_DEVICE");
  return BackendOf(other == nullptr ? "emulated_gpu" : other);
}

std::shared_ptr<Backend> BackendOf(const std::string& device) {
  auto backend = OpenDevice(device);
  Check(backend.ok(), backend.status().message());
  return *std::move(backend);
}

bool GoldenOnDevice::LeftOut() const {
  return device == "emulated_gpu" && LeftOutOnHost(golden);
}

std::vector<GoldenOnDevice> GoldensOnDevices() {
  std::vector<GoldenOnDevice> all;
  for (const std::string& golden : GoldenNames())
    for (const std::string& device : DeviceNames())
      all.push_back({golden, device});
  return all;
}

std::unique_ptr<Session> MustView(Session& session,
                                  const ViewOptions& options) {
  auto view = session.View(options);
  Check(view.ok(), view.status().message());
  return *std::move(view);
}

std::vector<Logits> LogitsOf(const Model& model, const ScoreRequest& request) {
  auto scores = model.Score({&request, 1});
  Check(scores.ok(), scores.status().message());
  std::vector<Logits> rows;
  for (int row = 0; row < request.batch->size(); ++row)
    rows.push_back(MustRead(*scores->front(), row));
  return rows;
}

std::vector<TokenId> RandomText(const Model& model, int size, Dice& dice) {
  std::vector<TokenId> text;
  for (int i = 0; i < size; ++i) text.push_back(RandomToken(model, dice));
  return text;
}

Walk::Walk(const Model& model) : model_(model), session_(model.NewSession()) {}

std::vector<TokenId> Walk::Text(int row) const {
  std::vector<TokenId> path;
  for (; row >= 0; row = rows_[static_cast<std::size_t>(row)].parent)
    path.push_back(rows_[static_cast<std::size_t>(row)].token);
  std::vector<TokenId> text = committed_;
  text.insert(text.end(), path.rbegin(), path.rend());
  return text;
}

TokenBatch Walk::RandomBatch(int size, Dice& dice) const {
  TokenBatch batch;
  const auto length = static_cast<int>(committed_.size());
  // Deep trees and bushy ones.
  const bool deep = dice.OneIn(2);
  for (int row = pending(); row < pending() + size; ++row) {
    int parent = deep && !dice.OneIn(4) ? row - 1 : dice.Between(-1, row - 1);
    const auto position_of = [&](int some) {
      if (some < 0) return length - 1;
      return some < pending()
                 ? rows_[static_cast<std::size_t>(some)].position
                 : batch.positions[static_cast<std::size_t>(some - pending())];
    };
    if (position_of(parent) + 1 >= model_.context_limit())
      parent = TokenBatch::kCommitted;
    batch.parents.push_back(parent);
    batch.positions.push_back(position_of(parent) + 1);
    batch.tokens.push_back(RandomToken(model_, dice));
  }
  return batch;
}

std::vector<int> Walk::RandomPath(Dice& dice) const {
  std::vector<int> path;
  int row = dice.OneIn(4) ? -1 : dice.Between(-1, pending() - 1);
  for (; row >= 0; row = rows_[static_cast<std::size_t>(row)].parent)
    path.push_back(row);
  return {path.rbegin(), path.rend()};
}

void Walk::Prefill(const std::vector<TokenId>& tokens) {
  const absl::Status status = session_->Prefill(tokens);
  Check(status.ok(), status.message());
  committed_.insert(committed_.end(), tokens.begin(), tokens.end());
}

std::unique_ptr<Scores> Walk::Score(const TokenBatch& batch) {
  auto scores = ScoreOne(model_, *session_, batch);
  Check(scores.ok(), scores.status().message());
  Note(batch);
  return *std::move(scores);
}

void Walk::Note(const TokenBatch& batch) {
  for (std::size_t i = 0; i < batch.tokens.size(); ++i)
    rows_.push_back({batch.tokens[i], batch.parents[i], batch.positions[i]});
}

void Walk::Commit(const std::vector<int>& path) {
  const absl::Status status = session_->Commit(path);
  Check(status.ok(), status.message());
  for (int row : path)
    committed_.push_back(rows_[static_cast<std::size_t>(row)].token);
  rows_.clear();
}

const Logits& Oracle::After(const std::vector<TokenId>& text) {
  Logits& logits = known_[text];
  if (logits.empty()) {
    Walk walk(model_);
    walk.Prefill({text.begin(), text.end() - 1});
    logits = MustRead(*walk.Score({{text.back()},
                                   {static_cast<int>(text.size()) - 1},
                                   {TokenBatch::kCommitted}}),
                      0);
  }
  return logits;
}

void ExpectFaithful(const Scores& scores, int first_row, int size,
                    const Walk& walk, Oracle& oracle, const std::string& what,
                    int from) {
  for (int i = from; i < size; ++i) {
    const std::vector<TokenId> text = walk.Text(first_row + i);
    EXPECT_TRUE(SameBits(MustRead(scores, i), oracle.After(text)))
        << what << ", after " << absl::StrJoin(text, " ") << ", row " << i
        << " of " << size << " after " << walk.committed().size()
        << " committed and " << first_row << " pending";
  }
}

}  // namespace banyan
