"""distill: trains a small drafter on a target's distributions.

The drafter learns the target distribution at every position of corpus text and,
for a share of the steps (`--own-share`), of texts that a model wrote
(`--writer`): the target, or the drafter as it is at that step. DistillSpec's
own way is the drafter's text throughout, drawn afresh as it learns:

    --writer drafter --own-share 1

Its other ways are `--own-share 0` (fixed text) and `--own-share 1` (the
target's text). No gradient goes through the drawing. The drafter starts from a
trained model (`--student`): `pretrain` makes one in minutes, and distilling
from random weights ends worse.
"""

import torch

from training import data, optimizers, sampling, states, trainer, vocabulary
from training.data import end_of_text_id, read_ids
from training.divergences import DIVERGENCES, agreement
from training.errors import UserError
from training.model import read_model, write_model
from training.pretrain import config_beside, copy_tokenizer
from training.tokenizer import read_tokenizer


def add_arguments(parser):
    parser.add_argument("--student", required=True, metavar="DIR",
                        help="the drafter to start from")
    add_teaching(parser)


def add_teaching(parser):
    """What distill and boost share."""
    parser.add_argument("--target", required=True, metavar="DIR")
    parser.add_argument("--corpus", required=True, metavar="DIR")
    trainer.add_arguments(parser, steps=2000)
    optimizers.add_arguments(parser, rate=2e-3, muon_rate=0.01)
    parser.add_argument("--loss", choices=sorted(DIVERGENCES),
                        default="total-variation",
                        help="what is made small (default: %(default)s)")
    states.add_arguments(parser)
    vocabulary.add_arguments(parser)
    data.add_arguments(parser, batch=8, window=512)
    sampling.add_arguments(parser, share=0.2, whose="--writer",
                           temperature=1.0)
    parser.add_argument("--writer", choices=("target", "drafter"),
                        default="target", help="whose those texts are; the "
                        "drafter's are of the weights of that step "
                        "(default: %(default)s)")


def run(options):
    if trainer.already_done(options):
        return
    teaching = Teaching(options)
    teach(options, "distill", teaching, teaching.loss)


def teach(options, recipe, teaching, loss):
    student = teaching.student
    run = trainer.Trainer(
        options, student,
        optimizers.optimizers_of(student.named_parameters(), options),
        teaching.columns)
    figures = run.train(loss)
    write_model(student, options.out, teaching.end)
    copy_tokenizer(options.target, options.out)
    vocabulary.copy_beside(options.vocabulary, options.out)
    run.finish(recipe, {
        **figures, "parameters": student.size(),
        "tokens": options.steps * options.batch * options.window})


def check_same_vocabulary(first, second):
    """Fails unless the two directories' tokenizers give the same ids."""
    ours, theirs = (read_tokenizer(path).get_vocab(with_added_tokens=True)
                    for path in (first, second))
    if ours == theirs:
        return
    different = sum(theirs.get(token) != id for token, id in ours.items())
    raise UserError(
        f"{second}: its vocabulary of {len(theirs):,} tokens is not that of "
        f"{first}, which has {len(ours):,}; {different:,} differ")


class Teaching:
    """A frozen target, its student, and batches with target distributions."""

    columns = ("overlap", "same")

    def __init__(self, options):
        self.options = options
        self.device = trainer.device_of(options)
        states.check_fixed_text(options)
        check_same_vocabulary(options.target, options.student)
        self.target = read_model(options.target, self.device).eval()
        self.target.requires_grad_(False)
        self.student = read_model(options.student, self.device)
        if self.target.shape.vocab_size != self.student.shape.vocab_size:
            raise UserError(
                f"{options.student}: vocab_size: expected the target's "
                f"{self.target.shape.vocab_size}, found "
                f"{self.student.shape.vocab_size}")
        self.author = (
            sampling.Author(self.student, options)
            if options.writer == "drafter" else
            sampling.Author(self.target, options, options.texts))
        config = config_beside(options.target)
        self.end = end_of_text_id(read_tokenizer(options.target), config)
        ids = read_ids(options.corpus, "train", options.target, self.end)
        context = min(self.target.shape.context, self.student.shape.context)
        if options.states:
            self.states = states.States(self.target, ids, self.end, (), options,
                                        self.device)
        else:
            self.batches = data.Batches(ids, options, context)
        self.tokens = vocabulary.read(options.vocabulary,
                                      self.target.shape.vocab_size)
        self.divergence = DIVERGENCES[options.loss]
        if options.compile:
            for layer in (*self.target.layers, *self.student.layers):
                layer.compile()
            self.divergence = torch.compile(self.divergence)
        print(f"target {self.target.size():,}, student "
              f"{self.student.size():,} parameters; "
              f"{len(ids):,} training tokens")

    def batch(self, step):
        """Ids to read, some of them written by a model."""
        ids = self.batches.batch(step)[:, :-1].to(self.device)
        return self.author.text(ids, step)

    def logits(self, ids, hidden=None):
        """The target's and the student's logits; `hidden`: the target's last
        state, if it is known."""
        with trainer.autocast(self.options, self.device):
            with torch.no_grad():
                wanted = (self.target(ids, self.tokens) if hidden is None else
                          self.target.logits(hidden, self.tokens))
            return wanted, self.student(ids, self.tokens)

    def read(self, step):
        """The ids of a step, and both logits."""
        if self.options.states:
            ids, _, hidden = self.states.batch(step)
            ids = ids[:, :-1]
            return ids, *self.logits(ids, hidden)
        ids = self.batch(step)
        return ids, *self.logits(ids)

    def loss(self, step):
        _, wanted, found = self.read(step)
        return (self.divergence(wanted, found).mean(),
                self.figures(step, wanted, found))

    def figures(self, step, wanted, found):
        """Of one batch a log line, for they cost more than the loss."""
        if step % self.options.log_every:
            return {}
        with torch.no_grad():
            overlap, same = agreement(wanted, found)
        return {"overlap": overlap.mean(), "same": same.mean()}
