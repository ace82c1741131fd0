"""Reads what `banyan export --format jsonl` writes, for notebooks.

    import banyan_records
    records = banyan_records.load("run.jsonl")
    rows = banyan_records.flatten(records)     # pandas.DataFrame(rows)

A record is what one cell did with one prompt: a dict with `cell`, `baseline` (a
cell's name or None), `experiment_hash`, `setting` (the message Cell of
experiments/records/record.proto) and `record` (its PromptRecord), with the
schema's names. Needs the standard library only.
"""

import json

# protobuf writes 64-bit integers as texts, and floating-point numbers that JSON
# cannot hold as "NaN", "Infinity" and "-Infinity".
_INTEGERS = {"seed", "prefill_ns", "draft_ns", "derive_ns", "target_ns",
             "verify_ns", "commit_ns", "device_ns", "peak_memory_bytes",
             "streamed_bytes", "admitted_ns", "ended_ns"}
_NUMBERS = {"overlap", "q", "target_probability", "log_probability",
            "logit_gap", "temperature", "ms"}
PHASES = ("draft", "derive", "target", "verify", "commit", "device")


def _restore(value, convert=None):
    """value with the numbers that were written as texts."""
    if isinstance(value, dict):
        return {key: _restore(item, int if key in _INTEGERS else
                              float if key in _NUMBERS else None)
                for key, item in value.items()}
    if isinstance(value, list):
        return [_restore(item, convert) for item in value]
    return convert(value) if convert and value is not None else value


def load(path):
    """Every record of the file, in its order."""
    with open(path, encoding="utf-8") as file:
        return [_restore(json.loads(line)) for line in file if line.strip()]


def flatten(records):
    """One dict a round, of plain values: what was asked, the counts of the
    round, and the nanoseconds of each phase. Axes are keys of their own, as
    "axis NAME"."""
    rows = []
    for entry in records:
        record, setting = entry["record"], entry["setting"]
        axes = {f"axis {axis['name']}": axis["value"]
                for axis in setting["axes"]}
        for number, made in enumerate(record["rounds"]):
            probes = made.get("probes", [])  # what older programs wrote has none
            rows.append({
                "cell": entry["cell"],
                "method": setting["method"],
                "temperature": setting["temperature"],
                **axes,
                "prompt": record["prompt"],
                "id": record["id"],
                "kind": record["kind"],
                "turn": record["turn"],
                "round": number,
                "nodes": len(made["tokens"]) - 1 - len(probes),
                "probes": len(probes),
                "accepted": len(made["path"]),
                "emitted": made["emitted"],
                "sequences": max(1, made["sequences"]),
                "draft_ns": sum(made["draft_ns"]),
                **{f"{phase}_ns": made[f"{phase}_ns"] for phase in PHASES[1:]},
            })
    return rows
