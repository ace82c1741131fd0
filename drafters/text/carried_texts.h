// State that drafters carry from prompt to prompt, and share until one changes
// it.
#ifndef BANYAN_DRAFTERS_TEXT_CARRIED_TEXTS_H_
#define BANYAN_DRAFTERS_TEXT_CARRIED_TEXTS_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/base/params.h"
#include "core/base/token.h"
#include "drafters/drafter.h"
#include "drafters/text/plan_drafter.h"

namespace banyan {

// CopyOnWrite: a value that sessions share until one changes it.

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

// CarriedTexts: the carried state of drafters that keep what earlier prompts
// emitted. The prompts themselves are not kept: they are not the target's, and
// in a chat they hold earlier turns, which were taken over already.

// Adds the key `reset`: whether state goes from prompt to prompt ("never") or
// not ("prompt", the default).
template <typename Options>
void AddReset(Keys<Options>& keys, bool Options::*keeps) {
  keys.OneOf("reset", keeps, {"prompt", "never"},
             "When it forgets what it learned.");
}
// Adds the key `texts`, the most texts that are kept.
template <typename Options>
void AddTexts(Keys<Options>& keys) {
  keys.AtLeast("texts", &Options::texts, 1,
               "The most texts that are kept, with `reset: never`.")
      .OnlyWith("reset", "never",
                "limits what is kept from prompt to prompt, which is nothing "
                "unless reset is never");
}

// What DraftSession::End returns of a prompt of this many tokens, and what
// CarriedState::Absorb takes over of a text by those bytes: the output.
// DataLoss on others.
std::string PromptOfLength(int prompt_length);
absl::StatusOr<absl::Span<const TokenId>> OutputOf(
    absl::Span<const TokenId> text, absl::string_view learnt);

// Store has `void Add(Span<const TokenId> output)`, held() and dropped().
template <typename Store>
class CarriedTexts : public CarriedState {
 public:
  // `unit` is what held() counts.
  CarriedTexts(std::string unit, Store store)
      : unit_(std::move(unit)), store_(std::move(store)) {}

  // The store as it is now, which later texts do not change.
  const CopyOnWrite<Store>& now() const { return store_; }

  absl::Status Absorb(absl::Span<const TokenId> text,
                      absl::string_view learnt) override {
    BANYAN_ASSIGN_OR_RETURN(const absl::Span<const TokenId> output,
                            OutputOf(text, learnt));
    store_.Own().Add(output);
    return absl::OkStatus();
  }
  absl::Status CheckLesson(absl::Span<const TokenId> text,
                           absl::string_view learnt) const override {
    return OutputOf(text, learnt).status();
  }
  std::vector<Carried> holdings() const override {
    return {
        {.unit = unit_, .held = store_->held(), .dropped = store_->dropped()}};
  }

 private:
  std::string unit_;
  CopyOnWrite<Store> store_;
};

// A session with a store of its own, as it was when the session was made.
template <typename Store>
class CarryingSession : public PlanSession {
 public:
  std::string End() override {
    store_.Release();
    return keeps_ ? PromptOfLength(prompt_length()) : std::string();
  }

 protected:
  // `keeps`: whether later prompts are taught.
  CarryingSession(const CarriedTexts<Store>& carried, bool keeps)
      : store_(carried.now()), keeps_(keeps) {}

  bool keeps() const { return keeps_; }
  const Store& store() const { return *store_; }
  Store& OwnStore() { return store_.Own(); }

 private:
  CopyOnWrite<Store> store_;
  bool keeps_;
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_TEXT_CARRIED_TEXTS_H_
