#!/usr/bin/env python3
"""Runs every preset on the models of a base file: is its text plain decoding's?

  check_presets.py PROGRAM BASE OUT [--prompts N] [--tokens N] [--weights W,...]
                   [--least N]

BASE is a file as configs/models/smollm2.yaml. Each preset of configs/methods that
`banyan check` takes with it runs greedily, in every weight format, on prompts of
experiments/workloads/chat.jsonl, with its records in OUT. Prints the presets that
ran and those that were left out, with the reason. Ends with 3 if one that claims to
be lossless gave another text than plain decoding, with 1 if a run failed or fewer than
--least presets could run.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]


def experiment(options, presets):
    methods = "".join(f"  {path.stem}: {{preset: {path}}}\n" for path in presets)
    return (f"question: Is every preset's text that of plain decoding?\n"
            f"base: {options.base.resolve()}\n"
            f"workload: {{file: {ROOT}/experiments/workloads/chat.jsonl, "
            f"prompts: {options.prompts}, chat: auto}}\n"
            f"limits: {{max_new_tokens: {options.tokens}}}\n"
            f"sampling: {{temperature: 0}}\nmethods:\n{methods}")


def refusal(options, path, file):
    """Why the preset does not go with the models; empty if it does."""
    file.write_text(experiment(options, [path]), encoding="utf-8")
    done = subprocess.run([options.program, "check", file], text=True,
                          capture_output=True)
    if done.returncode == 0:
        return ""
    lines = [line for line in done.stderr.splitlines()
             if line and not line.startswith("Run with")]
    if not lines:
        return "no reason given"
    reason = re.sub(r"/\S+?/\.\./\.\./", "", lines[-1].split(": ", 1)[-1])
    # Where the preset says so is the preset's name again.
    return re.sub(r"^\S+\.yaml:\d+:\d+: ", "", reason)


def main(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("base", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--prompts", type=int, default=8)
    parser.add_argument("--tokens", type=int, default=48)
    parser.add_argument("--weights", default="bf16,q8")
    parser.add_argument("--least", type=int, default=1)
    options = parser.parse_args(arguments)
    options.program = options.program.resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    presets, left_out = [], {}
    for path in sorted((ROOT / "configs/methods").glob("*.yaml")):
        if path.stem == "plain":  # the baseline of every run
            continue
        reason = refusal(options, path, options.out / "one.yaml")
        if reason:
            left_out.setdefault(reason, []).append(path.stem)
        else:
            presets.append(path)
    (options.out / "one.yaml").unlink()
    status = 0
    if len(presets) < options.least:
        print(f"expected {options.least} presets to run, found {len(presets)}")
        status = 1
    for weights in options.weights.split(",") if presets else []:
        file = options.out / f"{weights}.yaml"
        file.write_text(experiment(options, presets), encoding="utf-8")
        records = options.out / weights
        shutil.rmtree(records, ignore_errors=True)
        done = subprocess.run(
            [options.program, "run", file, "--set",
             f"target.weights={weights}", "--out", records],
            text=True, stdout=subprocess.PIPE)
        words = {0: "every text is plain decoding's",
                 3: "TEXTS DIFFER from plain decoding's"}
        print(f"{weights}: {len(presets)} presets on {options.prompts} prompts: "
              f"{words.get(done.returncode, 'the run failed')}")
        if done.returncode != 0:
            print(done.stdout)
            status = max(status, done.returncode)
    print("ran: " + " ".join(path.stem for path in presets))
    print(f"left out: {sum(map(len, left_out.values()))}")
    for reason, names in left_out.items():
        print(f"  {reason}:\n    {' '.join(names)}")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
