// What Python parts are handed: rows, trees and chance.
//
// Rows and finished trees are handles that share what they show, and may be
// kept. A tree that still grows, and the chance of a round, are lent: after the
// call they raise.
#ifndef BANYAN_PYTHON_EXTENSION_VIEWS_H_
#define BANYAN_PYTHON_EXTENSION_VIEWS_H_

#include <nanobind/nanobind.h>

#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

#include "core/prob/distribution.h"
#include "core/random/random_source.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"

namespace banyan {

namespace nb = nanobind;

// Something of this program that a part may use until the call ends.
template <typename T>
class Lent {
 public:
  explicit Lent(T& it) : it_(&it) {}
  T& get() const {
    if (it_ == nullptr)
      throw std::runtime_error(
          "it was lent for one call, which has ended: copy what you keep");
    return *it_;
  }
  void TakeBack() { it_ = nullptr; }

 private:
  T* it_;
};

// Lends for as long as it lives.
template <typename View>
class Loan {
 public:
  template <typename... Args>
  explicit Loan(Args&&... args)
      : view_(std::make_shared<View>(std::forward<Args>(args)...)) {}
  Loan(const Loan&) = delete;
  Loan& operator=(const Loan&) = delete;
  ~Loan() { view_->lent.TakeBack(); }

  nb::object object() const { return nb::cast(view_); }

 private:
  std::shared_ptr<View> view_;
};

// The target's rows, by node.
struct RowsView {
  RowsView(RowSource& rows, int nodes) : lent(rows), size(nodes) {}
  Distribution Row(int node) const;

  Lent<RowSource> lent;
  int size;
};

// The choices of one step. Every choice is named by a node and a draw, and made
// once.
struct ChanceView {
  explicit ChanceView(const Chance& chance) : lent(chance) {}
  bool Accept(double probability, int node, int draw);
  TokenId Token(const Distribution& row, int node, int draw);
  int Index(const nb::object& weights, int node, int draw, bool order);

  Lent<const Chance> lent;

 private:
  void Name(Purpose purpose, int node, int draw);

  std::set<std::tuple<Purpose, int, int>> named_;
};

struct DraftTreeView {
  const Node& at(int node) const;

  std::shared_ptr<const DraftTree> tree;
};

struct TrunkTreeView {
  explicit TrunkTreeView(const TrunkTree& tree) : lent(tree) {}
  const Node& at(int node) const;

  Lent<const TrunkTree> lent;
};

// A distribution from what a part returns: a Row, a dict of tokens and masses,
// or a list or an array with a mass for each token. Raises ValueError, naming
// the token, on anything that is not one. `what` begins the message.
Distribution ReadRow(const nb::handle& value, int vocab_size,
                     const std::string& what);

void DefineViews(nb::module_& module);

}  // namespace banyan

#endif  // BANYAN_PYTHON_EXTENSION_VIEWS_H_
