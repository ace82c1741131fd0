#include "tests/experiments/makers/growing.h"

#include <utility>

#include "core/base/check.h"
#include "experiments/makers/grow/output_folder.h"

namespace banyan {

std::unique_ptr<Checkpoint> MustOpen(const std::string& directory) {
  auto checkpoint = Checkpoint::Open(directory);
  Check(checkpoint.ok(), checkpoint.status().message());
  return *std::move(checkpoint);
}

std::unique_ptr<Transformer> MustLoad(const std::string& directory,
                                      std::shared_ptr<Backend> backend,
                                      WeightFormat format) {
  auto model = Transformer::Load(*MustOpen(directory), {.format = format},
                                 std::move(backend));
  Check(model.ok(), model.status().message());
  return *std::move(model);
}

Grown::Grown(const std::string& directory, const SizeWish& wish,
             const WriteOptions& options) {
  const auto checkpoint = MustOpen(directory);
  const auto size = ResolveSize(checkpoint->architecture(), wish);
  Check(size.ok(), size.status().message());
  const auto folder = OutputFolder::Make(path());
  Check(folder.ok(), folder.status().message());
  std::int64_t before = 0;
  const auto report =
      GrowModel(*checkpoint, *size, options, **folder,
                [&before](std::int64_t done, std::int64_t all) {
                  Check(before < done && done <= all, "progress goes on");
                  before = done;
                });
  Check(report.ok(), report.status().message());
  Check(before == report->bytes, "progress comes to its end");
  report_ = *report;
  (*folder)->Keep();
}

}  // namespace banyan
