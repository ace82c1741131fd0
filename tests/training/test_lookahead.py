"""Look-ahead vectors: what they see, what they learn, and their files."""

import contextlib
import io

import torch
from safetensors.torch import load_file

from tests.training import support
from training.files import read_json, write_json
from training.lookahead import (TENSOR, VectorTeaching, read_vectors,
                                read_with_chains, told_at, who_sees_whom,
                                write_vectors)
from training.model import read_model


class Rows(support.FolderTest):

    def test_a_chain_sees_the_text_up_to_its_place_and_itself(self):
        sees = who_sees_whom(3, torch.tensor([0, 2]), 2)
        self.assertEqual(sees.int().tolist(), [
            [1, 0, 0, 1, 0, 0, 0],
            [1, 0, 0, 1, 1, 0, 0],
            [1, 1, 1, 0, 0, 1, 0],
            [1, 1, 1, 0, 0, 1, 1]])

    def test_chains_of_tokens_are_read_as_texts_that_end_in_them(self):
        links = [3, 14, 7]
        ids = torch.tensor([[5, 9, 2, 6, 5, 3, 5, 8], [1, 2, 3, 4, 5, 6, 7, 8]])
        places = torch.tensor([0, 2, 7])
        for changes in ({}, {"family": "mistral", "window": 4}):
            target = support.tiny_model(**changes)
            with torch.no_grad():
                vectors = target.embed_tokens(torch.tensor(links))
                text, chains = read_with_chains(target, ids, vectors, places)
                self.assert_close(text, target.hidden(ids)[0])
                for number, place in enumerate(places.tolist()):
                    whole = torch.cat((ids[:, :place + 1],
                                       torch.tensor([links] * 2)), dim=1)
                    self.assert_close(chains[:, number],
                                      target.hidden(whole)[0][:, -3:])

    def test_link_i_is_told_what_the_target_says_i_tokens_later(self):
        said = torch.arange(10)[None, :, None]
        told = told_at(said, torch.tensor([0, 4]), 3)
        self.assertEqual(told[0, :, :, 0].tolist(), [[1, 2, 3], [5, 6, 7]])

    def assert_close(self, found, wanted):
        self.assertLess(float((found - wanted).abs().max()), 1e-5)


def lookahead(*more, steps=12):
    made = support.tiny()
    return ("lookahead", "--corpus", made.corpus, "--target", made.target,
            "--vectors", 3, "--places", 6, "--steps", steps, *support.SIZE,
            *more)


class Training(support.FolderTest):

    def lesson(self, *more):
        with contextlib.redirect_stdout(io.StringIO()):
            return VectorTeaching(support.options(
                *lookahead("--out", "nowhere", *more)))

    def test_places_have_all_they_learn_after_them(self):
        lesson = self.lesson()
        seen = set()
        for step in range(60):
            places = lesson.places(step, 16)
            self.assertEqual(len(set(places.tolist())), 6)
            self.assertEqual(places.tolist(), lesson.places(step, 16).tolist())
            seen |= set(places.tolist())
        self.assertEqual(seen, set(range(13)))

    def test_the_loss_is_of_the_law_i_tokens_later(self):
        lesson = self.lesson("--decay", 0.5)
        ids = lesson.batches.batch(3)[:, :-1]
        places = lesson.places(3, ids.shape[1])
        wanted = lesson.target(ids)
        _, chains = read_with_chains(lesson.target, ids, lesson.vectors.rows,
                                     places)
        found = lesson.target.logits(chains)
        total = 0
        for i in range(3):
            kl = [torch.nn.functional.kl_div(
                found[:, number, i].log_softmax(-1),
                wanted[:, place + i + 1].log_softmax(-1), log_target=True,
                reduction="none").sum(-1) for number, place in
                enumerate(places.tolist())]
            total += 0.5 ** i * torch.stack(kl).mean()
        loss, figures = lesson.loss(3)
        self.assertAlmostEqual(loss.item(), float(total), delta=1e-4)
        self.assertEqual(set(figures), {"head0", "head1", "head2"})

    def test_vectors_learn_and_the_target_stays(self):
        lesson = self.lesson()
        lesson.loss(0)[0].backward()
        self.assertTrue(all(weight.grad is None
                            for weight in lesson.target.parameters()))
        self.train(*lookahead("--out", self.folder, "--log-every", 5,
                              steps=60))
        log = support.read_log(self.folder)
        for i in range(3):
            self.assertLess(float(log[-1][f"head{i}"]),
                            0.95 * float(log[0][f"head{i}"]))
        stored = load_file(self.folder / "model.safetensors")
        self.assertEqual(set(stored), {TENSOR})
        self.assertEqual(stored[TENSOR].dtype, torch.float32)
        self.assertEqual(list(stored[TENSOR].shape), [3, 16])
        config = read_json(self.folder / "config.json")
        self.assertEqual((config["lookahead_vectors"], config["hidden_size"],
                          config["vocab_size"]), (3, 16, 280))

    def test_windows_without_a_place_are_refused(self):
        self.assertIn("no place has 16 tokens after it", self.refused(
            *lookahead("--out", self.folder, "--vectors", 16)))


class Files(support.FolderTest):

    def test_what_was_written_is_read_again(self):
        target = read_model(support.tiny().target)
        vectors = torch.randn(2, 16)
        write_vectors(vectors, self.folder, "target", 280)
        self.assertTrue(torch.equal(read_vectors(self.folder, target), vectors))

    def test_vectors_of_another_target_are_refused(self):
        target = read_model(support.tiny().target)
        write_vectors(torch.randn(2, 16), self.folder, "target", 280)
        config = read_json(self.folder / "config.json")
        for key, value in (("hidden_size", 12), ("vocab_size", 281),
                           ("lookahead_vectors", 3)):
            write_json(self.folder / "config.json", {**config, key: value})
            with self.assertRaisesRegex(Exception, "expected"):
                read_vectors(self.folder, target)
