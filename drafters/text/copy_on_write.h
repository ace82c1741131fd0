// CopyOnWrite: a value that sessions share until one changes it.
#ifndef BANYAN_DRAFTERS_TEXT_COPY_ON_WRITE_H_
#define BANYAN_DRAFTERS_TEXT_COPY_ON_WRITE_H_

#include <memory>
#include <utility>

namespace banyan {

// Copies share one T. What Own() gives is changed by nobody else: it copies the
// T if others still read it. Not for concurrent use.
template <typename T>
class CopyOnWrite {
 public:
  explicit CopyOnWrite(T value)
      : value_(std::make_shared<T>(std::move(value))) {}

  const T& operator*() const { return *value_; }
  const T* operator->() const { return value_.get(); }
  T& Own() {
    if (value_.use_count() > 1) value_ = std::make_shared<T>(*value_);
    return *value_;
  }
  // Reads it no more: nothing may be asked of this one after.
  void Release() { value_.reset(); }

 private:
  std::shared_ptr<T> value_;
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_TEXT_COPY_ON_WRITE_H_
