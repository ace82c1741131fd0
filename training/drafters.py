"""drafters: four drafters for a chat model, trained on text that the model generates.

    talk        the model's own text
    eagle       NAME-eagle3, an EAGLE-3 head
    distill     NAME-draft-1, a small model
    boost       NAME-draft-2, one more for what the first misses
    medusa      NAME-medusa, heads on the model's output matrix
    decode      tokens per pass on held-out chats, by `banyan run`
    card        what each was trained on, and how well it agrees

Each drafts only the `--kept` most frequent tokens of that text: the vocabulary.json in
its folder lists them, for EAGLE the head's own file. The small models' embeddings start
from the principal components of the target's. An interrupted run resumes.
"""

import csv
import io
import json
import pathlib
import subprocess

from training import stages
from training.errors import UserError
from training.files import read_json, write_json, write_text
from training.talk import PROGRAM

ABOUT = ("Chats that {target} wrote itself, questions and answers (`scripts/train "
         "talk`).")


def add_arguments(parser):
    stages.add_arguments(parser, out="build/drafters")
    parser.add_argument("--target", required=True, metavar="MODEL",
                        help="a chat model: a directory or a GGUF file")
    parser.add_argument("--name", required=True, help="prefix of the drafters' names")
    parser.add_argument("--tokens", type=int, default=1_500_000, metavar="N",
                        help="tokens of training text that the target generates "
                        "(default: %(default)s)")
    parser.add_argument("--trained", type=int, default=10_000_000, metavar="N",
                        help="tokens that each part is trained on, several epochs; "
                        "Medusa heads on a third (default: %(default)s)")
    parser.add_argument("--kept", type=int, default=8192, metavar="N",
                        help="size of the draft vocabulary: the N most frequent tokens "
                        "(default: %(default)s)")
    parser.add_argument("--weights", default="q8", metavar="FORMAT",
                        help="weight format of the target while it generates: f32, "
                        "bf16 or q8 "
                        "(default: %(default)s)")
    parser.add_argument("--program", default=str(PROGRAM), metavar="FILE",
                        help="the banyan program (default: build/release/banyan)")
    parser.add_argument("--install", metavar="DIR",
                        help="copy the finished drafters to DIR")


def run(options):
    made = Drafters(options)
    for stage in (made.model, made.text, made.eagle, made.small_models,
                  made.medusa, made.measure, made.decode, made.cards):
        stage()
    if options.install:
        made.install(made.names)


