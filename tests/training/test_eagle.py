"""EAGLE heads: names as published, drafting step by step, what a step learns,
and files that are none."""

import argparse
import contextlib
import dataclasses
import io
import json

import numpy
import torch
from safetensors.torch import load_file, save_file

from tests.training import support
from training import eagle
from training.divergences import agreement
from training.eagle import EagleTeaching, kept_tokens
from training.eagle_head import (FirstHead, ThirdHead, output_of, read_head,
                                 unroll, usual_taps, write_head)
from training.errors import UserError
from training.files import read_json
from training.model import rope_frequencies, rotate, rotation_of

KEPT = (0, 2, 3, 7, 11, 18)
TAPS = (0, 1, 2)


def random_head(version, target, seed=1):
    torch.manual_seed(seed)
    shape = dataclasses.replace(target.shape, layers=1)
    head = (FirstHead(shape) if version == 1 else
            ThirdHead(shape, TAPS, torch.tensor(KEPT)))
    for name, weight in head.named_parameters():
        torch.nn.init.normal_(weight, 1.0 if "norm" in name else 0.0, 0.4)
    return head.eval()


def published(version, shape):
    """Names and shapes of a head's tensors."""
    size, inner = shape.hidden_size, shape.feed_forward
    width = shape.heads * shape.head_dim
    kv_width = shape.kv_heads * shape.head_dim
    layer = "layers.0" if version == 1 else "midlayer"
    read = size if version == 1 else 2 * size
    tensors = {
        f"{layer}.self_attn.q_proj.weight": [width, read],
        f"{layer}.self_attn.k_proj.weight": [kv_width, read],
        f"{layer}.self_attn.v_proj.weight": [kv_width, read],
        f"{layer}.self_attn.o_proj.weight": [size, width],
        f"{layer}.mlp.gate_proj.weight": [inner, size],
        f"{layer}.mlp.up_proj.weight": [inner, size],
        f"{layer}.mlp.down_proj.weight": [size, inner],
        f"{layer}.post_attention_layernorm.weight": [size]}
    if version == 1:
        return {**tensors, "embed_tokens.weight": [shape.vocab_size, size],
                "fc.weight": [size, 2 * size], "fc.bias": [size]}
    return {**tensors, "fc.weight": [size, 3 * size],
            "midlayer.hidden_norm.weight": [size],
            "midlayer.input_layernorm.weight": [size], "norm.weight": [size],
            "lm_head.weight": [len(KEPT), size], "d2t": [len(KEPT)],
            "t2d": [shape.vocab_size]}


class HeadTest(support.FolderTest):

    def setUp(self):
        super().setUp()
        self.target = support.tiny_model()

    def written(self, version):
        head = random_head(version, self.target)
        write_head(head, self.target, self.folder, torch.float32)
        return head

    def stored(self):
        """Copies, for what is loaded stays mapped to its file."""
        stored = load_file(self.folder / "model.safetensors")
        return {name: tensor.clone() for name, tensor in stored.items()}


