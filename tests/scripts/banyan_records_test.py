"""Tests of scripts/banyan_records.py on lines as protobuf writes them."""

import json
import math
import pathlib
import sys
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "scripts"))
sys.dont_write_bytecode = True
import banyan_records  # noqa: E402 (the path comes first)

ROUND = {
    "tokens": [4, 8, 9], "parents": [-1, 0, 1],
    "target_probability": [1, 0.5, "NaN"],
    "lists": [{"node": 0, "trunk": 0, "tokens": [8], "children": [1],
               "q": [0.25], "overlap": 0}],
    "path": [1], "next": 3, "emitted": 2,
    "draft_ns": ["12", "30"], "derive_ns": "1", "target_ns": "9007199254740993",
    "verify_ns": "2", "commit_ns": "0", "device_ns": "3", "sequences": 0,
}
LINE = {
    "cell": "chain", "baseline": None, "experiment_hash": "ab",
    "setting": {"method": "chain", "temperature": 0, "seed": "7",
                "axes": [{"name": "gamma", "value": "4"}]},
    "record": {"prompt": 5, "id": "a-5", "kind": "edit", "turn": 0,
               "prefill_ns": "100",
               "rounds": [ROUND, dict(ROUND, path=[], emitted=1)],
               "log_probability": [-0.5, "-Infinity"]},
}


def load(*lines):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "records.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines),
                        encoding="utf-8")
        return banyan_records.load(path)


class BanyanRecordsTest(unittest.TestCase):

    def test_numbers_are_numbers_again(self):
        entry, = load(LINE)
        made = entry["record"]["rounds"][0]
        self.assertEqual(made["target_ns"], 9007199254740993)  # no double
        self.assertEqual(made["draft_ns"], [12, 30])
        self.assertEqual(entry["setting"]["seed"], 7)
        self.assertIsInstance(made["lists"][0]["overlap"], float)
        self.assertTrue(math.isnan(made["target_probability"][2]))
        self.assertEqual(entry["record"]["log_probability"][1], -math.inf)

    def test_texts_stay_texts(self):
        entry, = load(LINE)
        self.assertEqual(entry["setting"]["axes"][0]["value"], "4")
        self.assertEqual(entry["record"]["id"], "a-5")
        self.assertIsNone(entry["baseline"])

    def test_flatten_gives_a_row_a_round(self):
        rows = banyan_records.flatten(load(LINE, LINE))
        self.assertEqual(len(rows), 4)
        self.assertEqual(rows[0], {
            "cell": "chain", "method": "chain", "temperature": 0.0,
            "axis gamma": "4", "prompt": 5, "id": "a-5", "kind": "edit",
            "turn": 0, "round": 0, "nodes": 2, "probes": 0, "accepted": 1,
            "emitted": 2, "sequences": 1,
            "draft_ns": 42, "derive_ns": 1, "target_ns": 9007199254740993, "verify_ns": 2,
            "commit_ns": 0, "device_ns": 3})
        self.assertEqual((rows[1]["round"], rows[1]["accepted"]), (1, 0))

    def test_probes_are_no_nodes(self):
        made = dict(ROUND, probes=[{"node": 2, "trunk": 0, "vector": False}])
        row, = banyan_records.flatten(load(
            dict(LINE, record=dict(LINE["record"], rounds=[made]))))
        self.assertEqual((row["nodes"], row["probes"]), (1, 1))


if __name__ == "__main__":
    unittest.main()
