"""Caches a frozen target's hidden states of a corpus on disk (`--states DIR`).

Heads and drafters learn from these states, which never change, so one pass of the
target over the corpus serves all epochs and later runs. Windows are the same in
every epoch; each begins where a document does, unless documents are longer than a
window. An interrupted computation resumes.
"""

import hashlib
import os
import pathlib

import numpy
import torch
import tqdm

from training import trainer
from training.data import generator_of
from training.errors import UserError
from training.files import read_json, write_json

AT_A_TIME = 8  # windows


def add_arguments(parser):
    parser.add_argument("--states", metavar="DIR", help="cache the target's "
                        "hidden states of the corpus in DIR and read them from "
                        "then on; windows are then the same in every epoch, and "
                        "none is longer than --window")


def check_fixed_text(options):
    """Refuses --own-share above 0: only corpus text has cached states."""
    if options.states and options.own_share:
        raise UserError("--states: a text that is written anew has no kept states; "
                        "give --own-share 0 too")


def window_starts(ids, end_of_text, length):
    """Where windows begin: each at the last document that the one before cut, or
    where that one ended if it cut none that began in it."""
    begins = numpy.flatnonzero(ids == end_of_text)
    starts = [0]
    while True:
        end = starts[-1] + length
        place = int(numpy.searchsorted(begins, end, side="right")) - 1
        last = int(begins[place]) if place >= 0 else 0
        start = last if last > starts[-1] else end
        if start + length + 1 > len(ids):
            return numpy.array(starts)
        starts.append(start)


class States:
    """Batches of windows, in random order, each once an epoch, with the target's
    streams after `layers` and its last state."""

    def __init__(self, target, ids, end_of_text, layers, options, device):
        self.options = options
        self.device = device
        self.layers = tuple(layers)
        self.ids = torch.from_numpy(ids)
        self.length = options.window
        if len(ids) < 2 * self.length + 2:
            raise UserError(f"the corpus has {len(ids):,} tokens, fewer than two "
                            f"windows of {self.length}")
        self.starts = window_starts(ids, end_of_text, self.length)
        self.width = target.shape.hidden_size
        self.epoch = None
        digest = hashlib.sha256(ids.tobytes())
        digest.update(repr((end_of_text, self.length)).encode())
        for weight in target.parameters():
            digest.update(weight.detach().cpu().numpy().tobytes())
        self.name = f"states-{digest.hexdigest()[:16]}"
        self.stored = self._finished() or self.layers
        self.path = self._path(self.stored)
        self.file = self._open()
        self._compute(target)

    def _path(self, layers):
        name = "-".join(map(str, (self.name, *layers)))
        return pathlib.Path(self.options.states) / f"{name}.bf16"

    def _finished(self):
        """The layers of a finished file that has this run's among others."""
        for done in sorted(pathlib.Path(self.options.states).glob(
                f"{self.name}*.json")):
            layers = tuple(map(int, done.stem.split("-")[2:]))
            if (set(self.layers) <= set(layers) and
                    self._path(layers).exists() and
                    read_json(done)["windows"] == len(self.starts)):
                return layers
        return None

    def batch(self, step):
        """The windows of a step: ids, one more than the states of each; the
        streams by layer; the last state."""
        size = self.options.batch
        numbers = [self._number(step * size + i) for i in range(size)]
        ids = torch.stack([self._window(number) for number in numbers]).long()
        kept = torch.from_numpy(numpy.stack([self.file[n] for n in numbers]))
        kept = kept.view(torch.bfloat16).to(self.device).float()
        parts = kept.unflatten(-1, (len(self.stored) + 1, self.width))
        streams = {layer: parts[:, :, self.stored.index(layer)]
                   for layer in self.layers}
        return ids.to(self.device), streams, parts[:, :, -1]

    def _number(self, place):
        epoch, place = divmod(place, len(self.starts))
        if epoch != self.epoch:
            self.order = torch.randperm(
                len(self.starts),
                generator=generator_of(self.options.seed, "epoch", epoch))
            self.epoch = epoch
        return int(self.order[place])

    def _window(self, number):
        start = int(self.starts[number])
        return self.ids[start:start + self.length + 1]

    def _open(self):
        shape = (len(self.starts), self.length,
                 (len(self.stored) + 1) * self.width)
        size = 2 * int(numpy.prod(shape))
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with open(self.path, "ab") as file:
                # Now, for nothing can tell of a full disk later.
                os.posix_fallocate(file.fileno(), 0, size)
            return numpy.memmap(self.path, numpy.int16, "r+", shape=shape)
        except OSError as error:
            raise UserError(f"{self.path}: {size / 1e9:.1f} GB cannot be kept: "
                            f"{error.strerror}") from error

    @torch.no_grad()
    def _compute(self, target):
        done_path = self.path.with_suffix(".json")
        done = read_json(done_path)["windows"] if done_path.exists() else 0
        bar = tqdm.tqdm(total=len(self.starts), initial=done, unit="window",
                        desc="target's states", mininterval=1,
                        disable=done == len(self.starts))
        with bar:
            while done < len(self.starts):
                numbers = range(done, min(done + AT_A_TIME, len(self.starts)))
                ids = torch.stack([self._window(n)[:-1] for n in numbers]).long()
                with trainer.autocast(self.options, self.device):
                    streams = target.streams(ids.to(self.device))
                    last = target.norm(streams[-1])
                kept = torch.cat([streams[layer] for layer in self.stored] +
                                 [last], dim=-1).to(torch.bfloat16).cpu()
                self.file[numbers.start:numbers.stop] = kept.view(
                    torch.int16).numpy()
                done = numbers.stop
                bar.update(len(numbers))
                if done % (32 * AT_A_TIME) == 0 or done == len(self.starts):
                    self.file.flush()
                    write_json(done_path, {"windows": done})
