#include "verifiers/catalogue.h"

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "core/base/catalogue.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "verifiers/bild.h"
#include "verifiers/block.h"
#include "verifiers/blockwise.h"
#include "verifiers/greedy.h"
#include "verifiers/k_seq.h"
#include "verifiers/lenience.h"
#include "verifiers/leviathan.h"
#include "verifiers/match.h"
#include "verifiers/multi_round.h"
#include "verifiers/point_mass.h"
#include "verifiers/rejection.h"
#include "verifiers/row.h"
#include "verifiers/top_beta.h"
#include "verifiers/traversal.h"
#include "verifiers/typical.h"
#include "verifiers/verifier.h"
#include "verifiers/without_replacement.h"

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
