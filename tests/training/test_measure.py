"""Measured figures against plain loops, and the card that shows them."""

import contextlib
import dataclasses
import io
import json
import re
import shutil
import unittest.mock

import torch

from tests.training import support
from training import lookahead
from training.divergences import agreement
from training.eagle_head import (FirstHead, ThirdHead, read_head, unroll,
                                 write_head)
from training.files import read_json, write_json
from training.measure import Measurement
from training.medusa import Heads, read_heads, write_heads
from training.model import read_model


class MeasureTest(support.FolderTest):

    def setUp(self):
        super().setUp()
        self.heads = self.folder / "heads"
        shape = read_model(support.tiny().target).shape
        torch.manual_seed(3)
        heads = Heads(2, shape.hidden_size, 1,
                      torch.randn(shape.vocab_size, shape.hidden_size))
        for weight in heads.parameters():
            torch.nn.init.normal_(weight)
        write_heads(heads, self.heads, "target", torch.float32)
        self.eagle = self.folder / "eagle"
        target = read_model(support.tiny().target)
        head = FirstHead(dataclasses.replace(target.shape, layers=1))
        for weight in head.parameters():
            torch.nn.init.normal_(weight, std=0.3)
        write_head(head, target, self.eagle, torch.float32)
        self.vectors = self.folder / "vectors"
        lookahead.write_vectors(torch.randn(2, shape.hidden_size), self.vectors,
                                "target", shape.vocab_size)

    def arguments(self, *more):
        tiny = support.tiny()
        return ("--target", tiny.target, "--corpus", tiny.corpus, "--drafters",
                tiny.student, "--heads", self.heads, "--eagle", self.eagle,
                "--lookahead", self.vectors, "--exits", "--device", "cpu",
                "--threads", 1, "--out",
                self.folder / "measured.json", *more)

    def measured(self, *more):
        self.train("measure", *self.arguments(*more))
        return read_json(self.folder / "measured.json")


