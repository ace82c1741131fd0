"""What the tests of experiments in shards share: records without their times."""

import json
import pathlib
import re
import subprocess
import sys

PROJECT = pathlib.Path(__file__).resolve().parents[2]


def timeless(value):
    """A record without times, order, and where it was made."""
    if isinstance(value, dict):
        return {key: timeless(item) for key, item in value.items()
                if not key.endswith("_ns") and key not in (
                    "ms", "order", "peak_memory_bytes")}
    return [timeless(item) for item in value] if isinstance(value, list) else value


def records(program, folder):
    """Every record of a folder, sorted: one that is lost or doubled shows. Plain decoding
    is recorded by every shard that compares cells with it, and listed once."""
    done = subprocess.run([program, "export", folder, "--format", "jsonl"], check=True,
                          capture_output=True, text=True)
    plain, others = set(), []
    for line in done.stdout.splitlines():
        record = json.loads(line)
        text = json.dumps(timeless(record), sort_keys=True)
        if record["baseline"] is None:
            plain.add(text)
        else:
            others.append(text)
    return sorted(plain) + sorted(others)


class Submitted:
    """An experiment that scripts/slurm submits to a Cluster."""

    def __init__(self, cluster, program, file, settings, shards):
        self.cluster = cluster
        self.program = program
        self.file = file
        self.settings = [word for setting in settings for word in ("--set", setting)]
        self.out = cluster.folder / "shared folder" / "out"
        self.shards = shards

    def submit(self, *more):
        """What scripts/slurm prints; its array job becomes `array`."""
        printed = self.cluster.run(
            sys.executable, PROJECT / "scripts/slurm", self.file, "--shards",
            self.shards, "--time", 10, "--threads", 1, "--out", self.out, "--program",
            self.program, *self.settings, *more)
        self.array = re.search(r"Array job (\d+)", printed)[1]
        return printed

    def unsharded(self):
        """The records of the same experiment in one run."""
        folder = self.cluster.folder / "unsharded"
        subprocess.run([self.program, "run", self.file, *self.settings, "--threads", "1",
                        "--out", folder], check=True, capture_output=True)
        return records(self.program, folder)

    def records(self):
        return records(self.program, self.out)

    def log(self, shard):
        path = self.out / f"slurm/shard-{shard}.log"
        return path.read_text() if path.exists() else ""

    def report(self):
        path = self.out / "slurm/report.txt"
        return path.read_text() if path.exists() else ""

    def size(self, shard):
        path = self.out / f"records-{shard}-of-{self.shards}.banyan"
        return path.stat().st_size if path.exists() else 0

    def wait_for_records(self, shard, count):
        """Until the file of a shard has been written `count` times more."""
        sizes = {self.size(shard)}

        def written():
            sizes.add(self.size(shard))
            return len(sizes) > count
        self.cluster.wait(written, 120, f"records of shard {shard}")

    def wait_for_end(self, seconds=300):
        self.cluster.wait(lambda: not self.cluster.jobs(), seconds, "end of all jobs")

    def command_of_report(self):
        """The command that the report gives for what is missing."""
        return next(line for line in self.report().splitlines() if "--tasks" in line)
