#include "core/ops/cuda/cuda_round.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "core/base/bytes.h"
#include "core/base/check.h"
#include "core/base/common.h"
#include "core/base/token.h"
#include "core/device/buffer.h"
#include "core/ops/cuda/cuda_backend.h"
#include "core/ops/cuda/cuda_buffer.h"
#include "core/ops/cuda/device/round_layout.h"
#include "core/ops/cuda/kernels/round_kernels.h"
#include "core/ops/op_args.h"
#include "core/ops/round_tables.h"
#include "core/prob/round_plan.h"
#include "core/prob/sampling_rule.h"

namespace banyan {
namespace {

std::size_t Index(int i) { return static_cast<std::size_t>(i); }

absl::Status NoTwin(absl::string_view kind, absl::string_view name) {
  return absl::UnimplementedError(
      absl::StrCat("the device has no counterpart ", name, " of a ", kind));
}

// A list of integers on the device; null for none.
absl::StatusOr<std::unique_ptr<Buffer>> Put(CudaBackend& backend,
                                            const std::vector<int>& numbers) {
  if (numbers.empty()) return nullptr;
  BANYAN_ASSIGN_OR_RETURN(std::unique_ptr<Buffer> buffer,
                          backend.Allocate(numbers.size() * sizeof(int)));
  BANYAN_RETURN_IF_ERROR(backend.Upload(AsBytes(numbers), *buffer, 0));
  return buffer;
}

std::vector<int> Banned(const SamplingRule& rule, int vocab) {
  std::set<int> banned;
  for (TokenId token : rule.options().banned)
    if (token < vocab) banned.insert(token);
  return {banned.begin(), banned.end()};
}

bool Truncates(const SamplingRule& rule) {
  return rule.leaves_out() && !rule.greedy();
}

bool Penalises(const SamplingRule& rule) {
  return rule.options().repetition_penalty != 1;
}

}  // namespace

absl::StatusOr<std::unique_ptr<CudaRound>> CudaRound::Create(
    CudaBackend& backend, const RoundKernels& kernels,
    const RoundTablesOptions& options) {
  auto round = absl::WrapUnique(new CudaRound(backend, kernels, options));
  BANYAN_RETURN_IF_ERROR(round->ReadPlan());
  round->LayOut();
  BANYAN_RETURN_IF_ERROR(round->Allocate());
  return round;
}

absl::Status CudaRound::ReadPlan() {
  const RoundPlan& plan = options_.plan;
  if (plan.verifier == "greedy")
    layout_.judge = JudgeKind::kGreedy;
  else if (plan.verifier == "match")
    layout_.judge = JudgeKind::kMatch;
  else if (plan.verifier == "point_mass")
    layout_.judge = JudgeKind::kPointMass;
  else if (plan.verifier == "rounds")
    layout_.judge = JudgeKind::kRounds;
  else
    return NoTwin("verifier", plan.verifier);
  layout_.draw_kind = plan.draw_kind;
  layout_.law_by_depth = options_.law_by_depth;
  layout_.dense_target = !plan.target_rule.leaves_out();
  layout_.dense_draft = !plan.draft_rule.leaves_out();
  layout_.vocab = options_.vocab_size;
  layout_.ends = static_cast<int>(plan.end_of_text.size());
  BANYAN_RETURN_IF_ERROR(ReadShape());
  widths_.resize(std::min(widths_.size(), Index(options_.most_levels)));
  layout_.levels = static_cast<int>(widths_.size());
  layout_.rereads = options_.draft_rereads;
  layout_.unread = layout_.rereads ? layout_.levels : 1;
  return absl::OkStatus();
}

// The widths and the most nodes; of a fixed shape, who is whose child.
absl::Status CudaRound::ReadShape() {
  const std::vector<int>& numbers = options_.plan.shape.numbers;
  const std::string& name = options_.plan.shape.name;
  const auto wide = [&](int levels, int width) {
    widths_.assign(Index(levels), width);
    if (levels > 0) widths_[0] = 1;
  };
  if (name == "sequences") {
    Check(numbers.size() == 2, "sequences are a count and a length");
    layout_.shape = ShapeKind::kSequences;
    layout_.count = numbers[0];
    const int levels = numbers[1];
    wide(levels, layout_.count);
    layout_.draws = layout_.count * levels;
    layout_.rows = layout_.draws + 1;
  } else if (name == "expand_rerank") {
    Check(numbers.size() == 3, "expand_rerank has three numbers");
    layout_.shape = ShapeKind::kExpandRerank;
    layout_.top_k = numbers[0];
    const int depth = numbers[1];
    layout_.total = numbers[2];
    wide(depth, layout_.top_k);
    layout_.draws = depth == 0 ? 0
                               : layout_.top_k + (depth - 1) * layout_.top_k *
                                                     layout_.top_k;
    layout_.rows = std::min(layout_.total, layout_.draws) + 1;
  } else if (name == "fixed") {
    Check(numbers.size() >= 2, "a fixed shape has a place at least");
    layout_.share = numbers[0] != 0;
    const auto parents = absl::MakeConstSpan(numbers).subspan(1);
    std::vector<std::vector<int>> children(parents.size());
    std::vector<int> depths(parents.size(), 0);
    for (std::size_t i = 1; i < parents.size(); ++i) {
      children[Index(parents[i])].push_back(static_cast<int>(i));
      depths[i] = depths[Index(parents[i])] + 1;
    }
    std::vector<int> firsts, counts, list;
    for (std::size_t i = 0; i < children.size(); ++i) {
      firsts.push_back(static_cast<int>(list.size()));
      counts.push_back(static_cast<int>(children[i].size()));
      list.insert(list.end(), children[i].begin(), children[i].end());
      if (children[i].empty()) continue;
      widths_.resize(std::max(widths_.size(), Index(depths[i]) + 1), 0);
      ++widths_[Index(depths[i])];
    }
    list.resize(children.size());  // as long as the others
    for (const std::vector<int>* part : {&firsts, &counts, &list})
      plan_.insert(plan_.end(), part->begin(), part->end());
    layout_.rows = static_cast<int>(parents.size());
    layout_.draws = layout_.rows - 1;
  } else {
    return NoTwin("policy", name);
  }
  layout_.nodes = layout_.draws + 1;
  return absl::OkStatus();
}

void CudaRound::LayOut() {
  RoundLayout& at = layout_;
  at.draws = std::max(at.draws, 1);
  at.width = 1;
  for (int width : widths_) at.width = std::max(at.width, width);
  at.law_rows = LawsBefore(at.levels);
  at.has_draft_rows = !at.law_by_depth && at.levels > 0;
  at.draft_rows = at.has_draft_rows ? RowsBefore(at.levels) : 1;
  at.target_words = (at.rows + 31) / 32;
  at.draft_words = (at.draft_rows + 31) / 32;

  const auto take = [](int& total, int size) {
    return std::exchange(total, total + size);
  };
  at.doubles = 0;
  at.path_mass = take(at.doubles, at.nodes);
  for (int* list : {&at.draw_scale, &at.draw_mass, &at.draw_q})
    *list = take(at.doubles, at.draws);
  at.law_total = take(at.doubles, at.law_rows + at.rows);

  int end = kStates;
  for (int* list :
       {&at.token, &at.parent, &at.at_depth, &at.place, &at.multiplicity,
        &at.closed, &at.first_draw, &at.draw_count, &at.draft_row, &at.law_row,
        &at.row, &at.first_child, &at.child_count, &at.kept, &at.wants})
    *list = take(end, at.nodes);
  for (int* list : {&at.draw_node, &at.draw_token, &at.draw_child,
                    &at.draw_made, &at.draw_first})
    *list = take(end, at.draws);
  at.path = take(end, at.rows);
  at.row_node = take(end, at.rows);
  at.law_error = take(end, 3 * (at.law_rows + at.rows));
  at.read_back = end;
  at.wanted = take(end, at.width);
  at.below = take(end, at.nodes);
  at.unread_text = take(end, at.unread);
  at.kept_rows = take(end, at.levels + 1);
  at.target_slots = take(end, at.rows);
  at.draft_slots = take(end, at.draft_rows);
  at.target_tokens = take(end, at.rows);
  at.target_positions = take(end, at.rows);
  at.target_visible = take(end, at.rows * at.target_words);
  at.draft_tokens = take(end, at.draft_rows);
  at.draft_positions = take(end, at.draft_rows);
  at.draft_visible = take(end, at.draft_rows * at.draft_words);
  at.draft_parents = take(end, at.draft_rows);
  const int places = static_cast<int>(plan_.size()) / 3;
  for (int* list : {&at.place_first, &at.place_count, &at.place_list})
    *list = take(end, places);
  at.end_list = take(end, at.ends);
  at.integers = end;
  const std::vector<TokenId>& ends = options_.plan.end_of_text;
  plan_.insert(plan_.end(), ends.begin(), ends.end());
}

absl::Status CudaRound::Allocate() {
  const RoundLayout& at = layout_;
  const RoundPlan& plan = options_.plan;
  const auto rows = [&](int count) {
    return backend_.Allocate(Index(std::max(count, 1)) * Index(at.vocab) *
                             sizeof(double));
  };
  BANYAN_ASSIGN_OR_RETURN(book_,
                          backend_.Allocate(Index(at.doubles) * sizeof(double) +
                                            Index(at.integers) * sizeof(int)));
  BANYAN_RETURN_IF_ERROR(
      backend_.Upload(AsBytes(plan_), *book_,
                      ListAt(at.place_first, 0).offset * sizeof(std::int32_t)));
  BANYAN_ASSIGN_OR_RETURN(draft_laws_, rows(at.law_rows));
  BANYAN_ASSIGN_OR_RETURN(target_laws_, rows(at.rows));
  BANYAN_ASSIGN_OR_RETURN(residual_, rows(1));
  if (Penalises(plan.target_rule) || Penalises(plan.draft_rule)) {
    BANYAN_ASSIGN_OR_RETURN(seen_,
                            backend_.Allocate(Index(at.vocab) * sizeof(int)));
  }
  if (Truncates(plan.target_rule) || Truncates(plan.draft_rule)) {
    const std::size_t padded = std::bit_ceil(Index(at.vocab));
    BANYAN_ASSIGN_OR_RETURN(
        order_, backend_.Allocate(Index(std::max(at.rows, at.width)) * padded *
                                  sizeof(int)));
  }
  BANYAN_ASSIGN_OR_RETURN(banned_target_,
                          Put(backend_, Banned(plan.target_rule, at.vocab)));
  BANYAN_ASSIGN_OR_RETURN(banned_draft_,
                          Put(backend_, Banned(plan.draft_rule, at.vocab)));
  BANYAN_ASSIGN_OR_RETURN(columns_, Put(backend_, options_.draft_columns));
  return absl::OkStatus();
}

LawRule CudaRound::RuleOf(const SamplingRule& rule, int used,
                          const Buffer* banned) const {
  const SamplingOptions& options = rule.options();
  return {.temperature = options.temperature,
          .penalty = options.repetition_penalty,
          .top_p = options.top_p,
          .min_p = options.min_p,
          .top_k = options.top_k,
          .used = used,
          .banned = SpanOf(banned)};
}

RoundSpans CudaRound::Spans() const {
  const std::size_t doubles = Index(layout_.doubles) * sizeof(double);
  const DeviceSpan book = SpanOf(book_.get());
  return {.layout = layout_,
          .doubles = book.Part(0, doubles),
          .integers = book.Part(doubles, Index(layout_.integers) * sizeof(int)),
          .draft_laws = SpanOf(draft_laws_.get()),
          .target_laws = SpanOf(target_laws_.get()),
          .residual = SpanOf(residual_.get()),
          .seen = SpanOf(seen_.get()),
          .order = SpanOf(order_.get()),
          .seed = options_.plan.seed};
}

int CudaRound::RowsBefore(int level) const {
  // The root's, and what stands before it.
  int rows = level == 0 ? 0 : layout_.unread + 1;
  for (int i = 1; i < level; ++i) rows += widths_[Index(i)];
  return rows;
}

int CudaRound::LawsBefore(int level) const {
  if (layout_.law_by_depth) return level;
  int laws = 0;
  for (int i = 0; i < level; ++i) laws += widths_[Index(i)];
  return laws;
}

Ints CudaRound::ListAt(int list, int size) const {
  return {book_.get(), Index(layout_.doubles) * 2 + Index(list), size};
}

absl::Status CudaRound::Begin(const RoundStart& start, int target, int draft) {
  Check(static_cast<int>(start.text.size()) == target + 1,
        "a session that does not hold the text before the root");
  const int unread =
      layout_.has_draft_rows ? target - draft - (layout_.rereads ? 1 : 0) : 0;
  Check(unread >= 0 && unread <= layout_.unread,
        "a drafter that lags by more than a round");
  std::vector<int> states(kStates, 0);
  states[kTargetLength] = target;
  states[kDraftLength] = draft;
  states[kRoot] = start.text.back();
  states[kPrompt] = std::bit_cast<std::int32_t>(start.prompt);
  states[kRound] = std::bit_cast<std::int32_t>(start.round);
  states[kUnread] = unread;
  if (unread > 0) {
    const std::vector<int> text(start.text.end() - 1 - unread,
                                start.text.end() - 1);
    BANYAN_RETURN_IF_ERROR(backend_.Upload(
        AsBytes(text), *book_,
        ListAt(layout_.unread_text, unread).offset * sizeof(std::int32_t)));
  }
  target_length_ = target;
  draft_length_ = draft;
  if (seen_ != nullptr) {
    std::vector<int> seen(Index(layout_.vocab), 0);
    for (TokenId token : start.text)
      if (token < layout_.vocab) ++seen[Index(token)];
    BANYAN_RETURN_IF_ERROR(backend_.Upload(AsBytes(seen), *seen_, 0));
  }
  return backend_.Upload(AsBytes(states), *book_,
                         Index(layout_.doubles) * sizeof(double));
}

absl::Status CudaRound::Select(int level) {
  const bool drafts = level < layout_.levels;
  backend_.Ask([&](CudaDevice& device) {
    kernels_.select(device, {.round = Spans(),
                             .level = level,
                             .first_row = drafts ? RowsBefore(level) : 0,
                             .width = drafts ? widths_[Index(level)] : 0});
  });
  return absl::OkStatus();
}

DeviceRows CudaRound::draft_rows(int level) const {
  const int first = RowsBefore(level);
  const int rows = RowsBefore(level + 1) - first;
  const int words = layout_.draft_words;
  return {
      .rows = rows,
      .tokens = ListAt(layout_.draft_tokens + first, rows),
      .positions = ListAt(layout_.draft_positions + first, rows),
      .visible = ListAt(layout_.draft_visible + first * words, rows * words),
      .visible_words = words,
      .first_pending = first,
      .length = {ListAt(kDraftLength, 1), 0},
      .logits_from = level == 0 ? layout_.unread : 0,
      .parents = ListAt(layout_.draft_parents + first, rows)};
}

Ints CudaRound::kept_rows() const {
  return ListAt(layout_.kept_rows, layout_.levels + 1);
}

DeviceRows CudaRound::target_rows() const {
  const int words = layout_.target_words;
  const int rows = layout_.rows;
  return {.rows = rows,
          .tokens = ListAt(layout_.target_tokens, rows),
          .positions = ListAt(layout_.target_positions, rows),
          .visible = ListAt(layout_.target_visible, rows * words),
          .visible_words = words,
          .length = {ListAt(kTargetLength, 1), 0}};
}

absl::Status CudaRound::Draw(int level, const Tensor& logits) {
  const int width = widths_[Index(level)];
  Check(logits.rows == (layout_.law_by_depth ? 1 : width) &&
            (columns_ != nullptr || logits.columns == layout_.vocab),
        "logits of another level");
  backend_.Ask([&](CudaDevice& device) {
    const RoundSpans spans = Spans();
    kernels_.laws(
        device, {.round = spans,
                 .rule = RuleOf(options_.plan.draft_rule,
                                options_.draft_used_vocab, banned_draft_.get()),
                 .logits = logits,
                 .columns = SpanOf(columns_.get()),
                 .first_law = LawsBefore(level)});
    kernels_.draw(device, {.round = spans,
                           .level = level,
                           .width = width,
                           .first_law = LawsBefore(level)});
  });
  return absl::OkStatus();
}

absl::Status CudaRound::Verify(const Tensor& logits) {
  Check(logits.rows == layout_.rows && logits.columns == layout_.vocab,
        "logits of another tree");
  backend_.Ask([&](CudaDevice& device) {
    const RoundSpans spans = Spans();
    kernels_.laws(
        device, {.round = spans,
                 .rule = RuleOf(options_.plan.target_rule, options_.used_vocab,
                                banned_target_.get()),
                 .logits = logits,
                 .of_target = true});
    kernels_.verify(device, spans);
  });
  return absl::OkStatus();
}

absl::Status CudaRound::Keep(absl::Span<KvCache* const> target,
                             absl::Span<KvCache* const> draft) {
  BANYAN_RETURN_IF_ERROR(KeepModel(true, target));
  return KeepModel(false, draft);
}

absl::Status CudaRound::KeepModel(bool of_target,
                                  absl::Span<KvCache* const> caches) {
  for (std::size_t first = 0; first < caches.size(); first += kKeepLayers) {
    KeepLaunch launch = {.round = Spans(), .of_target = of_target};
    for (KvCache* cache : caches.subspan(first, kKeepLayers))
      launch.caches[launch.layers++] = cache;
    backend_.Ask([&](CudaDevice& device) { kernels_.keep(device, launch); });
  }
  return absl::OkStatus();
}

absl::StatusOr<RoundFindings> CudaRound::Read() {
  const RoundLayout& at = layout_;
  std::vector<std::byte> bytes(Index(at.doubles) * sizeof(double) +
                               Index(at.read_back) * sizeof(int));
  BANYAN_RETURN_IF_ERROR(backend_.Download(*book_, 0, absl::MakeSpan(bytes)));
  const auto* doubles = reinterpret_cast<const double*>(bytes.data());
  const auto* integers = reinterpret_cast<const int*>(doubles + at.doubles);
  found_.assign(integers, integers + at.read_back);
  const auto get = [&](int list, int i) { return found_[Index(list + i)]; };
  if (found_[kErrorKind] == kNoNumber)
    return NoLogit(found_[kErrorText],
                   std::bit_cast<float>(found_[kErrorBits]));
  if (found_[kErrorKind] == kNoTokenLeft) return NoTokenLeft();

  RoundFindings findings;
  for (int row = 0; row < found_[kRows]; ++row) {
    const int node = get(at.row_node, row);
    const int parent = get(at.parent, node);
    findings.tokens.push_back(get(at.token, node));
    findings.parents.push_back(parent < 0 ? -1 : get(at.row, parent));
    for (int k = 0; k < get(at.draw_count, node); ++k) {
      const int slot = get(at.first_draw, node) + k;
      if (get(at.draw_made, slot) == 0) break;
      const int child = get(at.draw_child, slot);
      if (get(at.kept, child) == 0) continue;
      findings.draws.push_back({.node = row,
                                .token = get(at.draw_token, slot),
                                .child = get(at.row, child),
                                .q = doubles[at.draw_q + slot]});
    }
  }
  for (int i = 0; i < found_[kPathSize]; ++i)
    findings.path.push_back(get(at.path, i));
  findings.next = found_[kNext];
  target_length_ = found_[kTargetLength];
  draft_length_ = found_[kDraftLength];
  return findings;
}

absl::StatusOr<std::vector<double>> CudaRound::Proposal(int node) {
  const int law =
      found_[Index(layout_.law_row + found_[Index(layout_.row_node + node)])];
  Check(law >= 0, "a node that nothing was proposed for");
  std::vector<double> masses(Index(layout_.vocab));
  BANYAN_RETURN_IF_ERROR(backend_.Download(
      *draft_laws_, Index(law) * masses.size() * sizeof(double),
      {reinterpret_cast<std::byte*>(masses.data()),
       masses.size() * sizeof(double)}));
  return masses;
}

}  // namespace banyan
