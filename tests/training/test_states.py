"""States of a target on disk: they are what it computes, once."""

import contextlib
import io
import json
from unittest import mock

import numpy
import torch

from tests.training import support
from tests.training.test_full_disk import disk_of
from training import states
from training.model import read_model

END = 0


def stream(*lengths):
    """Documents of these lengths, each after the end of one."""
    parts = [[END] + list(range(1, length)) for length in lengths]
    return numpy.array(sum(parts, []), dtype=numpy.int32)


class WindowStarts(support.FolderTest):

    def starts(self, length, *lengths):
        return states.window_starts(stream(*lengths), END, length).tolist()

    def test_a_window_begins_at_the_document_that_was_cut(self):
        # Documents at 0, 4, 8, 14, 19, 28; what is left is no window.
        self.assertEqual(self.starts(10, 4, 4, 6, 5, 9, 9), [0, 8, 14, 19])

    def test_long_documents_go_on_where_they_were_cut(self):
        self.assertEqual(self.starts(10, 34, 20), [0, 10, 20, 30, 34])

    def test_documents_that_fit_are_whole_in_some_window(self):
        chance = numpy.random.default_rng(1)
        for _ in range(50):
            lengths = chance.integers(1, 12, 60)
            ids = stream(*lengths)
            starts = states.window_starts(ids, END, 12)
            self.assertTrue((numpy.diff(starts) > 0).all())
            ends = numpy.cumsum(lengths)
            for begin, end in zip(ends - lengths, ends):
                if end > starts[-1] + 12:  # what is left
                    break
                self.assertTrue(((starts <= begin) & (end <= starts + 12)).any(),
                                f"{begin} to {end}: {starts}")


