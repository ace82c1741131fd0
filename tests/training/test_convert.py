"""Pickled heads as safetensors; a pickle that would run code does not."""

import json
import pathlib
import pickle

import torch
from safetensors.torch import load_file

from tests.training import support
from tests.training.test_medusa import published
from training.files import read_json


class Mischief:
    """Unpickling it makes a file."""

    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return pathlib.Path.touch, (self.marker,)


class Convert(support.FolderTest):

    def setUp(self):
        super().setUp()
        self.pickled = self.folder / "medusa_lm_head.pt"
        self.out = self.folder / "out"

    def convert(self, dtype="f32"):
        self.train("convert", self.pickled, "--out", self.out, "--dtype", dtype)
        return load_file(self.out / "medusa_lm_head.safetensors")

    def assert_converted(self, tensors, dtype="f32", to=torch.float32):
        stored = self.convert(dtype)
        self.assertEqual(set(stored), set(tensors))
        for name, tensor in tensors.items():
            self.assertEqual(stored[name].dtype, to)
            self.assertTrue(torch.equal(stored[name], tensor.to(to)), name)

    def test_tensors_stay_the_same(self):
        tensors = published()
        torch.save(tensors, self.pickled)
        self.assert_converted(tensors)
        self.assert_converted(tensors, "bf16", torch.bfloat16)
        self.assert_converted(tensors, "f16", torch.float16)

    def test_the_older_format_is_read_too(self):
        tensors = published(own=False)
        torch.save(tensors, self.pickled, _use_new_zipfile_serialization=False)
        self.assert_converted(tensors)

    def test_heads_within_a_checkpoint_are_found(self):
        tensors = published()
        torch.save({"model.norm.weight": torch.ones(3),
                    **{f"medusa_head.{n}": t for n, t in tensors.items()}},
                   self.pickled)
        self.assert_converted(tensors)

    def test_tensors_that_share_memory_are_written_apart(self):
        tensors = published()
        tensors["1.2.weight"] = tensors["0.2.weight"]
        both = torch.randn(2, 6)
        tensors["0.0.linear.bias"], tensors["0.1.linear.bias"] = both
        torch.save(tensors, self.pickled)
        self.assert_converted(tensors)

    def test_counts_come_from_the_tensors(self):
        torch.save(published(count=3, blocks=1), self.pickled)
        (self.folder / "config.json").write_text(json.dumps(
            {"medusa_num_heads": 2, "medusa_num_layers": 9, "version": "2"}),
            encoding="utf-8")
        self.convert()
        self.assertEqual(read_json(self.out / "config.json"),
                         {"medusa_num_heads": 3, "medusa_num_layers": 1,
                          "version": "2", "hidden_size": 6})

    def assert_refused(self, message):
        self.assertRegex(self.refused("convert", self.pickled, "--out",
                                      self.out), message)
        self.assertFalse(self.out.exists())

    def test_a_pickle_that_runs_code_is_refused_and_does_not(self):
        marker = self.folder / "marker"
        mischief = {**published(), "x": Mischief(marker)}
        torch.save(mischief, self.pickled)
        self.assert_refused("holds more than tensors, or is broken")
        self.pickled.write_bytes(pickle.dumps(mischief))
        self.assert_refused("holds more than tensors, or is broken")
        self.assertFalse(marker.exists())
        pickle.loads(pickle.dumps(Mischief(marker)))
        self.assertTrue(marker.exists(), "the mischief does not work")

    def test_other_things_are_refused(self):
        for content, message in (
                ([torch.ones(2)], "expected tensors by name, found a list"),
                ({**published(), "0.2.weight": 5},
                 "'0.2.weight': expected a tensor, found a int"),
                ({1: torch.ones(2)}, "expected names, found 1"),
                ({"a": torch.ones(2)}, "not Medusa heads"),
                ({}, "not Medusa heads")):
            torch.save(content, self.pickled)
            self.assert_refused(message)

    def test_broken_files_are_refused(self):
        torch.save(published(), self.pickled)
        whole = self.pickled.read_bytes()
        for content in (b"", b"nonsense", b"\x80\x02", whole[:-200],
                        whole[:300], bytes(range(256)),
                        pickle.dumps({"a": 1})[:-3]):
            self.pickled.write_bytes(content)
            with self.subTest(content[:10]):
                self.assert_refused("medusa_lm_head.pt: ")
        self.pickled.unlink()
        self.assert_refused("medusa_lm_head.pt: there is no such file")
