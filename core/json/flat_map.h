// Hash tables that stand running out of memory.
//
// A table of Abseil's that fails to grow cannot be destroyed: it has the new
// capacity and the old storage. These give such a storage up, are empty then,
// and throw std::bad_alloc as the library's own do.
#ifndef BANYAN_CORE_JSON_FLAT_MAP_H_
#define BANYAN_CORE_JSON_FLAT_MAP_H_

#include <cstddef>
#include <memory>
#include <new>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

namespace banyan {

// `Table` is one of Abseil's. What inserts is listed here; all else is its own.
template <typename Table>
class SturdyTable : public Table {
 public:
  using Table::Table;

  template <typename... Args>
  auto emplace(Args&&... args) {
    return Sturdy([&] { return Table::emplace(std::forward<Args>(args)...); });
  }
  template <typename Value>
  auto insert(Value&& value) {
    return Sturdy([&] { return Table::insert(std::forward<Value>(value)); });
  }
  void reserve(std::size_t size) {
    Sturdy([&] { Table::reserve(size); });
  }

 protected:
  template <typename Insert>
  decltype(auto) Sturdy(Insert insert) {
    try {
      return insert();
    } catch (const std::bad_alloc&) {
      std::construct_at(static_cast<Table*>(this));
      throw;
    }
  }
};

template <typename Key>
using FlatSet = SturdyTable<absl::flat_hash_set<Key>>;

template <typename Key, typename Value>
class FlatMap : public SturdyTable<absl::flat_hash_map<Key, Value>> {
  using Table = absl::flat_hash_map<Key, Value>;

 public:
  using SturdyTable<Table>::SturdyTable;

  template <typename Name>
  Value& operator[](Name&& name) {
    return this->Sturdy([&]() -> Value& {
      return Table::operator[](std::forward<Name>(name));
    });
  }
  template <typename Name, typename... Args>
  auto try_emplace(Name&& name, Args&&... args) {
    return this->Sturdy([&] {
      return Table::try_emplace(std::forward<Name>(name),
                                std::forward<Args>(args)...);
    });
  }
};

}  // namespace banyan

#endif  // BANYAN_CORE_JSON_FLAT_MAP_H_
