"""Texts that a model writes itself."""

import torch

from training.data import generator_of
from training.errors import UserError


def add_arguments(parser, share, whose, temperature):
    """What recipes share that learn from such texts."""
    parser.add_argument("--own-share", type=float, default=share, metavar="X",
                        help=f"share of steps on texts that {whose} wrote, "
                        "going on from an eighth of a window of the corpus "
                        "(default: %(default)s)")
    parser.add_argument("--temperature", type=float, default=temperature,
                        metavar="X", help="at which they are written; 0: the "
                        "likeliest tokens (default: %(default)s)")


def check(options):
    if not 0 <= options.own_share <= 1:
        raise UserError(f"--own-share: expected 0 to 1, found "
                        f"{options.own_share:g}")
    if not options.temperature >= 0:
        raise UserError(f"--temperature: expected 0 or more, found "
                        f"{options.temperature:g}")


def own_text(writer, ids, options, step):
    """`ids`, or for a share of the steps what `writer`, as it is at this step,
    makes of their first eighth: as long, and the same for the same weights."""
    generator = generator_of(options.seed, "own", step)
    if float(torch.rand((), generator=generator)) >= options.own_share:
        return ids
    length = ids.shape[1]
    return sample(writer, ids[:, :max(1, length // 8)], length,
                  options.temperature, generator)


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
