// The proof record: which methods were proven lossless by enumeration, from the
// sources that this program was built of.
//
// Proofs enumerate pairings of a verifier with one other part: a policy, a
// drafter, a drafter that carries state from prompt to prompt, or trunks that
// are merged, drafted one after another or by drafters that take turns. The
// record (decode/proofs.txt) has a line for each such pair,
// with hashes of what its proofs compiled; scripts/proofs.py says how it is
// made.
#ifndef BANYAN_DECODE_PROOFS_H_
#define BANYAN_DECODE_PROOFS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "decode/method.h"

namespace banyan {

// What scripts/proofs.py writes at build time of the sources as they are.
extern const char* const kProofParts;   // lines of kind, name and hash
extern const char* const kProofRecord;  // decode/proofs.txt

// A verifier and the other part.
struct ProofPair {
  std::string verifier;
  std::string kind;  // "policy", "drafter", "carried" or "trunks"
  std::string part;  // its name; of trunks "merged" or "taking_turns"

  bool operator==(const ProofPair&) const = default;
};

struct ProofLine {
  ProofPair pair;
  int pairings = 0;    // that were enumerated
  std::string hashes;  // of what they compiled: common.verifier.part
  std::string by;      // "the test suite", or the file of `banyan exact`
};

// The lines of a record. Comments and lines of another form are left out.
std::vector<ProofLine> ReadProofs(absl::string_view record);
// Those of the record that this program was built with.
std::vector<ProofLine> ProofRecord();
// A line of the record, without its end.
std::string ToText(const ProofLine& line);

// The hashes of what a proof of the pair would compile now; empty for parts
// that are not in this program's catalogues.
std::string CurrentHashes(const ProofPair& pair);

// What must be proven for the method to be.
std::vector<ProofPair> PairsOf(const Method& method);

// Whether the record has a line for each of them, none of them stale. False for
// lossy methods.
bool IsProven(const Method& method);

}  // namespace banyan

#endif  // BANYAN_DECODE_PROOFS_H_
