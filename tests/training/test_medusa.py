"""Medusa heads: names as published, what they are compared with, and files that
are none."""

import argparse
import contextlib
import io
import shutil

import torch
from safetensors.torch import load_file, save_file

from tests.training import support
from training import trainer
from training.data import generator_of
from training.errors import UserError
from training.files import read_json
from training.medusa import Heads, HeadTeaching, read_heads, write_heads
from training.model import read_model
from training.sampling import sample

SIZE, VOCABULARY = 6, 11


def random_heads(count=2, blocks=2, own=True, seed=1):
    torch.manual_seed(seed)
    heads = Heads(count, SIZE, blocks,
                  torch.zeros(VOCABULARY, SIZE) if own else None)
    for weight in heads.parameters():
        torch.nn.init.normal_(weight)
    return heads


def published(count=2, blocks=2, own=True):
    """The tensors of FasterDecoding/Medusa, by name."""
    tensors = {}
    for i in range(count):
        for j in range(blocks):
            tensors[f"{i}.{j}.linear.weight"] = torch.randn(SIZE, SIZE)
            tensors[f"{i}.{j}.linear.bias"] = torch.randn(SIZE)
        if own:
            tensors[f"{i}.{blocks}.weight"] = torch.randn(VOCABULARY, SIZE)
    return tensors


class Files(support.FolderTest):

    def test_names_and_shapes_are_as_published(self):
        for own in (True, False):
            write_heads(random_heads(own=own), self.folder, "a/target")
            stored = load_file(self.folder / "medusa_lm_head.safetensors")
            self.assertEqual({n: list(t.shape) for n, t in stored.items()},
                             {n: list(t.shape) for n, t in
                              published(own=own).items()})
            config = read_json(self.folder / "config.json")
            self.assertEqual(config["medusa_num_heads"], 2)
            self.assertEqual(config["medusa_num_layers"], 2)
            self.assertEqual(config["hidden_size"], SIZE)
            self.assertEqual(config["base_model_name_or_path"], "target")

    def test_heads_come_back_equal(self):
        for own in (True, False):
            heads = random_heads(own=own)
            write_heads(heads, self.folder, "target", torch.float32)
            again = read_heads(self.folder)
            x, shared = torch.randn(3, SIZE), torch.randn(VOCABULARY, SIZE)
            for found, wanted in zip(again(x, shared), heads(x, shared),
                                     strict=True):
                self.assertTrue(torch.equal(found, wanted))

    def test_a_head_is_blocks_and_an_output(self):
        tensors = published(count=1)
        save_file(tensors, self.folder / "heads.safetensors")
        x = torch.randn(SIZE)
        with torch.no_grad():
            [found] = read_heads(self.folder)(x, None)
        for j in range(2):
            inner = (tensors[f"0.{j}.linear.weight"] @ x +
                     tensors[f"0.{j}.linear.bias"])
            x = x + inner / (1 + (-inner).exp())
        wanted = tensors["0.2.weight"] @ x
        # Twenty roundings of numbers below 100.
        self.assertLess(float((found - wanted).abs().max()), 1e-4)

    def assert_refused(self, tensors, message):
        save_file(tensors, self.folder / "heads.safetensors")
        with self.assertRaisesRegex(UserError, message):
            read_heads(self.folder)

    def test_files_that_are_no_heads_are_refused(self):
        for lacking in ("1.0.linear.weight", "1.1.linear.bias"):
            tensors = published()
            del tensors[lacking]
            self.assert_refused(tensors, f"{lacking}.*found no tensor")
        self.assert_refused({"model.norm.weight": torch.ones(2)},
                            "not Medusa heads")
        self.assert_refused({**published(), "0.9.weight": torch.ones(2)},
                            "'0.9.weight' is not of Medusa heads")

    def test_wrong_shapes_are_refused(self):
        for name, shape in (("0.1.linear.weight", (SIZE, 5)),
                            ("1.0.linear.weight", (5, 5)),
                            ("1.1.linear.bias", (SIZE, 1)),
                            ("0.2.weight", (VOCABULARY, 5)),
                            ("1.2.weight", (VOCABULARY - 1, SIZE)),
                            ("1.2.weight", (VOCABULARY,))):
            with self.subTest(name, shape=shape):
                self.assert_refused({**published(), name: torch.ones(shape)},
                                    f"tensor '{name}': expected .*, found "
                                    rf"\[{', '.join(map(str, shape))}\]")

    def test_outputs_of_some_heads_only_are_refused(self):
        tensors = published()
        del tensors["0.2.weight"]
        self.assert_refused(tensors, "some heads have an output matrix")


class Stub:
    """A target and heads whose logits are the places where they speak."""

    def hidden(self, ids):
        rows, length = ids.shape
        return torch.arange(length).expand(rows, -1), None

    def logits(self, hidden, tokens=None):
        return hidden

    def __call__(self, hidden, _):
        return [hidden] * 3


