#include "python/extension/views.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/token.h"
#include "tree/verdict.h"

namespace banyan {
namespace {

using Pairs = std::vector<std::pair<TokenId, double>>;

int Checked(int node, int size) {
  if (node < 0 || node >= size)
    throw nb::index_error(
        absl::StrCat("node ", node, ": the tree has ", size).c_str());
  return node;
}

Pairs PairsOf(const Distribution& row) {
  Pairs pairs;
  row.ForEach(
      [&](TokenId token, double mass) { pairs.emplace_back(token, mass); });
  return pairs;
}

double MassOf(const Distribution& row, TokenId token) {
  if (token < 0 || token >= row.vocab_size())
    throw nb::index_error(
        absl::StrCat("token ", token, ": the vocabulary has ", row.vocab_size())
            .c_str());
  return row.Mass(token);
}

Pairs BestOf(const Distribution& row, int count) {
  if (count < 1) throw nb::value_error("best(k) expects k from 1 on");
  Pairs pairs = PairsOf(row);
  const auto end =
      pairs.begin() + std::min<std::ptrdiff_t>(count, std::ssize(pairs));
  std::partial_sort(
      pairs.begin(), end, pairs.end(), [](const auto& a, const auto& b) {
        return a.second != b.second ? a.second > b.second : a.first < b.first;
      });
  pairs.erase(end, pairs.end());
  return pairs;
}

using Array = nb::ndarray<nb::numpy, double, nb::ndim<1>>;

Array ArrayOf(const Distribution& row) {
  auto masses = std::make_unique<std::vector<double>>(
      static_cast<std::size_t>(row.vocab_size()));
  row.ForEach([&](TokenId token, double mass) {
    (*masses)[static_cast<std::size_t>(token)] = mass;
  });
  std::vector<double>* const kept = masses.release();
  const nb::capsule owner(kept, [](void* at) noexcept {
    delete static_cast<std::vector<double>*>(at);
  });
  return Array(kept->data(), {kept->size()}, owner);
}

// The part of `p` that is above `q`, normalised; `p` where nothing is.
Distribution ResidualOf(const Distribution& p, const Distribution& q) {
  if (p.vocab_size() != q.vocab_size())
    throw nb::value_error("the rows have different vocabularies");
  std::vector<TokenId> tokens;
  std::vector<double> masses;
  p.ForEach([&](TokenId token, double mass) {
    const double left = mass - q.Mass(token);
    if (left <= 0) return;
    tokens.push_back(token);
    masses.push_back(left);
  });
  if (tokens.empty()) return p;
  return Distribution::Sparse(p.vocab_size(), std::move(tokens),
                              std::move(masses))
      .Normalized();
}

std::vector<double> Masses(const nb::handle& value, const std::string& what) {
  // An array of any numbers, or a list of them.
  nb::ndarray<const double, nb::ndim<1>, nb::device::cpu> array;
  std::vector<double> masses;
  if (nb::try_cast(value, array)) {
    const auto view = array.view();
    for (std::size_t i = 0; i < array.shape(0); ++i) masses.push_back(view(i));
  } else if (!nb::try_cast(value, masses)) {
    throw nb::type_error(
        absl::StrCat(what,
                     ": expected a Row, a dict of tokens and masses, or a mass "
                     "for each token, found ",
                     nb::cast<std::string>(nb::repr(value.type())))
            .c_str());
  }
  return masses;
}

void CheckMass(double mass, std::size_t index, const std::string& what) {
  if (std::isfinite(mass) && mass >= 0) return;
  throw nb::value_error(absl::StrCat(what,
                                     ": expected finite masses from 0 on, "
                                     "found ",
                                     mass, " for ", index)
                            .c_str());
}

// The class of a tree, with what every tree says of a node.
template <typename View>
nb::class_<View> NodesOf(nb::module_& module, const char* name,
                         const char* sentence) {
  nb::class_<View> view(module, name, sentence);
  view.def(
      "token", [](const View& of, int node) { return of.at(node).token; },
      nb::arg("node"));
  view.def(
      "parent", [](const View& of, int node) { return of.at(node).parent; },
      nb::arg("node"), "-1 for node 0.");
  view.def(
      "depth", [](const View& of, int node) { return of.at(node).depth; },
      nb::arg("node"));
  return view;
}

}  // namespace

Distribution ReadRow(const nb::handle& value, int vocab_size,
                     const std::string& what) {
  Distribution row;
  if (nb::isinstance<Distribution>(value)) {
    row = nb::cast<Distribution>(value);
    if (row.vocab_size() == 0) return Distribution::Sparse(vocab_size, {}, {});
    if (row.vocab_size() != vocab_size)
      throw nb::value_error(absl::StrCat(what, ": expected a row of ",
                                         vocab_size, " tokens, found one of ",
                                         row.vocab_size())
                                .c_str());
    return row;
  }
  std::map<TokenId, double> by_token;
  if (nb::isinstance<nb::dict>(value) && nb::try_cast(value, by_token)) {
    std::vector<TokenId> tokens;
    std::vector<double> masses;
    for (const auto& [token, mass] : by_token) {
      if (token < 0 || token >= vocab_size)
        throw nb::value_error(absl::StrCat(what, ": expected tokens from 0 to ",
                                           vocab_size - 1, ", found ", token)
                                  .c_str());
      CheckMass(mass, static_cast<std::size_t>(token), what);
      tokens.push_back(token);
      masses.push_back(mass);
    }
    return Distribution::Sparse(vocab_size, std::move(tokens),
                                std::move(masses));
  }
  std::vector<double> masses = Masses(value, what);
  if (masses.size() != static_cast<std::size_t>(vocab_size))
    throw nb::value_error(absl::StrCat(what, ": expected ", vocab_size,
                                       " masses, found ", masses.size())
                              .c_str());
  for (std::size_t i = 0; i < masses.size(); ++i) CheckMass(masses[i], i, what);
  return Distribution::Dense(std::move(masses));
}

Distribution RowsView::Row(int node) const {
  return lent.get().Row(Checked(node, size));
}

void ChanceView::Name(Purpose purpose, int node, int draw) {
  if (node < 0 || draw < 0)
    throw nb::value_error("a choice is named by a node and a draw from 0 on");
  if (!named_.emplace(purpose, node, draw).second)
    throw nb::value_error(absl::StrCat("two choices about node ", node,
                                       ", draw ", draw,
                                       ": give each its own `draw`")
                              .c_str());
}

bool ChanceView::Accept(double probability, int node, int draw) {
  if (std::isnan(probability))
    throw nb::value_error(absl::StrCat("accept at node ", node, ", draw ", draw,
                                       ": the probability is NaN")
                              .c_str());
  Name(Purpose::kCoin, node, draw);
  return lent.get().Accept(probability, node, draw);
}

TokenId ChanceView::Token(const Distribution& row, int node, int draw) {
  if (row.empty())
    throw nb::value_error(
        absl::StrCat("a token after node ", node, ": the row has no mass")
            .c_str());
  Name(Purpose::kTarget, node, draw);
  return row.TokenAt(
      lent.get().Draw(row.weights(), Purpose::kTarget, node, draw));
}

int ChanceView::Index(const nb::object& weights, int node, int draw,
                      bool order) {
  const std::string what = absl::StrCat("a choice about node ", node);
  const std::vector<double> values = Masses(weights, what);
  double total = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    CheckMass(values[i], i, what);
    total += values[i];
  }
  if (!(total > 0) || !std::isfinite(total))
    throw nb::value_error((what + ": expected a weight above 0").c_str());
  const Purpose purpose = order ? Purpose::kOrder : Purpose::kTarget;
  Name(purpose, node, draw);
  return lent.get().Draw({.values = values}, purpose, node, draw);
}

