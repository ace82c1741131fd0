// A method file: a speculative method on neural models, or plain decoding.
// docs/formats.md describes it, configs/methods has examples.
#ifndef BANYAN_EXPERIMENTS_LOADING_METHOD_FILE_H_
#define BANYAN_EXPERIMENTS_LOADING_METHOD_FILE_H_

#include <memory>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/common.h"
#include "core/base/params.h"
#include "core/model/model.h"
#include "decode/decoder.h"
#include "drafters/catalogue.h"
#include "drafters/workbench.h"
#include "experiments/loading/model_shelf.h"
#include "experiments/plan/method_spec.h"

namespace banyan {

// What a method needs of the one who runs it.
struct MethodContext {
  ModelSpec target;   // where the target was opened
  ModelShelf& shelf;  // and with what; the file's models come from it too
  // Keys of `sampling` that override the file's; FromParams checks them.
  std::vector<Params::Entry> sampling = {};
  std::shared_ptr<const Clock> clock = std::make_shared<SteadyClock>();
  // The target stands for its copies in other formats: of weights that are only
  // counted.
  bool counts_no_copies = false;
  // Where the target's directory was written, if in a file.
  Origin target_place = {};
};

// A name of the file's `models`.
struct MethodModel {
  std::string name;
  std::string directory;
  std::shared_ptr<const Model> model = nullptr;  // null: a drafter's folder
  std::string about = {};                        // DrafterRow::describe
};

// A method with what it stands on.
struct LoadedMethod {
  // How chats are written for the target; empty: as the target's own directory
  // says. Methods do not look at it.
  std::string chat_template;
  // If its memory is bounded, with what the method's own weights leave of it.
  LoadedModel target;
  std::vector<MethodModel> models;
  // By drafter of the file; of one without a vocabulary nothing.
  std::vector<std::vector<DraftedTokens>> drafted;
  std::vector<std::string> policy_files;  // that its policies were read from
  std::shared_ptr<Workbench> bench;
  // Copies of a method decode by the same one.
  std::shared_ptr<Decoder> decoder;
};

// Everything the outside can get wrong is an error with file, line and column;
// what is wrong with several sections is told together.
absl::StatusOr<LoadedMethod> OpenMethod(const MethodSpec& method,
                                        const MethodContext& context);
// The same of a method file.
absl::StatusOr<LoadedMethod> ReadMethodFile(const Params& file,
                                            const MethodContext& context);

// The target's spec, with what the method's own weights take of its memory if
// that is bounded. They are counted by opening all without weights; what is
// wrong with them is told by OpenMethod.
absl::StatusOr<ModelSpec> LeaveRoom(const MethodSpec& method,
                                    const MethodContext& context);

// What can be known to be wrong with a method before a model is opened.
absl::Status CheckMethod(const MethodSpec& method,
                         const std::vector<Params::Entry>& sampling);

// Returns notes for the user. A drafting model whose context is shorter than
// `longest` tokens gets the note that it drafts nothing after its context;
// heads get a note on how their files are read, and a drafter of some tokens
// one on the file that lists them.
std::vector<std::string> NotesOn(const LoadedMethod& method, int longest);

// The same engine without trunks: the baseline of every method.
absl::StatusOr<LoadedMethod> PlainMethod(const MethodContext& context);
// Plain decoding of the method's own target, with its sampling rule.
absl::StatusOr<std::unique_ptr<Decoder>> PlainBeside(
    const LoadedMethod& method, std::shared_ptr<const Clock> clock);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_LOADING_METHOD_FILE_H_
