"""Compares divergences with plain sums in double precision."""

import itertools
import math
import unittest

import torch

from training.divergences import (DIVERGENCES, agreement, forward_kl,
                                  jensen_shannon, reverse_kl, total_variation)

# Distributions over four letters, some far apart; their logits get an offset.
LAWS = ([0.25, 0.25, 0.25, 0.25], [0.7, 0.1, 0.1, 0.1], [0.1, 0.2, 0.3, 0.4],
        [0.97, 0.01, 0.01, 0.01], [1e-4, 0.4999, 0.4, 0.1])
PAIRS = list(itertools.product(LAWS, LAWS))


def logits(laws):
    return torch.tensor([[math.log(x) + 0.5 * i for x in law]
                         for i, law in enumerate(laws)])


P = logits([p for p, _ in PAIRS])
Q = logits([q for _, q in PAIRS])


class Divergences(unittest.TestCase):

    def assert_close(self, found, wanted):
        # Logits reach 20: their float32 is off by 1e-6, so are ratios of
        # probabilities, and four logarithms below 10 are summed.
        self.assertEqual(len(found), len(wanted))
        for pair, a, b in zip(PAIRS, found.tolist(), wanted):
            self.assertLessEqual(abs(a - b), 4e-5, pair)

    def test_forward_kl_weighs_by_the_target(self):
        self.assert_close(forward_kl(P, Q),
                          [sum(a * math.log(a / b) for a, b in zip(p, q))
                           for p, q in PAIRS])

    def test_reverse_kl_weighs_by_the_draft(self):
        self.assert_close(reverse_kl(P, Q),
                          [sum(b * math.log(b / a) for a, b in zip(p, q))
                           for p, q in PAIRS])
        self.assertTrue(torch.equal(reverse_kl(P, Q), forward_kl(Q, P)))

    def test_jensen_shannon_measures_both_from_their_mean(self):
        self.assert_close(jensen_shannon(P, Q), [
            sum(a * math.log(2 * a / (a + b)) + b * math.log(2 * b / (a + b))
                for a, b in zip(p, q)) / 2 for p, q in PAIRS])
        self.assert_close(jensen_shannon(P, Q), jensen_shannon(Q, P).tolist())

    def test_jensen_shannon_of_laws_that_share_nothing_is_log_2(self):
        far = torch.tensor([[200.0, 0.0]]), torch.tensor([[0.0, 200.0]])
        self.assertAlmostEqual(float(jensen_shannon(*far)), math.log(2),
                               places=6)

    def test_every_divergence_pulls_the_draft_to_the_target(self):
        # One number moves: q of the first letter, whose p is 0.7.
        p = torch.tensor([[0.7, 0.3]]).log()
        for name, divergence in DIVERGENCES.items():
            for x, sign in ((-1.0, -1), (2.0, 1)):
                q = torch.tensor([[x, 0.0]], requires_grad=True)
                divergence(p, q).sum().backward()
                self.assertGreater(sign * float(q.grad[0, 0]), 0, name)
                self.assertAlmostEqual(float(q.grad.sum()), 0, places=6)

    def test_total_variation_is_half_the_difference(self):
        self.assert_close(total_variation(P, Q),
                          [sum(abs(a - b) for a, b in zip(p, q)) / 2
                           for p, q in PAIRS])

    def test_total_variation_is_what_overlap_lacks(self):
        overlap, _ = agreement(P, Q)
        self.assert_close(overlap, [sum(map(min, p, q)) for p, q in PAIRS])
        self.assert_close(total_variation(P, Q), (1 - overlap).tolist())

    def test_same_says_whether_the_likeliest_agree(self):
        _, same = agreement(logits(LAWS[1:]), logits([LAWS[3]] * 4))
        self.assertEqual(same.tolist(), [1, 0, 1, 0])

    def test_half_precision_is_widened_first(self):
        for divergence in DIVERGENCES.values():
            narrow = divergence(P.bfloat16(), Q.bfloat16())
            self.assertEqual(narrow.dtype, torch.float32)
            self.assertTrue(torch.equal(
                narrow, divergence(P.bfloat16().float(), Q.bfloat16().float())))
