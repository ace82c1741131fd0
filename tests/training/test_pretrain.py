"""Where a model's embedding starts from another's; losses in parts."""

from unittest import mock

import torch

from tests.training import support
from training import pretrain
from training.model import read_model


class EmbeddingOf(support.FolderTest):

    def start(self, source, *more):
        out = self.folder / "out"
        self.train(*support.pretrain(support.tiny(), "--out", out,
                                     "--embedding-of", source, *more, steps=1))
        return read_model(out).embed_tokens.weight

    def test_tokens_that_are_alike_stay_alike(self):
        source = support.tiny().target
        wanted = read_model(source).embed_tokens.weight
        wanted = wanted - wanted.mean(0)
        # Half as wide: what is kept of the products is what matters most.
        found = self.start(source, "--hidden", 8, "--rate", 1e-9,
                           "--muon-rate", 1e-9)
        whole, kept = wanted @ wanted.T, found @ found.T
        scale = (whole * kept).sum() / (kept * kept).sum()
        rest = (whole - scale * kept).norm() / whole.norm()
        chance = torch.randn(found.shape,
                             generator=torch.Generator().manual_seed(1))
        random = chance @ chance.T
        scale = (whole * random).sum() / (random * random).sum()
        self.assertLess(rest, 0.6 * (whole - scale * random).norm() / whole.norm())

    def test_what_does_not_fit_is_refused(self):
        made = support.tiny()
        self.assertIn("16 components, fewer than --hidden 32", self.refused(
            *support.pretrain(made, "--out", self.folder / "wide", "--hidden", 32,
                              "--embedding-of", made.target)))
        other = self.folder / "other"
        self.train("tokenizer", "--corpus", made.corpus, "--vocab-size", 300,
                   "--out", self.folder / "tokenizer")
        self.train("pretrain", "--corpus", made.corpus, "--tokenizer",
                   self.folder / "tokenizer", "--hidden", 16, "--layers", 1,
                   "--heads", 2, "--feed-forward", 24, "--context", 48, "--steps",
                   1, *support.SIZE, "--out", other)
        self.assertIn("a vocabulary of", self.refused(
            *support.pretrain(made, "--out", self.folder / "more",
                              "--embedding-of", other)))


class CrossEntropy(support.FolderTest):

    def test_parts_give_the_loss_and_the_gradients_of_the_whole(self):
        generator = torch.Generator().manual_seed(3)
        hidden = torch.randn(3, 5, 8, generator=generator)
        head = torch.randn(11, 8, generator=generator)
        wanted = torch.randint(11, (3, 5), generator=generator)
        found = []
        for at_once in (1 << 26, 4 * 11, 1):
            one, two = (x.clone().requires_grad_() for x in (hidden, head))
            with mock.patch.object(pretrain, "LOGITS_AT_ONCE", at_once):
                loss = pretrain.cross_entropy(one, two, wanted)
            loss.backward()
            found.append((loss.detach(), one.grad, two.grad))
        expected = torch.nn.functional.cross_entropy(
            (hidden @ head.T).flatten(0, 1), wanted.flatten())
        for values in found:
            torch.testing.assert_close(values[0], expected)
            for value, whole in zip(values, found[0]):
                torch.testing.assert_close(value, whole)
