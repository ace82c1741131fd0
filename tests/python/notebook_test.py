"""Runs the cells of examples/notebook/records.ipynb in their order, in one namespace, on
shards that the program records as the notebook says.

    notebook_test.py BANYAN
"""

import contextlib
import io
import json
import os
import re
import sys
import unittest
import warnings

sys.dont_write_bytecode = True
from recorded import PROJECT, Recorded, banyan, run, system_python  # noqa: E402

system_python.skip_without("google.protobuf", "matplotlib", "pandas")
os.environ["MPLBACKEND"] = "Agg"

NOTEBOOK = PROJECT / "examples" / "notebook" / "records.ipynb"


class NotebookTest(Recorded):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
        cls.cells = ["".join(cell["source"]) for cell in cls.notebook["cells"]
                     if cell["cell_type"] == "code"]
        cls.texts = "".join("".join(cell["source"]) for cell in cls.notebook["cells"]
                            if cell["cell_type"] == "markdown")

    def record(self):
        """The two commands of the notebook, into this test's folder."""
        commands = re.findall(r"banyan (run \S+) --out (\S+) (--shard \S+)", self.texts)
        self.assertEqual(len(commands), 2)
        for command, out, shard in commands:
            run(*command.split(), "--out", self.folder / out, *shard.split())
        [(command, out)] = re.findall(r"banyan (report \S+ --format json) --out (\S+)",
                                      self.texts)
        name, folder, *rest = command.split()
        run(name, self.folder / folder, *rest, "--out", self.folder / out)

    def test_is_a_notebook_without_outputs(self):
        self.assertEqual(self.notebook["nbformat"], 4)
        self.assertEqual(set(self.notebook), {"cells", "metadata", "nbformat",
                                              "nbformat_minor"})
        for cell in self.notebook["cells"]:
            keys = {"cell_type", "metadata", "source"}
            if cell["cell_type"] == "code":
                keys |= {"execution_count", "outputs"}
                self.assertEqual((cell["execution_count"], cell["outputs"]), (None, []))
            self.assertEqual(set(cell), keys)

    def test_every_cell_runs(self):
        self.record()
        names = {}
        before = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, before)
        said = io.StringIO()
        with warnings.catch_warnings(), contextlib.redirect_stdout(said):
            warnings.simplefilter("ignore", banyan.records.RecordWarning)
            for number, cell in enumerate(self.cells):
                try:
                    exec(compile(cell, f"cell {number}", "exec"), names)
                except Exception as error:
                    raise AssertionError(f"cell {number}:\n{cell}") from error
        self.assertIn("What do a chain and a tree of one small drafter give?",
                      said.getvalue())
        for path in ("speed_by_size.pdf", "accepted_by_q.pdf",
                     "figures/acceptance_by_depth_T1.svg"):
            self.assertTrue((self.folder / path).exists(), path)
        self.assertEqual(len(names["run"].files), 2)
        self.assertEqual(list(names["by_bin"].columns), ["chain", "tree"])
        self.assertFalse(names["judged"].empty)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
