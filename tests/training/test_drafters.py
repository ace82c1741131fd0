"""Drafters of every kind for a chat model, made from the model alone."""

import json
import pathlib
import subprocess

from tests.training import support
from training.talk import PROGRAM

MODEL = pathlib.Path(__file__).resolve().parents[1] / "goldens/gguf/types.gguf"
METHODS = {
    "draft-1": ("models: {m: {directory: %s}}\n"
                "drafters: [{name: small_model, model: m}]\n"),
    "draft-2": ("models: {m: {directory: %s}}\n"
                "drafters: [{name: small_model, model: m}]\n"),
    "medusa": ("models: {m: {heads: %s}}\n"
               "drafters: [{name: medusa, heads: m}]\n"),
    "eagle3": ("models: {m: {heads: %s}}\n"
               "drafters: [{name: eagle, head: m}]\n"),
}


class Drafters(support.FolderTest):

    def generate(self, *more):
        done = subprocess.run(
            [PROGRAM, "generate", "--model", self.folder / "made/smoke/target",
             "--chat", "--prompt", "Why?", "--temperature", "0", "--max-new-tokens",
             "24", "--json", *more], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_a_chat_model_is_enough(self):
        if not PROGRAM.exists():
            self.skipTest("build/release/banyan is not built")
        arguments = ("drafters", "--target", MODEL, "--name", "toy", "--out",
                     self.folder / "made", "--tokens", 3000, "--kept", 200, "--smoke",
                     "--install", self.folder / "installed")
        self.train(*arguments)
        vocabulary = self.folder / "made/smoke/vocabulary.json"
        self.assertEqual(len(json.loads(vocabulary.read_text())["tokens"]), 200)
        plain = self.generate()["ids"]
        for kind, text in METHODS.items():
            made = self.folder / f"installed/toy-{kind}"
            card = (made / "README.md").read_text()
            self.assertIn("`scripts/train drafters` reproduces this model", card)
            self.assertIn("Greedy decoding of 2 held-out chats", card)
            self.assertRegex(card, r"\A# .*\n\n[^\n]*`types`[^\n]*\n")
            method = self.folder / f"{kind}.yaml"
            list_beside = made / "vocabulary.json"
            self.assertEqual(list_beside.exists(), kind != "eagle3")
            if list_beside.exists():
                self.assertEqual(list_beside.read_bytes(), vocabulary.read_bytes())
            method.write_text(text % made +
                              "policy: {name: chain, nodes: 2}\n"
                              "verifier: {name: multi_round}\n")
            found = self.generate("--method", str(method))
            self.assertEqual(found["ids"], plain, kind)
            self.assertGreater(max(one["nodes"] for one in found["rounds"]), 0, kind)
        # Nothing is made twice.
        files = {path: path.stat().st_mtime_ns
                 for path in (self.folder / "made").rglob("*.safetensors")}
        self.train(*arguments)
        self.assertEqual(files, {path: path.stat().st_mtime_ns for path in files})
