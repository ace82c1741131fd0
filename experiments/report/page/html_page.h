// The report as one HTML page that needs nothing else: it holds its styles, its
// scripts and the report itself, and loads nothing.
#ifndef BANYAN_EXPERIMENTS_REPORT_PAGE_HTML_PAGE_H_
#define BANYAN_EXPERIMENTS_REPORT_PAGE_HTML_PAGE_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "core/json/json_value.h"

namespace banyan {

// Requires an object with these members; the scripts in page/ read them:
//
//   question, experiment_hash: text; experiment: the resolved YAML
//   context: object of texts, numbers and objects like itself
//   cells: [{name, method, axes: {axis: text}, target, grown_from: null or
//     text, lossless, refuted, baseline: null or the name of a cell, verifier,
//     temperature: number, prompts: number, trunks: [{drafter, policy, draws,
//     vocabularies: [{model, file, tokens}]}],
//     metrics: {metric: {key: {value, low, high}}}}]
//   metrics: [{name, sentence, unit}]
//   curve: null or {file, name, costs, sentence}: what was stated of another
//     machine, as YAML, and in words; `name` is the key of predicted_by_curve
//   samples: [{cell: name, id, kind, turn, prompt,
//     tokens: [{text, round, how: accepted, corrected, bonus or plain}],
//     rounds: [{nodes: [{text, parent, p, trunks: [number], accepted}], next,
//       emitted, ms: {draft, derive, target, verify, commit}}]}]
//
// The key of a metric of one number is empty; the others have keys like
// "depth 1", "rank 1", "length 0", "trunk 0 NAME". Any metric, low, high or
// sample may be missing: the page then says that there is nothing to draw.
// `round` counts from 0. Node 0 is the root, with parent -1 and the token
// before the round as its text; a parent stands before its children. Bytes that
// are not UTF-8 become U+FFFD.
std::string HtmlPage(absl::string_view question, const JsonValue& data);

// The files of page/, as they were when the program was built.

// The contents of "page.html", "page.css" and so on; nothing for a name
// that is not listed in experiments/CMakeLists.txt. Defined in a source file
// that cmake/embed_files.cmake makes of them.
std::optional<absl::string_view> PageFile(absl::string_view name);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_REPORT_PAGE_HTML_PAGE_H_
