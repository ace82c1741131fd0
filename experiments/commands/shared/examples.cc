#include "experiments/commands/shared/examples.h"

#include "absl/strings/string_view.h"
#include "core/base/check.h"

namespace banyan {
namespace {

struct Example {
  absl::string_view command;
  absl::string_view lines;
};

constexpr Example kExamples[] = {
    {"list", "  banyan list"},
    {"exact", "  banyan exact configs/law/tree_multi_round.yaml"},
    {"tree", "  banyan tree configs/tree/sequoia.yaml --svg tree.svg"},
    {"measure",
     "  banyan measure --model models/pycode-target --batch 1,4,16 --rounds 5 "
     "\\\n"
     "      --out curve.yaml"},
    {"tokenize",
     "  echo 'def add(a, b):' | banyan tokenize --model models/pycode-target"},
    {"score",
     "  banyan score --model models/pycode-target --text 'def add(a, b):'"},
    {"generate",
     "  banyan generate --model models/pycode-target --prompt 'def add(a, b):' "
     "\\\n"
     "      --method configs/methods/specinfer_2.yaml --max-new-tokens 48\n"
     "  banyan generate --model models/pycode-target --chat vicuna "
     "--max-new-tokens 24 \\\n"
     "      --system 'Be brief.' --prompt 'def add(a, b):' --prompt 'class "
     "Tree:'"},
    {"beam",
     "  banyan beam --model models/pycode-target --prompt 'def add(a, b):' \\\n"
     "      --drafter models/pycode-draft-2 --check --max-new-tokens 32"},
    {"grow",
     "  banyan grow --model models/pycode-target --hidden 384 --out grown"},
    {"calibrate",
     "  banyan calibrate --model models/pycode-target --prompts 4 \\\n"
     "      --method configs/methods/chain.yaml \\\n"
     "      --workload experiments/workloads/pycode.jsonl --out "
     "acceptance.yaml"},
    {"doctor",
     "  banyan doctor --model models/pycode-target --head "
     "models/pycode-eagle3 \\\n"
     "      --workload experiments/workloads/pycode.jsonl --prompts 4\n"
     "  banyan doctor --model models/pycode-target --drafter "
     "models/pycode-draft-2 \\\n"
     "      --workload experiments/workloads/pycode.jsonl --prompts 4"},
    {"search",
     "  banyan search --model models/pycode-target --prompts 4 --steps 12 \\\n"
     "      --method configs/methods/skip.yaml \\\n"
     "      --workload experiments/workloads/pycode.jsonl --out skip.yaml"},
    {"count",
     "  banyan count --model models/pycode-target --out counts.safetensors \\\n"
     "      experiments/workloads/README.md"},
    {"index",
     "  banyan index --model models/pycode-target --out index \\\n"
     "      experiments/workloads/README.md\n"
     "  banyan index --check index"},
    {"check", "  banyan check configs/hello.yaml"},
    {"run", "  banyan run configs/hello.yaml --out out/hello"},
    {"report",
     "  banyan run configs/hello.yaml --out out/hello\n"
     "  banyan report out/hello\n"
     "  banyan report out/hello --all --reference chain\n"
     "  banyan report out/hello --curve configs/costs/flat.yaml\n"
     "  banyan report out/hello --format html --out report.html"},
    {"compare",
     "  banyan run configs/hello.yaml --out out/hello\n"
     "  banyan run configs/hello.yaml --out out/again\n"
     "  banyan compare out/hello out/again"},
    {"fastest",
     "  banyan run configs/hello.yaml --out out/hello\n"
     "  banyan fastest out/hello --out chains.yaml"},
    {"export",
     "  banyan run configs/hello.yaml --out out/hello\n"
     "  banyan export out/hello --format jsonl --out hello.jsonl"},
};

}  // namespace

absl::string_view ExampleOf(absl::string_view command) {
  for (const Example& example : kExamples)
    if (example.command == command) return example.lines;
  Check(false, "a command without an example");
  return "";
}

}  // namespace banyan