class Measure(MeasureTest):

    def test_figures_are_those_of_plain_loops(self):
        # 48 tokens fit the context: one window, so plain loops suffice.
        limit = 49
        rows = self.measured("--limit", limit)["agreement"]
        measurement = Measurement(support.options(
            "measure", *self.arguments("--limit", limit)))
        ids = torch.from_numpy(measurement.ids).long()[None, :-1]
        with torch.no_grad():
            target = read_model(support.tiny().target)
            hidden, early = target.hidden(ids, exits=(1,))
            p = target.logits(hidden)[0]
            q = read_model(support.tiny().student)(ids)[0]
            heads = read_heads(self.heads)(hidden[0], None)
            cold, _ = agreement(p / 0.7, q / 0.7)
            self.assert_row(rows["student"], p, q)
            self.assert_figure(rows["student"]["overlap at 0.7"], cold)
            self.assert_row(rows["exit after layer 1"], p,
                            target.logits(early[1])[0])
            for i, head in enumerate(heads):
                # A head at t against the target at t + i + 1.
                told, said = p[i + 1:], head[:-(i + 1)]
                self.assert_row(rows[f"head {i + 1}"], told, said)
                top = [float(t.argmax()) in s.topk(3).indices.tolist()
                       for t, s in zip(told, said)]
                self.assert_figure(rows[f"head {i + 1}"]["top 3"],
                                   torch.tensor(top).float())
            # Vectors in place of the next token and of the token after it,
            # against the target after reading the true tokens.
            vectors = lookahead.read_vectors(self.vectors, target)
            for i in range(2):
                q = [self.behind(target, ids[:, :place + 1], vectors[:i + 1])
                     for place in range(48 - 2)]
                self.assert_row(rows[f"vector {i + 1}"],
                                p[i + 1:i + 1 + 46], torch.stack(q))
            drafts = unroll(read_head(self.eagle, target),
                            target.embed_tokens(ids), hidden,
                            target.embed_tokens.weight, 5, 48 - 5)
            for i, (_, q) in enumerate(drafts):
                # Step s at t against the target at t + s.
                self.assert_row(rows[f"eagle, step {i + 1}"],
                                p[i + 1:i + 1 + 43], q[0])

    def behind(self, target, ids, vectors):
        """The target's logits after a text that ends in vectors."""
        text = target.embed_tokens(ids)

        def embed(_):
            return torch.cat((text, vectors[None]), dim=1)

        whole = torch.zeros(1, ids.shape[1] + len(vectors), dtype=torch.long)
        with unittest.mock.patch.object(target.embed_tokens, "forward", embed):
            return target(whole)[0, -1]

    def test_tokens_that_are_not_kept_count_as_never_drafted(self):
        made = support.tiny()
        target = read_model(made.deep)
        head = ThirdHead(dataclasses.replace(target.shape, layers=1),
                         (0, 1, 2), torch.arange(0, 280, 40))
        write_head(head, target, self.eagle, torch.float32)
        rows = self.measured("--target", made.deep, "--limit", 49)["agreement"]
        # Of what the target says little is among these seven.
        self.assertLess(rows["eagle, step 1"]["overlap at 1"], 0.2)
        self.assertEqual(len([row for row in rows if "step" in row]), 5)

    def test_a_vocabulary_beside_a_drafter_is_its_own(self):
        tiny = support.tiny()
        student = self.folder / "student"
        shutil.copytree(tiny.student, student)
        size = read_model(tiny.target).shape.vocab_size
        list_of_some = student / "vocabulary.json"
        list_of_some.write_text(json.dumps({
            "tokenizer": "", "vocab_size": size, "tokens": list(range(0, size, 40))}))
        whole, found, named = (
            self.measured("--limit", 49, *more)["agreement"] for more in (
                (), ("--drafters", student), ("--vocabulary", list_of_some)))
        self.assertEqual(found["student"], named["student"])
        self.assertLess(found["student"]["overlap at 1"],
                        whole["student"]["overlap at 1"])
        self.assertEqual(found["head 1"], whole["head 1"])
        self.assertNotEqual(named["head 1"], whole["head 1"])

    def assert_row(self, row, p, q):
        overlap, same = agreement(p, q)
        self.assert_figure(row["overlap at 1"], overlap)
        self.assert_figure(row["overlap at 0"], same)
        self.assert_figure(row["same"], same)

    def assert_figure(self, found, values):
        self.assertAlmostEqual(found, float(values.mean()), delta=1e-4)

    def test_every_place_is_judged_once(self):
        for context in (48, 47):
            measurement = Measurement(support.options("measure",
                                                      *self.arguments()))
            measurement.target.shape.context = context
            with contextlib.redirect_stderr(io.StringIO()):  # its progress
                figures = measurement.measure()
            self.assertGreater(figures["tokens"], 4 * context)
            self.assertEqual(measurement.sums.totals["nats"][1],
                             figures["tokens"])
            self.assertEqual(measurement.sums.totals["student/same"][1],
                             figures["tokens"])
            # In each window head 2 says nothing of the first two places.
            whole, rest = divmod(figures["tokens"], context)
            self.assertEqual(measurement.sums.totals["head 2/same"][1],
                             whole * (context - 2) + max(0, rest - 2))

    def test_any_drafter_is_one_or_the_other(self):
        tiny = support.tiny()
        figures = self.measured("--drafters", tiny.student, tiny.target)
        self.assertEqual(figures["any_drafter_same"], 1)
        self.assertLess(figures["agreement"]["student"]["same"], 1)

    def test_bits_are_of_the_bytes_judged(self):
        figures = self.measured()
        texts = support.texts(4, first=40)
        self.assertEqual(figures["bytes"], sum(len(t.encode()) for t in texts))
        self.assertEqual(figures["documents"], 4)
        self.assertTrue(0 < figures["bits_per_byte"]["target"] < 8)

    def test_nothing_to_measure_is_refused(self):
        self.assertIn("every document of the test split is excluded",
                      self.refused("measure",
                                   *self.arguments("--exclude", "test/")))


def figures_of(text):
    """The cells of every table row of a card, by the row's name."""
    rows = {}
    for line in text.splitlines():
        if line.startswith("| ") and not line.startswith(("| |", "| ---")):
            name, *cells = [cell.strip() for cell in line.strip("|").split("|")]
            rows[name] = [float(cell) for cell in cells if cell]
    return rows


