"""EAGLE heads from pickles, and in another layout: what becomes of names, of the
numbers of layers and of flags, and what is refused."""

import json

import torch
from safetensors.torch import load_file, save_file

from tests.training import support
from tests.training.test_eagle import random_head
from training.eagle_head import read_head, write_head
from training.files import read_json

GOLDENS = support.ROOT / "tests/goldens/eagle"
# EAGLE-3 in the names of SafeAILab; `convert --layout speculators` made these,
# and eagle_golden_test holds them to the numbers of the first.
CONVERTED = support.ROOT / "tests/goldens/eagle_layouts"
IDS = "eagle_aux_hidden_state_layer_ids"


def tensors_of(folder):
    return load_file(folder / "model.safetensors")


class Converted(support.FolderTest):

    def setUp(self):
        super().setUp()
        self.out = self.folder / "out"

    def convert(self, source, *more):
        self.train("convert", source, "--out", self.out, *more)
        return read_json(self.out / "config.json"), tensors_of(self.out)

    def assert_tensors(self, found, wanted):
        self.assertEqual(set(found), set(wanted))
        for name, tensor in wanted.items():
            self.assertEqual(found[name].dtype, tensor.dtype, name)
            self.assertTrue(torch.equal(found[name], tensor), name)

    def golden(self, name, **changes):
        """A golden head with other keys, in the folder `source`."""
        source = self.folder / "source"
        source.mkdir(exist_ok=True)
        config = {**read_json(GOLDENS / name / "config.json"), **changes}
        (source / "config.json").write_text(json.dumps(config),
                                            encoding="utf-8")
        save_file(tensors_of(GOLDENS / name), source / "model.safetensors")
        return source

    def assert_refused(self, message, source, *more):
        self.assertRegex(self.refused("convert", source, "--out", self.out,
                                      *more), message)
        self.assertFalse(self.out.exists())


class Pickles(Converted):

    def test_of_every_layout_keep_names_numbers_and_configuration(self):
        for name in ("eagle1", "eagle1_plain", "eagle3_safeai",
                     "eagle31_fc_norm", "mtp_mimo", "mtp_fast"):
            tensors = tensors_of(GOLDENS / name)
            config = read_json(GOLDENS / name / "config.json")
            torch.save(tensors, self.folder / "pytorch_model.bin")
            (self.folder / "config.json").write_text(json.dumps(config),
                                                     encoding="utf-8")
            found, stored = self.convert(self.folder / "pytorch_model.bin")
            self.assertEqual(found, config, name)
            self.assert_tensors(stored, tensors)

    def test_take_another_type_where_one_is_named(self):
        source = self.golden("eagle3_safeai")
        torch.save(tensors_of(source), source / "head.bin")
        config, stored = self.convert(source / "head.bin", "--dtype", "f32")
        self.assertEqual(config["torch_dtype"], "float32")
        self.assertEqual(stored["fc.weight"].dtype, torch.float32)
        self.assertEqual(stored["d2t"].dtype, torch.int64)
        self.assertEqual(stored["t2d"].dtype, torch.bool)

    def test_change_their_layout_too(self):
        source = self.golden("eagle3_safeai")
        torch.save(tensors_of(source), source / "head.bin")
        _, stored = self.convert(source / "head.bin", "--layout", "speculators")
        self.assert_tensors(stored, tensors_of(CONVERTED / "eagle3_safeai"))

    def test_without_their_configuration_are_refused(self):
        torch.save(tensors_of(GOLDENS / "eagle1"), self.folder / "head.bin")
        self.assert_refused("config.json: there is no such file",
                            self.folder / "head.bin")


