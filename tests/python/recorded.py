"""What the tests of the Python package share: recorded runs, and files made by hand.

The first argument of a test that imports this is the built banyan, the second, where a
test needs it, make_records. The working directory is the project's root.
"""

import contextlib
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest
import warnings
import zlib

PROJECT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(PROJECT / "scripts"), str(PROJECT / "python")]
import system_python  # noqa: E402 (the path comes first)

system_python.skip_without("google.protobuf")
import banyan.records  # noqa: E402

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
MAKE_RECORDS = sys.argv[2] if len(sys.argv) > 2 else None
HEADER_BYTES = 12
pb = banyan.records.record_pb2

HELLO = """
question: Do shards, batches and chats read well?
target: {{directory: "{root}/models/pycode-target"}}
workload: {workload}
limits: {{max_new_tokens: 8, ignore_eos: true}}
methods:
  chain: {{preset: "{root}/configs/methods/chain.yaml"}}
  tree: {{preset: "{root}/configs/methods/specinfer_1.yaml"}}
compare: {{reference: chain}}
matrix: {{sampling.temperature: [0, 1]}}
{more}
"""
QUESTIONS = [["def add(a, b):", "def sub(a, b):"], ["class Node:"],
             ["import os", "import re", "import sys"]]


def pycode(prompts):
    return (f'{{file: "{PROJECT}/experiments/workloads/pycode.jsonl", '
            f"prompts: {prompts}}}")


def run(*arguments, expected=(0,)):
    done = subprocess.run([PROGRAM, *map(str, arguments)], text=True, cwd=PROJECT,
                          capture_output=True, check=False)
    if done.returncode not in expected:
        raise AssertionError(f"banyan {arguments}: {done.returncode}: {done.stderr}")
    return done


def warnings_of(done):
    """What the program warned of, as sentences."""
    start = "banyan: warning: "
    return [line[len(start):] for line in done.stderr.splitlines()
            if line.startswith(start)]


def read(*arguments, **options):
    """banyan.records.read without its warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", banyan.records.RecordWarning)
        return banyan.records.read(*arguments, **options)


def reported(*arguments):
    """banyan.records.report of what the program says of these paths."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "report.json")
        run("report", *arguments, "--format", "json", "--out", path, expected=(0, 3))
        return banyan.records.report(path)


def frame(message):
    """A message as an entry of a record file."""
    payload = message.SerializeToString()
    length = struct.pack("<I", len(payload))
    return (length + struct.pack("<II", zlib.crc32(length), zlib.crc32(payload)) +
            payload)


def write(path, context, records):
    """Writes a record file, and returns the byte of each entry and of the end."""
    parts = [b"BANYANR1", frame(context), *map(frame, records)]
    path.write_bytes(b"".join(parts))
    ends = [0]
    for part in parts:
        ends.append(ends[-1] + len(part))
    return ends[1:]


def two_cells(cpu="a processor"):
    """A context of a baseline and a chain, and a record of each."""
    context = pb.Context(question="Is it read?", experiment_hash="0123456789")
    context.machine.cpu = cpu
    context.workload.prompts = 1
    context.shards = 1
    context.cells.add(name="plain", method="plain", baseline=0, lossless=True)
    chain = context.cells.add(name="chain", method="chain", baseline=0,
                              lossless=True)
    chain.trunks.add(drafter="ngram")
    records = [pb.PromptRecord(cell=0, prompt=0, id="a", prompt_tokens=[1, 2],
                               tokens=[3, 4], order=0),
               pb.PromptRecord(cell=1, prompt=0, id="a", prompt_tokens=[1, 2],
                               tokens=[3, 4], order=1)]
    for root in (2, 3):
        records[0].rounds.add(tokens=[root], parents=[-1], next=root + 1, emitted=1,
                              target_ns=1000)
    made = records[1].rounds.add(tokens=[2, 3], parents=[-1, 0], path=[1], next=4,
                                 emitted=2, target_ns=1500, draft_ns=[100])
    made.lists.add(node=0, trunk=0, tokens=[3], children=[1], q=[0.5], overlap=0.5)
    return context, records


class Recorded(unittest.TestCase):
    """Runs that the program makes, each once for a test program."""

    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.scratch.name)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    @classmethod
    def experiment(cls, name, workload, more="", shards=("0/1",), cut=()):
        out = cls.folder / name
        if out.exists():
            return out
        file = cls.folder / f"{name}.yaml"
        file.write_text(HELLO.format(root=PROJECT, workload=workload, more=more),
                        encoding="utf-8")
        for shard in shards:
            run("run", file, "--out", out, "--shard", shard, *cut)
        return out

    @classmethod
    def shards(cls):
        """Two shards that divide four prompts."""
        return cls.experiment("shards", pycode(4), shards=("0/2", "1/2"))

    @classmethod
    def cells(cls):
        """Two shards that divide the cells, each with its own plain decoding."""
        return cls.experiment("cells", pycode(3), shards=("0/2", "1/2"),
                              cut=("--cut", "cells"))

    @classmethod
    def batched(cls):
        return cls.experiment("batched", pycode(5), more="batch: 2")

    @classmethod
    def chats(cls):
        prompts = cls.folder / "chats.jsonl"
        prompts.write_text("".join(
            json.dumps({"question_id": 80 + i, "category": "code" if i else "list",
                        "turns": turns}) + "\n"
            for i, turns in enumerate(QUESTIONS)), encoding="utf-8")
        return cls.experiment("chats", f'{{file: "{prompts}", chat: vicuna}}')

    @classmethod
    def made(cls, *size):
        """Made-up records with gaps, batches, probes and stores."""
        out = cls.folder / "_".join(["made", *map(str, size)])
        if not out.exists():
            out.mkdir()
            subprocess.run([MAKE_RECORDS, out / "run.banyan", *map(str, size)],
                           check=True)
        return out

    @contextlib.contextmanager
    def raises(self, *parts):
        """A RecordError whose message has all of these."""
        with self.assertRaises(banyan.records.RecordError) as caught:
            yield
        for part in parts:
            self.assertIn(str(part), str(caught.exception))