class Card(MeasureTest):

    def card(self, recipe, name, *stages, **changes):
        """The card of a made-up run."""
        model = self.folder / name
        model.mkdir(exist_ok=True)
        write_json(model / "training.json", {
            "recipe": recipe, "machine": "an abacus", "steps": 1234,
            "seconds": 90.0, "loss": 0.12345, "overlap": 0.54321,
            "parameters": 56789, "tokens": 9876543,
            "command": f"{recipe} --target some/teacher --before x/one x/two",
            **changes})
        self.train("card", "--model", model, "--measured",
                   self.folder / "measured.json", "--corpus",
                   support.tiny().corpus, "--about", "Texts of nobody.",
                   "--stages", *stages)
        return (model / "README.md").read_text(encoding="utf-8")

    def test_figures_are_those_of_the_files(self):
        measured = self.measured()
        rows = measured["agreement"]
        keys = ("same", "overlap at 1", "overlap at 0.7", "overlap at 0")
        text = self.card("distill", "student")
        self.assertEqual(figures_of(text), {
            name: [round(rows[name][key], 3) for key in keys]
            for name in ("student", "bigram table", "longest match")})
        for said in ("56,789 parameters.", "Texts of nobody.",
                     "distilled from `teacher`", "9,876,543 tokens in 1,234 "
                     "steps, 1.5 minutes on an abacus", "loss 0.123, overlap "
                     "0.543.", f"On {measured['tokens']:,} tokens "
                     f"({measured['bytes']:,} bytes, 4 files)",
                     "40 files, ", "held out: `test/`"):
            self.assertIn(said, text)

    def test_a_target_shows_bits_and_exits(self):
        measured = self.measured()
        found = figures_of(self.card("pretrain", "target"))
        bits = measured["bits_per_byte"]["target"]
        self.assertEqual(found["target"], [round(bits, 3)])
        self.assertEqual(
            found["exit after layer 1"][0],
            round(measured["agreement"]["exit after layer 1"]["same"], 3))

    def test_a_note_stands_under_the_title(self):
        self.measured()
        self.card("pretrain", "target")
        self.train("card", "--model", self.folder / "target", "--measured",
                   self.folder / "measured.json", "--corpus",
                   support.tiny().corpus, "--about", "x",
                   "--note", "It has a mole.")
        text = (self.folder / "target" / "README.md").read_text("utf-8")
        self.assertIn("A model trained from scratch.\n\nIt has a mole.\n\n",
                      text)

    def test_heads_show_the_tops(self):
        rows = self.measured()["agreement"]
        found = figures_of(self.card("medusa", "heads-card"))
        for i in (1, 2):
            self.assertEqual(found[f"head {i}"][-5:],
                             [round(rows[f"head {i}"][f"top {k}"], 3)
                              for k in (1, 2, 3, 5, 10)])

    def test_look_ahead_vectors_show_the_tops(self):
        rows = self.measured()["agreement"]
        text = self.card("lookahead", "vectors-card")
        self.assertIn("Look-ahead embeddings (PaSS) for `teacher`.", text)
        for i in (1, 2):
            self.assertEqual(figures_of(text)[f"vector {i}"][-5:],
                             [round(rows[f"vector {i}"][f"top {k}"], 3)
                              for k in (1, 2, 3, 5, 10)])

    def test_an_eagle_head_shows_its_steps(self):
        rows = self.measured()["agreement"]
        text = self.card("eagle", "eagle", options={"version": 3})
        self.assertIn("An EAGLE-3 head for `teacher`.", text)
        self.assertEqual(
            figures_of(text),
            {name: [round(rows[name][key], 3) for key in
                    ("same", "overlap at 1", "overlap at 0.7", "overlap at 0")]
             for name in (f"eagle, step {i}" for i in range(1, 6))})

    def test_a_boosted_drafter_names_the_others_and_its_stages(self):
        self.measured()
        write_json(self.folder / "measured.json", {
            **read_json(self.folder / "measured.json"),
            "any_drafter_same": 0.6543})
        self.card("pretrain", "start", parameters=1)
        text = self.card("boost", "student", self.folder / "start")
        self.assertIn("for `teacher`, boosted on what `one` and `two` miss",
                      text)
        self.assertIn("at 65.4% of places", text)
        self.assertEqual(re.findall("^scripts/train ([a-z]+)", text, re.M),
                         ["pretrain", "boost"])

    def test_a_model_that_was_not_measured_is_refused(self):
        self.measured()
        self.card("distill", "student")
        (self.folder / "student").rename(self.folder / "stranger")
        self.assertIn("no row stranger", self.refused(
            "card", "--model", self.folder / "stranger", "--measured",
            self.folder / "measured.json", "--corpus", support.tiny().corpus,
            "--about", "x"))
