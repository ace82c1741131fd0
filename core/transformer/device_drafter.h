// What drafters do in a round that a transformer's device runs alone.
#ifndef BANYAN_CORE_TRANSFORMER_DEVICE_DRAFTER_H_
#define BANYAN_CORE_TRANSFORMER_DEVICE_DRAFTER_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/model/context.h"
#include "core/model/device_round.h"
#include "core/ops/backend.h"
#include "core/ops/kv_cache.h"
#include "core/ops/round_tables.h"
#include "core/ops/tensor.h"
#include "core/transformer/pass.h"
#include "core/transformer/session.h"

namespace banyan {

// Its work is on the target's backend.
class TransformerDrafter : public DeviceDrafter {
 public:
  virtual const Backend& backend() const = 0;
  // Tokens that it may emit, of the target's vocabulary.
  virtual int used_vocab() const = 0;
  // RoundTablesOptions::draft_columns.
  virtual std::vector<int> columns() const { return {}; }
  // One law a level, whatever the path, and of how many levels at most.
  virtual bool law_by_depth() const { return false; }
  virtual int most_levels() const = 0;
  // The longest text that it may read, and the shortest.
  virtual int longest_text() const = 0;
  virtual int shortest_text() const { return 1; }

  // Once, before all else: the tables whose rounds it drafts in. They outlive
  // it.
  virtual absl::Status Join(const RoundTables& /*tables*/) {
    return absl::OkStatus();
  }
  // Reads of the context what it has not read, the root aside, and what it
  // needs of its features.
  virtual absl::Status Begin(const Context& context) = 0;
  // Makes room for a text of so many tokens and, behind it, the rows of a
  // round.
  virtual absl::Status Reserve(int length, int rows) = 0;
  // The logits of a level's nodes, a row each, with ops alone. `rows` are those
  // of the tables, whose length is at most `longest`.
  virtual absl::StatusOr<Tensor> Logits(int level, const DeviceRows& rows,
                                        int longest) = 0;

  // Of a drafter that runs rows: its caches, and how many tokens they hold;
  // whether these are pairs (RoundTablesOptions::draft_rereads).
  virtual std::vector<KvCache*> caches() { return {}; }
  virtual int length() const { return 0; }
  virtual void Settle(int /*length*/) {}
  virtual bool rereads() const { return false; }
  // Of one that reads the target's states: which, ascending; and takes what it
  // needs of a round's kept rows, with ops alone.
  virtual std::vector<int> taps() const { return {}; }
  virtual absl::Status Take(const TransformerPass& /*target*/,
                            const Ints& /*kept_rows*/) {
    return absl::OkStatus();
  }
};

// A model of the target's vocabulary on the target's backend, with the session
// that reads its text.
std::unique_ptr<DeviceDrafter> NewModelDrafter(TransformerSession& session);

}  // namespace banyan

#endif  // BANYAN_CORE_TRANSFORMER_DEVICE_DRAFTER_H_