class Lesson(support.FolderTest):

    def test_head_i_learns_what_the_target_says_i_plus_1_places_on(self):
        lesson = object.__new__(HeadTeaching)
        lesson.options = argparse.Namespace(
            precision="f32", decay=0.5, train_target=False, learn="distribution",
            states=None)
        lesson.device = "cpu"
        lesson.tokens = None
        lesson.target = lesson.heads = Stub()
        lesson.author = argparse.Namespace(text=lambda ids, step: ids)
        lesson.output = lambda: None
        lesson.batches = argparse.Namespace(
            batch=lambda step: torch.zeros(2, 9))
        compared = []

        def divergence(wanted, found):
            compared.append((wanted, found))
            return torch.full(wanted.shape, 1.0 + len(compared))

        lesson.divergence = divergence
        loss, figures = lesson.loss(0)
        for i, (wanted, found) in enumerate(compared):
            self.assertEqual(found[0].tolist(), list(range(8 - i - 1)))
            self.assertTrue(torch.equal(wanted, found + i + 1))
        self.assertEqual(len(compared), 3)
        self.assertEqual(float(loss), 2 + 0.5 * 3 + 0.25 * 4)
        self.assertEqual([float(figures[f"head{i}"]) for i in range(3)],
                         [2, 3, 4])


class Training(support.FolderTest):

    def test_heads_learn(self):
        self.train(*support.heads("--out", self.folder, "--log-every", 5,
                                  steps=30))
        log = support.read_log(self.folder)
        for i in range(3):
            self.assertLess(float(log[-1][f"head{i}"]),
                            0.9 * float(log[0][f"head{i}"]))
        self.assertEqual(set(load_file(self.folder /
                                       "medusa_lm_head.safetensors")),
                         set(published(count=3, blocks=1)))

    def test_shared_outputs_are_not_written(self):
        self.train(*support.heads("--out", self.folder, "--share-output",
                                  "--blocks", 2, steps=2))
        self.assertEqual(set(load_file(self.folder /
                                       "medusa_lm_head.safetensors")),
                         set(published(count=3, blocks=2, own=False)))

    def test_a_target_is_trained_along(self):
        made = support.tiny()
        self.train(*support.heads("--out", self.folder, "--train-target",
                                  "--log-every", 5, steps=30))
        log = support.read_log(self.folder)
        for name in ("last", "head0", "head1", "head2"):
            self.assertLess(float(log[-1][name]), float(log[0][name]), name)
        for name in ("tokenizer.json", "tokenizer_config.json"):
            self.assertEqual((self.folder / "target" / name).read_bytes(),
                             (made.target / name).read_bytes())
        self.assertEqual(read_json(self.folder / "config.json")
                         ["base_model_name_or_path"], "target")
        before, after = (read_model(path) for path in
                         (made.target, self.folder / "target"))
        self.assertEqual(after.shape, before.shape)
        for (name, old), new in zip(before.named_parameters(),
                                    after.parameters(), strict=True):
            self.assertFalse(torch.equal(old, new), name)
        self.train("measure", "--target", self.folder / "target", "--heads",
                   self.folder, "--corpus", made.corpus, "--limit", 60,
                   "--out", self.folder / "measured.json")

    def test_the_target_is_slower_by_its_share(self):
        lesson = self.lesson("--train-target", "--target-share", 0.25)
        rates = [[group["lr"] for group in built.param_groups]
                 for built in lesson.optimizers()]
        self.assertEqual(rates, [[3e-3], [0.01], [0.25 * 3e-3], [0.25 * 0.01]])

    def test_the_target_does_not_follow_its_heads_laws(self):
        # With no loss of its own only what heads read moves the target.
        lesson = self.lesson("--train-target", "--target-loss", 0)
        for head in lesson.heads.heads:
            torch.nn.init.zeros_(head.own)  # nothing of what they read counts
        loss, _ = lesson.loss(0)
        loss.backward()
        for name, weight in lesson.target.named_parameters():
            self.assertEqual(float(weight.grad.abs().max()), 0, name)

    def lesson(self, *more):
        with contextlib.redirect_stdout(io.StringIO()):
            return HeadTeaching(support.options(
                *support.heads("--out", "nowhere", *more)))

    def test_a_frozen_target_has_no_rates(self):
        lesson = self.lesson()
        self.assertEqual(len(lesson.optimizers()), 2)
        self.assertIs(lesson.module, lesson.heads)
        self.assertFalse(any(weight.requires_grad
                             for weight in lesson.target.parameters()))


