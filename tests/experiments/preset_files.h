// The presets of configs/methods, and what tests open them with.
#ifndef BANYAN_TESTS_EXPERIMENTS_PRESET_FILES_H_
#define BANYAN_TESTS_EXPERIMENTS_PRESET_FILES_H_

#include <memory>
#include <string>
#include <vector>

#include "core/base/params.h"
#include "core/ops/cpu/cpu_backend.h"

namespace banyan {

inline constexpr char kShippedTarget[] = "models/pycode-target";

// All but `plain`.
const std::vector<std::string>& PresetNames();

// The file of a preset; `auto` where drafting is cheap, so that it drafts, and
// `rest` with ShippedIndex().
Params Preset(const std::string& name);

std::shared_ptr<CpuBackend> OneThread();

}  // namespace banyan

#endif  // BANYAN_TESTS_EXPERIMENTS_PRESET_FILES_H_