class Files(HeadTest):

    def test_names_and_shapes_are_as_published(self):
        for version in (1, 3):
            self.written(version)
            stored = self.stored()
            self.assertEqual({n: list(t.shape) for n, t in stored.items()},
                             published(version, self.target.shape))

    def test_version_1_carries_the_targets_embedding(self):
        self.written(1)
        stored = self.stored()
        self.assertTrue(torch.equal(stored["embed_tokens.weight"],
                                    self.target.embed_tokens.weight))

    def test_offsets_name_the_tokens_that_are_kept(self):
        self.written(3)
        stored = self.stored()
        self.assertEqual(stored["d2t"].dtype, torch.int64)
        self.assertEqual((stored["d2t"] + torch.arange(len(KEPT))).tolist(),
                         list(KEPT))
        self.assertEqual(stored["t2d"].dtype, torch.bool)
        self.assertEqual(stored["t2d"].nonzero()[:, 0].tolist(), list(KEPT))

    def test_the_config_says_which_version_it_is(self):
        self.written(1)
        config = read_json(self.folder / "config.json")
        self.assertEqual(config["architectures"], ["LlamaForCausalLM"])
        self.assertIs(config["bias"], True)
        self.assertEqual(config["num_hidden_layers"], 1)
        self.assertEqual(config["hidden_size"], 12)
        self.assertNotIn("draft_vocab_size", config)
        self.written(3)
        config = read_json(self.folder / "config.json")
        self.assertEqual(config["architectures"], ["LlamaForCausalLMEagle3"])
        self.assertEqual(config["draft_vocab_size"], len(KEPT))
        self.assertEqual(config["vocab_size"], 19)
        self.assertEqual(config["eagle_config"], {
            "eagle_aux_hidden_state_layer_ids": list(TAPS),
            "use_aux_hidden_state": True})

    def test_heads_come_back_equal(self):
        for version in (1, 3):
            head = self.written(version)
            again = read_head(self.folder, self.target)
            self.assertEqual(again.version, version)
            found, wanted = again.state_dict(), head.state_dict()
            self.assertEqual(set(found), set(wanted))
            for name, weight in wanted.items():
                self.assertTrue(torch.equal(found[name], weight), name)
            if version == 3:
                self.assertEqual(again.taps, TAPS)
                self.assertEqual(again.kept.tolist(), list(KEPT))

    def assert_refused(self, message, tensors=None, config=None):
        if tensors is not None:
            save_file(tensors, self.folder / "model.safetensors")
        if config is not None:
            (self.folder / "config.json").write_text(json.dumps(config),
                                                     encoding="utf-8")
        with self.assertRaisesRegex(UserError, message):
            read_head(self.folder, self.target)

    def test_files_that_are_no_heads_are_refused(self):
        for version in (1, 3):
            self.written(version)
            tensors = self.stored()
            for lacking in ("fc.weight", "d2t") if version == 3 else (
                    "fc.bias",):
                fewer = {n: t for n, t in tensors.items() if n != lacking}
                self.assert_refused(f"tensor '{lacking}'.*(found no tensor|is "
                                    "missing)", fewer)
            self.assert_refused(
                f"'a.weight' is not of an EAGLE head of version {version}",
                {**tensors, "a.weight": torch.ones(2)})
            self.assert_refused(
                r"tensor 'fc.weight': expected \[12, .*\], found \[3, 5\]",
                {**tensors, "fc.weight": torch.ones(3, 5)})

    def test_an_embedding_of_its_own_is_refused_and_the_targets_is_not(self):
        self.written(3)
        tensors = self.stored()
        embedding = self.target.embed_tokens.weight.detach().clone()
        save_file({**tensors, "embed_tokens.weight": embedding},
                  self.folder / "model.safetensors")
        read_head(self.folder, self.target)
        self.assert_refused("tensor 'embed_tokens.weight': expected the target",
                            {**tensors, "embed_tokens.weight": embedding + 1})

    def test_tokens_that_the_target_lacks_are_refused(self):
        self.written(3)
        tensors = self.stored()
        for wrong in (-1, 19):
            offsets = tensors["d2t"].clone()
            offsets[2] = wrong - 2
            self.assert_refused("'d2t': a token that is none of the target's "
                                "19", {**tensors, "d2t": offsets})

    def test_sizes_and_taps_are_the_targets(self):
        self.written(3)
        config = read_json(self.folder / "config.json")
        for name, found in (("hidden_size", 16), ("vocab_size", 20)):
            self.assert_refused(f"{name}: expected the target's .*, found "
                                f"{found}", config={**config, name: found})
        self.assert_refused("eagle_aux_hidden_state_layer_ids: the key is "
                            "missing", config={**config, "eagle_config": {}})
        for taps in ([0, 1, 3], [0, 1, 1], [-1, 0, 1], [0, 1]):
            self.assert_refused(
                "three of the target's 3 layers",
                config={**config, "eagle_config": {
                    "eagle_aux_hidden_state_layer_ids": taps}})


def plain_step(tensors, shape, version, embedded, fed):
    """The last place's output and distribution, from the published tensors."""
    layer = "layers.0." if version == 1 else "midlayer."
    weight = {name.removeprefix(layer).removesuffix(".weight"): tensor
              for name, tensor in tensors.items()}

    def norm(x, name):
        return weight[name] * x / (x.square().mean(-1, keepdim=True) +
                                   shape.norm_epsilon).sqrt()

    if version == 1:
        stream = (torch.cat((embedded, fed), -1) @ weight["fc"].T +
                  tensors["fc.bias"])
        read = stream
    else:
        stream = fed
        read = torch.cat((norm(embedded, "input_layernorm"),
                          norm(fed, "hidden_norm")), -1)
    length = len(embedded)
    rotation = rotation_of(rope_frequencies(shape), 0, length, "cpu")
    query, key, value = (
        (read @ weight[f"self_attn.{name}_proj"].T).view(
            length, -1, shape.head_dim) for name in "qkv")
    query, key = (rotate(x[None], rotation)[0] for x in (query, key))
    mixed = []
    for head in range(shape.heads):
        there = head * shape.kv_heads // shape.heads
        shares = torch.softmax(key[:, there] @ query[-1, head] /
                               shape.head_dim ** 0.5, 0)
        mixed.append(shares @ value[:, there])
    x = stream[-1] + weight["self_attn.o_proj"] @ torch.cat(mixed)
    inner = norm(x, "post_attention_layernorm")
    gate = weight["mlp.gate_proj"] @ inner
    x = x + weight["mlp.down_proj"] @ (
        gate / (1 + (-gate).exp()) * (weight["mlp.up_proj"] @ inner))
    return x, (x if version == 1 else norm(x, "norm"))


