#include "drafters/workbench.h"

#include <filesystem>
#include <system_error>

#include "core/base/check.h"
#include "core/base/messages.h"
#include "drafters/drafter.h"

namespace banyan {

Assets::Id Assets::IdOf(std::type_index type, const AssetKey& key) {
  std::error_code error;
  const std::filesystem::path place =
      std::filesystem::canonical(key.path, error);
  // What is not there has one spelling; whoever opens it says what is wrong.
  return {type, error ? key.path : place.string(), key.about, key.owner};
}

absl::Status RequireDirectory(absl::string_view what,
                              const std::string& directory) {
  std::error_code error;
  if (std::filesystem::is_directory(directory, error)) return absl::OkStatus();
  return absl::NotFoundError(
      absl::StrCat(what, ": '", directory, "' is not a directory"));
}

namespace {

constexpr char kModel[] = "model";  // the key of those that are open
constexpr char kWorkbenchHint[] =
    "; drafters common_tokens and retokenized take a model with tokens of its "
    "own";

// The tokens that end a text, the tokenizer's own first.
std::vector<TokenId> EndsOf(const Model& model, const Tokenizer& tokenizer) {
  std::vector<TokenId> ends = model.facts().end_of_text;
  if (tokenizer.eos_id().has_value())
    ends.insert(ends.begin(), *tokenizer.eos_id());
  return ends;
}

}  // namespace

OtherModel MakeOtherModel(const Model& target,
                          std::shared_ptr<const Tokenizer> target_tokenizer,
                          std::shared_ptr<const Model> model,
                          std::shared_ptr<const Tokenizer> tokenizer) {
  OtherModel other = {.model = std::move(model)};
  const std::vector<TokenId> ends = EndsOf(target, *target_tokenizer);
  if (!ends.empty()) other.end_of_target = ends.front();
  other.ends = EndsOf(*other.model, *tokenizer);
  TextEnds both = {.target = other.end_of_target};
  if (!other.ends.empty()) both.drafter = other.ends.front();
  other.map = std::make_shared<const VocabularyMap>(target_tokenizer,
                                                    std::move(tokenizer), both);
  other.of_target = std::make_shared<const VocabularyMap>(
      target_tokenizer, target_tokenizer, TextEnds());
  return other;
}

absl::StatusOr<std::unique_ptr<Drafter>> Workbench::Build(
    const Params& section) {
  Check(builder_ != nullptr, "a bench that the catalogue has not seen");
  return builder_(section, *this);
}

void Workbench::AddModel(const std::string& name,
                         std::shared_ptr<const Model> model,
                         std::shared_ptr<const Tokenizer> tokenizer,
                         Params place) {
  named_[name] = {.key = kModel,
                  .model = std::move(model),
                  .tokenizer = std::move(tokenizer),
                  .place = std::move(place)};
}

void Workbench::AddFolder(const std::string& name, absl::string_view key,
                          Params place) {
  named_[name] = {.key = std::string(key),
                  .model = nullptr,
                  .tokenizer = nullptr,
                  .place = std::move(place)};
}

const Params* Workbench::PlaceOf(const std::string& name) const {
  const auto found = named_.find(name);
  return found == named_.end() ||
                 found->second.place.kind() == Params::Kind::kNull
             ? nullptr
             : &found->second.place;
}

absl::StatusOr<SamplingRule> Workbench::TakeRule(ParamsReader& in) const {
  const Params* sampling = in.Take("sampling");
  if (sampling == nullptr) return rule_;
  BANYAN_ASSIGN_OR_RETURN(SamplingRule rule,
                          SamplingRule::FromParams(*sampling));
  const absl::Status fits = rule.CheckFits(target_->vocab_size());
  if (!fits.ok()) return sampling->Find("banned")->Error(fits.message());
  return rule;
}

absl::StatusOr<std::shared_ptr<const Model>> Workbench::Open(
    const Params& name) {
  BANYAN_ASSIGN_OR_RETURN(const Named* named, Find(kModel, name));
  const absl::Status alike = CheckTokens(*named);
  if (!alike.ok())
    return name.Error(absl::StrCat(alike.message(), kWorkbenchHint));
  return named->model;
}

absl::StatusOr<OtherModel> Workbench::OpenOther(const Params& name) {
  BANYAN_ASSIGN_OR_RETURN(const Named* named, Find(kModel, name));
  for (const auto& [whose, tokenizer] :
       {std::pair("the target", tokenizer_.get()),
        std::pair("the model", named->tokenizer.get())})
    if (tokenizer == nullptr)
      return name.Error(absl::StrCat(whose,
                                     " has no tokenizer.json, so that nothing "
                                     "says what its tokens spell"));
  return MakeOtherModel(*target_, tokenizer_, named->model, named->tokenizer);
}

KeyRow SamplingKey() {
  return {.name = "sampling",
          .type = "section",
          .sentence = "A sampling rule of its own; left out: the method's."};
}

KeyRow NameKey(const std::string& key, const std::string& sentence) {
  return {.name = key,
          .type = "name or section",
          .required = true,
          .sentence = sentence};
}

absl::Status Workbench::CheckTokens(const Named& named) const {
  if (named.model->vocab_size() != target_->vocab_size())
    return absl::InvalidArgumentError(absl::StrCat(
        "the drafter has a vocabulary of ", named.model->vocab_size(),
        ", the target one of ", target_->vocab_size()));
  if (named.tokenizer == nullptr || tokenizer_ == nullptr)
    return absl::OkStatus();
  const std::vector<TokenDifference> differing =
      DifferingTokens(*tokenizer_, *named.tokenizer);
  if (differing.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(Describe(differing.front()));
}

absl::StatusOr<const Workbench::Named*> Workbench::Find(absl::string_view key,
                                                        const Params& name) {
  std::string text;
  BANYAN_RETURN_IF_ERROR(Convert(name, text));
  opened_.insert(text);
  const auto found = named_.find(text);
  if (found != named_.end() && found->second.key == key) return &found->second;
  std::vector<absl::string_view> names;
  for (const auto& [known, named] : named_)
    if (named.key == key) names.emplace_back(known);
  return name.Error(UnknownName(key, text, names));
}

}  // namespace banyan
