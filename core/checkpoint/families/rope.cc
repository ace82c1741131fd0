#include "core/checkpoint/families/rope.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/quoted_name.h"
#include "core/checkpoint/architecture.h"
#include "core/checkpoint/config_reader.h"

namespace banyan {
namespace {

constexpr double kDefaultTheta = 10000;  // every family's, when none is given

void ReadScaling(ConfigReader& in, Rope& rope) {
  const std::string older = in.TextOr("type", "");
  const std::string kind =
      in.TextOr("rope_type", older.empty() ? "default" : older);
  if (!older.empty() && older != kind)
    in.Fail("type", absl::StrCat(QuotedName(older), " is not the rope_type, ",
                                 QuotedName(kind)));
  if (kind == "default") return;
  if (kind != "linear" && kind != "llama3") {
    in.Fail(in.Has("rope_type") ? "rope_type" : "type",
            absl::StrCat("expected default, linear or llama3, found ",
                         QuotedName(kind)));
    return;
  }
  rope.factor = in.Positive("factor");
  // Below 1 the positions would be spread, for which no model is made.
  if (rope.factor < 1) in.Unexpected("factor", "a number of at least 1");
  if (kind == "linear") {
    rope.scaling = Rope::Scaling::kLinear;
    return;
  }
  rope.scaling = Rope::Scaling::kLlama3;
  rope.low_frequency_factor = in.Positive("low_freq_factor");
  rope.high_frequency_factor = in.Positive("high_freq_factor");
  rope.original_context = in.Size("original_max_position_embeddings");
  // The blend divides by the difference.
  if (in.status().ok() &&
      rope.high_frequency_factor <= rope.low_frequency_factor)
    in.Unexpected("high_freq_factor", "more than low_freq_factor");
}

// Turning a part of each head only is another graph.
void RefusePartial(ConfigReader& in) {
  constexpr absl::string_view kKey = "partial_rotary_factor";
  if (in.PositiveOr(kKey, 1) != 1) in.Unexpected(kKey, "1");
}

}  // namespace

Rope ReadRope(ConfigReader& in) {
  Rope rope;
  rope.theta = in.PositiveOr("rope_theta", kDefaultTheta);
  RefusePartial(in);
  if (!in.Has("rope_parameters")) {
    ConfigReader scaling = in.Section("rope_scaling");
    ReadScaling(scaling, rope);
    return rope;
  }
  if (in.Has("rope_scaling"))
    in.Fail("rope_scaling", "expected either this or rope_parameters");
  ConfigReader parameters = in.Section("rope_parameters");
  if (parameters.HasObjects())
    in.Fail("rope_parameters", "expected one set for all layers");
  rope.theta = parameters.PositiveOr("rope_theta", rope.theta);
  RefusePartial(parameters);
  ReadScaling(parameters, rope);
  return rope;
}

}  // namespace banyan
