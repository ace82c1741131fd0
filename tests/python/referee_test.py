"""Tests of banyan.referee: which rules it finds right, and what it says of others."""

import math
import pathlib
import random
import subprocess
import sys
import unittest
import warnings

sys.dont_write_bytecode = True
PROJECT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(PROJECT / "scripts"), str(PROJECT / "python")]
import system_python  # noqa: E402

system_python.skip_without("numpy")
import numpy  # noqa: E402
from banyan import referee  # noqa: E402
from banyan.referee import chance, rules, stand_ins  # noqa: E402

try:
    import torch
except ImportError:
    torch = None

SMALL = dict(trees=[(1,), (2,), (1, 1)], vocabularies=(2, 3))


def distribution(run):
    """What `run()` returns with which probability, its chance enumerated."""
    tape, found = chance.Tape(), {}
    with stand_ins.replaced(tape):
        for result in tape.runs(run):
            found[result] = found.get(result, 0.0) + tape.probability
    return found


class ChanceTest(unittest.TestCase):
    """Ways to draw that programs have: each has the distribution it is meant to have."""

    MASSES = (.5, .2, 0.0, .3)

    def expect(self, run, masses=MASSES):
        found = distribution(run)
        self.assertEqual(set(found), {i for i, mass in enumerate(masses) if mass > 0})
        for index, mass in found.items():
            self.assertAlmostEqual(mass, masses[index] / sum(masses), places=12)

    def test_a_uniform_number_is_an_interval(self):
        def twice():
            u = random.random()
            return int(u < .3) + 2 * int(u < .6)
        self.expect(twice, (.4, 0, .3, .3))
        self.expect(lambda: int(random.random() * 3 > 1) + int(1 - random.random() < .25),
                    (.25, 7 / 12, 1 / 6))
        self.expect(lambda: int(random.uniform(2, 4) >= 3), (.5, .5))
        self.expect(lambda: int(random.random() * 4), (1, 1, 1, 1))

    def test_inverse_cumulative_sums(self):
        sums = numpy.cumsum(self.MASSES)
        self.expect(lambda: int(numpy.searchsorted(sums, numpy.random.random(),
                                                   side="right")))
        self.expect(lambda: int((sums > numpy.random.random()).argmax()))

        def loop():
            u, total = random.random(), 0.0
            for index, mass in enumerate(self.MASSES):
                total += mass
                if u < total:
                    return index
            raise AssertionError
        self.expect(loop)

    def test_choices_by_weights(self):
        values = range(4)
        self.expect(lambda: random.choices(values, self.MASSES)[0])
        self.expect(lambda: random.choices(values, cum_weights=numpy.cumsum(self.MASSES))[0])
        self.expect(lambda: int(numpy.random.choice(4, p=self.MASSES)))
        self.expect(lambda: int(numpy.random.default_rng().choice(4, p=self.MASSES)))
        self.expect(lambda: int(numpy.random.multinomial(1, self.MASSES).argmax()))
        self.expect(lambda: int(numpy.random.choice([1, 3], size=2, replace=False)[1] == 3),
                    (1, 1))
        self.expect(lambda: random.randrange(1, 4) - 1, (1, 1, 1))
        self.expect(lambda: random.sample(range(3), 2)[1], (1, 1, 1))

    def test_races(self):
        masses = numpy.array(self.MASSES)
        with numpy.errstate(divide="ignore"):
            logits = numpy.log(masses)
        size = len(masses)
        self.expect(lambda: int((masses / numpy.random.exponential(size=size)).argmax()))
        # A rate of 0 never comes first.
        self.expect(lambda: int((numpy.random.exponential(size=2) / masses[:2]).argmin()),
                    (.5, .2))
        self.expect(lambda: int((masses / -numpy.log(numpy.random.random(size))).argmax()))
        self.expect(lambda: int((logits + numpy.random.gumbel(size=size)).argmax()))
        self.expect(lambda: int(
            (logits - numpy.log(-numpy.log(numpy.random.random(size)))).argmax()))

    def test_what_has_no_finite_list_of_outcomes_says_so(self):
        def raced_again():
            noises = numpy.random.exponential(size=3)
            return int(noises.argmin()) + int(noises.argmax())
        for run in (lambda: float(random.random()), lambda: random.gauss(0, 1),
                    lambda: random.random() < random.random(), raced_again,
                    lambda: int(random.random() ** 2 < .5),
                    lambda: numpy.random.normal()):
            with self.assertRaises(referee.CannotEnumerate):
                distribution(run)

    def test_chance_that_is_not_seen_is_found(self):
        hidden = random.Random(5)
        with self.assertRaisesRegex(referee.CannotEnumerate, "that is not seen"):
            distribution(lambda: [random.random() < hidden.random() for _ in range(3)][0])

    def test_repeated_numbers_are_not_taken_for_new_ones(self):
        own, named = random.Random(3), random.random

        def state():
            kept = random.getstate()
            first = random.random() < .5
            random.setstate(kept)
            return first

        def one_number_for_all():
            return int((numpy.array(self.MASSES[:2]) / numpy.random.exponential()).argmax())
        for run in (lambda: random.seed(1) or random.random() < .5, state,
                    lambda: numpy.random.default_rng(0).random() < .5,
                    lambda: random.Random(1).random() < .5,
                    lambda: numpy.random.RandomState(1).rand() < .5,
                    lambda: own.random() < .5, lambda: named() < .5,
                    lambda: numpy.random.mtrand._rand.random() < .5, one_number_for_all):
            with self.assertRaises(referee.CannotEnumerate):
                distribution(run)

    def test_what_a_race_says_is_known_to_all_that_is_made_of_it(self):
        masses = numpy.array([.2, .3, .5])

        def run():
            noises = numpy.random.exponential(size=3)
            scaled = masses / noises
            first = (masses[:2] / noises[:2]).argmax()
            return int(scaled[first] > scaled[2])
        self.expect(run, (.5, .5))

    def test_programs_that_are_wrong_in_numpy_are_wrong_here(self):
        # The last category gets what the others leave.
        self.expect(lambda: int(numpy.random.multinomial(1, [.2, .3, .1]).argmax()),
                    (.2, .3, .5))
        for run in (lambda: numpy.random.choice(3, p=[.2, .3, .1]),
                    lambda: numpy.random.choice(3, p=[.5, .5])):
            with self.assertRaises(ValueError):
                distribution(run)
        # A size of the parameters' own.
        self.expect(lambda: int((numpy.random.uniform(numpy.zeros(2), numpy.ones(2)) < .5)
                                .sum()), (1, 2, 1))

    def test_edges(self):
        self.expect(lambda: int(numpy.clip(random.random(), 1e-12, None) < .3), (.7, .3))
        self.expect(lambda: int(numpy.clip(random.random() - .5, 0, None) >= 0), (0, 1))
        # Sums that end a little before 1 are no interval of their own.
        self.expect(lambda: int(random.random() < 1 - 1e-16), (0, 1))
        self.expect(lambda: int(random.random() < float("nan")), (1,))
        with numpy.errstate(divide="ignore"):
            self.expect(lambda: int((numpy.random.exponential(size=3) /
                                     numpy.array([.2, 0.0, .3])).argmin()), (.2, 0, .3))

        def catches():
            try:
                return float(random.random()) < .3
            except Exception:
                return False
        with self.assertRaises(referee.CannotEnumerate):
            distribution(catches)

    def test_modules_are_as_before(self):
        before = random.random, numpy.random.random, numpy.random.default_rng
        distribution(lambda: random.random() < .5)
        self.assertEqual(before, (random.random, numpy.random.random,
                                  numpy.random.default_rng))
        self.assertIsInstance(random.random(), float)

    @unittest.skipIf(torch is None, "the Python module torch is missing")
    def test_torch(self):
        masses = torch.tensor(self.MASSES, dtype=torch.float64)
        self.expect(lambda: torch.multinomial(masses, 1).item())
        self.expect(lambda: torch.multinomial(masses[[0, 1, 3]], 2)[0].item(), (.5, .2, .3))
        self.expect(lambda: int((torch.rand(1) < .3).item()), (.7, .3))
        self.expect(lambda: int((masses.cumsum(0) > torch.rand(())).int().argmax()))
        self.expect(lambda: masses.div(
            torch.empty_like(masses).exponential_(1.0)).argmax(dim=-1).item())
        self.expect(lambda: (masses.log() - (-torch.rand_like(masses).log()).log()
                             ).argmax().item())
        self.expect(lambda: int(torch.bernoulli(torch.tensor([.25])).item()), (.75, .25))
        self.expect(lambda: int(torch.rand(2, 3)[1, 2].item() < .2), (.8, .2))

        def filled():
            noises = torch.empty(2, 2)
            noises.uniform_()
            return int((noises.reshape(-1)[2:] < .5).sum())
        self.expect(filled, (1, 2, 1))
        self.expect(lambda: int((torch.rand(1) * 4).to(torch.long).item()), (1, 1, 1, 1))
        self.expect(lambda: int((torch.rand(1).to(torch.float64) < .25).item()), (.75, .25))
        ones = torch.ones(1)

        def divided_into():
            into = torch.empty(3, dtype=torch.float64)
            torch.div(masses[:3], torch.rand_like(into), out=into)
            return into.argmax().item()

        def seen_by_another():
            noises = torch.empty(2)
            other = noises.detach()
            noises.exponential_()
            return (torch.ones(2) / other).argmax().item()

        def of_numpy():
            array = numpy.zeros(2, dtype="f4")
            torch.from_numpy(array).uniform_()
            return array.argmax()
        for run in (lambda: torch.randn(3).argmax().item(),
                    lambda: torch.rand(3).sum().item(),
                    lambda: torch.empty(4)[:2].uniform_()[0].item() < .5,
                    lambda: torch.div(torch.rand(1) * 4, 1, rounding_mode="floor") > 2,
                    lambda: torch.add(torch.rand(1), ones, alpha=2) < 2.3,
                    lambda: torch.rand(1, out=torch.empty(1)) < .5,
                    lambda: torch.manual_seed(0) and torch.rand(1) < .5,
                    lambda: torch.binomial(ones, ones * .5).item(),
                    lambda: (torch.rand(1) - .5).clamp(min=0) >= 0,
                    divided_into, seen_by_another, of_numpy):
            with self.assertRaises(referee.CannotEnumerate):
                distribution(run)


