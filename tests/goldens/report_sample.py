"""Prints a made-up report as JSON: what the page of `banyan report` is given.

  report_sample.py > sample.json

For looking at the page without a run, and for texts that are hard to show.
Trees, texts and numbers are simulated and mean nothing; metrics follow from
the simulated rounds, so that they agree with each other. The same each time.
"""

import json
import random
import statistics
import sys

PROMPTS = [
    ("fib", "function", "def fibonacci(n):\n",
     '    """The n-th Fibonacci number."""\n    a, b = 0, 1\n'
     "    for _ in range(n):\n        a, b = b, a + b\n    return a\n\n\n"
     'print("".join(str(fibonacci(i)) for i in range(10)))\n'),
    ("page", "strings", "# Ends a script early\nhtml = (",
     "'<script>alert(1)</script><!-- <script> {{page.css}} -->'\n"
     "        '\\t&amp; \"größer\" ≥ 中文 😀')\nassert html.count('</script>')"
     " == 1\nnames = ['Zoë', 'Ærøskøbing', '東京']\n\tx\x07 = None\n"),
]

# By method: branching by level, each trunk's drafter and policy, the chance
# that the target goes on along the tree, verifier, milliseconds of drafting.
METHODS = {
    "plain": ([], [], 0, "match", 0),
    "chain": ([1] * 4, [("draft-1", "chain")], .66, "leviathan", 1.1),
    "sequences": ([3, 1, 1, 1], [("draft-1", "sequences")], .64,
                  "multi_round", 1.9),
    "specinfer_1": ([2, 2, 1, 1], [("draft-1", "expansion")], .66,
                    "multi_round", 1.9),
    "specinfer_2": ([3, 2, 1, 1], [("draft-1", "expansion"),
                                   ("draft-2", "expansion")], .68,
                    "multi_round", 2.6),
    "sequoia": ([3, 2, 2, 1, 1], [("draft-1", "sequoia")], .69,
                "without_replacement", 2.4),
    "medusa": ([4, 2, 1], [("medusa", "static")], .55, "typical", .3),
    "ngram": ([2, 1, 1], [("ngram", "expansion")], .38, "multi_round", .01),
    "merged_all": ([4, 2, 2, 1], [("draft-1", "expansion"),
                                  ("ngram", "chain"), ("medusa", "static")],
                   .71, "multi_round", 2.8),
    "auto": ([2, 1, 1], [("draft-1", "auto")], .7, "leviathan", 1.2),
}
# Name, what it was grown from, milliseconds of a pass, cost of four more nodes
# over it.
TARGETS = [("pycode-target", None, 6.0, .35),
           ("pycode-110m", "pycode-target", 41.0, .16)]
CURVE = "a made-up <GPU>.yaml"
SENTENCES = [
    ("speed", "Tokens a second over those of the baseline on the same prompts.",
     ""),
    ("predicted_speed", "Speed by the measured acceptance and cost curves.",
     ""),
    ("predicted_by_curve", "Speed predicted at the costs of --curve.", ""),
    ("ms_per_token", "Time of the rounds over the tokens kept.", "ms"),
    ("tokens_per_pass", "Tokens emitted a target pass, bonus included.", ""),
    ("accepted_per_pass", "Drafted tokens accepted a target pass.", ""),
    ("alpha", "Mean over drawn nodes of the sum of min(p, q).", ""),
    ("acceptance_by_depth", "Rounds that accepted a node at this depth.", ""),
    ("conditional_acceptance_by_depth",
     "Rounds that accepted at this depth among those that got to it.", ""),
    ("acceptance_by_rank", "Accepted candidates among those of this rank.", ""),
    ("acceptance_by_trunk", "Accepted nodes among those a trunk drew.", ""),
    ("accepted_lengths", "Rounds by their number of accepted tokens.", ""),
    ("drafted_nodes", "Nodes of the tree, mean over the rounds.", ""),
    ("time_shares", "Share of each phase in the time of the rounds.", ""),
    ("drafter_cost", "Time of a drafting step over a single target pass.", ""),
    ("nodes_saved", "Share of the draws that merging made one node.", ""),
]


def pieces(text, rng):
    """The text in tokens of one to six characters."""
    cut = 0
    while cut < len(text):
        size = 1 if text[cut] == "\n" else rng.randint(1, 6)
        newline = text.find("\n", cut + 1, cut + size)
        end = newline if newline > 0 else cut + size
        yield text[cut:end]
        cut = end