class Drafting(HeadTest):

    def test_every_place_drafts_as_it_would_alone(self):
        # Step s of the place i: the true pairs up to i, then s of its own.
        steps, length = 4, 9
        ids = torch.randint(19, (1, length),
                            generator=torch.Generator().manual_seed(5))
        for version in (1, 3):
            head = self.written(version)
            tensors = self.stored()
            with torch.no_grad():
                streams = self.target.streams(ids)
                hidden = self.target.norm(streams[-1])
                embedded = self.target.embed_tokens(ids)
                output = output_of(self.target)
                drafts = list(unroll(head, embedded,
                                     head.read(streams, hidden), output, steps,
                                     length - steps))
                fed = (hidden[0] if version == 1 else torch.cat(
                    [streams[tap][0] for tap in TAPS], -1) @
                    tensors["fc.weight"].T)
                matrix = output if version == 1 else tensors["lm_head.weight"]
                self.assertEqual(drafts[0][0].shape[1], length - steps)
                for place in range(length - steps):
                    state = fed[:place + 1]
                    for step in range(steps):
                        tokens = embedded[0, 1:place + step + 2]
                        out, last = plain_step(tensors, head.shape, version,
                                               tokens, state)
                        found = drafts[step][1][0, place]
                        # Sums of at most 36 products below 100.
                        self.assertLess(
                            float((found - matrix @ last).abs().max()), 1e-3,
                            (version, place, step))
                        state = torch.cat((state, out[None]))

    def test_what_is_left_out_is_never_drafted(self):
        head = random_head(3, self.target)
        logits = torch.randn(2, len(KEPT))
        whole = head.whole(logits)
        self.assertEqual(whole.shape, (2, 19))
        self.assertTrue(torch.equal(whole[:, list(KEPT)], logits))
        self.assertEqual(int((whole == float("-inf")).sum()),
                         2 * (19 - len(KEPT)))


def teaching(*more):
    """The teaching of a tiny head, ready to give losses."""
    with contextlib.redirect_stdout(io.StringIO()):
        options = support.options(*support.eagle("--out", "nowhere", *more))
        eagle.settle(options)
        return EagleTeaching(options)


