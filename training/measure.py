"""measure: measures how well drafters agree with their target on held-out text.

Prints a table and writes FILE as JSON. Drafter and target read the same text.
At every place the draft distribution q is compared with the target's p: by the
acceptance rate sum(min(p, q)), and by whether the likeliest token is the same.

- Head i of Medusa heads is compared with the distribution that the target has
  after reading the true tokens between.
- Step s of an EAGLE head likewise: the head reads the true tokens too, but its
  own states in place of the target's.
- Look-ahead vector i after a place is compared as head i there.

The text is read in windows, each from an empty context. The longer the window,
the more the target knows and the harder it is to follow, so state `--window`
with the figures.
"""

import pathlib

import numpy
import torch
import tqdm

from training import baselines, eagle_head, lookahead, trainer, vocabulary
from training.chats import template_of
from training.corpus import read_split
from training.data import end_of_text_id, read_ids
from training.distill import check_same_vocabulary
from training.divergences import agreement
from training.errors import UserError
from training.files import write_json
from training.medusa import read_heads
from training.model import read_model
from training.pretrain import config_beside
from training.tokenizer import read_tokenizer

TEMPERATURES = (1.0, 0.7, 0.0)
STEPS = 5  # of an EAGLE head
CHAINS = 64  # of look-ahead vectors that share a pass


def add_arguments(parser):
    parser.add_argument("--target", required=True, metavar="DIR")
    parser.add_argument("--corpus", required=True, metavar="DIR")
    parser.add_argument("--drafters", nargs="*", default=[], metavar="DIR")
    parser.add_argument("--heads", metavar="DIR", help="Medusa heads")
    vocabulary.add_arguments(parser, "drafters and Medusa heads have logits for "
                             "the tokens of this file only (default: the "
                             f"{vocabulary.BESIDE} in the folder of each)")
    parser.add_argument("--eagle", nargs="*", default=[], metavar="DIR",
                        help="EAGLE heads")
    parser.add_argument("--lookahead", metavar="DIR",
                        help="look-ahead embeddings")
    parser.add_argument("--split", choices=("validation", "test"),
                        default="test", help="default: %(default)s")
    parser.add_argument("--exclude", nargs="*", default=[], metavar="PREFIX",
                        help="leave out documents whose path begins so")
    parser.add_argument("--window", type=int, default=512, metavar="N",
                        help="tokens read together (default: %(default)s, or "
                        "what the models can read)")
    parser.add_argument("--limit", type=int, default=0, metavar="N",
                        help="tokens to judge at most (default: all)")
    parser.add_argument("--exits", action="store_true",
                        help="compare with early exits after each layer too")
    parser.add_argument("--compress", action="store_true",
                        help="compare with gzip and xz too: a minute")
    parser.add_argument("--device", default="auto", metavar="D")
    parser.add_argument("--threads", type=int, default=0, metavar="N")
    parser.add_argument("--out", required=True, metavar="FILE")


def run(options):
    measurement = Measurement(options)
    figures = measurement.measure()
    if options.compress:
        figures["bits_per_byte"].update(measurement.compressors())
    write_json(options.out, figures)
    print_figures(figures)


class Sums:
    """Means of many figures, by name."""

    def __init__(self):
        self.totals = {}

    def add(self, name, values):
        total, count = self.totals.get(name, (0.0, 0))
        self.totals[name] = (total + float(values.double().sum()),
                             count + values.numel())

    def mean(self, name):
        total, count = self.totals[name]
        return total / count

    def total(self, name):
        return self.totals[name][0]