def careless(p, q, draws, tree):
    """Takes coins that are off by 1e-4."""
    tokens, node = [], 0
    while True:
        target = p[node].copy()
        for index, (at, token, child) in enumerate(draws):
            if at != node:
                continue
            made_from = tree.drawn_from[index]
            if random.random() < min(1, target[token] / made_from[token]) - 1e-4:
                tokens.append(int(token))
                node = child
                break
            target = numpy.maximum(target - made_from, 0)
            target = target / target.sum() if target.sum() > 0 else p[node]
        else:
            return [*tokens, numpy.random.choice(len(target), p=target)]


class VerdictTest(unittest.TestCase):

    def test_the_rule_of_the_literature_is_exact(self):
        for draws in ("independent", "without_replacement", "deterministic"):
            found = referee.exact_of(rules.multi_round, draws=draws)
            self.assertTrue(found.exact, str(found))
            self.assertFalse(found.sampled)
            self.assertLess(found.worst.total_variation, 1e-14)
            # Every setting, several trees and vocabularies.
            self.assertGreaterEqual(len(found.cases), 36)
            self.assertEqual({case.setting for case in found.cases},
                             set(referee.SETTINGS))
            self.assertTrue(all(1 < case.tokens_per_round <= 3 for case in found.cases))

    def test_every_mistake_is_found_and_named(self):
        # Whole proposals are what independent draws are judged by.
        of_kind = {"draws are judged by the drafter's whole distribution":
                   "without_replacement"}
        for mistake in rules.MISTAKES:
            def rule(p, q, draws, tree):
                return rules.multi_round(p, q, draws, tree, mistake)
            found = referee.exact_of(rule, draws=of_kind.get(mistake, "independent"),
                                     trees=[(2,), (1, 1)], vocabularies=(3,))
            self.assertFalse(found.exact, mistake)
            self.assertGreater(found.worst.total_variation, 1e-3, mistake)
            self.assertEqual(found.resembles[0], mistake)
            self.assertLess(found.resembles[1], 1e-9)
            self.assertIn(mistake, str(found))

    def test_a_bias_of_a_ten_thousandth_is_found(self):
        found = referee.exact_of(careless, **SMALL)
        self.assertFalse(found.exact)
        self.assertTrue(all(1e-6 < case.total_variation < 1e-3 for case in found.cases))

    def test_what_cannot_be_enumerated_is_sampled(self):
        def drawn(p, q, draws, tree):
            u = float(numpy.random.random())
            return [int(numpy.searchsorted(numpy.cumsum(p[0]), u))]
        with self.assertWarns(referee.SampledOnly):
            found = referee.exact_of(drawn, trees=[(1,)], vocabularies=(2,), samples=4000)
        self.assertTrue(found.sampled and found.exact, str(found))
        self.assertIn("cannot be enumerated", str(found))
        self.assertAlmostEqual(
            found.cases[0].found, 2 * math.sqrt(math.log(2 * 8 * 3 / .05) / 8000))

        # A right rule is not refuted by many texts that are each a little off.
        def right(p, q, draws, tree):
            float(numpy.random.random())
            return rules.multi_round(p, q, draws, tree)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", referee.SampledOnly)
            found = referee.exact_of(right, trees=[(1, 1)], vocabularies=(4,), samples=300)
        self.assertTrue(found.exact, str(found))

        def always_the_first(p, q, draws, tree):
            return [int(float(numpy.random.random()) < 0)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", referee.SampledOnly)
            found = referee.exact_of(always_the_first, trees=[(1,)], vocabularies=(2,),
                                     samples=4000)
        self.assertFalse(found.exact)

    def test_answers_that_are_none_are_errors(self):
        for answer, words in (([], "found no token"), ([7], "tokens from 0 to 1"),
                              ([1, 1, 1, 1, 0], "no child of node"), (None, "found None"),
                              (["x"], "a list of tokens")):
            with self.assertRaisesRegex((ValueError, TypeError), words):
                referee.exact_of(lambda p, q, draws, tree: answer, trees=[(1,)],
                                 vocabularies=(2,))

        def raises(p, q, draws, tree):
            raise ZeroDivisionError("mine")
        with self.assertRaisesRegex(ZeroDivisionError, "mine"):
            referee.exact_of(raises, **SMALL)
        self.assertIsInstance(random.random(), float)

    def test_arguments_are_checked(self):
        for arguments, words in (({"draws": "x"}, "expected one of independent"),
                                 ({"precision": "half"}, "double or float"),
                                 ({"trees": "stars"}, "shapes or 'chains'"),
                                 ({"trees": [(9, 9)]}, "no case")):
            with self.assertRaisesRegex(ValueError, words):
                referee.exact_of(rules.multi_round, **arguments)

    def test_the_example_of_a_wrong_rule_is_refuted(self):
        done = subprocess.run(
            [sys.executable, PROJECT / "examples/referee/wrong.py"], check=False,
            capture_output=True, text=True,
            env={"PYTHONPATH": str(PROJECT / "python"), "PATH": "/usr/bin:/bin"})
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("NOT the target's distribution", done.stdout)
        self.assertIn("after a refusal the target is as before", done.stdout)

    @unittest.skipIf(torch is None, "the Python module torch is missing")
    def test_transformers_rule_is_exact(self):
        try:
            import transformers.generation.utils  # noqa: F401
        except ImportError:
            self.skipTest("the Python module transformers is missing")
        sys.path.insert(0, str(PROJECT / "examples/referee"))
        import of_transformers
        found = referee.exact_of(of_transformers.speculative_sampling, trees=[(1,), (1, 1)],
                                 vocabularies=(2, 3))
        self.assertTrue(found.exact, str(found))
        self.assertEqual(len(found.cases), 12)


if __name__ == "__main__":
    unittest.main()
