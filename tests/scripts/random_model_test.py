"""Tests of scripts/random_model: tiny models, read byte by byte."""

import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = PROJECT / "scripts/random_model"
TINY = ("--hidden", "12", "--layers", "2", "--heads", "3", "--kv-heads", "1",
        "--feed-forward", "10", "--vocab", "7", "--context", "9")


def run(*arguments):
    return subprocess.run([sys.executable, SCRIPT, *map(str, arguments)],
                          capture_output=True, text=True, check=False)


def read(path):
    """(header, data) of a safetensors file."""
    file = path.read_bytes()
    length, = struct.unpack("<Q", file[:8])
    return json.loads(file[8:8 + length]), file[8 + length:]


class RandomModelTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, *arguments):
        out = self.folder / name
        done = run("--out", out, *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return out

    def refusal(self, *arguments):
        done = run("--out", self.folder / "refused", *arguments)
        self.assertEqual(done.returncode, 2)
        return done.stderr

    def test_tensors_cover_the_file_in_the_shapes_of_the_config(self):
        for dtype, size in (("bf16", 2), ("f16", 2), ("f32", 4)):
            with self.subTest(dtype=dtype):
                out = self.write(dtype, *TINY, "--dtype", dtype)
                header, data = read(out / "model.safetensors")
                end = 0
                for name, tensor in header.items():
                    begin, last = tensor["data_offsets"]
                    shape = tensor["shape"]
                    self.assertEqual(begin, end, name)
                    self.assertEqual(tensor["dtype"], dtype.upper())
                    self.assertEqual(last - begin,
                                     size * shape[0] * (*shape, 1)[1], name)
                    end = last
                self.assertEqual(end, len(data))
                self.assertEqual(len(header), 3 + 9 * 2)
                self.assertEqual(
                    header["model.layers.1.self_attn.k_proj.weight"]["shape"],
                    [4, 12])
                self.assertEqual(header["lm_head.weight"]["shape"], [7, 12])

    def test_config_says_the_sizes(self):
        out = self.write("a", *TINY)
        config = json.loads((out / "config.json").read_text())
        self.assertEqual(config["model_type"], "llama")
        self.assertEqual(
            [config[key] for key in (
                "hidden_size", "num_hidden_layers", "num_attention_heads",
                "num_key_value_heads", "intermediate_size", "vocab_size",
                "max_position_embeddings")], [12, 2, 3, 1, 10, 7, 9])
        self.assertIs(config["tie_word_embeddings"], False)
        ends = json.loads((out / "generation_config.json").read_text())
        self.assertEqual(ends["eos_token_id"], 2)

    def test_named_shape_gives_its_sizes(self):
        out = self.write("a", "--shape", "15m", "--vocab", "10", "--layers", 1)
        config = json.loads((out / "config.json").read_text())
        self.assertEqual(
            [config[key] for key in (
                "hidden_size", "num_hidden_layers", "num_attention_heads",
                "num_key_value_heads", "intermediate_size")],
            [288, 1, 6, 6, 768])

    def test_seed_decides_the_weights(self):
        def weights(name, seed):
            out = self.write(name, *TINY, "--seed", seed)
            return (out / "model.safetensors").read_bytes()
        self.assertEqual(weights("a", 1), weights("b", 1))
        self.assertNotEqual(weights("c", 2), weights("d", 1))

    def test_tokenizer_is_copied(self):
        tokenizer = self.folder / "t.json"
        tokenizer.write_text("{}\n")
        out = self.write("a", *TINY, "--tokenizer", tokenizer)
        self.assertEqual((out / "tokenizer.json").read_text(), "{}\n")

    def test_folder_that_is_not_empty_is_left_alone(self):
        out = self.write("refused", *TINY)
        before = (out / "model.safetensors").read_bytes()
        self.assertIn("is not an empty folder", self.refusal(*TINY))
        self.assertEqual((out / "model.safetensors").read_bytes(), before)

    def test_sizes_that_make_no_model_are_refused(self):
        self.assertIn("give --shape, or all of --hidden", self.refusal())
        self.assertIn("sizes from 1 on", self.refusal(*TINY, "--layers", 0))
        self.assertIn("a vocab above 2", self.refusal(*TINY, "--vocab", 2))
        self.assertIn("twice the heads", self.refusal(*TINY, "--hidden", 9))
        self.assertIn("of kv-heads", self.refusal(*TINY, "--kv-heads", 2))
        self.assertIn("no such file",
                      self.refusal(*TINY, "--tokenizer", "/no/such/file"))
        self.assertFalse((self.folder / "refused").exists())


if __name__ == "__main__":
    unittest.main()
