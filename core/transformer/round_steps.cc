#include "core/transformer/round_steps.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include "absl/memory/memory.h"
#include "core/base/bytes.h"
#include "core/base/check.h"
#include "core/base/token.h"
#include "core/prob/sampling_rule.h"
#include "core/round/distribution_step.h"
#include "core/round/layout.h"
#include "core/round/truncate.h"

namespace banyan {
namespace {

std::size_t Index(int i) { return static_cast<std::size_t>(i); }

std::vector<int> Banned(const SamplingRule& rule, int vocab) {
  std::set<int> banned;
  for (TokenId token : rule.options().banned)
    if (token < vocab) banned.insert(token);
  return {banned.begin(), banned.end()};
}

DistributionRule RuleOf(const SamplingRule& rule, int used) {
  const SamplingOptions& options = rule.options();
  return {.temperature = options.temperature,
          .penalty = options.repetition_penalty,
          .top_p = options.top_p,
          .min_p = options.min_p,
          .top_k = options.top_k,
          .used = used};
}

}  // namespace

absl::StatusOr<std::unique_ptr<RoundSteps>> RoundSteps::Create(Backend& backend,
                                                               RoundPlan plan) {
  auto steps = absl::WrapUnique(new RoundSteps(backend, std::move(plan)));
  BANYAN_RETURN_IF_ERROR(steps->Allocate());
  return steps;
}

absl::Status RoundSteps::Allocate() {
  const RoundLayout& at = laid_out_.layout();
  const RoundPlan& plan = laid_out_.plan();
  memory_.layout = at;
  memory_.seed = plan.seed;
  const auto room = [&](std::size_t bytes, Buffer*& buffer) -> absl::Status {
    BANYAN_ASSIGN_OR_RETURN(std::unique_ptr<Buffer> own,
                            backend_.Allocate(bytes));
    buffer = own.get();
    buffers_.push_back(std::move(own));
    return absl::OkStatus();
  };
  // A list of integers; null for none.
  const auto put = [&](const std::vector<int>& numbers,
                       Buffer*& buffer) -> absl::Status {
    if (numbers.empty()) return absl::OkStatus();
    BANYAN_RETURN_IF_ERROR(room(numbers.size() * sizeof(int), buffer));
    return backend_.Upload(AsBytes(numbers), *buffer, 0);
  };
  const auto distributions = [&](int rows) {
    return Index(std::max(rows, 1)) * Index(at.vocab) * sizeof(double);
  };
  BANYAN_RETURN_IF_ERROR(room(
      Index(at.doubles) * sizeof(double) + Index(at.integers) * sizeof(int),
      memory_.book));
  BANYAN_RETURN_IF_ERROR(backend_.Upload(
      AsBytes(laid_out_.fixed()), *memory_.book,
      memory_.List(book::kPlaceFirst, 0, 0).offset * sizeof(int)));
  BANYAN_RETURN_IF_ERROR(
      room(distributions(at.distributions), memory_.draft_distributions));
  BANYAN_RETURN_IF_ERROR(
      room(distributions(at.rows), memory_.target_distributions));
  BANYAN_RETURN_IF_ERROR(room(distributions(1), memory_.residual));
  std::vector<const SamplingRule*> rules = {&plan.target_rule};
  for (const RoundDrafter& drafter : plan.drafters)
    rules.push_back(&drafter.rule);
  bool penalises = false;
  bool truncates = false;
  for (const SamplingRule* rule : rules) {
    penalises = penalises || rule->options().repetition_penalty != 1;
    truncates = truncates || (rule->leaves_out() && !rule->greedy());
  }
  if (penalises)
    BANYAN_RETURN_IF_ERROR(room(Index(at.vocab) * sizeof(int), memory_.seen));
  if (truncates)
    BANYAN_RETURN_IF_ERROR(room(
        Index(std::max(at.rows, laid_out_.widest())) *
            static_cast<std::size_t>(TruncationRoom(at.vocab)) * sizeof(int),
        memory_.order));
  BANYAN_RETURN_IF_ERROR(
      put(Banned(plan.target_rule, at.vocab), banned_target_));
  banned_.resize(plan.drafters.size());
  columns_.resize(plan.drafters.size());
  for (std::size_t i = 0; i < plan.drafters.size(); ++i) {
    BANYAN_RETURN_IF_ERROR(
        put(Banned(plan.drafters[i].rule, at.vocab), banned_[i]));
    BANYAN_RETURN_IF_ERROR(put(plan.drafters[i].columns, columns_[i]));
  }
  return absl::OkStatus();
}

absl::Status RoundSteps::Begin(const RoundStart& start) {
  const auto upload = [&](const std::vector<int>& numbers,
                          book::Integers list) {
    return backend_.Upload(AsBytes(numbers), *memory_.book,
                           memory_.List(list, 0, 0).offset * sizeof(int));
  };
  BANYAN_RETURN_IF_ERROR(upload(laid_out_.Opening(start), book::kTargetLength));
  BANYAN_RETURN_IF_ERROR(
      upload(laid_out_.UnreadText(start), book::kUnreadText));
  if (memory_.seen != nullptr) {
    std::vector<int> counts(Index(laid_out_.layout().vocab), 0);
    for (TokenId token : start.text) ++counts[Index(token)];
    BANYAN_RETURN_IF_ERROR(backend_.Upload(AsBytes(counts), *memory_.seen, 0));
  }
  target_length_ = start.target;
  draft_lengths_ = start.drafts;
  return absl::OkStatus();
}

absl::Status RoundSteps::Upload(int drafter, const UploadedTree& tree) {
  const DrafterLayout& own = of(drafter);
  const RoundLayout& at = laid_out_.layout();
  std::vector<int> numbers = {
      static_cast<int>(tree.nodes.size()) / kUpNodeNumbers,
      static_cast<int>(tree.draws.size()) / kUpDrawNumbers};
  Check(numbers[0] <= own.nodes && numbers[1] <= own.draws &&
            tree.distributions.size() <= Index(own.distributions),
        "an uploaded tree is larger than its plan");
  numbers.insert(numbers.end(), tree.nodes.begin(), tree.nodes.end());
  numbers.insert(numbers.end(), tree.draws.begin(), tree.draws.end());
  BANYAN_RETURN_IF_ERROR(backend_.Upload(
      AsBytes(numbers), *memory_.book,
      memory_.List(book::kUploadedTree, own.first_uploaded, 0).offset *
          sizeof(int)));
  const auto put = [&](book::Doubles list,
                       const std::vector<double>& of_draws) {
    return backend_.Upload(
        AsBytes(of_draws), *memory_.book,
        Index(at.double_at[list] + own.first_draw) * sizeof(double));
  };
  BANYAN_RETURN_IF_ERROR(put(book::kDrawScale, tree.scales));
  BANYAN_RETURN_IF_ERROR(put(book::kDrawQ, tree.q));
  for (std::size_t i = 0; i < tree.distributions.size(); ++i)
    BANYAN_RETURN_IF_ERROR(backend_.Upload(
        AsBytes(tree.distributions[i]), *memory_.draft_distributions,
        (Index(own.first_distribution) + i) * Index(at.vocab) *
            sizeof(double)));
  return absl::OkStatus();
}

absl::Status RoundSteps::Select(int drafter, int level) {
  const bool drafts = level < of(drafter).levels && of(drafter).has_rows;
  const int first = drafts ? laid_out_.RowsBefore(drafter, level) : 0;
  return Run(SelectArgs{
      .drafter = drafter,
      .level = level,
      .first_row = first,
      .rows = drafts ? laid_out_.RowsBefore(drafter, level + 1) - first : 0});
}

DeviceRows RoundSteps::draft_rows(int drafter, int level) const {
  const DrafterLayout& own = of(drafter);
  const int first = laid_out_.RowsBefore(drafter, level);
  const int rows = laid_out_.RowsBefore(drafter, level + 1) - first;
  const auto list = [&](book::Integers name) {
    return memory_.List(name, own.first_slot + first, rows);
  };
  return {.rows = rows,
          .tokens = list(book::kDraftTokens),
          .positions = list(book::kDraftPositions),
          .visible = memory_.List(book::kDraftVisible,
                                  own.first_word + first * own.words,
                                  rows * own.words),
          .visible_words = own.words,
          .first_pending = first,
          .length = {memory_.List(book::kDraftLength, drafter, 1), 0},
          .logits_from = level == 0 ? own.unread : 0,
          .parents = list(book::kDraftParents)};
}

Ints RoundSteps::kept_rows() const {
  return memory_.List(book::kKeptRows, 0, laid_out_.layout().levels + 1);
}

DeviceRows RoundSteps::target_rows() const {
  const RoundLayout& at = laid_out_.layout();
  return {.rows = at.rows,
          .tokens = memory_.List(book::kTargetTokens, 0, at.rows),
          .positions = memory_.List(book::kTargetPositions, 0, at.rows),
          .visible = memory_.List(book::kTargetVisible, 0, at.rows * at.words),
          .visible_words = at.words,
          .length = {memory_.List(book::kTargetLength, 0, 1), 0}};
}

absl::Status RoundSteps::Draw(int drafter, int level, const Tensor& logits) {
  const int width = laid_out_.widths(drafter)[Index(level)];
  const RoundDrafter& plan = laid_out_.plan().drafters[Index(drafter)];
  Buffer* const columns = columns_[Index(drafter)];
  Check(logits.rows == (plan.by_depth ? 1 : width) &&
            (columns != nullptr || logits.columns == laid_out_.layout().vocab),
        "logits of another level");
  const int first = laid_out_.DistributionsBefore(drafter, level);
  BANYAN_RETURN_IF_ERROR(
      Run(DistributionArgs{.rule = RuleOf(plan.rule, plan.used_vocab),
                           .banned = banned_[Index(drafter)],
                           .columns = columns,
                           .logits = logits,
                           .place = {drafter, first, first}}));
  return Run(DrawArgs{
      .drafter = drafter, .width = width, .first_distribution = first});
}

absl::Status RoundSteps::Judge(const Tensor& logits) {
  const RoundLayout& at = laid_out_.layout();
  const RoundPlan& plan = laid_out_.plan();
  Check(logits.rows == at.rows && logits.columns == at.vocab,
        "logits of another tree");
  BANYAN_RETURN_IF_ERROR(
      Run(DistributionArgs{.rule = RuleOf(plan.target_rule, plan.used_vocab),
                           .banned = banned_target_,
                           .logits = logits,
                           .place = {-1, at.distributions, 0}}));
  return Run(JudgeArgs());
}

absl::StatusOr<RoundFindings> RoundSteps::Read() {
  const RoundLayout& at = laid_out_.layout();
  const std::size_t first = Index(laid_out_.first_double());
  const std::size_t count = Index(at.doubles) - first;
  std::vector<std::byte> bytes(count * sizeof(double) +
                               Index(laid_out_.read_back()) * sizeof(int));
  BANYAN_RETURN_IF_ERROR(backend_.Download(
      *memory_.book, first * sizeof(double), absl::MakeSpan(bytes)));
  const auto* doubles = reinterpret_cast<const double*>(bytes.data());
  const auto* integers = reinterpret_cast<const int*>(doubles + count);
  found_.assign(integers, integers + laid_out_.read_back());
  BANYAN_ASSIGN_OR_RETURN(RoundFindings findings,
                          laid_out_.Read(found_, {doubles, count}));
  target_length_ = found_[Index(at.integer_at[book::kTargetLength])];
  for (int i = 0; i < at.count; ++i)
    draft_lengths_[Index(i)] =
        found_[Index(at.integer_at[book::kDraftLength] + i)];
  return findings;
}

absl::StatusOr<std::vector<double>> RoundSteps::Proposal(int drafter, int row) {
  const RoundLayout& at = laid_out_.layout();
  const auto get = [&](book::Integers list, int i) {
    return found_[Index(at.integer_at[list] + i)];
  };
  const int node = get(book::kOwnNode, row * at.count + drafter);
  const int distribution = node < 0 ? -1 : get(book::kDistributionRow, node);
  Check(distribution >= 0, "a node that nothing was proposed for");
  std::vector<double> masses(Index(at.vocab));
  BANYAN_RETURN_IF_ERROR(
      backend_.Download(*memory_.draft_distributions,
                        Index(distribution) * masses.size() * sizeof(double),
                        {reinterpret_cast<std::byte*>(masses.data()),
                         masses.size() * sizeof(double)}));
  return masses;
}

}  // namespace banyan
