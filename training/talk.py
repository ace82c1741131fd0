"""talk: chats that a chat model writes itself, as a corpus for the other recipes.

Magpie (arXiv:2406.08464): prompted with its chat template up to the user's message,
a chat model generates that message, then the answer to it. Left alone a small model
asks for the same few things, so most messages are given their first words
(`--openers`). `banyan run` decodes both in batches. A chat is dropped if its message repeats an earlier one, did not
end or has fewer than eight letters, or if its answer is empty. The splits are
training, validation and test, as in `corpus`, by a hash of the chat's number. After
an interruption the same command resumes.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import time

from training.corpus import SPLITS, split_by_hash, write_splits
from training.errors import UserError
from training.files import read_json, replaced, write_json

PROGRAM = pathlib.Path(__file__).resolve().parents[1] / "build/release/banyan"
FEWEST_LETTERS = 8  # of a user's message
# First words of users' messages, for most kinds of tasks.
OPENERS = (
    "Write a", "Write a short", "Write a Python function that", "Write an SQL query",
    "Write a poem about", "Write a letter to", "Explain", "Explain what this code",
    "Explain in simple words", "What is the", "What are", "What does", "Why",
    "Why do", "How does", "How do I", "How many", "How much", "Who", "When did",
    "Where", "Which", "Is it", "Are there", "If a", "A", "The", "There are",
    "Suppose that", "Solve", "Calculate the", "Find the", "Prove that",
    "Summarize the following text", "Summarize this article in one sentence",
    "Give the main point of", "Read the text below and", "From the text below, list",
    "Extract all", "Given the following", "Based on the passage", "Translate into",
    "Translate the following sentence from English to German:",
    "Translate this to Spanish:", "Correct the grammar", "Rewrite this sentence",
    "Make this", "Give me a list of", "List three", "Name five", "Describe",
    "Describe a", "Compare", "What is the difference between", "Create a", "Design",
    "Plan a", "Imagine you are", "Pretend to be", "Tell me about", "Tell me a story",
    "Help me", "Please", "Answer the question", "Classify", "Convert", "Complete",
    "Fix the bug in", "Act as")
# What chats depend on; a folder written with others is refused.
RULES = ("target", "weights", "openers", "message_temperatures",
         "answer_temperatures", "message_tokens", "answer_tokens", "chats", "seed")


def openers(path):
    try:
        with open(path, encoding="utf-8") as file:
            return [line.rstrip("\n") for line in file] or [""]
    except (OSError, UnicodeDecodeError) as error:
        raise argparse.ArgumentTypeError(f"{path}: {error}") from error


def temperatures(text):
    values = [float(part) for part in text.split(",")]
    if not values or min(values) < 0:
        raise argparse.ArgumentTypeError("expected temperatures from 0")
    return values


def add_arguments(parser):
    parser.add_argument("--target", required=True, metavar="MODEL",
                        help="a chat model: a directory or a GGUF file")
    parser.add_argument("--tokens", type=int, required=True, metavar="N",
                        help="the tokens to write, messages and answers together")
    parser.add_argument("--out", required=True, metavar="DIR")
    parser.add_argument("--program", default=str(PROGRAM), metavar="FILE",
                        help="the program that decodes (default: "
                        "build/release/banyan)")
    parser.add_argument("--weights", default="bf16", metavar="FORMAT",
                        help="of the target in memory: auto, f32, bf16, q8 or q4 "
                        "(default: %(default)s)")
    parser.add_argument("--openers", type=openers, metavar="FILE",
                        default=[*OPENERS, *[""] * (len(OPENERS) // 3)],
                        help="first words of the messages, one a line, in turn; an "
                        "empty line leaves them to the model (default: a list of "
                        f"{len(OPENERS)}, and a quarter left to the model)")
    parser.add_argument("--message-temperatures", type=temperatures,
                        default=[0.6, 0.8, 1.0], metavar="T,T",
                        help="of the user's messages, in turn "
                        "(default: 0.6,0.8,1)")
    parser.add_argument("--answer-temperatures", type=temperatures,
                        default=[0.0, 0.7, 1.0], metavar="T,T",
                        help="of the answers, in turn (default: 0,0.7,1)")
    for name, default, what in (
            ("message-tokens", 160, "the longest message"),
            ("answer-tokens", 384, "the longest answer; longer ones are cut"),
            ("chats", 256, "chats that are written at a time"),
            ("batch", 32, "chats that share a pass"),
            ("seed", 1, "every seed gives other chats")):
        parser.add_argument(f"--{name}", type=int, default=default, metavar="N",
                            help=f"{what} (default: %(default)s)")
    parser.add_argument("--held-out-share", type=float, default=0.02, metavar="X",
                        help="of chats, in each of validation and test "
                        "(default: %(default)s)")


def run(options):
    talk = Talk(options)
    start, new, done, part, chats = time.monotonic(), 0, 0, 0, []
    while True:
        found = talk.kept(part)
        if found is None:
            if done >= options.tokens:
                break
            found = talk.write(part)
            new += _tokens(found)
        done += _tokens(found)
        if new:
            _progress(done, new, options.tokens, time.monotonic() - start)
        chats += found
        part += 1
    write_corpus(chats, options)


def _tokens(chats):
    return sum(chat["tokens"] for chat in chats)


def _json_lines(text):
    """Of each line; str.splitlines would cut texts at U+2028 and its kin too."""
    return [json.loads(line) for line in text.split("\n") if line]


def _progress(done, new, wanted, seconds):
    left = max(0, wanted - done) * seconds / new
    print(f"{done:,} of {wanted:,} tokens, {new / seconds:.0f} a second, "
          f"{left / 60:.0f} min left", flush=True)


def write_corpus(chats, options):
    """The chats whose message is new, in splits."""
    seen, dropped = set(), {}
    splits = {name: [] for name in SPLITS}
    for chat in chats:
        words = " ".join(chat["turns"][0].lower().split())
        reason = None
        if sum(letter.isalpha() for letter in words) < FEWEST_LETTERS:
            reason = "hardly a word"
        elif words in seen:
            reason = "a message seen before"
        elif not chat["turns"][1].strip():
            reason = "no answer"
        if reason:
            dropped[reason] = dropped.get(reason, 0) + 1
            continue
        seen.add(words)
        split = split_by_hash(chat["path"], options.held_out_share)
        splits[split].append({"path": chat["path"], "turns": chat["turns"]})
    if not splits["train"]:
        raise UserError("no chat is left to train on; raise --tokens")
    write_splits(options.out, splits, dropped, "chats")


class Talk:
    """Parts of a number of chats each, a file a part."""

    def __init__(self, options):
        self.options = options
        self.out = pathlib.Path(options.out)
        rules = {name: getattr(options, name) for name in RULES}
        rules["target"] = os.path.basename(os.path.normpath(options.target))
        settings = self.out / "talk.json"
        if settings.exists():
            for name, value in read_json(settings).items():
                if rules.get(name) != value:
                    raise UserError(
                        f"{settings}: {name}: these chats were written with "
                        f"{value}, found {rules.get(name)}; take another --out")
        else:
            write_json(settings, rules)
        self.prefix, self.suffix = self._template()
        self.openers = self._ids(options.openers)

    def _template(self):
        """The tokens before a user's message, and those between it and an
        answer: what two chats share."""
        first, second = (json.loads(self._run(
            "generate", "--model", self.options.target, "--chat", "--prompt", text,
            "--max-new-tokens", "1", "--json"))["prompt_ids"]
            for text in ("Why?", "name a tree"))
        before = os.path.commonprefix([first, second])
        after = os.path.commonprefix([first[::-1], second[::-1]])[::-1]
        return before, after

    def _file(self, part):
        return self.out / "parts" / f"{part:05}.jsonl"

    def kept(self, part):
        if not self._file(part).exists():
            return None
        with open(self._file(part), encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def write(self, part):
        options = self.options
        work = self.out / "parts" / f"{part:05}.work"
        seed = options.seed * 1_000_000 + part

        def turn(values):
            return values[part % len(values)]

        opened = [self.openers[(part * options.chats + number) % len(self.openers)]
                  for number in range(options.chats)]
        messages = self._decode(
            work / "messages", [self.prefix + ids for ids in opened],
            turn(options.message_temperatures), options.message_tokens, seed)
        asked = [first + ids[:-1]
                 for first, (ids, ended) in zip(opened, messages) if ended]
        if not asked:
            raise UserError(f"{options.target}: none of {options.chats} messages "
                            "of a user ended; is it a chat model?")
        # Every message temperature meets every answer temperature.
        step = part // len(options.message_temperatures)
        answers = self._decode(
            work / "answers", [self.prefix + ids + self.suffix for ids in asked],
            options.answer_temperatures[step % len(options.answer_temperatures)],
            options.answer_tokens, seed)
        texts = self._texts(asked + [ids[:-1] if ended else ids
                                           for ids, ended in answers])
        chats = [{"path": f"talk/{part:05}-{number:03}",
                  "turns": [texts[number], texts[len(asked) + number]],
                  "tokens": len(asked[number]) + len(answers[number][0])}
                 for number in range(len(asked))]
        with replaced(self._file(part)) as path:
            with open(path, "w", encoding="utf-8") as file:
                file.writelines(json.dumps(chat) + "\n" for chat in chats)
        shutil.rmtree(work)
        return chats

    def _decode(self, folder, prompts, temperature, most, seed):
        """The ids that follow each prompt, and whether they ended."""
        folder.mkdir(parents=True, exist_ok=True)
        with replaced(folder / "prompts.jsonl") as path:
            with open(path, "w", encoding="utf-8") as file:
                for number, ids in enumerate(prompts):
                    file.write(json.dumps({"id": str(number), "kind": "chat",
                                           "ids": ids}) + "\n")
        target = json.dumps(str(pathlib.Path(self.options.target).resolve()))
        experiment = folder / "experiment.yaml"
        experiment.write_text(
            f"question: What does the model say?\n"
            f"target: {{directory: {target}, weights: {self.options.weights}}}\n"
            f"workload: {{file: prompts.jsonl}}\n"
            f"limits: {{max_new_tokens: {most}}}\n"
            f"sampling: {{temperature: {temperature}}}\n"
            f"seeds: [{seed}]\nbatch: {self.options.batch}\nmethods: {{}}\n",
            encoding="utf-8")
        records = folder / "records"
        self._run("run", experiment, "--out", records)
        found = {}
        for line in _json_lines(self._run("export", records, "--format",
                                          "jsonl")):
            record = line["record"]
            found[int(record["id"])] = (record["tokens"],
                                        record["stop"] == "END_OF_TEXT")
        return [found[number] for number in range(len(prompts))]

    def _texts(self, lists):
        lines = "".join(" ".join(map(str, ids)) + "\n" for ids in lists)
        found = self._run("text", "tokenize", "--model", self.options.target, "--decode",
                          "--lines", "--no-special", "--json", given=lines)
        texts = [line["text"] for line in _json_lines(found)]
        if len(texts) != len(lists):
            raise UserError(f"{len(lists)} lists of ids gave {len(texts)} texts")
        return texts

    def _ids(self, texts):
        """The ids of each text, which may be empty."""
        lines = "".join(text + "\n" for text in texts)
        found = self._run("text", "tokenize", "--model", self.options.target, "--lines",
                          "--no-special", "--json", given=lines)
        lists = [line["ids"] for line in _json_lines(found)]
        if len(lists) != len(texts):
            raise UserError(f"{len(texts)} texts gave {len(lists)} lists of ids")
        return lists

    def _run(self, *arguments, given=None):
        done = subprocess.run([self.options.program, *map(str, arguments)],
                              capture_output=True, text=True, check=False,
                              input=given)
        if done.returncode != 0:
            told = [line for line in done.stderr.splitlines()
                    if line and not line.startswith(("banyan: warning", "["))]
            raise UserError(told[0].strip() if told else
                            f"{self.options.program} {arguments[0]} ended with "
                            f"{done.returncode}")
        return done.stdout
