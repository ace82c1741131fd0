// Decodes a text with a method, `decode MODEL METHOD TEXT`, and prints what
// follows. METHOD is a preset's name or a YAML file.
#include <cstdio>
#include <string>

#include "core/base/params.h"
#include "core/ops/devices.h"
#include "core/random/random_source.h"
#include "experiments/loading/method_file.h"
#include "experiments/loading/model_shelf.h"
#include "experiments/plan/presets.h"

int main(int argc, char** argv) {
  if (argc != 4) return std::puts("decode MODEL METHOD TEXT"), 2;
  // value() ends the program with the message of an error.
  banyan::ModelShelf shelf(banyan::OpenDevice("cpu").value());
  const banyan::ModelSpec target = {.directory = argv[1]};
  const auto model = shelf.Open(target).value();
  const auto file = banyan::LoadPreset(banyan::Params::Scalar(argv[2])).value();
  const auto method =
      banyan::ReadMethodFile(file, {.target = target, .shelf = shelf}).value();
  const auto prompt = model.tokenizer->Encode(argv[3]).value();
  banyan::SeededSource random(0);
  int passes = 0;
  const auto ids = method.decoder->Decode(
      {.id = 0, .tokens = prompt},
      {.end_of_text = model.model->facts().end_of_text, .max_new_tokens = 48},
      random, [&passes](const banyan::RoundRecord& /*round*/) { ++passes; });
  std::puts(model.tokenizer->Decode(ids.value()).value().c_str());
  std::printf("%zu tokens in %d passes\n", ids->size(), passes);
}