class Layouts(Converted):

    def test_those_of_the_speculators_are_the_stored_ones(self):
        for name in ("eagle3_safeai", "eagle3_specforge"):
            config, tensors = self.convert(GOLDENS / name, "--layout",
                                           "speculators")
            self.assertEqual(config, read_json(CONVERTED / name /
                                               "config.json"))
            self.assert_tensors(tensors, tensors_of(CONVERTED / name))

    def test_and_back_say_the_same(self):
        for name in ("eagle3_safeai", "eagle3_specforge"):
            config, tensors = self.convert(CONVERTED / name, "--layout",
                                           "safeai")
            wanted = read_json(GOLDENS / name / "config.json")
            wanted.pop("norm_output", None)  # true, as without it
            self.assertEqual(config, wanted)
            self.assert_tensors(tensors, tensors_of(GOLDENS / name))

    def test_layers_are_counted_as_the_layout_does(self):
        for ids in ([0, 4, 6], [1, 2, 8], [5]):
            source = self.golden("eagle3_specforge",
                                 eagle_config={IDS: ids})
            config, _ = self.convert(source, "--layout", "speculators")
            self.assertEqual(config[IDS], [number + 1 for number in ids])
            self.assertNotIn("eagle_config",
                             config["transformer_layer_config"])

    def test_the_head_of_a_narrower_width_keeps_its_target(self):
        source = self.golden("eagle3_safeai", target_hidden_size=24)
        config, _ = self.convert(source, "--layout", "speculators")
        self.assertEqual(config["target_hidden_size"], 24)
        self.assertNotIn("target_hidden_size",
                         config["transformer_layer_config"])

    def test_what_the_other_cannot_say_is_refused_by_name(self):
        self.assert_refused("norm_output is False, which the layout "
                            "'speculators' cannot say",
                            self.golden("eagle3_safeai", norm_output=False),
                            "--layout", "speculators")
        plain = dict(norm_before_residual=False)
        for changes, message in (
                (dict(norm_before_residual=True), "norm_before_residual is T"),
                (dict(plain, norm_before_fc=True), "norm_before_fc is True"),
                (dict(plain, fc_norm=True), "fc_norm is True"),
                (dict(plain, norm_output=True), "norm_output is True"),
                ({**plain, IDS: [0, 3, 5]}, rf"{IDS} is \[0, 3, 5\]")):
            self.assert_refused(f"{message}.*the layout 'safeai' cannot say",
                                self.golden("eagle3_speculators", **changes),
                                "--layout", "safeai")
        source = self.golden("eagle31_fc_norm", fc_norm=False,
                             norm_output=False)
        self.assert_refused("num_hidden_layers is 2", source, "--layout",
                            "safeai")

    def test_of_other_networks_stay_as_they_are(self):
        for name, layout in (("mtp_mimo", "speculators"), ("mtp_fast", "mimo"),
                             ("mtp_fast", "safeai")):
            self.assert_refused("the first pair has no embedding",
                                GOLDENS / name, "--layout", layout)
        for name, layout in (("eagle1", "safeai"), ("eagle1", "speculators"),
                             ("eagle3_safeai", "mimo")):
            self.assert_refused("has no form in the layout", GOLDENS / name,
                                "--layout", layout)

    def test_what_is_no_eagle_head_is_refused(self):
        save_file({"0.0.linear.weight": torch.ones(2, 2)},
                  self.folder / "model.safetensors")
        self.assert_refused("not an EAGLE head", self.folder)
        source = self.golden("eagle1")
        self.assertRegex(self.refused("convert", source, "--out", source),
                         "the folder that is read")


class Trained(support.FolderTest):

    def test_a_head_of_the_speculators_is_read_as_what_it_was(self):
        target = support.tiny_model()
        head = random_head(3, target)
        write_head(head, target, self.folder, torch.float32, "speculators")
        self.assertIn("layers.0.hidden_norm.weight", tensors_of(self.folder))
        again = read_head(self.folder, target)
        self.assertEqual(again.taps, head.taps)
        self.assertEqual(again.kept.tolist(), head.kept.tolist())
        for name, weight in head.state_dict().items():
            self.assertTrue(torch.equal(again.state_dict()[name], weight),
                            name)
