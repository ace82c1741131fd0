"""Tables and copying against counting by hand."""

import math
import unittest

import numpy

from tests.training import support
from training.baselines import (PairTable, compressed_bits_per_byte,
                                longest_match)
from training.measure import Measurement


def array(ids):
    return numpy.array(ids, dtype=numpy.int32)


class Pairs(unittest.TestCase):

    IDS = [0, 1, 2, 1, 2, 2, 0, 1]

    def assert_law(self, distance, last, counts):
        """The smoothed distribution after `last`, from counted pairs."""
        single = [self.IDS.count(i) + 0.01 for i in range(4)]
        for token, logit in enumerate(
                PairTable(array(self.IDS), 4, distance)(
                    array([last]))[0].tolist()):
            wanted = counts[token] + single[token] / sum(single)
            # Float32 rounds twice, and the logarithm once: 1e-7 of up to 6.
            self.assertAlmostEqual(logit, math.log(wanted), delta=2e-6)

    def test_counts_the_next_token(self):
        self.assert_law(1, 0, [0, 2, 0, 0])  # 01 01
        self.assert_law(1, 1, [0, 0, 2, 0])  # 12 12
        self.assert_law(1, 2, [1, 1, 1, 0])  # 21 22 20
        self.assert_law(1, 3, [0, 0, 0, 0])

    def test_counts_tokens_further_on(self):
        self.assert_law(2, 0, [0, 0, 1, 0])  # 0 1 2
        self.assert_law(2, 1, [0, 1, 1, 0])  # 1 2 1, 1 2 2
        self.assert_law(3, 2, [0, 1, 1, 0])  # 2 1 2 2, 2 2 0 1


class LongestMatch(unittest.TestCase):

    def assert_match(self, ids, wanted, **more):
        self.assertEqual(longest_match(array(ids), 0, **more).tolist(), wanted)

    def test_nothing_repeats(self):
        self.assert_match([0, 1, 2, 3], [-1, -1, -1, -1])

    def test_the_longest_run_wins_over_the_latest(self):
        # Of 1 2 the continuation is at 3, though 2 occurs again at 5.
        self.assert_match([0, 1, 2, 3, 4, 2, 5, 1, 2],
                          [-1, -1, -1, -1, -1, 3, -1, 2, 3])

    def test_the_latest_of_equal_runs_wins(self):
        self.assert_match([0, 1, 2, 1, 3, 1], [-1, -1, -1, 2, -1, 4])

    def test_runs_may_overlap(self):
        self.assert_match([0, 1, 1, 1], [-1, -1, 2, 3])

    def test_documents_know_nothing_of_each_other(self):
        self.assert_match([0, 1, 2, 0, 1, 1, 2], [-1, -1, -1, -1, -1, 5, -1])

    def test_runs_are_no_longer_than_allowed(self):
        ids = [0, 1, 2, 3, 9, 2, 3, 8, 1, 2, 3]
        self.assert_match(ids, [-1] * 5 + [3, 4, -1, 2, 3, 4])
        # Then the latest run of two counts, not the one of three.
        self.assert_match(ids, [-1] * 5 + [3, 4, -1, 2, 3, 7], longest=2)


class Copied(unittest.TestCase):

    def copied(self, ids, further, start=0):
        measurement = object.__new__(Measurement)
        measurement.ids = array(ids)
        measurement.matches = longest_match(measurement.ids, 0)
        return measurement._copied(further, start, len(ids) - start).tolist()

    def test_what_followed_the_match_is_proposed(self):
        ids = [0, 1, 2, 3, 4, 1]
        self.assertEqual([self.copied(ids, k)[-1] for k in range(3)],
                         [2, 3, 4])
        self.assertEqual(self.copied(ids, 0), [-1] * 5 + [2])
        self.assertEqual(self.copied(ids, 1, start=4), [-1, 3])

    def test_what_lies_between_repeats(self):
        # After 1 2 3 1 the text can only go on as 2 3 1 2 3 1.
        ids = [0, 1, 2, 3, 1]
        self.assertEqual([self.copied(ids, k)[-1] for k in range(6)],
                         [2, 3, 1, 2, 3, 1])
        self.assertEqual([self.copied([0, 5, 5], k)[-1] for k in range(3)],
                         [5, 5, 5])


class Compressors(unittest.TestCase):

    def test_what_was_read_before_helps(self):
        text = "".join(support.texts(4)).encode()
        bits = compressed_bits_per_byte(text, text + b"x" * 99)
        self.assertLess(bits["xz -9e after the training text"],
                        bits["xz -9e"] / 3)
        self.assertLess(bits["gzip -9"], 8)