class Ways(support.FolderTest):
    """What blockwise decoding's four ways do to a target, and read."""

    WAYS = {"regular": (), "distillation": ("--own-share", 1),
            "fine tuning": ("--train-target",),
            "both": ("--own-share", 1, "--train-target")}

    def lesson(self, *more, steps=4):
        arguments = support.heads("--out", self.folder / "out", "--learn",
                                  "text", *more, steps=steps)
        with contextlib.redirect_stdout(io.StringIO()):
            return HeadTeaching(support.options(*arguments))

    def teach(self, lesson):
        run = trainer.Trainer(lesson.options, lesson.module,
                              lesson.optimizers(), lesson.columns)
        with contextlib.redirect_stderr(io.StringIO()):
            run.train(lesson.loss)
        shutil.rmtree(self.folder / "out")

    def test_only_tuning_changes_the_target(self):
        came = read_model(support.tiny().target)
        for name, way in self.WAYS.items():
            for learn in ("text", "distribution"):
                for output in ((), ("--share-output",)):
                    lesson = self.lesson(*way, "--learn", learn, *output)
                    self.teach(lesson)
                    same = [torch.equal(old, new) for old, new in zip(
                        came.parameters(), lesson.target.parameters(),
                        strict=True)]
                    tuned = "--train-target" in way
                    self.assertEqual(set(same), {not tuned},
                                     (name, learn, output))
                    self.assertEqual({w.requires_grad for w in
                                      lesson.target.parameters()}, {tuned})
                    self.assertEqual({w.requires_grad for w in
                                      lesson.author.model.parameters()},
                                     {False})

    def read(self, lesson):
        """What a target and its heads read, step by step, while they learn."""
        seen, hidden = [], lesson.target.hidden
        lesson.target.hidden = lambda ids: (seen.append(ids.clone()),
                                            hidden(ids))[1]
        self.teach(lesson)
        return seen

    def test_a_distilled_text_is_of_the_target_as_it_came(self):
        came = read_model(support.tiny().target)
        for name, way in self.WAYS.items():
            for temperature in (0, 1):
                lesson = self.lesson(*way, "--temperature", temperature)
                for step, ids in enumerate(self.read(lesson)):
                    wanted = lesson.batches.batch(step)
                    if "--own-share" in way:
                        length = wanted.shape[1]
                        wanted = sample(came, wanted[:, :length // 8], length,
                                        temperature, self.generator(step))
                    self.assertTrue(torch.equal(ids, wanted[:, :-1]),
                                    (name, temperature, step))

    def generator(self, step):
        generator = generator_of(1, "own", step)
        torch.rand((), generator=generator)  # whether this step reads one
        return generator

    def test_a_share_of_the_steps_reads_its_own_text(self):
        lesson = self.lesson("--own-share", 0.4, steps=12)
        corpus = [torch.equal(ids, lesson.batches.batch(step)[:, :-1])
                  for step, ids in enumerate(self.read(lesson))]
        self.assertEqual(set(corpus), {True, False})

    def test_a_head_learns_the_texts_token_i_plus_2_places_on(self):
        lesson = self.lesson("--decay", 0.5)
        ids = lesson.batches.batch(0)
        with torch.no_grad():
            loss, figures = lesson.loss(0)
            found = lesson.heads(lesson.target.hidden(ids[:, :-1])[0],
                                 lesson.output())
        total = 0.0
        for i, logits in enumerate(found):
            laws = logits.log_softmax(-1)
            losses = [-float(laws[row, t, ids[row, t + i + 2]])
                      for row in range(4) for t in range(16 - i - 1)]
            wanted = sum(losses) / len(losses)
            self.assertAlmostEqual(float(figures[f"head{i}"]), wanted, places=4)
            total += 0.5 ** i * wanted
        self.assertAlmostEqual(float(loss), total, places=4)

    def test_tuning_as_published_weighs_all_tokens_alike(self):
        lesson = self.lesson("--train-target", "--target-loss", 1, "--decay", 1,
                             "--target-share", 1)
        loss, figures = lesson.loss(0)
        self.assertAlmostEqual(float(loss), sum(
            float(figures[name]) for name in ("last", "head0", "head1",
                                              "head2")), places=4)
        heads, target = lesson.optimizers()[:2], lesson.optimizers()[2:]
        self.assertEqual([g["lr"] for o in heads for g in o.param_groups],
                         [g["lr"] for o in target for g in o.param_groups])

    def test_what_heads_say_of_the_text_tunes_the_target(self):
        lesson = self.lesson("--train-target", "--target-loss", 0)
        loss, _ = lesson.loss(0)
        loss.backward()
        for name, weight in lesson.target.layers.named_parameters():
            self.assertGreater(float(weight.grad.abs().max()), 0, name)

    def test_heads_of_either_lesson_learn(self):
        for learn in ("distribution", "text"):
            out = self.folder / learn
            self.train(*support.heads("--out", out, "--learn", learn,
                                         "--log-every", 5, steps=30))
            log = support.read_log(out)
            for i in range(3):
                self.assertLess(float(log[-1][f"head{i}"]),
                                0.9 * float(log[0][f"head{i}"]))

    def test_a_share_that_is_none_is_refused(self):
        self.assertIn("--own-share: expected 0 to 1, found -1",
                      self.refused(*support.heads("--out", self.folder / "out",
                                                  "--own-share", -1)))