class Drafters(stages.Stages):
    def __init__(self, options):
        super().__init__(options)
        self.target = pathlib.Path(options.target)
        self.target_name = (self.target.name if self.target.is_dir()
                            else self.target.stem)
        self.names = [f"{options.name}-{kind}"
                      for kind in ("eagle3", "draft-1", "draft-2", "medusa")]
        self.window, self.batch = (32, 2) if self.quick else (512, 4)

    def model(self):
        """A directory that PyTorch reads, of a GGUF file."""
        if self.target.is_dir():
            return
        to = self.out / "target"
        if not (to / "config.json").exists():
            self.banyan("convert", self.target, "--out", to, "--weights", "bf16")
        self.target = to

    def text(self):
        """As much as is asked for: more than there was goes on from it."""
        options = self.options
        self.call("talk", "--target", self.target, "--tokens", options.tokens,
                  "--out", self.path("corpus"), "--weights", options.weights,
                  "--program", options.program)
        self.banyan("make", "counts", "--model", self.target, "--top", options.kept,
                    "--out", self.path("vocabulary.json"),
                    self.out / "corpus" / "train.jsonl")

    def eagle(self):
        """First: its states serve all that follow."""
        version = (["--version", 1] if self.quick else  # a toy has too few layers
                   ["--version", 3, "--draft-vocab", self.options.kept])
        self.learn("eagle", self.names[0], self.options.trained, *version,
                   "--rate", 2e-3, "--muon-rate", 0.02, "--plain-share", 0.7)

    def small_models(self):
        size = (["--hidden", 16, "--heads", 2, "--layers", 1, "--feed-forward", 24]
                if self.quick else
                ["--hidden", 160, "--heads", 5, "--layers", 6, "--feed-forward", 448])
        for number, recipe in ((1, "distill"), (2, "boost")):
            start = self.path(f"start-{number}")
            self.train("pretrain", f"start-{number}", "--tokenizer", self.target,
                       "--embedding-of", self.target, *size, "--context",
                       64 if self.quick else 2048, "--long-share", 0, "--rate", 3e-3,
                       "--muon-rate", 0.02, "--seed", number, "--window",
                       self.window, "--batch", self.batch, "--steps",
                       self.steps(self.options.trained // 10))
            self.learn(recipe, self.names[number], self.options.trained,
                       *self.vocabulary(),
                       "--student", start, "--own-share", 0, "--loss", "forward-kl",
                       "--rate", 4e-3, "--muon-rate", 0.015,
                       *(["--before", self.path(self.names[1])]
                         if recipe == "boost" else []))

    def medusa(self):
        self.learn("medusa", self.names[3], self.options.trained // 3,
                   *self.vocabulary(), "--share-output")

    def measure(self):
        if (self.out / "measured.json").exists():
            return
        eagle, first, second, medusa = map(self.path, self.names)
        self.call("measure", "--target", self.target, "--corpus",
                  self.path("corpus"), "--drafters", first, second, "--heads", medusa,
                  "--eagle", eagle, "--window", self.window, "--limit",
                  2000 if self.quick else 60_000, "--out", self.path("measured.json"))

    def decode(self):
        """Tokens per pass of a chain of four, greedy, on chats that were held out."""
        measured = self.out / "measured.json"
        figures = read_json(measured)
        if "tokens_per_pass" in figures:
            return
        folder = self.out / "decode"
        with open(self.out / "corpus" / "test.jsonl", encoding="utf-8") as file:
            chats = [json.loads(line)["turns"][0] for line in file]
        chats = chats[:2 if self.quick else 24]
        write_text(folder / "prompts.jsonl", "".join(
            json.dumps({"id": f"chat-{number}", "kind": "chat", "prompt": text}) + "\n"
            for number, text in enumerate(chats)))
        write_text(folder / "experiment.yaml", json.dumps({
            "question": "How many tokens per pass does each drafter give?",
            "target": {"directory": str(self.target.resolve()), "weights": "bf16"},
            "workload": {"file": "prompts.jsonl", "chat": "auto"},
            "limits": {"max_new_tokens": 16 if self.quick else 128},
            "sampling": {"temperature": 0},
            "methods": {name: self.chain(name) for name in self.names}}))
        self.banyan("run", folder / "experiment.yaml", "--out", folder / "records")
        figures["chats"] = len(chats)
        figures["tokens_per_pass"] = {
            row["method"]: [float(row[key]) for key in ("value", "low", "high")]
            for row in self.report(folder / "records")
            if row["metric"] == "tokens_per_pass" and row["method"] in self.names}
        write_json(measured, figures)
        for name, (value, low, high) in figures["tokens_per_pass"].items():
            print(f"{name}: {value:.2f} tokens per pass [{low:.2f}, {high:.2f}]")

    def chain(self, name):
        """The method file of a chain of four."""
        kind = name.removeprefix(f"{self.options.name}-")
        folder = (self.out / name).resolve()
        drafter = {"eagle3": {"name": "eagle", "head": "m"},
                   "medusa": {"name": "medusa", "heads": "m"}}.get(
                       kind, {"name": "small_model", "model": "m"})
        model = "heads" if kind in ("eagle3", "medusa") else "directory"
        return {"models": {"m": {model: str(folder)}}, "drafters": [drafter],
                "policy": {"name": "chain", "nodes": 4},
                "verifier": {"name": "multi_round"}}

    def report(self, records):
        done = subprocess.run([self.options.program, "report", records, "--format",
                               "csv"], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise UserError(f"banyan report failed: {done.stderr.strip()}")
        return list(csv.DictReader(io.StringIO(done.stdout)))

    def cards(self):
        for number, name in enumerate(self.names):
            before = [self.path(f"start-{number}")] if number in (1, 2) else []
            self.call("card", "--model", self.path(name), "--measured",
                      self.path("measured.json"), "--corpus", self.path("corpus"),
                      "--made-by", "drafters", "--target-name", self.target_name,
                      "--about", ABOUT.format(target=self.target_name),
                      "--stages", *before)

    def learn(self, recipe, name, tokens, *arguments):
        """A recipe of the frozen model, from its states on disk."""
        self.train(recipe, name, "--target", self.target, "--states",
                   self.path("states"), "--window", self.window, "--batch",
                   self.batch, "--steps", self.steps(tokens), *arguments)

    def steps(self, tokens):
        return 20 if self.quick else max(1, tokens // (self.batch * self.window))

    def vocabulary(self):
        return ["--vocabulary", self.path("vocabulary.json")]

    def banyan(self, *arguments):
        words = [self.options.program, *map(str, arguments)]
        print(f"== banyan {' '.join(words[1:])}", flush=True)
        if subprocess.run(words, check=False).returncode != 0:
            raise UserError(f"banyan {arguments[0]} failed")
