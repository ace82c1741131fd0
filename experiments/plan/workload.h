// Workloads: prompts from a file, in the forms they are published in.
//
// .jsonl: one object a line, in one of these forms:
//   {"id", "kind", "prompt"}         ours
//   {"id", "kind", "ids": [...]}     tokens instead of text
//   {"id", "kind", "turns": [...]}   what the user says; the first is the
//       prompt
//   {"question_id", "category", "turns": [...]}   the same: Spec-Bench,
//   MT-bench
// anything else: plain text, a prompt a line; empty lines are left out.
//
// An experiment takes some of a workload's prompts.
#ifndef BANYAN_EXPERIMENTS_PLAN_WORKLOAD_H_
#define BANYAN_EXPERIMENTS_PLAN_WORKLOAD_H_

#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/base/token.h"
#include "experiments/plan/experiment.h"

namespace banyan {

struct WorkloadPrompt {
  std::string id;  // unique
  std::string kind;
  std::string text;
  std::vector<std::string> later = {};  // what the user says after an answer
  std::vector<TokenId> ids;             // if any, instead of the text
};

struct Workload {
  std::string path;
  std::string hash;  // of the file's bytes
  std::vector<WorkloadPrompt> prompts;
};

// Fails, naming the line, on a line that is none of the forms, a list without
// texts or ids, or an id that comes twice; NotFound without the file; on a file
// without prompts.
absl::StatusOr<Workload> ReadWorkload(const std::string& path);

// Which prompts of a workload an experiment takes.

// Gives the prompts of every group's kinds the group's name as their kind.
// Fails on a kind that no prompt has, or that two groups name.
absl::Status GroupKinds(const WorkloadSpec& spec, Workload& workload);

// The prompts that an experiment takes of a workload: those of its kinds, and
// of these as many as it wants, evenly spread and `offset` later. Their
// numbers.
absl::StatusOr<std::vector<int>> ChoosePrompts(const WorkloadSpec& spec,
                                               const Workload& workload);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_PLAN_WORKLOAD_H_
