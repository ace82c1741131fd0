// What most files use: statuses, spans and strings, and the macros that hand an
// error to the caller. They are the only macros of the project.
#ifndef BANYAN_CORE_BASE_COMMON_H_
#define BANYAN_CORE_BASE_COMMON_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

#define BANYAN_CONCAT_(a, b) a##b
#define BANYAN_CONCAT(a, b) BANYAN_CONCAT_(a, b)

// Returns from the enclosing function if `expression` is not OK.
#define BANYAN_RETURN_IF_ERROR(expression)         \
  do {                                             \
    absl::Status banyan_status = (expression);     \
    if (!banyan_status.ok()) return banyan_status; \
  } while (false)

// BANYAN_ASSIGN_OR_RETURN(auto value, StatusOrExpression());
#define BANYAN_ASSIGN_OR_RETURN(target, expression)                     \
  auto BANYAN_CONCAT(banyan_result_, __LINE__) = (expression);          \
  if (!BANYAN_CONCAT(banyan_result_, __LINE__).ok())                    \
    return std::move(BANYAN_CONCAT(banyan_result_, __LINE__)).status(); \
  target = std::move(BANYAN_CONCAT(banyan_result_, __LINE__)).value()

#endif  // BANYAN_CORE_BASE_COMMON_H_
