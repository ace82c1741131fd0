"""No command prints more than 100 columns to standard output, whatever was recorded:
ten runs of unlike experiments, and the commands that need none. A text that the user
gave (a question, a path, a prompt) is as long as it is; those here are short.
"""

import json
import pathlib
import sys
import unicodedata
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "run"))
from run_case import RunCase, run  # noqa: E402 (the path comes first)

MOST = 100
PROJECT = pathlib.Path.cwd()
MODELS = PROJECT / "models"
SMALL = {"drafters": [{"name": "small_model", "model": "draft"}],
         "verifier": {"name": "multi_round"}}
CHAIN = SMALL | {"policy": {"name": "chain", "nodes": 3}}
TREE = SMALL | {"policy": {"name": "expansion", "branching": [2, 2]}}
MERGED = SMALL | {
    "drafters": [*SMALL["drafters"], {"name": "ngram"}],
    "trunks": [{"drafter": 0, "policy": {"name": "expansion", "branching": [2, 1]}},
               {"drafter": 1, "policy": {"name": "chain", "nodes": 2}}]}
LONG = "a tree whose name says what is new in it"
NODES = {str(n): {"methods.chain.policy.nodes": n} for n in (1, 2, 4)}
HEAT = {t: {"sampling.temperature": float(t)} for t in ("0", "0.25", "1")}
TARGETS = {name: {"target.directory": str(MODELS / name)}
           for name in ("pycode-target", "pycode-draft-2")}
# By name what an experiment has beside the usual.
EXPERIMENTS = {
    "one": {"methods": {"chain": CHAIN}},
    "six prompts": {"methods": {"chain": CHAIN, "tree": TREE},
                    "prompts": 6, "compare": {"reference": "chain"}},
    "long names": {"methods": {LONG: TREE, LONG.replace("tree", "chain"): CHAIN}},
    "temperatures": {"methods": {"chain": CHAIN, "tree": TREE},
                     "matrix": {"temperature": HEAT}},
    "two axes": {"methods": {"chain": CHAIN},
                 "matrix": {"nodes": NODES, "temperature": HEAT}},
    "targets": {"methods": {"chain": CHAIN, LONG: TREE},
                "matrix": {"target": TARGETS, "temperature": HEAT}},
    "batch": {"methods": {"chain": CHAIN, "tree": TREE}, "batch": 2},
    "merged": {"methods": {"merged": MERGED, "tree": TREE}, "prompts": 6},
    "lossy": {"methods": {"typical": TREE | {"verifier": {"name": "typical"}},
                          "chain": CHAIN}},
    "seeds": {"methods": {"chain": CHAIN}, "seeds": [1, 2, 3],
              "sampling": {"temperature": 1}},
}


def width(line):
    """Columns in a terminal, as core/terminal/columns.h counts them."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line
               if not unicodedata.combining(c))


class ColumnsTest(RunCase):

    def check(self, *arguments):
        done = run(*arguments, cwd=self.folder)
        self.assertEqual(done.returncode, 0, (arguments, done.stderr))
        shown = done.stdout.splitlines()
        self.assertTrue(shown, arguments)
        self.wide += [(*arguments, line) for line in shown if width(line) > MOST]

    def setUp(self):
        super().setUp()
        self.wide = []

    def tearDown(self):
        self.assertEqual(self.wide, [])

    def write(self, more):
        more = dict(more)
        count = more.pop("prompts", 2)
        self.write_prompts([{"id": f"p{i}", "kind": ("k", "another kind")[i % 2],
                             "prompt": "def f(a, b):\n    return " + "a" * i}
                            for i in range(count)])
        with open(self.folder / "e.yaml", "w", encoding="utf-8") as file:
            json.dump({"question": "Does a tree pay?",
                       "target": {"directory": str(MODELS / "pycode-target")},
                       "workload": {"file": "prompts.jsonl"},
                       "limits": {"max_new_tokens": 6},
                       "models": {"draft": {"directory": str(MODELS / "pycode-draft-1")}},
                       "sampling": {"temperature": 0}} | more, file)

    def test_of_runs(self):
        self.assertEqual(len(EXPERIMENTS), 10)
        for i, (name, more) in enumerate(EXPERIMENTS.items()):
            with self.subTest(name):
                self.write(more)
                out = f"out{i}"
                self.check("check", "e.yaml")
                self.check("run", "e.yaml", "--out", out)
                self.check("report", out)
                self.check("report", out, "--all")
                # A table of two axes has a place for no third.
                if name not in ("two axes", "targets", "seeds"):
                    self.check("report", out, "--rows", "method")
                self.check("report", out, "--group", "kind,temperature")
                self.check("report", out, "--metrics",
                           "speed,tokens_per_pass,alpha,drafted_nodes,ms_per_token,"
                           "acceptance_by_depth,time_shares")
                self.check("report", out, "--curve",
                           PROJECT / "configs" / "costs" / "flat.yaml")
                self.check("compare", out, out)

    def test_of_lists(self):
        self.check("list")
        parts = json.loads(run("list", "--json").stdout)
        names = [row["name"] for rows in parts.values() for row in rows]
        self.assertGreater(len(names), 80)
        for name in sorted(set(names)):
            self.check("list", name)

    def test_of_studies(self):
        configs = PROJECT / "configs"
        for file in sorted((configs / "tree").glob("*.yaml")):
            self.check("tree", file)
        self.check("exact", configs / "exact" / "tree_multi_round.yaml")
        self.check("measure", "--model", MODELS / "pycode-target", "--batch", "1,4",
                   "--rounds", "2")


if __name__ == "__main__":
    unittest.main()
