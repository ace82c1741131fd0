"""distill and boost: who may be taught by whom, what a step makes small, and
that a student learns."""

import argparse
import contextlib
import io

import torch

from tests.training import support
from training.boost import Boosting
from training.distill import Teaching
from training.divergences import DIVERGENCES, total_variation
from training.model import read_model, write_model
from training.pretrain import copy_tokenizer
from training.sampling import Author


class Refused(support.FolderTest):

    def with_another_vocabulary(self):
        """A model of the same size, whose tokens spell something else."""
        tiny = support.tiny()
        other = support.write_corpus(self.folder / "corpus", train=[
            f"while {i} != value: value ^= {i}\n" * 4 for i in range(40)])
        self.train("tokenizer", "--corpus", other, "--vocab-size", 280,
                   "--out", self.folder / "other")
        write_model(read_model(tiny.student), self.folder / "other", 0)
        return self.folder / "other"

    def test_a_target_of_another_vocabulary_is_refused(self):
        other = self.with_another_vocabulary()
        self.assertRegex(
            self.refused(*support.teach("distill", "--out", self.folder / "out",
                                        "--target", other)),
            f"student: its vocabulary of 280 tokens is not that of {other}, "
            "which has 280; [0-9]+ differ")
        self.assertRegex(
            self.refused(*support.teach("boost", "--out", self.folder / "out",
                                        "--before", other)),
            f"{other}: its vocabulary of 280 tokens is not that of")

    def test_a_share_that_is_none_is_refused(self):
        for recipe in ("distill", "boost"):
            self.assertIn("--own-share: expected 0 to 1, found 2",
                          self.refused(*support.teach(
                              recipe, "--out", self.folder / "out",
                              "--own-share", 2)))

    def test_output_matrices_of_other_sizes_are_refused(self):
        padded = support.tiny_model(vocab_size=288)
        write_model(padded, self.folder, 0)
        copy_tokenizer(support.tiny().target, self.folder)
        self.assertIn(
            "vocab_size: expected the target's 280, found 288",
            self.refused(*support.teach("distill", "--out", self.folder / "out",
                                        "--student", self.folder)))


def teaching(kind, recipe, *more):
    """The teaching of a recipe, ready to give losses."""
    arguments = support.teach(recipe, "--out", "nowhere", *more)
    with contextlib.redirect_stdout(io.StringIO()):
        return kind(support.options(*arguments))


class Learning(support.FolderTest):

    def test_distilling_lowers_the_total_variation(self):
        for loss in DIVERGENCES:
            with self.subTest(loss):
                out = self.folder / loss
                self.train(*support.teach("distill", "--loss", loss, "--out",
                                          out, "--rate", 1e-2, "--muon-rate",
                                          2e-2, steps=60))
                before = self.distance(support.tiny().student)
                self.assertLess(self.distance(out), 0.6 * before)

    def distance(self, student):
        with torch.no_grad():
            lesson = teaching(Teaching, "distill", "--student", student)
            wanted, found = lesson.logits(lesson.batches.short.batch(99, 16)[:, :-1])
            return float(total_variation(wanted, found).mean())

    def test_the_student_keeps_the_targets_tokenizer(self):
        self.train(*support.teach("distill", "--out", self.folder, steps=1))
        for name in ("tokenizer.json", "tokenizer_config.json"):
            self.assertEqual((self.folder / name).read_bytes(),
                             (support.tiny().target / name).read_bytes())