class Simulation:
    """One prompt decoded by one cell."""

    def __init__(self, method, target, temperature, rng):
        self.branching, self.trunks, self.rate, _, self.draft_ms = METHODS[
            method]
        self.pass_ms, self.slope = target[2:]
        self.rate *= 1.1 if temperature == 0 else 1
        self.rng = rng
        self.others = ["self", " in", "(", "\n", "return", "é", "    ", "中"]

    def tree(self, rest, before):
        """Nodes and the accepted path's length; `rest` is what the target
        says next."""
        nodes = [{"text": before, "parent": -1, "p": 1.0, "trunks": [],
                  "accepted": False}]
        right, level, accepted = 0, [0], 0
        for depth, width in enumerate(self.branching):
            if depth + 1 >= len(rest):
                break
            hit = self.rng.random() < self.rate + .08 * (width - 1)
            rank = min(int(self.rng.expovariate(1.2)), width - 1)
            grown = []
            for parent in level:
                on_path = parent == right and accepted == depth
                for child in range(width):
                    taken = on_path and hit and child == rank
                    share = self.rng.uniform(.3, .95)
                    trunks = self.trunks_of(child)
                    nodes.append({
                        "text": rest[depth] if taken else
                                self.rng.choice(self.others),
                        "parent": parent,
                        "p": round(share if taken else share * .2, 4),
                        "trunks": trunks, "accepted": taken,
                        "q": [round(self.rng.uniform(.1, .9), 4)
                              for _ in trunks]})
                    grown.append(len(nodes) - 1)
                    if taken:
                        right, accepted = len(nodes) - 1, depth + 1
            level = grown[:4] + [right] * (right in grown[4:])
        return nodes, accepted

    def trunks_of(self, child):
        if len(self.trunks) < 2:
            return [0] if self.trunks else []
        both = self.rng.random() < .3
        first = child % len(self.trunks)
        return sorted({first, (first + 1) % len(self.trunks)}) if both else [
            first]

    def round(self, rest, before):
        nodes, accepted = self.tree(rest, before)
        passed = self.pass_ms * (1 + self.slope * (len(nodes) - 1) / 4)
        usual = {"draft": self.draft_ms, "derive": .01, "target": passed,
                 "verify": .03, "commit": .02}
        ms = {phase: round(time * self.rng.uniform(.9, 1.15), 4)
              for phase, time in usual.items()}
        return {"nodes": nodes, "next": rest[accepted], "emitted": accepted + 1,
                "ms": ms}

    def run(self, prompt, text):
        rest = list(pieces(text, self.rng))
        tokens, rounds, before = [], [], prompt[-3:]
        while rest:
            one = self.round(rest, before)
            kept, n = rest[:one["emitted"]], one["emitted"]
            refused = any(node["parent"] == self.last(one) for node in
                          one["nodes"][1:])
            how = ["accepted"] * (n - 1) + [
                "corrected" if refused else "bonus" if n > 1 else "plain"]
            tokens += [{"text": t, "round": len(rounds), "how": h}
                       for t, h in zip(kept, how)]
            rounds.append(one)
            rest, before = rest[n:], kept[-1]
        if rounds[-1]["emitted"] > 1:  # as if a stop rule had cut the last
            rounds[-1]["emitted"] -= 1
            tokens.pop()
        return tokens, rounds

    @staticmethod
    def last(one):
        return max([0] + [i for i, node in enumerate(one["nodes"])
                          if node["accepted"]])


def around(value, spread):
    """A value with an interval."""
    return {"value": round(value, 5), "low": round(value * (1 - spread), 5),
            "high": round(value * (1 + spread), 5)}


