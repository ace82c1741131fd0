// banyan._core: the program as a function of Python, with parts in Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <iostream>
#include <optional>
#include <stdexcept>
#include <streambuf>
#include <string>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/base/messages.h"
#include "core/base/params.h"
#include "experiments/commands/program.h"
#include "python/extension/metrics.h"
#include "python/extension/parts.h"
#include "python/extension/views.h"

namespace banyan {

Parts OwnParts() {
  return {.drafters = {PythonDrafterRow()},
          .policies = {PythonPolicyRow()},
          .verifiers = {PythonVerifierRow()}};
}

namespace {

// Hands what is written to a function of Python, in bytes: whole lines, and
// what there is when the stream is flushed.
class Written : public std::streambuf {
 public:
  Written(std::ostream& stream, nb::callable write)
      : stream_(stream),
        write_(std::move(write)),
        before_(stream.rdbuf(this)) {}
  Written(const Written&) = delete;
  Written& operator=(const Written&) = delete;
  ~Written() override { stream_.rdbuf(before_); }

  // Under the interpreter's lock, after the last character.
  void End() { Hand(); }

 protected:
  int_type overflow(int_type c) override {
    if (traits_type::eq_int_type(c, traits_type::eof())) return 0;
    kept_.push_back(traits_type::to_char_type(c));
    if (kept_.back() == '\n') sync();
    return c;
  }
  std::streamsize xsputn(const char* text, std::streamsize count) override {
    kept_.append(text, static_cast<std::size_t>(count));
    if (kept_.find('\n') != std::string::npos) sync();
    return count;
  }
  int sync() override {
    if (kept_.empty()) return 0;
    const nb::gil_scoped_acquire lock;
    Hand();
    return 0;
  }

 private:
  // What the function raises is dropped here: a stream cannot fail so.
  void Hand() {
    if (kept_.empty()) return;
    try {
      write_(nb::bytes(kept_.data(), kept_.size()));
    } catch (nb::python_error& error) {
      error.discard_as_unraisable("a stream of banyan");
    }
    kept_.clear();
  }

  std::ostream& stream_;
  nb::callable write_;
  std::streambuf* before_;
  std::string kept_;
};

// What a signal raised while the program ran (Ctrl-C).
std::optional<nb::python_error>& Raised() {
  static std::optional<nb::python_error> raised;
  return raised;
}

std::string FileOf(const std::string& name) {
  const nb::gil_scoped_acquire lock;
  return nb::cast<std::string>(
      nb::module_::import_("banyan.parts").attr("file_of")(name));
}

absl::Status LookForSignals() {
  const nb::gil_scoped_acquire lock;
  if (PyErr_CheckSignals() == 0) return absl::OkStatus();
  Raised().emplace();
  return absl::CancelledError("interrupted");
}

// Whatever a part does, the interpreter goes on.
void RaiseCheckFailure(const char* message) { throw std::logic_error(message); }

// Runs a command line; what it prints goes to `out` and `err`.
int Run(std::vector<std::string> words, nb::callable out, nb::callable err) {
  static bool running = false;
  if (running)
    throw std::runtime_error(
        "banyan: a part cannot call the program that it is a part of");
  running = true;
  Raised().reset();
  struct Ended {
    ~Ended() { running = false; }
  } const ended;
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  Written printed(std::cout, std::move(out));
  Written told(std::cerr, std::move(err));
  int code = 0;
  {
    const nb::gil_scoped_release unlocked;
    code = RunCommands(static_cast<int>(words.size()), argv.data());
  }
  printed.End();
  told.End();
  if (Raised().has_value()) {
    nb::python_error error = *std::exchange(Raised(), std::nullopt);
    throw error;
  }
  return code;
}

}  // namespace
}  // namespace banyan

NB_MODULE(_core, module) {
  namespace nb = nanobind;
  banyan::AddOwnParts();
  banyan::SetCheckFailure(banyan::RaiseCheckFailure);
  banyan::SetPythonFiles(banyan::FileOf);
  banyan::SetStop(banyan::LookForSignals);
  banyan::DefineViews(module);
  banyan::DefineMetrics(module);
  module.def("run", &banyan::Run, nb::arg("words"), nb::arg("out"),
             nb::arg("err"), "Runs the words of a command line.");
}
