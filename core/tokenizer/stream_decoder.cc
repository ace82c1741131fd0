#include "core/tokenizer/stream_decoder.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/tokenizer/steps/decoder.h"
#include "core/tokenizer/tokenizer.h"

namespace banyan {
namespace {

std::vector<Fragment> Through(DecodeStage& stage,
                              std::vector<Fragment> fragments) {
  std::vector<Fragment> out;
  for (Fragment& fragment : fragments) stage.Push(std::move(fragment), out);
  return out;
}

std::string Joined(const std::vector<Fragment>& fragments) {
  std::string text;
  for (const Fragment& fragment : fragments) text += fragment.text;
  return text;
}

}  // namespace

StreamDecoder::StreamDecoder(const Tokenizer& tokenizer, bool skip_special)
    : tokenizer_(tokenizer),
      skip_special_(skip_special),
      stages_(tokenizer.decoder().MakeStages()) {}

absl::StatusOr<std::string> StreamDecoder::Push(TokenId id) {
  BANYAN_ASSIGN_OR_RETURN(const absl::string_view token,
                          tokenizer_.TokenText(id));
  if (skip_special_ && tokenizer_.IsSpecial(id)) return std::string();
  std::vector<Fragment> fragments;
  fragments.push_back({std::string(token)});
  for (const auto& stage : stages_)
    fragments = Through(*stage, std::move(fragments));
  return Joined(fragments);
}

std::string StreamDecoder::Finish() {
  std::vector<Fragment> fragments;
  for (const auto& stage : stages_) {
    fragments = Through(*stage, std::move(fragments));
    stage->Finish(fragments);
  }
  return Joined(fragments);
}

}  // namespace banyan
