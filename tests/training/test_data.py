"""Streams of ids, and the windows cut from them."""

import argparse
import unittest

import numpy
import torch

from tests.training import support
from training.data import (Batches, Windows, end_of_text_id, generator_of,
                           read_ids)
from training.errors import UserError
from training.tokenizer import read_tokenizer

IDS = numpy.arange(103, dtype=numpy.int32)  # each id tells its place
LENGTH = 10
COUNT = 9  # (103 - 1 - 10) // 10


def epoch(number, seed=1):
    """The windows of an epoch, in order."""
    windows = Windows(IDS, LENGTH, seed)
    return torch.cat([windows.batch(step, 3) for step in
                      range(number * COUNT // 3, (number + 1) * COUNT // 3)])


class WindowsTest(unittest.TestCase):

    def test_each_window_comes_once_an_epoch(self):
        for number in range(20):
            windows = epoch(number)
            self.assertEqual(windows.shape, (COUNT, LENGTH + 1))
            starts = windows[:, 0]
            self.assertTrue(torch.equal(
                windows, starts[:, None] + torch.arange(LENGTH + 1)))
            shift = int(starts.min())
            self.assertLess(shift, LENGTH)
            self.assertEqual(sorted(starts.tolist()),
                             [shift + LENGTH * i for i in range(COUNT)])

    def test_epochs_differ_in_cuts_and_order(self):
        starts = [epoch(number)[:, 0] for number in range(6)]
        self.assertGreater(len({int(s.min()) for s in starts}), 1)
        orders = {tuple(((s - s.min()) // LENGTH).tolist()) for s in starts}
        self.assertEqual(len(orders), 6)

    def test_a_batch_depends_on_seed_and_step_only(self):
        run = Windows(IDS, LENGTH, 1)
        batches = [run.batch(step, 4) for step in range(8)]
        for step in (7, 0, 5, 2):  # 4 windows do not divide 9: epochs meet
            self.assertTrue(torch.equal(batches[step],
                                        Windows(IDS, LENGTH, 1).batch(step, 4)))
        self.assertFalse(torch.equal(epoch(0, seed=1), epoch(0, seed=2)))

    def test_too_small_a_corpus_is_refused(self):
        Windows(IDS[:22], LENGTH, 1).batch(0, 1)
        with self.assertRaisesRegex(UserError, "21 tokens, fewer than two "
                                    "windows of 10"):
            Windows(IDS[:21], LENGTH, 1)

    def test_generators_of_other_purposes_differ(self):
        drawn = [torch.rand(3, generator=generator_of(*names)).tolist()
                 for names in ((1, "a", 0), (1, "a", 1), (1, "b", 0),
                               (2, "a", 0), (1, "a", 0))]
        self.assertEqual(drawn[0], drawn[4])
        self.assertEqual(len(set(map(tuple, drawn))), 4)


class ReadIds(support.FolderTest):

    def test_every_document_follows_the_end_of_one(self):
        tiny = support.tiny()
        texts = support.texts(3) + ["x"]
        corpus = support.write_corpus(self.folder, train=texts)
        tokenizer = read_tokenizer(tiny.tokenizer)
        wanted = []
        for text in texts:
            wanted += [0] + tokenizer.encode(text).ids
        for _ in range(2):  # the second time from the file kept
            ids = read_ids(corpus, "train", tiny.tokenizer, 0)
            self.assertEqual(ids.tolist(), wanted)
        self.assertEqual(len(list(corpus.glob("*.npy"))), 1)

    def test_what_is_kept_is_of_this_corpus(self):
        tiny = support.tiny()
        support.write_corpus(self.folder, train=["x"])
        read_ids(self.folder, "train", tiny.tokenizer, 0)
        support.write_corpus(self.folder, train=["y"])
        ids = read_ids(self.folder, "train", tiny.tokenizer, 7)
        self.assertEqual(ids.tolist(), [7] + read_tokenizer(
            tiny.tokenizer).encode("y").ids)


class BatchesTest(unittest.TestCase):

    def batches(self, long_share):
        return Batches(IDS, argparse.Namespace(
            steps=10, batch=4, window=LENGTH // 2, long_share=long_share,
            seed=1), LENGTH)

    def test_the_last_steps_have_as_many_tokens_in_longer_windows(self):
        batches = self.batches(0.2)
        for step in range(8):
            self.assertEqual(batches.batch(step).shape, (4, LENGTH // 2 + 1))
        for step in (8, 9):
            self.assertEqual(batches.batch(step).shape, (2, LENGTH + 1))

    def test_without_a_share_all_windows_are_short(self):
        self.assertEqual(self.batches(0).batch(9).shape, (4, LENGTH // 2 + 1))


class EndOfText(unittest.TestCase):

    class Tokenizer:
        def __init__(self, **ids):
            self.token_to_id = ids.get

    def test_the_config_comes_first(self):
        tokenizer = self.Tokenizer(**{"</s>": 5})
        self.assertEqual(end_of_text_id(tokenizer, {"eos_token_id": 0}), 0)
        self.assertEqual(end_of_text_id(tokenizer, {"eos_token_id": [3, 4]}), 3)
        self.assertEqual(end_of_text_id(tokenizer, {"eos_token_id": None}), 5)
        self.assertEqual(end_of_text_id(tokenizer), 5)

    def test_a_vocabulary_without_one_is_refused(self):
        with self.assertRaisesRegex(UserError, "no token that ends a text"):
            end_of_text_id(self.Tokenizer(a=1), {})