def metrics_of(rounds, method, plain_ms, rng):
    depth = len(METHODS[method][0])
    lengths = [one["emitted"] - 1 for one in rounds]
    emitted = sum(one["emitted"] for one in rounds)
    times = {phase: sum(one["ms"][phase] for one in rounds)
             for phase in rounds[0]["ms"]}
    ms = sum(times.values()) / emitted
    reach = [sum(n >= d for n in lengths) / len(lengths)
             for d in range(depth + 1)]
    plain = {"": around(emitted / len(rounds), .03)}
    found = {"tokens_per_pass": plain,
             "ms_per_token": {"": around(ms, .03)},
             "time_shares": {p: around(t / sum(times.values()), .02)
                             for p, t in times.items()}}
    if not depth:
        return found | {"speed": {"": {"value": 1, "low": 1, "high": 1}},
                        "drafted_nodes": {"": around(0, 0)}}
    widest = max(METHODS[method][0])
    return found | {
        "accepted_per_pass": {"": around(statistics.mean(lengths), .05)},
        "alpha": {"": around(METHODS[method][2] * .95, .02)},
        "acceptance_by_depth": {f"depth {d}": around(reach[d], .06)
                                for d in range(1, depth + 1)},
        "conditional_acceptance_by_depth": {
            f"depth {d}": around(reach[d] / reach[d - 1], .06)
            for d in range(1, depth + 1) if reach[d - 1] > 0},
        "acceptance_by_rank": {
            f"rank {r}": around(METHODS[method][2] * .4 ** (r - 1), .08)
            for r in range(1, widest + 1)},
        "acceptance_by_trunk": {
            f"trunk {i} {trunk[0]}": around(.45 / (i + 1), .1)
            for i, trunk in enumerate(METHODS[method][1])},
        "accepted_lengths": {f"length {n}": around(
            lengths.count(n) / len(lengths), .1) for n in range(depth + 1)},
        "drafted_nodes": {"": around(statistics.mean(
            len(one["nodes"]) - 1 for one in rounds), .01)},
        "speed": {"": around(plain_ms / ms, .05)},
        "predicted_speed": {"": around(
            plain_ms / ms * rng.uniform(.93, 1.1), .02)},
        "predicted_by_curve": {CURVE: around(
            plain_ms / ms * rng.uniform(1.1, 1.5), .02)},
        "drafter_cost": {"": around(times["draft"] / times["target"], .04)},
    } | ({"nodes_saved": {"": around(.12, .1)}}
         if len(METHODS[method][1]) > 1 else {})


def cell_of(method, target, temperature):
    _, trunks, _, verifier, _ = METHODS[method]
    name = f"{method}/{target[0]}/t{temperature}"
    baseline = f"plain/{target[0]}/t{temperature}"
    return {"name": name, "method": method,
            "axes": {"target": target[0], "temperature": str(temperature)},
            "target": target[0], "grown_from": target[1],
            "lossless": verifier != "typical",
            "baseline": None if not trunks else baseline,
            "verifier": verifier, "temperature": temperature,
            "trunks": [{"drafter": drafter, "policy": policy,
                        "draws": "independent"} for drafter, policy in trunks],
            "prompts": 30}


def report():
    rng = random.Random(5)
    cells, samples = [], []
    for target in TARGETS:
        for temperature in (0, 1):
            for method in METHODS:
                cell = cell_of(method, target, temperature)
                simulation = Simulation(method, target, temperature, rng)
                rounds = []
                for identity, kind, prompt, text in PROMPTS:
                    tokens, some = simulation.run(prompt, text)
                    rounds += some
                    samples.append({"cell": cell["name"], "id": identity,
                                    "kind": kind, "prompt": prompt,
                                    "tokens": tokens, "rounds": some})
                if method == "plain":
                    plain_ms = statistics.mean(
                        sum(one["ms"].values()) for one in rounds)
                for _ in range(4):  # more rounds, for steadier numbers
                    rounds += simulation.run(*PROMPTS[0][2:])[1]
                cell["metrics"] = metrics_of(rounds, method, plain_ms, rng)
                if method == "medusa":  # a report may lack any number
                    del cell["metrics"]["alpha"]
                cells.append(cell)
    samples = [one for one in samples if not one["cell"].startswith("ngram")]
    return {
        "question": "Do SpecInfer's trees beat a chain at equal drafted "
                    "nodes, and each at its own best?",
        "experiment": "question: Do trees beat a chain? </script>\n"
                      "target: {directory: models/pycode-target}\nmethods:\n"
                      "  - chain\n  - specinfer_1: {branching: [2, 2, 1, 1]}\n"
                      "matrix:\n  temperature: [0, 1]\n",
        "experiment_hash": "5d41402abc4b2a76b9719d911017c592",
        "context": {
            "build": {"revision": "0123abcd", "compiler": "GNU 12.2.0",
                      "flags": "-O3 -ffp-contract=off", "type": "Release"},
            "machine": {"cpu": "A made-up CPU @ 2.80GHz",
                        "instruction_set": "AVX3_ZEN4", "cores": 2,
                        "threads": 2, "gigabytes_per_s": 21.4, "load": .12},
            "started": "2026-01-31 12:34:56 UTC",
            "workload": {"path": "workloads/python.jsonl", "prompts": 30}},
        "curve": {"file": f"costs/{CURVE}", "name": CURVE,
                  "costs": "target_ms: {1: 1, 64: 1.1}\ndraft_ms: 0.1\n",
                  "sentence": f"Predicted, not measured, by costs/{CURVE}."},
        "cells": cells,
        "metrics": [{"name": name, "sentence": sentence, "unit": unit}
                    for name, sentence, unit in SENTENCES],
        "samples": samples}


if __name__ == "__main__":
    json.dump(report(), sys.stdout, ensure_ascii=False)
