#include "core/round/laid_out.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/base/draw_math.h"
#include "core/prob/sampling_rule.h"

namespace banyan {
namespace {

std::size_t Index(int i) { return static_cast<std::size_t>(i); }

#define BANYAN_PER(name, per) Per::per,
constexpr std::array kIntegersPer = {BANYAN_ROUND_INTEGERS(BANYAN_PER)};
constexpr std::array kDoublesPer = {BANYAN_ROUND_DOUBLES(BANYAN_PER)};
#undef BANYAN_PER

// The last level's rows are as many as its nodes.
std::vector<int> Wide(int levels, int width) {
  std::vector<int> widths(Index(levels), width);
  if (levels > 0) widths[0] = 1;
  return widths;
}

}  // namespace

LaidOut::LaidOut(RoundPlan plan) : plan_(std::move(plan)) {
  Check(plan_.drafters.size() <= Index(kMostRoundDrafters),
        "more drafters than a round has room for");
  layout_.judge = plan_.judge;
  layout_.dense_target = !plan_.target_rule.leaves_out();
  layout_.vocab = plan_.vocab_size;
  layout_.ends = static_cast<int>(plan_.end_of_text.size());
  for (const RoundDrafter& drafter : plan_.drafters) {
    DrafterLayout& of = layout_.drafters[layout_.count++];
    of.draw_kind = drafter.draw_kind;
    of.by_depth = drafter.by_depth;
    of.rereads = drafter.rereads;
    of.dense = !drafter.rule.leaves_out();
    ReadShape(drafter, of);
    std::vector<int>& widths = widths_.back();
    if (of.shape != ShapeKind::kUploaded)
      widths.resize(std::min(widths.size(), Index(drafter.most_levels)));
    of.levels = static_cast<int>(widths.size());
    layout_.levels = std::max(layout_.levels, of.levels);
  }
  LayOut();
}

// The widths and the most nodes; of a fixed shape, who is whose child.
void LaidOut::ReadShape(const RoundDrafter& plan, DrafterLayout& of) {
  of.first_place = static_cast<int>(firsts_.size());
  if (const auto* shape = std::get_if<SequencesShape>(&plan.shape)) {
    of.shape = ShapeKind::kSequences;
    of.width = shape->width;
    widths_.push_back(Wide(shape->levels, shape->width));
    of.draws = shape->width * shape->levels;
  } else if (const auto* ranked = std::get_if<RerankedShape>(&plan.shape)) {
    of.shape = ShapeKind::kReranked;
    of.width = ranked->width;
    of.total = ranked->nodes;
    widths_.push_back(Wide(ranked->levels, ranked->width));
    of.draws = ranked->levels == 0
                   ? 0
                   : ranked->width +
                         (ranked->levels - 1) * ranked->width * ranked->width;
  } else if (const auto* own = std::get_if<UploadedShape>(&plan.shape)) {
    of.shape = ShapeKind::kUploaded;
    widths_.emplace_back(Index(own->levels), 0);
    of.draws = own->draws;
    of.nodes = own->nodes;
  } else {
    const auto& fixed = std::get<FixedPlaces>(plan.shape);
    of.share_draws = fixed.share_draws;
    std::vector<std::vector<int>> children(fixed.parents.size());
    std::vector<int> depths(fixed.parents.size(), 0);
    for (std::size_t i = 1; i < fixed.parents.size(); ++i) {
      children[Index(fixed.parents[i])].push_back(static_cast<int>(i));
      depths[i] = depths[Index(fixed.parents[i])] + 1;
    }
    std::vector<int>& widths = widths_.emplace_back();
    std::vector<int> list;
    for (std::size_t i = 0; i < children.size(); ++i) {
      firsts_.push_back(static_cast<int>(list.size()));
      counts_.push_back(static_cast<int>(children[i].size()));
      list.insert(list.end(), children[i].begin(), children[i].end());
      if (children[i].empty()) continue;
      widths.resize(std::max(widths.size(), Index(depths[i]) + 1), 0);
      ++widths[Index(depths[i])];
    }
    list.resize(children.size());  // as long as the others
    list_.insert(list_.end(), list.begin(), list.end());
    of.draws = static_cast<int>(fixed.parents.size()) - 1;
  }
}

void LaidOut::LayOut() {
  RoundLayout& all = layout_;
  all.rows = 1;
  int slots = 0;
  int words = 0;
  int unread = 0;
  int uploaded_numbers = 0;
  for (int i = 0; i < all.count; ++i) {
    DrafterLayout& of = all.drafters[i];
    const bool uploaded = of.shape == ShapeKind::kUploaded;
    of.has_rows = !of.by_depth && of.levels > 0 && !uploaded;
    // What a round left to be read again, or what only others drafted.
    of.unread = of.rereads || all.count > 1 ? all.levels : 1;
    if (!uploaded) of.nodes = of.draws + 1;
    of.first_node = std::exchange(all.nodes, all.nodes + of.nodes);
    of.first_draw = std::exchange(all.draws, all.draws + of.draws);
    of.first_distribution = all.distributions;
    of.distributions =
        uploaded ? of.nodes
                 : DistributionsBefore(i, of.levels) - of.first_distribution;
    all.distributions += of.distributions;
    of.slots = of.has_rows ? RowsBefore(i, of.levels) : 1;
    of.first_slot = std::exchange(slots, slots + of.slots);
    of.words = (of.slots + 31) / 32;
    of.first_word = std::exchange(words, words + of.slots * of.words);
    of.first_unread = std::exchange(unread, unread + of.unread);
    of.first_uploaded = uploaded_numbers;
    if (uploaded)
      uploaded_numbers +=
          2 + of.nodes * kUpNodeNumbers + of.draws * kUpDrawNumbers;
    all.rows += of.shape == ShapeKind::kReranked
                    ? std::min(of.total, of.draws)
                    : (uploaded ? of.nodes - 1 : of.draws);
  }
  all.nodes = std::max(all.nodes, 1);
  all.rows = std::max(all.rows, plan_.least_rows);
  all.words = (all.rows + 31) / 32;
  const auto size = [&](Per per) {
    switch (per) {
      case Per::kRound:
        return 1;
      case Per::kDrafter:
        return all.count;
      case Per::kNode:
        return all.nodes;
      case Per::kDraw:
        return all.draws;
      case Per::kDistribution:
        return all.distributions + all.rows;
      case Per::kRun:
        return (all.distributions + all.rows) * SumRuns(all.vocab);
      case Per::kRow:
        return all.rows;
      case Per::kOwn:
        return all.rows * all.count;
      case Per::kLevel:
        return all.levels + 1;
      case Per::kSlot:
        return slots;
      case Per::kUnread:
        return unread;
      case Per::kPlace:
        return static_cast<int>(firsts_.size());
      case Per::kEnd:
        return all.ends;
      case Per::kUploaded:
        return uploaded_numbers;
      case Per::kRowWord:
        return all.rows * all.words;
      case Per::kSlotWord:
        return words;
    }
    return 0;
  };
  for (std::size_t i = 0; i < kIntegersPer.size(); ++i)
    all.integer_at[i] =
        std::exchange(all.integers, all.integers + size(kIntegersPer[i]));
  for (std::size_t i = 0; i < kDoublesPer.size(); ++i)
    all.double_at[i] =
        std::exchange(all.doubles, all.doubles + size(kDoublesPer[i]));
  for (const std::vector<int>* part :
       {&firsts_, &counts_, &list_, &plan_.end_of_text})
    fixed_.insert(fixed_.end(), part->begin(), part->end());
}

int LaidOut::widest() const {
  int widest = 1;
  for (const std::vector<int>& widths : widths_)
    for (int width : widths) widest = std::max(widest, width);
  return widest;
}

int LaidOut::RowsBefore(int drafter, int level) const {
  // The root's, and what stands before it.
  int rows = level == 0 ? 0 : layout_.drafters[drafter].unread + 1;
  for (int i = 1; i < level; ++i) rows += widths(drafter)[Index(i)];
  return rows;
}

int LaidOut::DistributionsBefore(int drafter, int level) const {
  const DrafterLayout& of = layout_.drafters[drafter];
  if (of.by_depth) return of.first_distribution + level;
  int distributions = of.first_distribution;
  for (int i = 0; i < level; ++i) distributions += widths(drafter)[Index(i)];
  return distributions;
}

// Tokens that a drafter has not read, the root aside.
int LaidOut::Lag(int drafter, const RoundStart& start) const {
  const DrafterLayout& of = layout_.drafters[drafter];
  if (!of.has_rows) return 0;
  const int lag =
      start.target - start.drafts[Index(drafter)] - (of.rereads ? 1 : 0);
  Check(lag >= 0 && lag <= of.unread,
        "a drafter that lags by more than a round");
  return lag;
}

std::vector<int> LaidOut::Opening(const RoundStart& start) const {
  Check(static_cast<int>(start.text.size()) == start.target + 1 &&
            start.drafts.size() == Index(layout_.count),
        "a session that does not hold the text before the root");
  std::vector<int> numbers(Index(layout_.integer_at[book::kToken]), 0);
  const auto set = [&](book::Integers list, int value, int i = 0) {
    numbers[Index(layout_.integer_at[list] + i)] = value;
  };
  set(book::kTargetLength, start.target);
  set(book::kRoot, start.text.back());
  set(book::kPrompt, std::bit_cast<std::int32_t>(start.prompt));
  set(book::kRound, std::bit_cast<std::int32_t>(start.round));
  for (int i = 0; i < layout_.count; ++i) {
    set(book::kDraftLength, start.drafts[Index(i)], i);
    set(book::kUnread, Lag(i, start), i);
  }
  return numbers;
}

std::vector<int> LaidOut::UnreadText(const RoundStart& start) const {
  std::vector<int> text;
  for (int i = 0; i < layout_.count; ++i) {
    const int lag = Lag(i, start);
    text.insert(text.end(), start.text.end() - 1 - lag, start.text.end() - 1);
    text.resize(
        Index(layout_.drafters[i].first_unread + layout_.drafters[i].unread));
  }
  return text;
}

absl::StatusOr<RoundFindings> LaidOut::Read(
    absl::Span<const int> integers, absl::Span<const double> doubles) const {
  const auto get = [&](book::Integers list, int i = 0) {
    return integers[Index(layout_.integer_at[list] + i)];
  };
  if (get(book::kErrorKind) != kNoError) {
    absl::Status status =
        get(book::kErrorKind) == kNoNumber
            ? NoLogit(get(book::kErrorText),
                      std::bit_cast<float>(get(book::kErrorBits)))
            : NoTokenLeft();
    const int drafter = get(book::kErrorDrafter);
    if (drafter < 0) return status;
    return absl::Status(
        status.code(),
        absl::StrCat("drafter ", plan_.drafters[Index(drafter)].name, ": ",
                     status.message()));
  }
  // By draw: how many were made before it, its number in time.
  std::vector<int> time(Index(layout_.draws));
  RoundFindings findings;
  int made = 0;
  for (int i = 0; i < layout_.count; ++i) {
    const DrafterLayout& of = layout_.drafters[i];
    findings.first_times.push_back(made);
    for (int draw = of.first_draw; draw < get(book::kDrawsEnd, i); ++draw)
      time[Index(draw)] =
          std::exchange(made, made + get(book::kDrawMade, draw));
  }
  for (int row = 0; row < get(book::kRows); ++row) {
    const int merged = get(book::kRowNode, row);
    const int parent = get(book::kParent, merged);
    findings.tokens.push_back(get(book::kToken, merged));
    findings.parents.push_back(parent < 0 ? -1 : get(book::kRow, parent));
    for (int i = 0; i < layout_.count; ++i) {
      const int node = get(book::kOwnNode, row * layout_.count + i);
      if (node < 0) continue;
      for (int k = 0; k < get(book::kDrawCount, node); ++k) {
        const int draw = get(book::kFirstDraw, node) + k;
        if (get(book::kDrawMade, draw) == 0) break;
        const int child = get(book::kDrawChild, draw);
        if (get(book::kKept, child) == 0) continue;
        findings.draws.push_back(
            {.node = row,
             .drafter = i,
             .time = time[Index(draw)],
             .own = node - layout_.drafters[i].first_node,
             .token = get(book::kDrawToken, draw),
             .child = get(book::kRow, child),
             .q = doubles[Index(layout_.double_at[book::kDrawQ] -
                                first_double() + draw)]});
      }
    }
  }
  for (int i = 0; i < get(book::kPathSize); ++i)
    findings.path.push_back(get(book::kPath, i));
  findings.next = get(book::kNext);
  return findings;
}

}  // namespace banyan
