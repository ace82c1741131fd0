#include "drafters/small_models/retokenized/retokenized.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "core/base/params.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/prob/sampling_rule.h"
#include "core/tokenizer/growing_text.h"
#include "core/tokenizer/patterns/unicode.h"
#include "core/tokenizer/vocabulary.h"
#include "drafters/rows.h"
#include "tree/derive.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"

namespace banyan {
namespace {

// Each is a pass of the model that nothing else shares.
constexpr int kMostWritten = 256;

}  // namespace

Retokenized::Retokenized(int vocab_size, OtherModel model, int write)
    : Drafter(
          {.draw_kinds = {DrawKind::kDeterministic}, .proposes_ahead = true},
          /*carried=*/nullptr),
      vocab_size_(vocab_size),
      parts_(std::move(model)),
      write_(write) {}

class RetokenizedSession : public QuietSession {
 public:
  explicit RetokenizedSession(const Retokenized& drafter)
      : QuietSession(SessionFacets{}),
        drafter_(drafter),
        reader_(drafter.parts_.model, drafter.parts_.map),
        target_text_(drafter.parts_.of_target) {}

  absl::Status Begin(const Context& context) override {
    BANYAN_RETURN_IF_ERROR(target_text_.Follow(context.tokens));
    return reader_.Begin(context.tokens);
  }
  absl::Status Observe(const Context& context,
                       const RoundOutcome& /*outcome*/) override {
    BANYAN_RETURN_IF_ERROR(target_text_.Follow(context.tokens));
    return reader_.Follow(context.tokens);
  }

  void StartRound();
  // Whether another token is to be written before the request can be answered.
  bool WritesFor(const DraftRequest& request) const;
  // The rows whose last gives the next token.
  absl::StatusOr<TokenBatch> NextBatch();
  absl::Status Write(const TokenBatch& batch, const Scores& scores);
  Proposals Answer(const DraftRequest& request) const;
  Session& session() const { return reader_.session(); }

 private:
  absl::Status Cut(TokenId token);
  bool IsDrafted(absl::Span<const TokenId> path) const;