class Kept(support.FolderTest):

    def kept(self, *more, layers=(0, 2)):
        made = support.tiny()
        options = support.options(*support.eagle(
            "--out", "nowhere", "--states", self.folder, *more))
        ids = stream(*[5 + i % 9 for i in range(60)])
        with contextlib.redirect_stderr(io.StringIO()):
            return states.States(read_model(made.deep).eval(), ids, END, layers,
                                 options, "cpu")

    def test_states_are_what_the_target_computes(self):
        kept = self.kept()
        model = read_model(support.tiny().deep).eval()
        places = 0
        for step in range(len(kept.starts) // 4):
            ids, streams, hidden = kept.batch(step)
            self.assertEqual(ids.shape, (4, 17))
            with torch.no_grad():
                wanted = model.streams(ids[:, :-1])
                last = model.norm(wanted[-1])
            for layer in (0, 2):
                self.assertTrue(torch.equal(streams[layer],
                                            wanted[layer].bfloat16().float()))
            self.assertTrue(torch.equal(hidden, last.bfloat16().float()))
            places += 1
        self.assertGreater(places, 4)

    def test_an_epoch_has_each_window_once(self):
        kept = self.kept("--batch", 1)
        count = len(kept.starts)
        for epoch in range(2):
            seen = [tuple(kept.batch(epoch * count + i)[0][0].tolist())
                    for i in range(count)]
            windows = [tuple(kept.ids[s:s + 17].tolist()) for s in kept.starts]
            self.assertEqual(sorted(seen), sorted(windows))
            self.assertNotEqual(seen, windows)

    def test_they_are_computed_once(self):
        first = self.kept().batch(0)
        with mock.patch("training.model.Decoder.streams",
                        side_effect=AssertionError("computed again")):
            again = self.kept().batch(0)
        self.assertTrue(torch.equal(first[2], again[2]))

    def test_a_file_with_more_layers_serves(self):
        """One pass of the target serves heads of every kind and drafters."""
        all_of_them = self.kept(layers=(0, 1, 2))
        wanted = all_of_them.batch(0)
        with mock.patch("training.model.Decoder.streams",
                        side_effect=AssertionError("computed again")):
            for layers in ((), (2,), (2, 0)):
                kept = self.kept(layers=layers)
                self.assertEqual(kept.path, all_of_them.path)
                _, streams, last = kept.batch(0)
                self.assertEqual(tuple(streams), layers)
                for layer in layers:
                    self.assertTrue(torch.equal(streams[layer], wanted[1][layer]))
                self.assertTrue(torch.equal(last, wanted[2]))
        # One that is not finished does not.
        all_of_them.path.with_suffix(".json").write_text('{"windows": 1}')
        self.assertNotEqual(self.kept(layers=(2,)).path, all_of_them.path)

    def test_what_was_stopped_goes_on(self):
        whole = self.kept()
        everything = numpy.array(whole.file)
        whole.file[states.AT_A_TIME:] = 0
        whole.file.flush()
        whole.path.with_suffix(".json").write_text(
            f'{{"windows": {states.AT_A_TIME}}}')
        self.assertTrue(numpy.array_equal(self.kept().file, everything))

    def test_other_layers_and_windows_have_files_of_their_own(self):
        paths = {self.kept().path, self.kept(layers=(1,)).path,
                 self.kept("--window", 12).path}
        self.assertEqual(len(paths), 3)

    def test_a_full_disk_is_told_before_anything_is_computed(self):
        support.tiny()
        with disk_of(4000), mock.patch("training.model.Decoder.streams",
                                       side_effect=AssertionError("computed")):
            with self.assertRaisesRegex(Exception, "GB cannot be kept: File too"):
                self.kept()


class Recipes(support.FolderTest):

    def test_every_recipe_of_a_frozen_target_learns_from_them(self):
        for name, arguments in (
                ("eagle", support.eagle(steps=60)),
                ("eagle", support.eagle("--version", 1, steps=60)),
                ("medusa", support.heads(steps=60)),
                ("distill", support.teach("distill", "--own-share", 0, steps=60)),
                ("distill", support.teach("distill", "--own-share", 0,
                                          "--vocabulary", self.vocabulary(),
                                          steps=60)),
                ("boost", support.teach("boost", "--own-share", 0, steps=60)),
                ("boost", support.teach("boost", "--own-share", 0,
                                        "--vocabulary", self.vocabulary(),
                                        steps=60)),
                ("medusa", support.heads("--share-output", "--vocabulary",
                                         self.vocabulary(), steps=60))):
            out = self.folder / f"{name}{len(arguments)}"
            self.train(*arguments, "--out", out, "--states", self.folder,
                       "--log-every", 10)
            rows = support.read_log(out)
            # Of a head whose later steps begin to be trained the loss rises.
            figure, sign = (("overlap1", -1) if name == "eagle" else ("loss", 1))
            self.assertLess(sign * float(rows[-1][figure]),
                            sign * float(rows[0][figure]), name)
            # The list is the model's own from then on.
            beside = out / "vocabulary.json"
            self.assertEqual(beside.exists(), "--vocabulary" in arguments)
            if beside.exists():
                self.assertEqual(beside.read_bytes(),
                                 (self.folder / "vocabulary.json").read_bytes())

    def vocabulary(self):
        """Every second token of the target."""
        path = self.folder / "vocabulary.json"
        size = read_model(support.tiny().target).shape.vocab_size
        path.write_text(json.dumps({"tokenizer": "", "vocab_size": size,
                                    "tokens": list(range(0, size, 2))}))
        return path

    def test_a_list_that_cannot_be_is_refused(self):
        path = self.folder / "list.json"
        size = read_model(support.tiny().target).shape.vocab_size
        for tokens, vocab_size, told in (
                ([1, 1], size, "at least one id"), ([], size, "at least one id"),
                ([size], size, "distinct and below"),
                ([-1], size, "distinct and below"),
                ([1], size + 1, "expected the target's")):
            path.write_text(json.dumps({"tokenizer": "", "vocab_size": vocab_size,
                                        "tokens": tokens}))
            self.assertIn(told, self.refused(
                *support.teach("distill", "--own-share", 0), "--vocabulary", path,
                "--out", self.folder / "out"))
        self.assertIn("needs --share-output", self.refused(
            *support.heads(), "--vocabulary", path, "--out", self.folder / "out"))

    def test_text_that_is_written_anew_is_refused(self):
        for arguments in (support.teach("distill"), support.heads(
                "--own-share", 0.5)):
            self.assertIn("--own-share 0", self.refused(
                *arguments, "--out", self.folder / "out", "--states", self.folder))
        self.assertIn("a target that is trained", self.refused(
            *support.heads("--train-target"), "--out", self.folder / "out",
            "--states", self.folder))