const Node& DraftTreeView::at(int node) const {
  return tree->node(Checked(node, tree->size()));
}

const Node& TrunkTreeView::at(int node) const {
  const TrunkTree& tree = lent.get();
  return tree.node(Checked(node, tree.size()));
}

void DefineViews(nb::module_& module) {
  nb::class_<Distribution>(
      module, "Row",
      "A distribution over the vocabulary. Its numbers are "
      "read when they are asked for.")
      .def_prop_ro("vocabulary", &Distribution::vocab_size,
                   "How many tokens there are.")
      .def_prop_ro("total", &Distribution::total, "The sum of all masses.")
      .def("mass", &MassOf, nb::arg("token"), "The mass of a token.")
      .def("best", &BestOf, nb::arg("k") = 1,
           "The k tokens of largest mass, as pairs of token and mass.")
      .def("pairs", &PairsOf, "All tokens that have mass, ascending, as pairs.")
      .def("array", &ArrayOf,
           "A copy, as a numpy array with a mass for each token. It takes time "
           "in the vocabulary.")
      .def(
          "residual", &ResidualOf, nb::arg("other"),
          "What of this row is above the other one, normalised; this row where "
          "nothing is.")
      .def(
          "without",
          [](const Distribution& row, TokenId token) {
            MassOf(row, token);
            return row.Without(token);
          },
          nb::arg("token"), "This row given that the token is not drawn.")
      .def("__len__", &Distribution::vocab_size)
      .def("__repr__", [](const Distribution& row) {
        return absl::StrCat("<Row of ", row.vocab_size(), " tokens, ",
                            row.empty() ? "no mass" : "best ",
                            row.empty() ? "" : absl::StrCat(row.Argmax()), ">");
      });
  nb::class_<Draw>(module, "Draw", "A token that was drawn at a node.")
      .def_ro("token", &Draw::token)
      .def_ro("time", &Draw::time, "Its number in the order of time.")
      .def_prop_ro(
          "child",
          [](const Draw& draw) -> nb::object {
            return draw.dropped() ? nb::none() : nb::cast(draw.child);
          },
          "The node it led to; None if it was dropped.")
      .def_ro("drawn_from", &Draw::proposal,
              "The row that it is judged by: the one it was drawn from.");
  nb::class_<RowsView>(module, "Rows", "The target's rows, by node of a tree.")
      .def("__getitem__", &RowsView::Row, nb::arg("node"))
      .def("__len__", [](const RowsView& view) { return view.size; });
  nb::class_<ChanceView>(module, "Chance",
                         "The round's choices. Each is named by the node and "
                         "the draw it is about, "
                         "and made once.")
      .def("accept", &ChanceView::Accept, nb::arg("probability"),
           nb::arg("node"), nb::arg("draw") = 0, "True with this probability.")
      .def("token", &ChanceView::Token, nb::arg("row"), nb::arg("node"),
           nb::arg("draw") = 0, "A token, drawn from a row.")
      .def("index", &ChanceView::Index, nb::arg("weights"), nb::arg("node"),
           nb::arg("draw") = 0, nb::arg("order") = true,
           "An index, drawn by weights.");
  NodesOf<DraftTreeView>(module, "Tree",
                         "A draft tree. Node 0 is the last token of the text.")
      .def("__len__",
           [](const DraftTreeView& view) { return view.tree->size(); })
      .def(
          "children",
          [](const DraftTreeView& view, int node) {
            std::vector<int> children;
            for (const int child : view.at(node).children)
              if (!view.tree->node(child).probe()) children.push_back(child);
            return children;
          },
          nb::arg("node"))
      .def(
          "draws",
          [](const DraftTreeView& view, int node) {
            std::vector<Draw> draws;
            for (const Draw* draw : DrawsInTime(view.at(node)))
              draws.push_back(*draw);
            return draws;
          },
          nb::arg("node"), "All draws at a node, in the order of time.")
      .def(
          "proposal",
          [](const DraftTreeView& view, int node) -> nb::object {
            const std::vector<DrawList>& lists = view.at(node).lists;
            return lists.empty() ? nb::none() : nb::cast(lists[0].proposal.q);
          },
          nb::arg("node"),
          "The first drafter's row; None where nothing was drawn.");
  NodesOf<TrunkTreeView>(
      module, "GrowingTree",
      "A tree while it is drafted. It is valid during one call.")
      .def("__len__",
           [](const TrunkTreeView& view) { return view.lent.get().size(); })
      .def(
          "open",
          [](const TrunkTreeView& view, int node) {
            view.at(node);
            return view.lent.get().open(node);
          },
          nb::arg("node"), "Whether tokens may be drawn at the node.")
      .def(
          "drawn",
          [](const TrunkTreeView& view, int node) {
            view.at(node);
            return view.lent.get().draws(node).size();
          },
          nb::arg("node"), "How many tokens were drawn at the node.")
      .def(
          "path_mass",
          [](const TrunkTreeView& view, int node) {
            view.at(node);
            return view.lent.get().path_mass(node);
          },
          nb::arg("node"),
          "The product of the drafter's masses down to the node.")
      .def(
          "remaining",
          [](const TrunkTreeView& view, int node) -> nb::object {
            view.at(node);
            const TrunkTree& tree = view.lent.get();
            return tree.proposal(node) == nullptr
                       ? nb::none()
                       : nb::cast(tree.remaining(node));
          },
          nb::arg("node"),
          "What the next draw is made from; None before the drafter was "
          "asked.");
}

}  // namespace banyan
