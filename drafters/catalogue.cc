#include "drafters/catalogue.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "drafters/draft_vocabulary.h"
#include "drafters/rows.h"

namespace banyan {

namespace {

// Of the sections of drafters in `value`, in their order.
void AddTitles(const Params& value, std::vector<std::string>& titles) {
  const auto add = [&titles](const Params& inner) {
    if (inner.Find("name") != nullptr)
      titles.push_back(DrafterTitle(inner));
    else
      AddTitles(inner, titles);
  };
  for (const Params::Entry& entry : value.entries()) add(entry.value);
  for (const Params& item : value.items()) add(item);
}

// How many sections of drafters `value` is and has in it. Aliases make a short
// file hold very many.
int CountDrafters(const Params& value) {
  int count = value.Find("name") != nullptr ? 1 : 0;
  for (const Params::Entry& entry : value.entries())
    count += CountDrafters(entry.value);
  for (const Params& item : value.items()) count += CountDrafters(item);
  return count;
}

// Null: `value` is no section of a drafter.
const DrafterRow* RowOf(const Params& value) {
  const Params* name = value.Find("name");
  if (name == nullptr) return nullptr;
  for (const DrafterRow& row : DrafterCatalogue())
    if (row.name == name->text()) return &row;
  return nullptr;
}

// Calls `visit` for every section of a drafter in `value`, the outer first.
void ForEachSection(
    const Params& value,
    absl::FunctionRef<void(const Params& section, const DrafterRow& row)>
        visit) {
  if (const DrafterRow* row = RowOf(value)) visit(value, *row);
  for (const Params::Entry& entry : value.entries())
    ForEachSection(entry.value, visit);
  for (const Params& item : value.items()) ForEachSection(item, visit);
}

// The name of the model that a section reads; null: none.
const Params* ModelOf(const Params& section, const DrafterRow& row) {
  const Params* name =
      row.model_key.empty() ? nullptr : section.Find(row.model_key);
  return name == nullptr || name->kind() != Params::Kind::kScalar ? nullptr
                                                                  : name;
}

absl::StatusOr<DraftedTokens> ReadDraftedTokens(const Params& section,
                                                const DrafterRow& row,
                                                Workbench& bench) {
  const Params* model = ModelOf(section, row);
  DraftedTokens drafted = {.model = model == nullptr ? "" : model->text()};
  const Params whole = WithVocabulary(
      section, [&](const std::string& name) { return bench.PlaceOf(name); });
  const Params* vocabulary = whole.Find(kVocabularyKey);
  if (vocabulary == nullptr || IsAllTokens(*vocabulary)) return drafted;
  BANYAN_ASSIGN_OR_RETURN(const std::shared_ptr<const DraftVocabulary> list,
                          OpenVocabulary(*vocabulary, bench));
  drafted.file = std::filesystem::path(Beside(*vocabulary, vocabulary->text()))
                     .lexically_normal()
                     .string();
  drafted.tokens = static_cast<int>(list->tokens.size());
  return drafted;
}

std::vector<DrafterRow>& Rows() {
  static auto& rows = *new std::vector<DrafterRow>{
      SmallModelRow(), MedusaRow(),       EagleRow(),       NGramRow(),
      CopyRow(),       RandomRow(),       UnigramRow(),     BigramRow(),
      EarlyExitRow(),  SkipRow(),         TriforceRow(),    CascadeRow(),
      RelayRow(),      LookaheadRow(),    PassRow(),        HybridRow(),
      ReferenceRow(),  SuffixRow(),       SamRow(),         RecyclingRow(),
      TrieRow(),       CommonTokensRow(), RetokenizedRow(), RestRow(),
      OrElseRow(),
  };
  return rows;
}

}  // namespace

absl::Span<const DrafterRow> DrafterCatalogue() { return Rows(); }

void AddDrafters(absl::Span<const DrafterRow> rows) {
  AppendRows(rows, Rows());
}

std::vector<absl::string_view> DrafterFolderKeys() {
  std::vector<absl::string_view> keys;
  for (const DrafterRow& row : DrafterCatalogue()) {
    const bool known =
        std::find(keys.begin(), keys.end(), row.folder_key) != keys.end();
    if (!row.folder_key.empty() && !known) keys.push_back(row.folder_key);
  }
  return keys;
}

std::string DrafterTitle(const Params& section) {
  std::vector<std::string> parts;
  AddTitles(section, parts);
  const std::string own = PartName(section);
  return parts.empty()
             ? own
             : absl::StrCat(own, "(", absl::StrJoin(parts, ", "), ")");
}

std::vector<std::string> ModelsOf(const Params& value) {
  std::vector<std::string> names;
  ForEachSection(value, [&](const Params& section, const DrafterRow& row) {
    const Params* name = ModelOf(section, row);
    if (name != nullptr &&
        std::find(names.begin(), names.end(), name->text()) == names.end())
      names.push_back(name->text());
  });
  return names;
}

Params WithVocabulary(const Params& section, PlaceOfFolder place_of) {
  const DrafterRow* row = RowOf(section);
  if (row == nullptr || !row->takes_vocabulary ||
      section.Find(kVocabularyKey) != nullptr)
    return section;
  const Params* name = ModelOf(section, *row);
  const Params* folder = name == nullptr ? nullptr : place_of(name->text());
  std::optional<Params> found;
  if (folder != nullptr) found = VocabularyIn(*folder);
  if (!found.has_value()) return section;
  std::vector<Params::Entry> entries(section.entries().begin(),
                                     section.entries().end());
  entries.push_back({kVocabularyKey, folder->origin(), *std::move(found)});
  return Params::Map(std::move(entries), section.origin());
}

absl::StatusOr<std::vector<DraftedTokens>> DraftedTokensOf(
    const Params& section, Workbench& bench) {
  std::vector<DraftedTokens> all;
  absl::Status status;
  ForEachSection(section, [&](const Params& inner, const DrafterRow& row) {
    if (!row.takes_vocabulary) return;
    absl::StatusOr<DraftedTokens> drafted =
        ReadDraftedTokens(inner, row, bench);
    status.Update(drafted.status());
    if (drafted.ok()) all.push_back(*std::move(drafted));
  });
  BANYAN_RETURN_IF_ERROR(status);
  return all;
}

absl::StatusOr<std::unique_ptr<Drafter>> BuildDrafter(const Params& section,
                                                      Workbench& bench) {
  BANYAN_ASSIGN_OR_RETURN(const DrafterRow* row,
                          FindRow(DrafterCatalogue(), "drafter", section));
  if (const int count = CountDrafters(section); count > kMostDrafters)
    return section.Error(absl::StrCat("drafter ", row->name, ": expected at ",
                                      "most ", kMostDrafters,
                                      " drafters in it, found ", count));
  const Params whole = WithVocabulary(
      section, [&](const std::string& name) { return bench.PlaceOf(name); });
  ParamsReader in(whole, absl::StrCat("drafter ", row->name));
  in.Take("name");
  bench.SetBuilder(&BuildDrafter);
  return row->build(in, bench);
}

}  // namespace banyan
