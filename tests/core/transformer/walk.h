// Random histories of a session, and what its logits must be.
#ifndef BANYAN_TESTS_CORE_TRANSFORMER_WALK_H_
#define BANYAN_TESTS_CORE_TRANSFORMER_WALK_H_

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/token.h"
#include "core/model/model.h"
#include "core/ops/backend.h"
#include "tests/support/dice.h"

namespace banyan {

using Logits = std::vector<double>;

// Equal to the last bit.
testing::AssertionResult SameBits(const Logits& got, const Logits& expected);
void ExpectSame(const std::vector<Logits>& got,
                const std::vector<Logits>& expected);

// The cpu on every instruction set of an order of sums (BackendFacts::sums)
// with 1 and 2 threads, best first.
std::vector<std::shared_ptr<Backend>> Backends(
    const std::string& sums = "lanes");
// Devices of the table, each as it is opened by default.
std::vector<std::string> DeviceNames();
std::shared_ptr<Backend> BackendOf(const std::string& device);
// Kernels of GPUs: on the host device, or on that of this name in the
// environment's BANYAN_TEST_DEVICE.
std::shared_ptr<Backend> HostDeviceBackend();

// A golden model on a device; what tests are named by: "llama_host".
struct GoldenOnDevice {
  std::string golden;
  std::string device;

  // Of what this build leaves out (tests/support/host_part.h).
  bool LeftOut() const;
  std::string ToText() const { return golden + "_" + device; }
};
// Every one on every device.
std::vector<GoldenOnDevice> GoldensOnDevices();

// A view of the session. A failure ends the program, as in the next one.
std::unique_ptr<Session> MustView(Session& session, const ViewOptions& options);
// The logits of every row of the request's batch.
std::vector<Logits> LogitsOf(const Model& model, const ScoreRequest& request);

// Random ids of the model's vocabulary.
std::vector<TokenId> RandomText(const Model& model, int size, Dice& dice);

// A session, and what a test knows of it. Failures end the program.
class Walk {
 public:
  explicit Walk(const Model& model);

  Session& session() { return *session_; }
  const std::vector<TokenId>& committed() const { return committed_; }
  int pending() const { return static_cast<int>(rows_.size()); }
  // The committed ids and the path to a pending row.
  std::vector<TokenId> Text(int row) const;

  // A batch of random tokens below random parents, in the context.
  TokenBatch RandomBatch(int size, Dice& dice) const;
  // The path to a random pending row; the empty one at times.
  std::vector<int> RandomPath(Dice& dice) const;

  void Prefill(const std::vector<TokenId>& tokens);
  std::unique_ptr<Scores> Score(const TokenBatch& batch);
  // A batch was scored for the session, by Score() or otherwise.
  void Note(const TokenBatch& batch);
  void Commit(const std::vector<int>& path);

 private:
  struct Row {
    TokenId token;
    int parent;
    int position;
  };

  const Model& model_;
  std::unique_ptr<Session> session_;
  std::vector<TokenId> committed_;
  std::vector<Row> rows_;
};

// The logits after a text, from a fresh session that reads it in the plainest
// way: all but the last token prefilled, the last scored alone. Remembers.
class Oracle {
 public:
  explicit Oracle(const Model& model) : model_(model) {}
  const Logits& After(const std::vector<TokenId>& text);

 private:
  const Model& model_;
  std::map<std::vector<TokenId>, Logits> known_;
};

// Expects the oracle's bits in every row, from row `from` on, of a batch the
// walk has noted.
void ExpectFaithful(const Scores& scores, int first_row, int size,
                    const Walk& walk, Oracle& oracle, const std::string& what,
                    int from = 0);

}  // namespace banyan

#endif  // BANYAN_TESTS_CORE_TRANSFORMER_WALK_H_
