// How long something takes, for people.
#ifndef BANYAN_EXPERIMENTS_RUN_DURATION_TEXT_H_
#define BANYAN_EXPERIMENTS_RUN_DURATION_TEXT_H_

#include <string>

namespace banyan {

// "12 s", "1:05 min" or "2:30 h": rounded to seconds, and from an hour on cut
// to minutes.
std::string DurationText(double seconds);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_RUN_DURATION_TEXT_H_
