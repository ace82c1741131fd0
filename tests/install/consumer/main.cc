// A program that uses the installed library: takes one draw out of a
// distribution and prints the rest.
#include <cstdio>

#include "core/prob/distribution.h"

int main() {
  const auto law = banyan::Distribution::Dense({0.5, 0.25, 0.25});
  const auto rest = law.Without(0).Normalized();
  std::printf("law without token 0: %g %g %g\n", rest.Mass(0), rest.Mass(1),
              rest.Mass(2));
  return rest.Mass(1) == 0.5 ? 0 : 1;
}
