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
const std::vector<std::string>& DraftingPresets();

// Whether it drafts what the text said before or what its form says, so that
// there is little to draft where nothing repeats.
bool DraftsFromText(const std::string& preset);
// A text after which it drafts, if it drafts little after most; else `other`.
const char* TextFor(const std::string& preset, const char* other);

// The file of a preset; `auto` where drafting is cheap, so that it drafts, and
// `rest` with ShippedIndex().
Params Preset(const std::string& name);

std::shared_ptr<CpuBackend> OneThread();

}  // namespace banyan

#endif  // BANYAN_TESTS_EXPERIMENTS_PRESET_FILES_H_
