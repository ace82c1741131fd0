#include "drafters/models/retokenized/retokenized.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/model/model.h"
#include "core/prob/distribution.h"
#include "core/prob/logits.h"
#include "core/tokenizer/growing_text.h"
#include "core/tokenizer/patterns/unicode.h"
#include "core/tokenizer/vocabulary_map.h"
#include "drafters/drafter.h"
#include "drafters/workbench.h"
#include "tree/derive.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"

namespace banyan {
namespace {

// Each is a pass of the model that nothing else shares.
constexpr int kMostWritten = 256;

}  // namespace

absl::StatusOr<std::unique_ptr<Drafter>> Retokenized::Build(ParamsReader& in,
                                                            Workbench& bench) {
  Params name;
  int write = 32;
  in.Required("model", name);
  in.Optional("write", write);
  in.Ensure(write >= 1 && write <= kMostWritten, "write",
            absl::StrCat("must lie between 1 and ", kMostWritten));
  BANYAN_RETURN_IF_ERROR(in.Finish());
  BANYAN_ASSIGN_OR_RETURN(OtherModel model, bench.OpenOther(name));
  return std::make_unique<Retokenized>(bench.target().vocab_size(),
                                       std::move(model), write);
}

Retokenized::Retokenized(int vocab_size, OtherModel model, int write)
    : vocab_size_(vocab_size),
      parts_(std::move(model)),
      write_(write),
      reader_(parts_.model, parts_.map),
      target_text_(parts_.of_target) {}

std::unique_ptr<Drafter> Retokenized::Clone() const {
  return std::make_unique<Retokenized>(vocab_size_, parts_, write_);
}

std::vector<DraftLaw> Retokenized::laws() const {
  return {DraftLaw::kDeterministic};
}

absl::Status Retokenized::Begin(const Context& context) {
  target_text_ = OwnText(parts_.of_target);
  BANYAN_RETURN_IF_ERROR(target_text_.Follow(context.tokens));
  return reader_.Begin(context.tokens);
}

absl::Status Retokenized::Observe(const Context& context,
                                  const RoundOutcome& /*outcome*/) {
  BANYAN_RETURN_IF_ERROR(target_text_.Follow(context.tokens));
  return reader_.Follow(context.tokens);
}

// One pass a token, for all that write.
absl::StatusOr<std::vector<std::vector<Distribution>>> Retokenized::ProposeAll(
    absl::Span<const DraftRequest> requests) {
  const auto own = [&](std::size_t i) {
    return static_cast<Retokenized*>(requests[i].drafter);
  };
  // Every drafting proposes for its root first.
  for (std::size_t i = 0; i < requests.size(); ++i)
    if (requests[i].nodes.front() == 0) own(i)->StartRound();
  while (true) {
    std::vector<Retokenized*> writing;
    for (std::size_t i = 0; i < requests.size(); ++i)
      if (own(i)->WritesFor(requests[i])) writing.push_back(own(i));
    if (writing.empty()) break;
    std::vector<TokenBatch> batches;
    for (Retokenized* each : writing) {
      BANYAN_ASSIGN_OR_RETURN(TokenBatch batch, each->NextBatch());
      batches.push_back(std::move(batch));
    }
    std::vector<ScoreRequest> wanted;
    for (std::size_t i = 0; i < writing.size(); ++i)
      wanted.push_back({.session = &writing[i]->reader_.session(),
                        .batch = &batches[i],
                        .logits_from = batches[i].size() - 1});
    BANYAN_ASSIGN_OR_RETURN(const auto scores, parts_.model->Score(wanted));
    for (std::size_t i = 0; i < writing.size(); ++i)
      BANYAN_RETURN_IF_ERROR(writing[i]->Write(batches[i], *scores[i]));
  }
  std::vector<std::vector<Distribution>> all;
  for (std::size_t i = 0; i < requests.size(); ++i)
    all.push_back(own(i)->Answer(requests[i]));
  return all;
}

void Retokenized::StartRound() {
  written_.clear();
  drafted_.clear();
  written_bytes_ = target_text_.cut_bytes();
  growing_ = target_text_.text().Branch();
  committed_ = growing_->tokens();
  committed_.insert(committed_.end(), target_text_.cut().begin(),
                    target_text_.cut().end());
  is_done_ = false;
}

bool Retokenized::WritesFor(const DraftRequest& request) const {
  if (is_done_ || static_cast<int>(written_.size()) >= write_ ||
      !reader_.Fits(static_cast<int>(written_.size())))
    return false;
  return std::any_of(request.nodes.begin(), request.nodes.end(), [&](int node) {
    const std::vector<TokenId> path = TokensTo(*request.tree, node);
    return path.size() >= drafted_.size() && IsDrafted(path);
  });
}

// As far as it is drafted: what is to come may be the rest.
bool Retokenized::IsDrafted(absl::Span<const TokenId> path) const {
  const std::size_t known = std::min(path.size(), drafted_.size());
  return std::equal(path.begin(),
                    path.begin() + static_cast<std::ptrdiff_t>(known),
                    drafted_.begin());
}

absl::StatusOr<TokenBatch> Retokenized::NextBatch() {
  if (written_.empty()) return reader_.StartRound();
  TokenBatch batch;
  const int position =
      static_cast<int>(reader_.tokens().size() + written_.size()) - 1;
  batch.Add(written_.back(), position, reader_.session().pending() - 1);
  return batch;
}

absl::Status Retokenized::Write(const TokenBatch& batch, const Scores& scores) {
  reader_.pending().Scored(batch, {});
  BANYAN_ASSIGN_OR_RETURN(const std::vector<TokenLogit> best,
                          scores.Best(batch.size() - 1, 1));
  if (best.empty()) {  // no token can follow
    is_done_ = true;
    return absl::OkStatus();
  }
  return Cut(best.front().token);
}

// Takes the token as written, and drafts what stays.
absl::Status Retokenized::Cut(TokenId token) {
  const std::string& bytes = parts_.map->drafter().BytesOf(token);
  const std::vector<TokenId>& ends = parts_.ends;
  if (std::find(ends.begin(), ends.end(), token) != ends.end()) {
    is_done_ = true;
    growing_->End(parts_.end_of_target);
  } else if (bytes.empty()) {
    is_done_ = true;
    return absl::OkStatus();
  } else {
    written_.push_back(token);
    written_bytes_ += bytes;
    BANYAN_RETURN_IF_ERROR(
        growing_->Append(TakeCharacters(written_bytes_, false)));
  }
  // The committed text's tokens, those that cut its last character, and z.
  const absl::Span<const TokenId> settled =
      absl::MakeConstSpan(growing_->tokens())
          .first(static_cast<std::size_t>(growing_->settled()));
  drafted_.clear();
  const std::size_t known = std::min(settled.size(), committed_.size());
  if (!std::equal(settled.begin(),
                  settled.begin() + static_cast<std::ptrdiff_t>(known),
                  committed_.begin()))
    is_done_ = true;  // no z will come
  else if (settled.size() > committed_.size())
    drafted_ = {settled.begin() + static_cast<std::ptrdiff_t>(known),
                settled.end()};
  return absl::OkStatus();
}

std::vector<Distribution> Retokenized::Answer(
    const DraftRequest& request) const {
  std::vector<Distribution> answers;
  for (int node : request.nodes) {
    const std::vector<TokenId> path = TokensTo(*request.tree, node);
    answers.push_back(
        path.size() < drafted_.size() && IsDrafted(path)
            ? Distribution::OneHot(vocab_size_, drafted_[path.size()])
            : Distribution::Sparse(vocab_size_, {}, {}));
  }
  return answers;
}

}  // namespace banyan
