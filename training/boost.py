"""boost: one more drafter, for the contexts where the others miss the target.

SpecInfer's collective boosting. A position counts fully where the likeliest
token of no earlier drafter (`--before`) is the target's, and by `--weight-hit`
where one is. Drafters that err in different places cover more together.

What differs from SpecInfer: it takes out the examples that an earlier drafter
gets right, whole; here each position is weighed by itself, and one that is hit
keeps the weight 0.3: a tree's paths go through such positions too, and what
follows them is drafted from contexts that the drafter should have seen.
`--weight-hit 0` leaves them out.
"""

import torch

from training.distill import (Teaching, add_teaching, check_same_vocabulary,
                              teach)
from training.model import read_model
from training import trainer


def add_arguments(parser):
    parser.add_argument("--student", required=True, metavar="DIR",
                        help="the drafter to start from")
    parser.add_argument("--before", required=True, nargs="+", metavar="DIR",
                        help="drafters 1 to k - 1")
    parser.add_argument("--weight-hit", type=float, default=0.3, metavar="X",
                        help="weight of positions that one of them hits "
                        "(default: %(default)s)")
    add_teaching(parser)


def run(options):
    if trainer.already_done(options):
        return
    boosting = Boosting(options)
    teach(options, "boost", boosting, boosting.loss)


class Boosting(Teaching):
    columns = ("overlap", "same", "missed")

    def __init__(self, options):
        super().__init__(options)
        self.before = []
        for directory in options.before:
            check_same_vocabulary(options.target, directory)
            model = read_model(directory, self.device).eval()
            if options.compile:
                for layer in model.layers:
                    layer.compile()
            self.before.append(model.requires_grad_(False))

    def loss(self, step):
        ids, wanted, found = self.read(step)
        missed = self.missed(ids, wanted.argmax(-1))
        weight = torch.where(missed, 1.0, self.options.weight_hit)
        # With --weight-hit 0 there may be nothing to learn in a batch.
        total = weight.sum().clamp(min=1e-6)
        loss = (self.divergence(wanted, found) * weight).sum() / total
        return loss, {**self.figures(step, wanted, found),
                      "missed": missed.float().mean()}

    @torch.no_grad()
    def missed(self, ids, best):
        missed = torch.ones_like(best, dtype=torch.bool)
        with trainer.autocast(self.options, self.device):
            for model in self.before:
                missed &= model(ids, self.tokens).argmax(-1) != best
        return missed
