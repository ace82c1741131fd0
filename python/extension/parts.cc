#include "python/extension/parts.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <unistd.h>

#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/common.h"
#include "core/base/params.h"
#include "core/device/ranks/communicator.h"
#include "core/model/context.h"
#include "core/prob/distribution.h"
#include "core/random/random_source.h"
#include "drafters/drafter.h"
#include "drafters/propose.h"
#include "drafters/workbench.h"
#include "python/extension/views.h"
#include "tree/draft_tree.h"
#include "tree/tree_policy.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"
#include "verifiers/verifier.h"

namespace banyan {
namespace {

// An object of Python, which is let go of under the interpreter's lock.
class Held {
 public:
  Held(nb::object object, std::string name)
      : object_(std::move(object)),
        name_(std::move(name)),
        thread_(std::this_thread::get_id()),
        process_(getpid()) {}
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() {
    const nb::gil_scoped_acquire lock;
    object_.reset();
  }

  // To be used under the lock.
  const nb::object& object() const {
    if (std::this_thread::get_id() != thread_ || getpid() != process_)
      throw nb::value_error((name_ +
                             ": parts in Python run on the thread, and in "
                             "the process, that built them")
                                .c_str());
    return object_;
  }
  const std::string& name() const { return name_; }

 private:
  nb::object object_;
  std::string name_;  // "module:Class"
  std::thread::id thread_;
  pid_t process_;
};

[[noreturn]] void Refuse(const Held& part, absl::string_view message) {
  throw nb::value_error(absl::StrCat(part.name(), ".", message).c_str());
}

// A YAML value as Python has it.
nb::object ToPython(const Params& value) {
  switch (value.kind()) {
    case Params::Kind::kNull:
      return nb::none();
    case Params::Kind::kList: {
      nb::list items;
      for (const Params& item : value.items()) items.append(ToPython(item));
      return items;
    }
    case Params::Kind::kMap: {
      nb::dict entries;
      for (const Params::Entry& entry : value.entries())
        entries[entry.key.c_str()] = ToPython(entry.value);
      return entries;
    }
    case Params::Kind::kScalar:
      break;
  }
  int whole = 0;
  double number = 0;
  bool truth = false;
  if (Convert(value, whole).ok()) return nb::cast(whole);
  if (Convert(value, number).ok()) return nb::cast(number);
  if (Convert(value, truth).ok()) return nb::cast(truth);
  return nb::cast(value.text());
}

// Makes the object that a section describes: an instance of `base` of the
// package.
absl::StatusOr<std::unique_ptr<Held>> Make(ParamsReader& in, const char* base) {
  std::string name;
  in.Required("class", name);
  const nb::gil_scoped_acquire lock;
  nb::dict arguments;
  for (const Params::Entry& entry : in.section().entries()) {
    in.Take(entry.key);
    if (entry.key != "name" && entry.key != "class" && entry.key != "draws")
      arguments[entry.key.c_str()] = ToPython(entry.value);
  }
  BANYAN_RETURN_IF_ERROR(in.Finish());
  const Params& place = *in.section().Find("class");
  if (HowLaunched().ranks > 1)
    return place.Error(
        "parts in Python do not run on several ranks (mpirun); expected one");
  try {
    nb::object made = nb::module_::import_("banyan.parts")
                          .attr("make")(name, base, arguments, [&] {
                            const auto& file = place.origin().file;
                            return file == nullptr ? std::string() : *file;
                          }());
    return std::make_unique<Held>(std::move(made), name);
  } catch (nb::python_error& error) {
    // What a user can set right is told with its place; an error inside the
    // class goes on as it is.
    if (!error.matches(nb::module_::import_("banyan.parts").attr("Misnamed")))
      throw;
    return place.Error(nb::cast<std::string>(nb::str(error.value())));
  }
}

DrawKind KindOf(const Held& part, const std::string& word) {
  for (const DrawKind kind : kDrawKinds)
    if (Name(kind) == word) return kind;
  Refuse(part, absl::StrCat("draws: expected independent, without_replacement "
                            "or deterministic, found '",
                            word, "'"));
}

template <typename T>
T Attribute(const Held& part, const char* name) {
  const nb::object value = part.object().attr(name);
  T out;
  if (!nb::try_cast(value, out))
    Refuse(part, absl::StrCat(name, ": found ",
                              nb::cast<std::string>(nb::repr(value))));
  return out;
}

std::vector<DrawKind> DrawsOf(const Held& part) {
  std::vector<DrawKind> kinds;
  for (const auto& word : Attribute<std::vector<std::string>>(part, "draws"))
    kinds.push_back(KindOf(part, word));
  if (kinds.empty()) Refuse(part, "draws: expected at least one draw kind");
  return kinds;
}

nb::object TokensOf(absl::Span<const TokenId> tokens) {
  auto kept =
      std::make_unique<std::vector<TokenId>>(tokens.begin(), tokens.end());
  std::vector<TokenId>* const data = kept.release();
  const nb::capsule owner(data, [](void* at) noexcept {
    delete static_cast<std::vector<TokenId>*>(at);
  });
  return nb::cast(nb::ndarray<nb::numpy, TokenId, nb::ndim<1>>(
      data->data(), {data->size()}, owner));
}

std::vector<TokenId> AcceptedOf(const RoundOutcome& outcome) {
  std::vector<TokenId> tokens;
  for (const int node : outcome.verdict.path)
    tokens.push_back(outcome.tree.node(node).token);
  tokens.push_back(outcome.verdict.next);
  return tokens;
}

class PythonVerifier : public Verifier {
 public:
  PythonVerifier(std::unique_ptr<Held> part, VerifierTraits traits)
      : part_(std::move(part)), traits_(std::move(traits)) {}

