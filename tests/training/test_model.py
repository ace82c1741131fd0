"""The model against another implementation (tests/goldens/checkpoints.py), and
against itself after writing and reading."""

import unittest

import torch

from tests.training import support
from training.errors import UserError
from training.files import read_json, write_json
from training.model import read_model, write_model

FAMILIES = ("llama", "llama_biased", "llama_linear", "llama_llama3", "mistral",
            "qwen2", "qwen3")


def bound(numbers):
    """How far float32 may lead from float64: 150 roundings of the largest
    number, derived in tests/core/transformer/transformer_golden_test.cc."""
    return 150 * 2.0 ** -24 * float(numbers.abs().max())


def furthest(found, wanted):
    return float((found.double() - wanted.double()).abs().max())


class Goldens(unittest.TestCase):

    def test_logits_agree_in_every_family(self):
        for name in FAMILIES:
            with self.subTest(name), torch.no_grad():
                golden = support.golden(name)
                logits = read_model(support.GOLDENS / name)(
                    golden["ids"][None])[0]
                wanted = golden["logits64"]
                self.assertLessEqual(furthest(logits, wanted), bound(wanted))
                # Their own float32 may be as far off again.
                self.assertLessEqual(furthest(logits, golden["logits32"]),
                                     2 * bound(wanted))

    def test_early_exits_are_the_normed_states_after_layers(self):
        for name in FAMILIES:
            with self.subTest(name), torch.no_grad():
                golden = support.golden(name)
                model = read_model(support.GOLDENS / name)
                last, early = model.hidden(golden["ids"][None], exits=(1,))
                states = golden["hidden64"]
                self.assertLessEqual(furthest(last[0, -3:], states[-1]),
                                     bound(states[-1]))
                after_first = model.norm(states[1].float())
                self.assertEqual(list(early), [1])
                self.assertLessEqual(furthest(early[1][0, -3:], after_first),
                                     bound(after_first))

    def test_a_skipped_layer_is_as_if_it_were_not_there(self):
        model = support.tiny_model(layers=2)
        ids = torch.arange(9)[None]
        with torch.no_grad():
            skipped, _ = model.hidden(ids, skipped=(1,))
            _, early = model.hidden(ids, exits=(1,))
            whole, _ = model.hidden(ids)
        self.assertTrue(torch.equal(skipped, early[1]))
        self.assertFalse(torch.equal(skipped, whole))

    def test_another_family_is_refused(self):
        with self.assertRaisesRegex(
                UserError, "gpt2/config.json: model_type: expected one of "
                "llama, mistral, qwen2, qwen3, found 'gpt2'"):
            read_model(support.GOLDENS / "gpt2")

    def test_more_tokens_than_the_context_are_refused(self):
        model = support.tiny_model(context=8)
        with self.assertRaisesRegex(UserError, "9 tokens do not fit"):
            model(torch.zeros(1, 9, dtype=torch.long))


class WritingAndReading(support.FolderTest):

    def test_a_model_in_float32_comes_back_exactly(self):
        for name in FAMILIES:
            with self.subTest(name):
                model = read_model(support.GOLDENS / name)
                write_model(model, self.folder / name, 2, torch.float32)
                again = read_model(self.folder / name)
                self.assertEqual(again.shape, model.shape)
                self.assert_same_weights(again, model, torch.float32)
                ids = support.golden(name)["ids"][None]
                with torch.no_grad():
                    self.assertTrue(torch.equal(again(ids), model(ids)))

    def test_a_model_in_bfloat16_comes_back_rounded(self):
        model = support.tiny_model()
        write_model(model, self.folder, 0)
        self.assert_same_weights(read_model(self.folder), model, torch.bfloat16)

    def test_a_missing_tensor_is_named(self):
        write_model(support.tiny_model(tied=True), self.folder, 0)
        self.change_config(tie_word_embeddings=False)
        with self.assertRaisesRegex(UserError, "'lm_head.weight' is missing"):
            read_model(self.folder)

    def test_a_tensor_of_another_shape_is_named(self):
        write_model(support.tiny_model(), self.folder, 0)
        self.change_config(intermediate_size=17)
        with self.assertRaisesRegex(
                UserError, r"gate_proj.weight': expected shape \[17, 12\], "
                r"found \[16, 12\]"):
            read_model(self.folder)

    def test_a_directory_without_a_model_is_refused(self):
        with self.assertRaisesRegex(UserError, "config.json: there is no such"):
            read_model(self.folder)
        write_model(support.tiny_model(), self.folder, 0)
        (self.folder / "model.safetensors").unlink()
        with self.assertRaisesRegex(UserError, "no safetensors files"):
            read_model(self.folder)

    def test_a_cut_off_file_is_refused(self):
        write_model(support.tiny_model(), self.folder, 0)
        path = self.folder / "model.safetensors"
        path.write_bytes(path.read_bytes()[:-7])
        with self.assertRaisesRegex(UserError, "model.safetensors: "):
            read_model(self.folder)

    def test_a_window_names_its_layers(self):
        write_model(support.tiny_model(family="qwen2", qkv_bias=True, window=4,
                                       wide=(0, 2)), self.folder, 0)
        self.assertEqual(read_model(self.folder).shape.wide, (0, 2))
        self.change_config(layer_types=None, max_window_layers=1)
        self.assertEqual(read_model(self.folder).shape.wide, (0,))
        self.change_config(layer_types=["full_attention"])
        with self.assertRaisesRegex(UserError, "layer_types: expected 3"):
            read_model(self.folder)

    def change_config(self, **changes):
        path = self.folder / "config.json"
        write_json(path, {**read_json(path), **changes})

    def assert_same_weights(self, found, wanted, dtype):
        weights = wanted.state_dict()
        self.assertEqual(list(found.state_dict()), list(weights))
        for name, weight in found.state_dict().items():
            self.assertTrue(
                torch.equal(weight, weights[name].to(dtype).float()), name)
