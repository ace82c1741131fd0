#include "experiments/proof/exact_file.h"

#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "core/model/table_model.h"
#include "core/prob/sampling_rule.h"
#include "decode/method.h"
#include "drafters/assets.h"
#include "drafters/catalogue.h"
#include "drafters/drafter.h"
#include "drafters/workbench.h"
#include "experiments/plan/build_method.h"
#include "experiments/plan/method_spec.h"
#include "experiments/plan/read_method.h"
#include "experiments/proof/controls.h"
#include "experiments/proof/exact_law.h"

namespace banyan {
namespace {

constexpr double kSumTolerance = 1e-9;
constexpr int kMostStrings = 200'000;  // of the horizon; each is printed

absl::Status ReadRow(const Params& value, int vocab_size,
                     std::vector<double>& row) {
  BANYAN_RETURN_IF_ERROR(Convert(value, row));
  if (static_cast<int>(row.size()) != vocab_size)
    return value.Error(absl::StrCat("expected ", vocab_size,
                                    " probabilities, one a token, found ",
                                    row.size()));
  double sum = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (row[i] < 0)
      return value.items()[i].Error(
          absl::StrCat("expected a probability, found ", row[i]));
    sum += row[i];
  }
  if (!(std::abs(sum - 1) <= kSumTolerance))
    return value.Error(absl::StrCat(
        "expected probabilities that sum to 1, found a sum of ", sum));
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<TableModel>> ReadTable(ParamsReader& in,
                                                      int vocab_size) {
  Params start_value;
  Params next_value;
  in.Required("start", start_value);
  in.Required("next", next_value);
  BANYAN_RETURN_IF_ERROR(in.Finish());
  std::vector<double> start;
  BANYAN_RETURN_IF_ERROR(ReadRow(start_value, vocab_size, start));
  std::vector<Params> rows;
  BANYAN_RETURN_IF_ERROR(Convert(next_value, rows));
  if (static_cast<int>(rows.size()) != vocab_size)
    return next_value.Error(absl::StrCat("expected ", vocab_size,
                                         " rows, one a previous token, found ",
                                         rows.size()));
  std::vector<std::vector<double>> next(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i)
    BANYAN_RETURN_IF_ERROR(ReadRow(rows[i], vocab_size, next[i]));
  return std::make_shared<TableModel>(
      TableModel::Bigram(std::move(start), std::move(next)));
}

// Puts the drafter's table on the bench, and gives the section of a small model
// that drafts by it.
absl::StatusOr<Params> ReadDrafter(const Params& section, int number,
                                   Workbench& bench) {
  ParamsReader in(section, absl::StrCat("drafter ", number));
  const Params* sampling = in.Take("sampling");
  BANYAN_ASSIGN_OR_RETURN(std::shared_ptr<TableModel> table,
                          ReadTable(in, bench.target().vocab_size()));
  const std::string name = absl::StrCat(number);
  bench.AddModel(name, std::move(table));
  std::vector<Params::Entry> entries = {
      {"name", {}, Params::Scalar("small_model")},
      {"model", {}, Params::Scalar(name)}};
  if (sampling != nullptr) entries.push_back({"sampling", {}, *sampling});
  return Params::Map(std::move(entries), section.origin());
}

// The sections of the file, read and not yet understood.
struct Sections {
  Params target;
  MethodSpec method;
  const Params* control = nullptr;
};

absl::StatusOr<Sections> ReadSections(const Params& file, ExactFile& exact) {
  ParamsReader in(file, "exact file");
  Sections sections;
  int max_branches = 1'000'000;
  in.Required("vocab", exact.vocab_size);
  in.Ensure(exact.vocab_size >= 1, "vocab", "must be at least 1");
  in.Required("horizon", exact.options.horizon);
  in.Ensure(exact.options.horizon >= 1, "horizon", "must be at least 1");
  in.Ensure(std::pow(exact.vocab_size, exact.options.horizon) <= kMostStrings,
            "horizon",
            absl::StrCat("asks for more than ", kMostStrings, " strings"));
  in.Optional("max_branches", max_branches);
  in.Ensure(max_branches >= 1, "max_branches", "must be at least 1");
  exact.options.max_branches = max_branches;
  in.Required("target", sections.target);
  const MethodKeys keys = TakeMethodKeys(in);
  sections.control = in.Take("control");
  BANYAN_RETURN_IF_ERROR(in.Finish());
  BANYAN_ASSIGN_OR_RETURN(sections.method, ReadMethod(keys));
  return sections;
}

// Replaces what the control breaks.
absl::Status Break(const Params& control, ExactFile& exact, Method& method) {
  BANYAN_ASSIGN_OR_RETURN(const ControlRow* row, FindControl(control));
  exact.control = std::string(row->name);
  if (row->wrap != nullptr)
    method.verifier = row->wrap(std::move(method.verifier), method.rule);
  if (row->chance != nullptr) exact.options.wrap = row->chance;
  exact.options.rounds = row->rounds;
  return absl::OkStatus();
}

absl::Status AddTableTrunks(const MethodSpec& spec, ExactFile& exact,
                            Method& method) {
  exact.bench = std::make_unique<Workbench>(exact.target, method.rule,
                                            std::make_shared<Assets>());
  std::vector<Params> drafters;
  for (const Params& section : spec.drafters) {
    BANYAN_ASSIGN_OR_RETURN(
        Params drafter,
        ReadDrafter(section, static_cast<int>(drafters.size()), *exact.bench));
    drafters.push_back(std::move(drafter));
  }
  const auto make = [&](int number) -> absl::StatusOr<NamedDrafter> {
    BANYAN_ASSIGN_OR_RETURN(
        std::unique_ptr<Drafter> drafter,
        BuildDrafter(drafters[static_cast<std::size_t>(number)], *exact.bench));
    return NamedDrafter{absl::StrCat(number), std::move(drafter)};
  };
  return AddTrunks(spec, make, method);
}

}  // namespace

absl::StatusOr<ExactFile> ReadExactFile(const Params& file) {
  ExactFile exact;
  BANYAN_ASSIGN_OR_RETURN(const Sections sections, ReadSections(file, exact));
  ParamsReader target(sections.target, "target");
  BANYAN_ASSIGN_OR_RETURN(exact.target, ReadTable(target, exact.vocab_size));

  BANYAN_ASSIGN_OR_RETURN(SamplingRule rule, ReadSampling(sections.method));
  BANYAN_ASSIGN_OR_RETURN(Method method,
                          StartMethod(sections.method, std::move(rule)));
  if (sections.control != nullptr)
    BANYAN_RETURN_IF_ERROR(Break(*sections.control, exact, method));
  BANYAN_RETURN_IF_ERROR(AddTableTrunks(sections.method, exact, method));
  BANYAN_ASSIGN_OR_RETURN(
      exact.decoder,
      MakeDecoder(sections.method, *exact.target, std::move(method)));
  return exact;
}

}  // namespace banyan