  VerifierTraits traits() const override { return traits_; }

  Verdict Verify(const DraftTree& tree, RowSource& target,
                 const Chance& chance) const override {
    const nb::gil_scoped_acquire lock;
    const Loan<RowsView> rows(target, tree.size());
    const Loan<ChanceView> choices(chance);
    const nb::object result = part_->object().attr("verify")(
        DraftTreeView{std::make_shared<DraftTree>(tree)}, rows.object(),
        choices.object());
    return Checked(result, tree, target);
  }

 private:
  Verdict Checked(const nb::object& result, const DraftTree& tree,
                  RowSource& target) const {
    Verdict verdict;
    if (!nb::isinstance<nb::tuple>(result) || nb::len(result) != 2 ||
        !nb::try_cast(result[0], verdict.path) ||
        !nb::try_cast(result[1], verdict.next))
      Refuse(*part_,
             absl::StrCat("verify: expected (path, token), the accepted nodes "
                          "and the token after them, found ",
                          nb::cast<std::string>(nb::repr(result))));
    int at = 0;
    for (const int node : verdict.path) {
      if (node <= 0 || node >= tree.size() || tree.node(node).parent != at ||
          tree.node(node).probe())
        Refuse(*part_,
               absl::StrCat("verify: node ", node,
                            " of the path is no drafted child of node ", at));
      at = node;
    }
    const int size = target.Row(at).vocab_size();
    if (verdict.next < 0 || verdict.next >= size)
      Refuse(*part_, absl::StrCat("verify: the token after node ", at,
                                  " is to be from 0 to ", size - 1, ", found ",
                                  verdict.next));
    return verdict;
  }

  std::unique_ptr<Held> part_;
  VerifierTraits traits_;
};

BuiltVerifier BuildPythonVerifier(ParamsReader& in) {
  BANYAN_ASSIGN_OR_RETURN(std::unique_ptr<Held> part, Make(in, "Verifier"));
  const nb::gil_scoped_acquire lock;
  VerifierTraits traits;
  traits.draw_kinds = DrawsOf(*part);
  traits.exactness = Attribute<bool>(*part, "lossless") ? Exactness::kLossless
                                                        : Exactness::kLossy;
  traits.chain = Attribute<bool>(*part, "chain");
  traits.one_list = Attribute<bool>(*part, "one_list");
  traits.fixed_counts = Attribute<bool>(*part, "fixed_counts");
  return std::make_unique<PythonVerifier>(std::move(part), std::move(traits));
}

class PythonPolicy : public TreePolicy {
 public:
  PythonPolicy(std::shared_ptr<Held> part, PolicyTraits traits)
      : part_(std::move(part)), traits_(std::move(traits)) {}

