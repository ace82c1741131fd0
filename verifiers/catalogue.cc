#include "verifiers/catalogue.h"

#include <vector>

#include "verifiers/rows.h"

namespace banyan {
namespace {

std::vector<VerifierRow>& Rows() {
  static auto& rows = *new std::vector<VerifierRow>{
      GreedyRow(),        MatchRow(),
      PointMassRow(),     LeviathanRow(),
      MultiRoundRow(),    WithoutReplacementRow(),
      KSeqRow(),          BlockRow(),
      TraversalRow(),     TypicalRow(),
      LenienceRow(),      BildRow(),
      TopBetaRow(),       RejectionRow(),
      BlockwiseTopKRow(), BlockwiseDistanceRow(),
  };
  return rows;
}

}  // namespace

absl::Span<const VerifierRow> VerifierCatalogue() { return Rows(); }

void AddVerifiers(absl::Span<const VerifierRow> rows) {
  AppendRows(rows, Rows());
}

absl::StatusOr<std::unique_ptr<Verifier>> BuildVerifier(const Params& section) {
  BANYAN_ASSIGN_OR_RETURN(const VerifierRow* row,
                          FindRow(VerifierCatalogue(), "verifier", section));
  ParamsReader in(section, absl::StrCat("verifier ", row->name));
  in.Take("name");
  BANYAN_ASSIGN_OR_RETURN(std::unique_ptr<Verifier> verifier, row->build(in));
  BANYAN_RETURN_IF_ERROR(in.Finish());
  return verifier;
}

}  // namespace banyan
