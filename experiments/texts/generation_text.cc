#include "experiments/texts/generation_text.h"

#include <cstddef>
#include <utility>

#include "core/base/common.h"
#include "core/base/messages.h"
#include "decode/proofs.h"
#include "decode/sequence.h"
#include "experiments/loading/model_shelf.h"
#include "experiments/plan/build_method.h"

namespace banyan {
namespace {

std::vector<std::pair<std::string, double>> PhasesMs(const PhaseTotals& times) {
  const auto ms = [](std::int64_t ns) { return static_cast<double>(ns) / 1e6; };
  std::vector<std::pair<std::string, double>> phases = {
      {"prefill", ms(times.prefill_ns)}, {"draft", ms(times.draft_ns)},
      {"derive", ms(times.derive_ns)},   {"target", ms(times.target_ns)},
      {"verify", ms(times.verify_ns)},   {"commit", ms(times.commit_ns)}};
  if (times.device_ns > 0) phases.emplace_back("device", ms(times.device_ns));
  return phases;
}

std::string StopText(StopReason reason, const GenerationSetting& setting) {
  switch (reason) {
    case StopReason::kEndOfText:
      return "stopped at the end of the text";
    case StopReason::kLength:
      return "stopped at --max-new-tokens";
    case StopReason::kContext:
      return absl::StrCat("stopped at the context limit of ",
                          setting.target.context_limit(), " tokens");
    case StopReason::kNone:
      break;
  }
  return "not stopped";
}

JsonValue TurnToJson(const Generation& generation, bool has_text) {
  JsonValue rounds = JsonValue::List();
  for (const RoundFacts& round : generation.rounds)
    rounds.Add({{"nodes", round.nodes},
                {"probes", round.probes},
                {"accepted", round.accepted},
                {"emitted", round.emitted}});
  JsonValue out;
  out["prompt_ids"] = generation.prompt;
  out["ids"] = generation.ids;
  out["text"] = has_text ? JsonValue(generation.text) : JsonValue();
  out["stop_reason"] = std::string(Name(generation.stopped));
  out["round_count"] = generation.rounds.size();
  out["rounds"] = std::move(rounds);
  JsonValue& on_host = out["rounds_on_host"] = JsonValue::Object();
  for (const auto& [cause, count] : generation.on_host)
    if (cause != HostCause::kNone) on_host[Name(cause)] = count;
  out["tokens_per_target_pass"] = generation.TokensPerPass();
  out["ms_per_token"] = generation.MsPerToken();
  for (const auto& [phase, ms] : PhasesMs(generation.times))
    out["phases_ms"][phase] = ms;
  return out;
}

}  // namespace

JsonValue ToJson(absl::Span<const Generation> turns,
                 const GenerationSetting& setting) {
  JsonValue earlier = JsonValue::List();
  JsonValue out;
  for (std::size_t i = 0; i < turns.size(); ++i) {
    out = TurnToJson(turns[i], setting.has_text);
    out["message"] =
        setting.messages.empty() ? JsonValue() : JsonValue(setting.messages[i]);
    if (i + 1 < turns.size()) earlier.Add(out);
  }
  out["earlier_turns"] = std::move(earlier);
  out["chat"] = NullIfEmpty(setting.chat);
  out["seed"] = setting.seed;
  out["method"] = {{"name", setting.method_name},
                   {"verifier", setting.method.verifier_name},
                   {"trunks", TrunksToJson(setting.method)},
                   {"score", std::string(Name(setting.method.scoring))}};
  out["lossless"] = IsLossless(setting.method);
  out["proven"] = IsProven(setting.method);
  const absl::string_view origin = setting.target.grown_from();
  out["grown_from"] = NullIfEmpty(origin);
  const ModelFacts facts = setting.target.facts();
  out["weights"] = std::string(Name(facts.format));
  out["source_format"] = NullIfEmpty(facts.source_format);
  out["device"] = facts.device;
  out["backend"] = facts.backend;
  out["device_peak_bytes"] = facts.device_peak_bytes;
  out["disk_bytes_per_pass"] = facts.disk_bytes;
  out["activation_bytes"] = facts.activation_bytes;
  return out;
}

namespace {

double Megabytes(std::size_t bytes) { return static_cast<double>(bytes) / 1e6; }

// "37 tokens at 176.2 tokens/s (5.675 ms a token)".
std::string Rate(std::size_t tokens, double ms_per_token) {
  return absl::StrFormat("%s at %.1f tokens/s (%.3f ms a token)",
                         Counted(static_cast<std::int64_t>(tokens), "token"),
                         1e3 / ms_per_token, ms_per_token);
}

// What the weights were in the file, if it held blocks.
std::string SourceNote(const ModelFacts& facts) {
  return facts.source_format.empty()
             ? ""
             : absl::StrCat(" (", facts.source_format, " in the file)");
}

absl::string_view Claim(const Method& method) {
  if (!IsLossless(method))
    return "LOSSY (the text does not follow the target's distribution)";
  if (method.trunks.empty()) return "lossless";
  return IsProven(method) ? "lossless (proven by enumeration)"
                          : "lossless (claimed, not proven in this build)";
}

}  // namespace

std::string Summary(const Generation& generation,
                    const GenerationSetting& setting) {
  const std::string phases = absl::StrJoin(
      PhasesMs(generation.times), ", ",
      [](std::string* out, const std::pair<std::string, double>& phase) {
        absl::StrAppendFormat(out, "%s %.2f", phase.first, phase.second);
      });
  const ModelFacts facts = setting.target.facts();
  std::string text = absl::StrCat(
      "prompt: ", Rate(generation.prompt.size(), generation.PromptMsPerToken()),
      "\n", "text: ", Rate(generation.ids.size(), generation.MsPerToken()),
      absl::StrFormat(
          "; %.2f tokens per target pass in %s; ", generation.TokensPerPass(),
          Counted(static_cast<std::int64_t>(generation.rounds.size()),
                  "round")),
      StopText(generation.stopped, setting), "\n", "ms: ", phases, "\n",
      "method ", setting.method_name, ", verifier ",
      setting.method.verifier_name, ", ", Claim(setting.method), "; ",
      Name(facts.format), " weights", SourceNote(facts),
      GrownNote(setting.target), " on ", facts.backend);
  const std::string on_host = HostRoundsText(
      generation.on_host, static_cast<int>(generation.rounds.size()));
  if (!on_host.empty()) absl::StrAppend(&text, "\n", on_host);
  if (facts.device_peak_bytes > 0)
    absl::StrAppendFormat(&text, ", %.1f MB of its memory at most",
                          Megabytes(facts.device_peak_bytes));
  if (facts.disk_bytes > 0)
    absl::StrAppendFormat(
        &text,
        "\n%.1f MB of the weights are read from disk in every pass; beside the "
        "bound a KV cache of %.1f kB for each token and %.1f MB of activations",
        Megabytes(facts.disk_bytes),
        static_cast<double>(CacheBytesPerToken(setting.target)) / 1e3,
        Megabytes(facts.activation_bytes));
  return text;
}

std::string BesidePlainLine(const BesidePlain& comparison,
                            const GenerationSetting& setting) {
  const auto rate = [](double ms) { return 1e3 / ms; };
  std::string line = absl::StrFormat(
      "plain %.1f tokens/s, %s %.1f tokens/s: %.2fx, %.2f tokens per pass, ",
      rate(comparison.plain_ms), setting.method_name,
      rate(comparison.method_ms), comparison.plain_ms / comparison.method_ms,
      comparison.tokens_per_pass);
  if (comparison.same_text.has_value())
    absl::StrAppend(&line,
                    *comparison.same_text ? "same text" : "another text");
  else
    absl::StrAppend(
        &line, "two draws of ",
        IsLossless(setting.method) ? "one distribution" : "two distributions");
  return absl::StrCat(line, " (", Counted(comparison.pairs, "run"), " each)");
}

JsonValue ToJson(const BesidePlain& comparison) {
  JsonValue json = {{"plain_ms_per_token", comparison.plain_ms},
                    {"ms_per_token", comparison.method_ms},
                    {"speedup", comparison.plain_ms / comparison.method_ms},
                    {"tokens_per_target_pass", comparison.tokens_per_pass},
                    {"pairs", comparison.pairs}};
  json["same_text"] = comparison.same_text.has_value()
                          ? JsonValue(*comparison.same_text)
                          : JsonValue();
  return json;
}

}  // namespace banyan