class Batches(support.FolderTest):

    def test_own_texts_go_on_from_the_corpus(self):
        lesson = teaching(Teaching, "distill", "--own-share", 1)
        corpus = lesson.batches.short.batch(3, 4)[:, :-1]
        own = lesson.batch(3)
        self.assertEqual(own.shape, corpus.shape)
        self.assertTrue(torch.equal(own[:, :2], corpus[:, :2]))  # 16 // 8
        self.assertFalse(torch.equal(own, corpus))
        self.assertTrue(torch.equal(own, lesson.batch(3)))

    def test_the_writer_is_the_target_or_the_drafter(self):
        for more, writer in (((), "target"),
                             (("--writer", "target"), "target"),
                             (("--writer", "drafter"), "student")):
            lesson = teaching(Teaching, "distill", "--own-share", 1, *more)
            corpus = lesson.batches.short.batch(3, 4)[:, :-1]
            wanted = Author(getattr(lesson, writer),
                            lesson.options).text(corpus, 3)
            self.assertTrue(torch.equal(lesson.batch(3), wanted), more)
        boosting = teaching(Boosting, "boost", "--own-share", 1, "--writer",
                            "drafter")
        self.assertTrue(torch.equal(boosting.batch(3), wanted))

    def test_a_drafters_text_is_of_the_weights_of_the_step(self):
        lesson = teaching(Teaching, "distill", "--own-share", 1, "--writer",
                          "drafter")
        before = lesson.batch(3)
        with torch.no_grad():
            lesson.student.embed_tokens.weight.mul_(3)
        after = lesson.batch(3)
        self.assertFalse(torch.equal(before, after))
        self.assertTrue(torch.equal(before[:, :2], after[:, :2]))

    def test_only_the_targets_text_is_kept(self):
        for writer, kept in (("target", 1), ("drafter", 0)):
            lesson = teaching(Teaching, "distill", "--own-share", 1, "--writer",
                              writer, "--texts", self.folder / writer)
            text = lesson.batch(3)
            self.assertEqual(len(list((self.folder / writer).glob("*"))), kept)
            self.assertTrue(torch.equal(lesson.batch(3), text))

    def test_the_drawing_is_not_learnt_from(self):
        lesson = teaching(Teaching, "distill", "--own-share", 1, "--writer",
                          "drafter")
        ids = lesson.batch(3)
        loss, _ = lesson.loss(3)
        loss.backward()
        found = {name: weight.grad.clone()
                 for name, weight in lesson.student.named_parameters()}
        lesson.student.zero_grad()
        wanted, said = lesson.logits(ids)  # as if the text had been given
        lesson.divergence(wanted, said).mean().backward()
        for name, weight in lesson.student.named_parameters():
            self.assertTrue(torch.equal(weight.grad, found[name]), name)

    def test_the_share_of_own_texts_is_as_asked(self):
        for share, wanted in ((0.0, 0), (0.3, 60), (1.0, 200)):
            lesson = teaching(Teaching, "distill", "--own-share", share)
            lesson.author.model = None  # what samples fails
            own = 0
            for step in range(200):
                try:
                    lesson.batch(step)
                except AttributeError:
                    own += 1
            # 4 deviations of 6.5 at 0.3, with a fixed seed.
            self.assertLessEqual(abs(own - wanted), 26 if 0 < share < 1 else 0)

    def test_short_windows_begin_with_a_token(self):
        lesson = teaching(Teaching, "distill", "--own-share", 1, "--window", 4)
        self.assertEqual(lesson.batch(0).shape, (4, 4))


def says(*tokens):
    """A drafter whose likeliest tokens are these, whatever it reads."""
    return lambda ids, _: torch.nn.functional.one_hot(
        torch.tensor([tokens]), 9).float()


class Boost(support.FolderTest):

    def test_missed_is_where_no_drafter_is_right(self):
        boosting = object.__new__(Boosting)
        boosting.options = argparse.Namespace(precision="f32")
        boosting.device, boosting.tokens = "cpu", None
        best = torch.tensor([[1, 2, 3, 4]])
        for before, wanted in (
                ([says(1, 2, 3, 4)], [0, 0, 0, 0]),
                ([says(1, 0, 3, 0)], [0, 1, 0, 1]),
                ([says(1, 0, 0, 0), says(0, 0, 3, 0)], [0, 1, 0, 1]),
                ([says(0, 0, 0, 0), says(1, 2, 3, 5)], [0, 0, 0, 1])):
            boosting.before = before
            missed = boosting.missed(torch.zeros(1, 4, dtype=torch.long), best)
            self.assertEqual(missed.int().tolist(), [wanted])

    def boosting(self, weight):
        """One whose student is also the drafter before it."""
        return teaching(Boosting, "boost", "--weight-hit", weight)

    def test_full_weight_for_hits_is_distilling(self):
        boosting = self.boosting(1)
        alone = teaching(Teaching, "distill")
        for step in range(3):
            loss, figures = boosting.loss(step)
            # Means of 64 in another order: a few roundings of 6e-8.
            self.assertAlmostEqual(float(loss), float(alone.loss(step)[0]),
                                   delta=1e-6)
            self.assertTrue(0 < float(figures["missed"]) < 1)

    def test_hits_count_by_their_weight(self):
        for weight in (0, 0.25):
            boosting = self.boosting(weight)
            loss, _ = boosting.loss(0)
            ids = boosting.batch(0)
            with torch.no_grad():
                wanted, found = boosting.logits(ids)
                first = boosting.before[0](ids).argmax(-1)
                lost, weights = 0.0, 0.0
                for p, q, guess in zip(wanted.flatten(0, 1),
                                       found.flatten(0, 1), first.flatten()):
                    share = weight if int(p.argmax()) == int(guess) else 1
                    lost += share * float(total_variation(p, q))
                    weights += share
            self.assertAlmostEqual(float(loss), lost / weights, delta=1e-5)

    def test_a_batch_without_misses_teaches_nothing(self):
        boosting = self.boosting(0)
        boosting.before = [boosting.target]
        loss, figures = boosting.loss(0)
        self.assertEqual(float(loss), 0)
        self.assertEqual(float(figures["missed"]), 0)
