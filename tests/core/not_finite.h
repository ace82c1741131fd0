// Numbers that are none, for the tests of core.
#ifndef BANYAN_TESTS_CORE_NOT_FINITE_H_
#define BANYAN_TESTS_CORE_NOT_FINITE_H_

#include <limits>

namespace banyan {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

}  // namespace banyan

#endif  // BANYAN_TESTS_CORE_NOT_FINITE_H_