  PolicyTraits traits() const override { return traits_; }

  std::unique_ptr<TreePolicy> Clone() const override {
    const nb::gil_scoped_acquire lock;
    nb::object copy =
        nb::module_::import_("copy").attr("deepcopy")(part_->object());
    return std::make_unique<PythonPolicy>(
        std::make_shared<Held>(std::move(copy), part_->name()), traits_);
  }

  std::vector<Expansion> Next(const TrunkTree& tree) const override {
    const nb::gil_scoped_acquire lock;
    const Loan<TrunkTreeView> view(tree);
    const nb::object result = part_->object().attr("next")(view.object());
    std::vector<Expansion> next;
    std::set<int> named;
    int nodes = tree.size() - 1;
    for (const nb::handle item : result) {
      Expansion one;
      if (!nb::isinstance<nb::tuple>(item) || nb::len(item) < 2 ||
          nb::len(item) > 3 || !nb::try_cast(item[0], one.node) ||
          !nb::try_cast(item[1], one.draws) ||
          (nb::len(item) == 3 && !nb::try_cast(item[2], one.keep_at_least)))
        Refuse(*part_,
               absl::StrCat("next: expected (node, draws) or (node, draws, "
                            "least mass), found ",
                            nb::cast<std::string>(nb::repr(item))));
      if (one.node < 0 || one.node >= tree.size() || !tree.open(one.node) ||
          !tree.draws(one.node).empty() || !named.insert(one.node).second)
        Refuse(*part_,
               absl::StrCat("next: node ", one.node,
                            " is not an open one that nothing was drawn "
                            "at, or is named twice"));
      if (one.draws < 1 || (traits_.chain && one.draws > 1) ||
          !(one.keep_at_least >= 0 && one.keep_at_least <= 1))
        Refuse(*part_,
               absl::StrCat("next: ", one.draws, " draws with at least ",
                            one.keep_at_least, " at node ", one.node));
      if (tree.node(one.node).depth >= traits_.levels)
        Refuse(*part_,
               absl::StrCat("next: node ", one.node, " is at the last of its ",
                            traits_.levels, " levels"));
      nodes += one.draws;
      next.push_back(one);
    }
    if (nodes > traits_.nodes)
      Refuse(*part_, absl::StrCat("next: ", nodes, " nodes; it said at most ",
                                  traits_.nodes));
    return next;
  }

  void Observe(const RoundOutcome& outcome) override {
    const nb::gil_scoped_acquire lock;
    part_->object().attr("observe")(AcceptedOf(outcome),
                                    outcome.tree.Drafted());
  }

  std::vector<double> State() const override {
    const nb::gil_scoped_acquire lock;
    std::vector<double> state;
    const nb::object result = part_->object().attr("state")();
    if (!nb::try_cast(result, state))
      Refuse(*part_, absl::StrCat("state: expected a list of numbers, found ",
                                  nb::cast<std::string>(nb::repr(result))));
    return state;
  }

 private:
  std::shared_ptr<Held> part_;
  PolicyTraits traits_;
};

BuiltPolicy BuildPythonPolicy(ParamsReader& in) {
  BANYAN_ASSIGN_OR_RETURN(std::shared_ptr<Held> part, Make(in, "TreePolicy"));
  const nb::gil_scoped_acquire lock;
  PolicyTraits traits;
  traits.draw_kinds = DrawsOf(*part);
  traits.chain = Attribute<bool>(*part, "chain");
  traits.adapts = Attribute<bool>(*part, "adapts");
  traits.fixed_counts = Attribute<bool>(*part, "fixed_counts");
  traits.nodes = Attribute<int>(*part, "nodes");
  traits.levels = Attribute<int>(*part, "levels");
  if (traits.nodes < 0 || traits.levels < 0 || traits.levels > traits.nodes)
    Refuse(*part, absl::StrCat("nodes, levels: ", traits.nodes, " nodes in ",
                               traits.levels, " levels"));
  return std::make_unique<PythonPolicy>(std::move(part), std::move(traits));
}

// A copy of the drafter for each sequence.
class PythonSession : public QuietSession {
 public:
  explicit PythonSession(std::unique_ptr<Held> part)
      : QuietSession(SessionFacets{}), part_(std::move(part)) {}

