"""The set of drafters and heads that differ in how they were taught: that it is
made, once, that nothing else differs, and that the experiments ask of all."""

import re

import torch

from tests.training import support
from training.contrasts import DRAFTERS, HEADS
from training.divergences import DIVERGENCES
from training.files import read_json
from training.model import read_model

MADE = (*DRAFTERS, *HEADS)
ABLATIONS = support.ROOT / "configs/ablations"


class Contrasts(support.FolderTest):

    def test_the_set_is_made_once_and_differs_in_the_teaching_alone(self):
        arguments = ("contrasts", "--smoke", "--precision", "f32", "--device",
                     "cpu", "--threads", 1, "--out", self.folder)
        self.train(*arguments)
        out = self.folder / "smoke"
        self.assert_measured(out)
        self.assert_alike(out)
        self.assert_different(out)
        before = self.content(out)
        said = self.train(*arguments)
        self.assertEqual(said.count("trained already"), len(MADE))
        self.assertEqual(self.content(out), before)

    def assert_measured(self, out):
        rows = read_json(out / "measured/drafters.json")["agreement"]
        for name in DRAFTERS:
            self.assertGreater(rows[name]["overlap at 1"], 0)
        for name in HEADS:
            measured = read_json(out / f"measured/{name}.json")
            self.assertIn("head 4", measured["agreement"])

    def assert_alike(self, out):
        """All options but those that the contrast is about."""
        about = {"distill": {"loss", "own_share", "writer"},
                 "medusa": {"learn", "own_share", "temperature", "train_target",
                            "target_share", "target_loss"},
                 "pretrain": {"steps"}}
        common = {}
        for name in MADE:
            training = read_json(out / name / "training.json")
            rest = {option: value
                    for option, value in training["options"].items()
                    if option not in about[training["recipe"]]}
            self.assertEqual(common.setdefault(training["recipe"], rest), rest,
                             name)

    def assert_different(self, out):
        """No two of them have the same weights; tuned targets are tuned."""
        seen = {}
        for name in DRAFTERS:
            weights = torch.cat([w.detach().flatten() for w in
                                 read_model(out / name).parameters()])
            for other, those in seen.items():
                self.assertFalse(torch.equal(weights, those), (name, other))
            seen[name] = weights
        came = read_model(support.ROOT / "models/pycode-target")
        for name, way in HEADS.items():
            tuned = out / name / "target"
            self.assertEqual(tuned.exists(), "--train-target" in way, name)
            if tuned.exists():
                self.assertFalse(torch.equal(
                    read_model(tuned).embed_tokens.weight,
                    came.embed_tokens.weight))

    def content(self, folder):
        return {str(path.relative_to(folder)): path.stat().st_mtime_ns
                for path in folder.rglob("*") if path.is_file()}


class Experiments(support.FolderTest):

    def test_they_ask_of_all_that_is_made_and_of_nothing_else(self):
        asked = set()
        for path in ABLATIONS.glob("*.yaml"):
            asked.update(re.findall(r"/build/contrasts/([\w/-]+)",
                                    path.read_text(encoding="utf-8")))
        self.assertEqual(asked, {*MADE, *(
            f"{name}/target" for name, way in HEADS.items()
            if "--train-target" in way)})

    def test_a_cell_reads_what_its_name_says(self):
        for file in ("distill_divergence", "distill_text", "distill_gain"):
            text = (ABLATIONS / f"{file}.yaml").read_text(encoding="utf-8")
            label, method = None, None
            for line in text.splitlines():
                if found := re.fullmatch(r"    (\w+):", line):
                    label = found[1]
                if found := re.match(r"  (\w+):$", line):
                    method = found[1]
                if found := re.search(r"methods\.(\w+)\.models", line):
                    method = found[1]
                if found := re.search(r"/contrasts/([\w-]+)", line):
                    self.assert_named(found[1], {method, label} - {None})

    def assert_named(self, directory, names):
        """The loss and the text of a directory are those of its cell."""
        said = {word for name in names
                for word in (name.removesuffix("_text").replace("_", "-"),)}
        for loss in DIVERGENCES:
            self.assertFalse(loss in said and not directory.startswith(loss),
                             (directory, names))
        for text in ("corpus", "target", "drafter"):
            self.assertFalse(text in said and not directory.endswith(text),
                             (directory, names))
