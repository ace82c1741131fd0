// What scripts/proofs.py writes at build time of the sources as they are.
#ifndef BANYAN_DECODE_PROOF_TEXTS_H_
#define BANYAN_DECODE_PROOF_TEXTS_H_

namespace banyan {

extern const char* const kProofParts;   // lines of kind, name and hash
extern const char* const kProofRecord;  // decode/proofs.txt

}  // namespace banyan

#endif  // BANYAN_DECODE_PROOF_TEXTS_H_
