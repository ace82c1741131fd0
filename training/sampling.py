"""Texts that a model writes itself."""

import hashlib
import pathlib

import numpy
import torch

from training.data import generator_of
from training.errors import UserError
from training.files import replaced


def add_arguments(parser, share, whose, temperature):
    """What recipes share that learn from such texts."""
    parser.add_argument("--own-share", type=float, default=share, metavar="X",
                        help=f"share of steps on texts that {whose} wrote, "
                        "going on from an eighth of a window of the corpus "
                        "(default: %(default)s)")
    parser.add_argument("--temperature", type=float, default=temperature,
                        metavar="X", help="at which they are written; 0: the "
                        "likeliest tokens (default: %(default)s)")
    parser.add_argument("--texts", metavar="DIR", help="keep there what the "
                        "target wrote, for runs that differ in something else")


class Author:
    """A model whose text is read instead of the corpus's."""

    def __init__(self, model, options, folder=None):
        """`folder`: where its text is kept, if it never changes."""
        if not 0 <= options.own_share <= 1:
            raise UserError("--own-share: expected 0 to 1, found "
                            f"{options.own_share:g}")
        if not options.temperature >= 0:
            raise UserError("--temperature: expected 0 or more, found "
                            f"{options.temperature:g}")
        self.model = model
        self.options = options
        self.folder = folder and pathlib.Path(folder)
        if folder:
            self.weights = hashlib.sha256()
            for weight in model.parameters():
                self.weights.update(weight.detach().cpu().numpy().tobytes())

    def text(self, ids, step):
        """`ids`, or for a share of the steps what the model, as it is at this
        one, makes of their first eighth: as long."""
        generator = generator_of(self.options.seed, "own", step)
        if (float(torch.rand((), generator=generator)) >=
                self.options.own_share):
            return ids
        length = ids.shape[1]
        prompt = ids[:, :max(1, length // 8)]
        if not self.folder:
            return sample(self.model, prompt, length, self.options.temperature,
                          generator)
        kept = self._kept(prompt, length, step)
        if not kept.exists():
            text = sample(self.model, prompt, length, self.options.temperature,
                          generator)
            with replaced(kept) as name:
                with open(name, "wb") as file:
                    numpy.save(file, text.cpu().numpy())
        return torch.from_numpy(numpy.load(kept)).to(ids.device)

    def _kept(self, prompt, length, step):
        """Where the text is that such a step would write."""
        digest = self.weights.copy()
        digest.update(repr((self.options.seed, step, length,
                            self.options.temperature)).encode())
        digest.update(prompt.cpu().numpy().tobytes())
        return self.folder / f"{digest.hexdigest()[:24]}.npy"


@torch.no_grad()
def sample(model, prompt, length, temperature, generator):
    """Continues every row of `prompt` to `length` tokens."""
    caches = [{} for _ in range(model.shape.layers)]
    ids = prompt
    fresh = prompt
    while ids.shape[1] < length:
        hidden = model.step(fresh, ids.shape[1] - fresh.shape[1], caches)
        logits = model.logits(hidden[:, -1]).float().cpu()
        if temperature == 0:
            fresh = logits.argmax(-1, keepdim=True)
        else:
            law = torch.softmax(logits / temperature, dim=-1)
            fresh = torch.multinomial(law, 1, generator=generator)
        fresh = fresh.to(ids.device)
        ids = torch.cat((ids, fresh), dim=1)
    return ids
