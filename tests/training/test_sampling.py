"""Reading token by token through caches, drawing from it, and which steps read
what a model wrote."""

import argparse
import unittest

import torch

from tests.training import support
from tests.training.test_model import bound, furthest
from training.data import generator_of
from training.errors import UserError
from training.model import read_model
from training.sampling import Author, sample

# One without a window, one with, and one where a layer is without.
MODELS = ("llama", "mistral", "qwen2")


class Steps(unittest.TestCase):

    def test_steps_give_the_logits_of_the_whole(self):
        for name in MODELS:
            for cuts in ([1] * 20, [7, 1, 9, 3], [20], [1, 19]):
                with self.subTest(name, cuts=cuts), torch.no_grad():
                    golden = support.golden(name)
                    model = read_model(support.GOLDENS / name)
                    logits = self.by_steps(model, golden["ids"], cuts)
                    wanted = golden["logits64"]
                    self.assertLessEqual(furthest(logits, wanted),
                                         bound(wanted))

    def by_steps(self, model, ids, cuts):
        caches = [{} for _ in range(model.shape.layers)]
        pieces, start = [], 0
        for count in cuts:
            hidden = model.step(ids[None, start:start + count], start, caches)
            pieces.append(model.logits(hidden)[0])
            start += count
        self.assertEqual(start, len(ids))
        return torch.cat(pieces)


class Sampling(unittest.TestCase):

    def test_a_cold_model_says_its_likeliest_tokens(self):
        model = read_model(support.GOLDENS / "mistral")
        prompt = torch.tensor([[3, 1, 4], [2, 7, 18]])
        # The two likeliest lie 0.001 apart at least: exp(-100) is nothing.
        ids = sample(model, prompt, 12, 1e-5, generator_of(1))
        self.assertTrue(torch.equal(ids[:, :3], prompt))
        self.assertEqual(ids.shape, (2, 12))
        with torch.no_grad():
            first, second = model(ids)[:, 2:-1].topk(2).values.unbind(-1)
            self.assertGreater(float((first - second).min()), 0.001)
            self.assertTrue(torch.equal(model(ids)[:, 2:-1].argmax(-1),
                                        ids[:, 3:]))

    def test_at_0_they_are_its_likeliest_tokens(self):
        model = support.tiny_model()
        ids = sample(model, torch.tensor([[1, 2], [5, 0]]), 20, 0,
                     generator_of(1))
        with torch.no_grad():
            self.assertTrue(torch.equal(model(ids)[:, 1:-1].argmax(-1),
                                        ids[:, 2:]))

    def test_a_warm_model_follows_its_law(self):
        model = support.tiny_model(vocab_size=5, layers=1)
        rows = 4000
        ids = sample(model, torch.full((rows, 1), 2), 2, 0.7, generator_of(2))
        with torch.no_grad():
            law = torch.softmax(model(torch.tensor([[2]]))[0, 0] / 0.7, -1)
        found = torch.bincount(ids[:, 1], minlength=5) / rows
        # 5 standard deviations of a share: false alarm below 5 in a million.
        allowed = 5 * (law * (1 - law) / rows).sqrt()
        self.assertTrue(bool(((found - law).abs() <= allowed).all()),
                        f"{found} for {law}")

    def test_the_same_generator_gives_the_same_text(self):
        model = support.tiny_model()
        prompt = torch.tensor([[1, 2]])
        one, same, other = (sample(model, prompt, 30, 1.0, generator_of(seed))
                            for seed in (1, 1, 2))
        self.assertTrue(torch.equal(one, same))
        self.assertFalse(torch.equal(one, other))


IDS = torch.arange(32).reshape(2, 16) % 17


def asking(share, temperature=1.0):
    return argparse.Namespace(own_share=share, temperature=temperature, seed=1)


class Authors(support.FolderTest):

    def test_text_goes_on_from_an_eighth_of_the_window(self):
        model = support.tiny_model()
        author = Author(model, asking(1))
        own = author.text(IDS, 3)
        self.assertEqual(own.shape, IDS.shape)
        self.assertTrue(torch.equal(own[:, :2], IDS[:, :2]))
        self.assertTrue(torch.equal(own, author.text(IDS, 3)))
        self.assertFalse(torch.equal(own, author.text(IDS, 4)))
        cold = Author(model, asking(1, 0.0)).text(IDS, 3)
        with torch.no_grad():
            self.assertTrue(torch.equal(model(cold)[:, 1:-1].argmax(-1),
                                        cold[:, 2:]))

    def test_the_rest_of_the_steps_read_the_corpus(self):
        author = Author(None, asking(0))
        for step in range(20):
            self.assertIs(author.text(IDS, step), IDS)

    def test_text_that_is_kept_is_what_would_be_drawn(self):
        model = support.tiny_model()
        wanted = [Author(model, asking(1)).text(IDS, step)
                  for step in range(3)]
        for again in range(2):
            author = Author(model, asking(1), self.folder)
            with torch.no_grad():
                for step, text in enumerate(wanted):
                    self.assertTrue(torch.equal(author.text(IDS, step), text))
            author.model = None  # what samples fails
        self.assertEqual(len(list(self.folder.iterdir())), 3)
        self.assertTrue(torch.equal(author.text(IDS, 2), wanted[2]))

    def test_other_texts_are_kept_apart(self):
        model = support.tiny_model()
        asked = [(model, asking(1), IDS, 3), (model, asking(1), IDS, 4),
                 (model, asking(1, 0.5), IDS, 3),
                 (support.tiny_model(seed=2), asking(1), IDS, 3),
                 (model, asking(1), IDS + 1, 3),
                 (model, asking(1), IDS[:, :-1], 3),
                 (model, argparse.Namespace(**{**vars(asking(1)), "seed": 2}),
                  IDS, 3)]
        for many, (writer, options, ids, step) in enumerate(asked, start=1):
            found = Author(writer, options, self.folder).text(ids, step)
            self.assertEqual(len(list(self.folder.iterdir())), many)
            self.assertTrue(torch.equal(
                found, Author(writer, options).text(ids, step)))

    def test_shares_and_temperatures_that_are_none_are_refused(self):
        for share in (-0.1, 1.1, float("nan")):
            with self.assertRaisesRegex(UserError, "--own-share: expected 0 "
                                        "to 1, found"):
                Author(None, asking(share))
        for temperature in (-1.0, float("nan")):
            with self.assertRaisesRegex(UserError, "--temperature: expected 0 "
                                        "or more, found"):
                Author(None, asking(0.5, temperature))
        Author(None, asking(0, 0.0))
        Author(None, asking(1, 2.0))