class Lesson(support.FolderTest):

    def test_a_step_learns_what_the_target_does_there(self):
        lesson = teaching("--version", 3, "--unroll", 3, "--decay", 0.5,
                          "--plain-share", 0, "--draft-vocab", 200, "--laws", 2,
                          "--features", 3, "--total-variation", 5)
        ids = lesson.batches.batch(0)[:, :-1]
        with torch.no_grad():
            streams = lesson.target.streams(ids)
            hidden = lesson.target.norm(streams[-1])
            p = torch.softmax(
                lesson.target.logits(hidden)[..., lesson.head.kept], -1)
            drafts = unroll(lesson.head, lesson.target.embed_tokens(ids),
                            lesson.head.read(streams, hidden) / lesson.spread,
                            None, 3, ids.shape[1] - 3)
            wanted, overlaps = 0.0, []
            for i, (state, logits) in enumerate(drafts):
                there = slice(i + 1, i + 1 + ids.shape[1] - 3)
                q = torch.softmax(logits, -1)
                kept = p[:, there]
                overlaps.append(float(torch.minimum(kept, q).sum(-1).mean()))
                entropy = -(kept * q.log()).sum(-1).mean()
                off = (state - hidden[:, there]).abs()
                smooth = torch.where(off < 1, off ** 2 / 2, off - 0.5).mean()
                wanted += 0.5 ** i * float(2 * entropy + 3 * smooth +
                                           5 * (1 - overlaps[-1]))
            loss, figures = lesson.loss(0)
        self.assertAlmostEqual(float(loss), wanted, delta=1e-4)
        for i, overlap in enumerate(overlaps):
            self.assertAlmostEqual(float(figures[f"overlap{i + 1}"]), overlap,
                                   delta=1e-5)

    def test_plain_steps_train_the_first_drafting_step_alone(self):
        lesson = teaching("--version", 3, "--unroll", 3, "--plain-share", 0.5)
        lesson.options.steps = 8
        with torch.no_grad():
            for step in range(8):
                _, figures = lesson.loss(step)
                self.assertEqual(list(figures), ["overlap1"] if step < 4 else
                                 ["overlap1", "overlap2", "overlap3"])

    def test_a_finished_head_reads_the_target_as_it_is(self):
        lesson = teaching("--version", 3)
        ids = lesson.batches.batch(0)[:, :-1]
        with torch.no_grad():
            read = lesson.head.read(lesson.target.streams(ids), None)
            before = lesson.head.enter(read / lesson.spread)
            after = lesson.finished().enter(read)
        self.assertLess(float((before - after).abs().max()), 1e-4)

    def test_noise_is_bounded_and_the_same_at_the_same_step(self):
        lesson = teaching("--version", 1, "--noise", 0.25)
        read = torch.zeros(2, 5, 16)
        noise = lesson._noisy(read, 7)
        self.assertTrue(torch.equal(noise, lesson._noisy(read, 7)))
        self.assertFalse(torch.equal(noise, lesson._noisy(read, 8)))
        self.assertLess(float(noise.abs().max()), 0.25)
        # Uniform: 160 of them hardly all stay below 0.9 of it.
        self.assertGreater(float(noise.max()), 0.22)
        self.assertLess(float(noise.min()), -0.22)
        lesson.options.noise = 0
        self.assertIs(lesson._noisy(read, 7), read)

    def test_the_most_frequent_tokens_are_kept_in_order(self):
        ids = numpy.array([5, 5, 5, 1, 1, 4, 4, 0], dtype=numpy.int32)
        self.assertEqual(kept_tokens(ids, 3, 7).tolist(), [1, 4, 5])
        self.assertEqual(kept_tokens(ids, 5, 7).tolist(), [0, 1, 2, 4, 5])
        self.assertEqual(kept_tokens(ids, 7, 7).tolist(), list(range(7)))

    def test_usual_taps_are_three_layers(self):
        self.assertEqual(usual_taps(32), [1, 15, 28])
        for layers in range(3, 40):
            taps = usual_taps(layers)
            self.assertEqual(len(set(taps)), 3)
            self.assertEqual(taps, sorted(taps))
            self.assertLess(taps[-1], layers)


class Training(support.FolderTest):

    def test_both_versions_learn(self):
        for version in (1, 3):
            out = self.folder / str(version)
            self.train(*support.eagle("--version", version, "--unroll", 2,
                                      "--plain-share", 0,
                                      "--out", out, "--log-every", 10,
                                      "--rate", 1e-2, "--muon-rate", 2e-2,
                                      steps=60))
            log = support.read_log(out)
            for i in (1, 2):
                self.assertGreater(float(log[-1][f"overlap{i}"]),
                                   0.2 + float(log[0][f"overlap{i}"]))
            self.assertEqual(read_json(out / "training.json")["options"]
                             ["unroll"], 2)

    def test_files_have_the_layout_that_is_asked_for(self):
        out = self.folder / "out"
        self.train(*support.eagle("--layout", "speculators", "--out", out,
                                  steps=1))
        config = read_json(out / "config.json")
        self.assertEqual(config["speculators_model_type"], "eagle3")
        self.assertIn("layers.0.hidden_norm.weight",
                      load_file(out / "model.safetensors"))

    def test_what_a_version_lacks_is_refused(self):
        for more, message in (
                (("--version", 1, "--draft-vocab", 9), "--draft-vocab: a head "
                 "of version 1 has none"),
                (("--version", 1, "--taps", 0, 1, 2), "--taps: a head of "
                 "version 1 has none"),
                (("--version", 1, "--layout", "speculators"), "--layout: a "
                 "head of version 1 has none"),
                (("--version", 3, "--taps", 0, 1, 3), "--taps: expected three "
                 r"of the target's 3 layers, from 0, found \[0, 1, 3\]"),
                (("--version", 3, "--draft-vocab", 281), "--draft-vocab: 281 "
                 "tokens of the target's 280"),
                (("--version", 3, "--draft-vocab", 0), "--draft-vocab: 0 tok"),
                (("--unroll", 0), "--unroll: expected a step or more, .*found "
                 "0"),
                (("--unroll", 16), "fewer than --window 16, found 16"),
        ):
            self.assertRegex(self.refused(*support.eagle(
                "--out", self.folder / "out", *more)), message)