  const Held& part() const { return *part_; }

  absl::Status Begin(const Context& context) override {
    const nb::gil_scoped_acquire lock;
    part_->object().attr("begin")(TokensOf(context.tokens));
    return absl::OkStatus();
  }

  absl::Status Observe(const Context& context,
                       const RoundOutcome& outcome) override {
    const nb::gil_scoped_acquire lock;
    part_->object().attr("observe")(TokensOf(context.tokens),
                                    AcceptedOf(outcome));
    return absl::OkStatus();
  }

 private:
  std::unique_ptr<Held> part_;
};

class PythonDrafter : public Drafter {
 public:
  PythonDrafter(std::unique_ptr<Held> part, DrafterTraits traits,
                int vocab_size)
      : Drafter(std::move(traits), /*carried=*/nullptr),
        part_(std::move(part)),
        vocab_size_(vocab_size) {}

  std::unique_ptr<DraftSession> NewSession() const override {
    const nb::gil_scoped_acquire lock;
    nb::object copy =
        nb::module_::import_("copy").attr("deepcopy")(part_->object());
    return std::make_unique<PythonSession>(
        std::make_unique<Held>(std::move(copy), part_->name()));
  }

  absl::StatusOr<std::vector<Proposals>> Propose(
      absl::Span<const DraftRequest> requests) override {
    const nb::gil_scoped_acquire lock;
    return ProposeEach(
        requests,
        [&](const DraftRequest& request, int node,
            absl::Span<const TokenId> path) -> absl::StatusOr<Proposal> {
          const Held& part = SessionOf<PythonSession>(request).part();
          const nb::object row = part.object().attr("propose")(
              TokensOf(request.context->tokens), TokensOf(path));
          Proposal proposal;
          proposal.q =
              ReadRow(row, vocab_size_,
                      absl::StrCat(part.name(), ".propose: node ", node));
          proposal.ranked = only_ranks();
          return proposal;
        });
  }

 private:
  std::unique_ptr<Held> part_;
  int vocab_size_;
};

BuiltDrafter BuildPythonDrafter(ParamsReader& in, Workbench& bench) {
  BANYAN_ASSIGN_OR_RETURN(std::unique_ptr<Held> part, Make(in, "Drafter"));
  const nb::gil_scoped_acquire lock;
  DrafterTraits traits;
  traits.draw_kinds = DrawsOf(*part);
  return std::make_unique<PythonDrafter>(std::move(part), std::move(traits),
                                         bench.target().vocab_size());
}

std::vector<KeyRow> KeysOf(const std::string& base) {
  return {{.name = "class",
           .type = "text",
           .required = true,
           .sentence = absl::StrCat("A subclass of banyan.", base,
                                    ", as module:Class. The other keys of the "
                                    "section are its arguments.")}};
}

}  // namespace

VerifierRow PythonVerifierRow() {
  return {.name = "python",
          .sentence = "A class of Python (python -m banyan).",
          .keys = KeysOf("Verifier"),
          .build = BuildPythonVerifier,
          .variants = {"{class: 'banyan.examples:Rounds'}"}};
}

PolicyRow PythonPolicyRow() {
  return {.name = "python",
          .sentence = "A class of Python (python -m banyan).",
          .keys = KeysOf("TreePolicy"),
          .build = BuildPythonPolicy,
          .examples = {"{class: 'banyan.examples:Broom', length: 2}"}};
}

DrafterRow PythonDrafterRow() {
  return {.name = "python",
          .sentence = "A class of Python (python -m banyan).",
          .draw_kinds = EveryDrawKind(),
          .keys = KeysOf("Drafter"),
          .build = BuildPythonDrafter,
          .examples = {"{class: 'banyan.examples:Seen'}"}};
}

}  // namespace banyan
