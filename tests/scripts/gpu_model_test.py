"""Tests of scripts/gpu_model.py."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import gpu_model  # noqa: E402

# What the design was decided by, ms a token: ideal, graph, vm, barriers, both ends
# of letters; on the H200 also of launches.
TABLE = {
    ("SmolLM2-135M", "h200"): (.060, .50, .45, .50, .20, .25, .60, .75),
    ("SmolLM2-135M", "h100"): (.090, .38, .37, .54, .20, .26),
    ("1.1B", "h200"): (.436, .76, .72, .77, .46, .50, .85, 1.0),
    ("1.1B", "h100"): (.649, .86, .86, .98, .67, .73),
    ("7B", "h200"): (2.91, 3.38, 3.32, 3.4, 3.03, 3.15, 3.45, 3.7),
    ("7B", "h100"): (4.32, 4.63, 4.62, 4.8, 4.45, 4.65),
}
PROBE = """NVIDIA H200, 132 multiprocessors, second-level cache 63 MB
letters,  1024 to all, one warp first: 0.500 us a round
letters,  1024 to all, one warp first: 0.800 us a round, beside 3000 GB/s
barrier of all blocks: 1.100 us
a cooperative launch, one after the other: 6.00 us
memory by loads to registers: 4000 GB/s
memory by rings of 112 KB, copies of 2048: 4500 GB/s
"""


class GpuModelTest(unittest.TestCase):

    def test_defaults_give_the_table_within_five_percent(self):
        shapes = {shape.name: shape for shape in gpu_model.SHAPES}
        for (name, card), expected in TABLE.items():
            numbers = []
            for value in gpu_model.estimates(shapes[name],
                                             gpu_model.CARDS[card]).values():
                numbers += value if isinstance(value, tuple) else [value]
            self.assertGreaterEqual(len(numbers), len(expected))
            for at, (number, wanted) in enumerate(zip(numbers, expected)):
                with self.subTest(model=name, card=card, at=at):
                    self.assertAlmostEqual(number / wanted, 1, delta=.05)

    def test_reads_activations_for_every_block(self):
        shape = gpu_model.Shape("", 1, 0, 0, ((2112, 100), (100, 2112)))
        card = gpu_model.CARDS["h200"]
        self.assertEqual(gpu_model.read_by_products(shape, card, 1),
                         132 * (32 + 4) * 100 + 7 * (32 + 4) * 2112)
        # Two tiles a block would read less, by half of the multiprocessors.
        self.assertEqual(gpu_model.read_by_products(shape, card, 64),
                         132 * (32 + 128) * 100 + 7 * (32 + 128) * 2112)
        shape = gpu_model.Shape("", 1, 0, 0, ((4 * 2112, 100),))
        self.assertEqual(gpu_model.read_by_products(shape, card, 128),
                         2 * 132 * (4 * 32 + 128) * 100)

    def test_takes_what_a_probe_measured(self):
        card = gpu_model.measured(gpu_model.CARDS["h100"], PROBE)
        self.assertEqual(card.bandwidth, 4.5e6)
        self.assertEqual(card.hop, (.5, .8))
        self.assertEqual(card.barrier, 1.1)
        self.assertEqual(card.launch, (6, 6))
        self.assertEqual(card.multiprocessors, 132)
        self.assertEqual(card.vm_layer, gpu_model.CARDS["h100"].vm_layer)

    def run_script(self, *arguments):
        return subprocess.run(
            [sys.executable, ROOT / "scripts" / "gpu_model.py", *arguments],
            text=True, capture_output=True, check=False)

    def test_prints_a_line_a_model(self):
        told = self.run_script("--card", "h100")
        self.assertEqual(told.returncode, 0, told.stderr)
        self.assertIn("3.00 TB/s", told.stdout)
        self.assertRegex(told.stdout, r"7B +4\.3\d\d")
        config = ROOT / "models" / "pycode-target" / "config.json"
        self.assertIn(str(config), self.run_script(str(config)).stdout)

    def test_says_what_is_wrong_with_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "file"
            self.assertIn("No such file", self.run_script(str(path)).stderr)
            path.write_text("{}", encoding="utf-8")
            told = self.run_script(str(path))
            self.assertEqual(told.returncode, 1)
            self.assertIn("no 'hidden_size'", told.stderr)
            path.write_text("no table", encoding="utf-8")
            told = self.run_script("--probe", str(path))
            self.assertEqual(told.returncode, 1)
            self.assertIn("no line of the probe's", told.stderr)


if __name__ == "__main__":
    unittest.main()
