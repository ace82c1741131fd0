#include "core/ops/embed.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "core/base/check.h"
#include "core/ops/cpu/cpu_backend.h"
#include "core/ops/host/host.h"
#include "core/ops/host/host_weight.h"

namespace banyan {

// A few rows of a packed weight: nothing to gain from vectors.
absl::Status CpuBackend::Embed(const EmbedArgs& args) {
  const auto& table = static_cast<const HostWeight&>(*args.table);
  const std::int32_t* ids = host::Data(args.ids);
  std::vector<float> row(static_cast<std::size_t>(table.columns()));
  for (int i = 0; i < args.y.rows; ++i) {
    Check(ids[i] >= 0 && ids[i] < table.rows(), "an embedding out of range");
    table.ReadRow(ids[i], row.data());
    float* y = host::Row(args.y, i);
    for (std::size_t k = 0; k < row.size(); ++k)
      y[k] = args.add ? y[k] + row[k] : row[k];
  }
  return absl::OkStatus();
}

}  // namespace banyan
