// Parts that are written in Python: a row named `python` in each catalogue,
// whose key `class` names "module:Class" and whose other keys are the class's
// arguments.
#ifndef BANYAN_PYTHON_EXTENSION_PARTS_H_
#define BANYAN_PYTHON_EXTENSION_PARTS_H_

#include "drafters/row.h"
#include "tree/policies/row.h"
#include "verifiers/row.h"

namespace banyan {

VerifierRow PythonVerifierRow();
PolicyRow PythonPolicyRow();
DrafterRow PythonDrafterRow();

}  // namespace banyan

#endif  // BANYAN_PYTHON_EXTENSION_PARTS_H_