class Measurement:
    def __init__(self, options):
        self.options = options
        self.device = trainer.device_of(options)
        self.target = read_model(options.target, self.device).eval()
        self.drafters = {}
        self.left_out = {}  # by drafter, a mask of tokens; heads: None
        for directory in options.drafters:
            check_same_vocabulary(options.target, directory)
            name = pathlib.Path(directory).name
            self.drafters[name] = read_model(directory, self.device).eval()
            self.left_out[name] = self._left_out(directory)
        self.heads = []
        if options.heads:
            self.heads = read_heads(options.heads).to(self.device).heads
            self.left_out[None] = self._left_out(options.heads)
        self.eagles = {
            pathlib.Path(directory).name: eagle_head.read_head(
                directory, self.target).to(self.device)
            for directory in options.eagle}
        self.vectors = (lookahead.read_vectors(options.lookahead, self.target)
                        .to(self.device) if options.lookahead else None)
        tokenizer = read_tokenizer(options.target)
        config = config_beside(options.target)
        self.end = end_of_text_id(tokenizer, config)
        self.documents = [
            d.text for d in read_split(options.corpus, options.split,
                                       template_of(options.target))
            if not any(d.path.startswith(p) for p in options.exclude)]
        if not self.documents:
            raise UserError(f"{options.corpus}: every document of the "
                            f"{options.split} split is excluded")
        parts = []
        for text in self.documents:
            ids = tokenizer.encode(text, add_special_tokens=False).ids
            parts.append(numpy.array([self.end] + ids, dtype=numpy.int32))
        self.ids = numpy.concatenate(parts + [numpy.array([self.end],
                                                          numpy.int32)])
        self.bytes = sum(len(text.encode()) for text in self.documents)
        if options.limit and options.limit < len(self.ids):
            self.bytes *= options.limit / len(self.ids)
            self.ids = self.ids[:options.limit]
        train = read_ids(options.corpus, "train", options.target, self.end)
        size = self.target.shape.vocab_size
        self.tables = [baselines.PairTable(train, size, distance + 1)
                       for distance in range(1 + max(len(self.heads),
                                                     self._vector_count()))]
        self.matches = baselines.longest_match(self.ids, self.end)
        self.sums = Sums()

    @torch.no_grad()
    def measure(self):
        ids = torch.from_numpy(self.ids).long()
        window = min(self.options.window, self.target.shape.context,
                     *(d.shape.context for d in self.drafters.values()))
        for start in tqdm.tqdm(range(0, len(ids) - 1, window), desc="measure",
                               unit="window", mininterval=1):
            piece = ids[start:start + window + 1]
            self._window(piece[None].to(self.device), start)
        return self._figures()

    def _left_out(self, directory):
        """The tokens that a drafter cannot propose, as a mask; None: there are none."""
        size = self.target.shape.vocab_size
        kept = vocabulary.read(
            self.options.vocabulary or vocabulary.of_folder(directory), size)
        if kept is None:
            return None
        left_out = torch.ones(size, dtype=torch.bool, device=self.device)
        left_out[kept] = False
        return left_out

    def _trimmed(self, logits, left_out):
        return logits if left_out is None else logits.masked_fill(left_out,
                                                                  float("-inf"))

    def compressors(self):
        text = "".join(self.documents).encode()
        training = "".join(
            d.text for d in read_split(
                self.options.corpus, "train",
                template_of(self.options.target))).encode()
        return baselines.compressed_bits_per_byte(text, training)

    def _window(self, piece, start):
        ids, wanted = piece[:, :-1], piece[0, 1:]
        streams = self.target.streams(ids)
        *early, hidden = (self.target.norm(x) for x in streams)
        p = self.target.logits(hidden)[0]
        self.sums.add("nats", torch.nn.functional.cross_entropy(
            p.float(), wanted, reduction="none"))
        best = p.argmax(-1)
        covered = torch.zeros_like(best, dtype=torch.bool)
        for name, drafter in self.drafters.items():
            q = self._trimmed(drafter(ids)[0], self.left_out[name])
            self._compare(name, p, q)
            covered |= q.argmax(-1) == best
        self.sums.add("any drafter", covered.float())
        for number, state in enumerate(early if self.options.exits else [],
                                       start=1):
            self._compare(f"exit after layer {number}", p,
                          self.target.logits(state)[0])
        self._compare("bigram table", p,
                      self.tables[0](ids[0].cpu()).to(p.device))
        copied = self._copied(0, start, len(wanted)).to(p.device)
        self._compare_points("longest match", p, copied)
        self._heads(hidden, ids, p, best, start)
        self._eagles(streams, hidden, ids, p)
        self._vectors(ids, p)

    def _compare(self, name, p, q):
        for temperature in TEMPERATURES:
            if temperature:
                overlap, same = agreement(p / temperature, q / temperature)
                self.sums.add(f"{name}/overlap/{temperature}", overlap)
        self.sums.add(f"{name}/same", same)
        self.sums.add(f"{name}/overlap/0.0", same)

    def _compare_points(self, name, p, tokens):
        """A drafter that proposes one token, or none (-1)."""
        known = tokens >= 0
        place = tokens.clamp(min=0)[:, None]
        same = (p.argmax(-1) == tokens).float()
        for temperature in TEMPERATURES:
            chance = same
            if temperature:
                law = torch.softmax(p / temperature, dim=-1)
                chance = law.gather(1, place)[:, 0] * known
            self.sums.add(f"{name}/overlap/{temperature}", chance)
        self.sums.add(f"{name}/same", same)

    def _copied(self, further, start, count):
        """What copying the longest match proposes `further` places past the
        next, at each of `count` places."""
        places = numpy.arange(start, start + count)
        # What lies between match and place repeats.
        period = places + 1 - self.matches[places]
        source = self.matches[places] + further % period
        tokens = numpy.where(self.matches[places] >= 0, self.ids[source], -1)
        return torch.from_numpy(tokens)

    def _heads(self, hidden, ids, p, best, start):
        shared = (self.target.lm_head or self.target.embed_tokens).weight
        for i, head in enumerate(self.heads):
            ahead = i + 1
            q = self._trimmed(head(hidden, shared)[0], self.left_out[None])
            name = f"head {i + 1}"
            # At t a head says what the target itself says at t + ahead.
            told, said = p[ahead:], q[:len(q) - ahead]
            self._compare(name, told, said)
            ranked = said.topk(10, dim=-1).indices
            hit = ranked == best[ahead:, None]
            for k in (1, 2, 3, 5, 10):
                self.sums.add(f"{name}/top{k}", hit[:, :k].any(-1).float())
            table = self.tables[ahead](ids[0].cpu()).to(p.device)
            self._compare(f"{name}, pair table", told,
                          table[:len(q) - ahead])
            copied = self._copied(ahead, start, len(q)).to(p.device)
            self._compare_points(f"{name}, longest match", told,
                                 copied[:len(q) - ahead])

    def _vector_count(self):
        return 0 if self.vectors is None else self.vectors.shape[0]

    def _vectors(self, ids, p):
        count = self._vector_count()
        places = torch.arange(max(0, ids.shape[1] - count))
        for some in places.split(CHAINS) if count else ():
            _, chains = lookahead.read_with_chains(self.target, ids,
                                                   self.vectors, some)
            q = self.target.logits(chains)[0]
            told = lookahead.told_at(p[None], some.to(p.device), count)[0]
            for i in range(count):
                name = f"vector {i + 1}"
                self._compare(name, told[:, i], q[:, i])
                ranked = q[:, i].topk(10, dim=-1).indices
                hit = ranked == told[:, i].argmax(-1)[:, None]
                for k in (1, 2, 3, 5, 10):
                    self.sums.add(f"{name}/top{k}", hit[:, :k].any(-1).float())
                table = self.tables[i + 1](ids[0].cpu()).to(p.device)
                self._compare(f"{name}, pair table", told[:, i],
                              table[some.to(p.device)])

    def _eagles(self, streams, hidden, ids, p):
        if ids.shape[1] <= STEPS:
            return  # no place has STEPS tokens after it
        for name, head in self.eagles.items():
            drafts = eagle_head.unroll(
                head, self.target.embed_tokens(ids),
                head.read(streams, hidden),
                eagle_head.output_of(self.target), STEPS, ids.shape[1] - STEPS)
            for step, (_, logits) in enumerate(drafts, start=1):
                told = p[step:step + logits.shape[1]]
                self._compare(f"{name}, step {step}", told,
                              head.whole(logits[0]))

    def _figures(self):
        sums = self.sums
        names = [n.removesuffix("/same") for n in sums.totals
                 if n.endswith("/same")]
        rows = {}
        for name in names:
            rows[name] = {"same": round(sums.mean(f"{name}/same"), 4)}
            for temperature in TEMPERATURES:
                rows[name][f"overlap at {temperature:g}"] = round(
                    sums.mean(f"{name}/overlap/{temperature}"), 4)
            for k in (1, 2, 3, 5, 10):
                if f"{name}/top{k}" in sums.totals:
                    rows[name][f"top {k}"] = round(
                        sums.mean(f"{name}/top{k}"), 4)
        figures = {
            "split": self.options.split,
            "excluded": self.options.exclude,
            "documents": len(self.documents),
            "bytes": round(self.bytes),
            "tokens": len(self.ids) - 1,
            "window": self.options.window,
            "bits_per_byte": {
                pathlib.Path(self.options.target).name:
                    sums.total("nats") / numpy.log(2) / self.bytes},
            "agreement": rows,
        }
        if len(self.drafters) > 1:
            figures["any_drafter_same"] = round(sums.mean("any drafter"), 4)
        return figures


def print_figures(figures):
    print(f"{figures['split']} split, {figures['documents']} documents, "
          f"{figures['tokens']:,} tokens, {figures['bytes']:,} bytes, "
          f"windows of {figures['window']}")
    for name, bits in figures["bits_per_byte"].items():
        print(f"  {bits:.3f} bits per byte  {name}")
    print(f"{'':<26}{'same':>8}" + "".join(
        f"{f'at {t:g}':>9}" for t in TEMPERATURES) + "   (overlap)")
    for name, row in figures["agreement"].items():
        print(f"{name:<26}{row['same']:>8.3f}" + "".join(
            f"{row[f'overlap at {t:g}']:>9.3f}" for t in TEMPERATURES) +
            "".join(f"  top {k} {row[f'top {k}']:.3f}" for k in (1, 10)
                    if f"top {k}" in row))
    if "any_drafter_same" in figures:
        print(f"{'any drafter':<26}{figures['any_drafter_same']:>8.3f}")