  const Retokenized& drafter_;
  OwnReader reader_;
  OwnText target_text_;  // the committed text as the target's tokenizer cuts it
  // Of the round:
  std::vector<TokenId> written_;
  std::string written_bytes_;  // those that are no whole character yet
  bool is_done_ = false;       // nothing more is written
  // The committed text and what is written after it, in the target's tokens;
  // those of the committed text, some of the last; and z.
  std::optional<GrowingText> growing_;
  std::vector<TokenId> committed_;
  std::vector<TokenId> drafted_;
};

std::unique_ptr<DraftSession> Retokenized::NewSession() const {
  return std::make_unique<RetokenizedSession>(*this);
}

// One pass a token, for all that write.
absl::StatusOr<std::vector<Proposals>> Retokenized::Propose(
    absl::Span<const DraftRequest> requests) {
  for (const DraftRequest& request : requests)
    if (request.nodes.front() == 0)  // a drafting begins
      SessionOf<RetokenizedSession>(request).StartRound();
  while (true) {
    std::vector<RetokenizedSession*> writing;
    for (const DraftRequest& request : requests)
      if (auto& own = SessionOf<RetokenizedSession>(request);
          own.WritesFor(request))
        writing.push_back(&own);
    if (writing.empty()) break;
    std::vector<TokenBatch> batches;
    for (RetokenizedSession* each : writing) {
      BANYAN_ASSIGN_OR_RETURN(TokenBatch batch, each->NextBatch());
      batches.push_back(std::move(batch));
    }
    std::vector<ScoreRequest> wanted;
    for (std::size_t i = 0; i < writing.size(); ++i)
      wanted.push_back({.session = &writing[i]->session(),
                        .batch = &batches[i],
                        .logits_from = batches[i].size() - 1});
    BANYAN_ASSIGN_OR_RETURN(const auto scores, parts_.model->Score(wanted));
    for (std::size_t i = 0; i < writing.size(); ++i)
      BANYAN_RETURN_IF_ERROR(writing[i]->Write(batches[i], *scores[i]));
  }
  std::vector<Proposals> all;
  for (const DraftRequest& request : requests)
    all.push_back(SessionOf<RetokenizedSession>(request).Answer(request));
  return all;
}

void RetokenizedSession::StartRound() {
  written_.clear();
  drafted_.clear();
  written_bytes_ = target_text_.cut_bytes();
  growing_ = target_text_.text().Branch();
  committed_ = growing_->tokens();
  committed_.insert(committed_.end(), target_text_.cut().begin(),
                    target_text_.cut().end());
  is_done_ = false;
}

bool RetokenizedSession::WritesFor(const DraftRequest& request) const {
  if (is_done_ || static_cast<int>(written_.size()) >= drafter_.write_ ||
      !reader_.Fits(static_cast<int>(written_.size())))
    return false;
  return std::any_of(request.nodes.begin(), request.nodes.end(), [&](int node) {
    const std::vector<TokenId> path = TokensTo(*request.tree, node);
    return path.size() >= drafted_.size() && IsDrafted(path);
  });
}

// As far as it is drafted: what is to come may be the rest.
bool RetokenizedSession::IsDrafted(absl::Span<const TokenId> path) const {
  const std::size_t known = std::min(path.size(), drafted_.size());
  return std::equal(path.begin(),
                    path.begin() + static_cast<std::ptrdiff_t>(known),
                    drafted_.begin());
}

absl::StatusOr<TokenBatch> RetokenizedSession::NextBatch() {
  if (written_.empty()) return reader_.StartRound();
  TokenBatch batch;
  const int position =
      static_cast<int>(reader_.tokens().size() + written_.size()) - 1;
  batch.Add(written_.back(), position, reader_.session().pending() - 1);
  return batch;
}

absl::Status RetokenizedSession::Write(const TokenBatch& batch,
                                       const Scores& scores) {
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
absl::Status RetokenizedSession::Cut(TokenId token) {
  const std::string& bytes = drafter_.parts_.map->drafter().BytesOf(token);
  const std::vector<TokenId>& ends = drafter_.parts_.ends;
  if (std::find(ends.begin(), ends.end(), token) != ends.end()) {
    is_done_ = true;
    growing_->End(drafter_.parts_.end_of_target);
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

Proposals RetokenizedSession::Answer(const DraftRequest& request) const {
  Proposals answers;
  for (int node : request.nodes) {
    const std::vector<TokenId> path = TokensTo(*request.tree, node);
    answers.push_back(
        {path.size() < drafted_.size() && IsDrafted(path)
             ? Distribution::OneHot(drafter_.vocab_size_, drafted_[path.size()])
             : Distribution::Sparse(drafter_.vocab_size_, {}, {})});
  }
  return answers;
}

namespace {

BuiltDrafter BuildRetokenized(ParamsReader& in, int write, Workbench& bench) {
  const Params* name = in.TakeRequired("model");
  BANYAN_RETURN_IF_ERROR(in.Finish());
  BANYAN_ASSIGN_OR_RETURN(OtherModel model, bench.OpenOther(*name));
  return std::make_unique<Retokenized>(bench.target().vocab_size(),
                                       std::move(model), write);
}

}  // namespace

DrafterRow RetokenizedRow() {
  Keys<int> keys(32);
  keys.Described(
      NameKey("model", "A name of `models`, with a tokenizer of its own."));
  keys.Between("write", std::identity(), 1, kMostWritten,
               "The most tokens that it writes a round.");
  return {.name = "retokenized",
          .sentence =
              "The text that a model of another vocabulary writes, "
              "re-tokenized for the target.",
          .draw_kinds = {DrawKind::kDeterministic},
          .keys = keys.Rows(),
          .build = keys.ReadFor(BuildRetokenized),
          .examples = {"{model: fewer}", "{model: more, write: 6}",
                       "{model: others}"},
          .model_key = "model"};
}

}  // namespace banyan
