#!/usr/bin/env python3
"""Times greedy decoding of the same prompts by Banyan and by its peers (scripts/peers).

  peers.py PROGRAM FOLDER [--models smollm2|qwen] [--prompts N] [--max-new-tokens N]
           [--workload FILE] [--check]

With --check it only looks at the options, and ends with 3 if they are in order. FOLDER
holds the GGUF files. Every prompt is decoded by every method before the next prompt; the
starting method rotates. Every engine gets the token ids of Banyan's chat template;
whether transformers' tokenizer and template give the same is counted. Times exclude the
prompt. The peers' pass over the prompt yields a token and counts as a pass; Banyan's
prefill yields none and does not count.
"""

import argparse
import collections
import importlib
import json
import os
import pathlib
import platform
import random
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
IN_ORDER = 3  # the exit status of --check
LOOKUP = 8  # draft tokens of prompt lookup, as in configs/methods/copy.yaml
CHAIN_LENGTH = 3  # draft tokens of a small model

# Of Banyan's `weights` the first computes the texts that others are compared with, the
# last the speed. `peer_weights` are transformers', `blocks` what llama.cpp computes with.
Models = collections.namedtuple("Models",
                                "name file draft weights peer_weights blocks")
MODELS = {
    "smollm2": Models("SmolLM2-135M-Instruct", "SmolLM2-135M-Instruct.Q4_1.gguf", None,
                      ("bf16", "q8", "q4"), ("bfloat16", "float32"), "Q4_1"),
    "qwen": Models("Qwen2.5-Coder-1.5B-Instruct",
                   "Qwen2.5-Coder-1.5B-Instruct.Q4_K_M.gguf",
                   "Qwen2.5-Coder-0.5B-Instruct.Q4_K_M.gguf",
                   ("f32", "q8", "q4"), ("float32",), "Q4_K_M"),
}
CHAIN = """models:
  draft: {{directory: {file}, weights: q4}}
drafters: [{{name: small_model, model: draft}}]
policy: {{name: chain, nodes: {nodes}}}
verifier: {{name: multi_round}}
"""

# `tokens` took `seconds`; without those of the first pass, which reads the prompt.
Outcome = collections.namedtuple("Outcome", "ids passes tokens seconds")


class Clock:
    """Counts the passes of a text and the tokens and time after the first pass."""

    def __init__(self):
        self.passes, self.tokens, self.first, self.start = 0, 0, 0, None

    def add(self, tokens):
        """Adds tokens that a pass gave, when they are there."""
        if self.start is None:
            self.first, self.start = tokens, time.perf_counter()
        self.tokens += tokens

    def outcome(self, ids):
        return Outcome(ids, self.passes, self.tokens - self.first,
                       time.perf_counter() - self.start)


class Banyan:
    """A process for each text; the time is what it states for its rounds."""

    name = "Banyan"

    def __init__(self, options):
        self.options = options
        files = {"prompt lookup": ROOT / "configs/methods/copy.yaml",
                 "suffix decoding": ROOT / "configs/methods/suffix.yaml"}
        if options.draft:
            files["small model"] = pathlib.Path(options.scratch) / "chain.yaml"
            files["small model"].write_text(
                CHAIN.format(file=json.dumps(str(options.draft)), nodes=CHAIN_LENGTH))
        reference, *others = options.models.weights
        self.methods = {("plain", reference): []}
        for weights in others if options.draft else options.models.weights:
            self.methods["plain", weights] = []
            for method, file in files.items():
                self.methods[method, weights] = ["--method", file]

    def generate(self, method, text):
        done = subprocess.run(
            [self.options.program, "generate", "--model", self.options.model,
             "--weights", method[1], "--temperature", "0", "--json", "--max-new-tokens",
             str(self.options.max_new_tokens), *text, *self.methods[method]],
            capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(done.stderr)
        return json.loads(done.stdout)

    def decode(self, method, prompt):
        result = self.generate(method, ["--ids", ",".join(map(str, prompt))])
        ids = result["ids"]
        return Outcome(ids, result["round_count"], len(ids),
                       len(ids) * result["ms_per_token"] / 1e3)


class Stream:
    """What transformers hands over after each pass; the prompt comes first."""

    def __init__(self, clock):
        self.clock, self.begun = clock, False

    def put(self, ids):
        if self.begun:
            self.clock.add(ids.numel())
        self.begun = True

    def end(self):
        pass


class HuggingFace:
    name = "transformers"
    modules = ("torch", "transformers")

    def __init__(self, options):
        os.environ["TQDM_DISABLE"] = "1"
        import torch
        import transformers
        transformers.logging.set_verbosity_error()
        transformers.logging.disable_progress_bar()
        torch.set_num_threads(os.cpu_count())
        self.torch, self.limit = torch, options.max_new_tokens

        def load(path, **more):
            return transformers.AutoModelForCausalLM.from_pretrained(
                path.parent, gguf_file=path.name, **more).eval()

        self.models = {name: load(options.model, dtype=getattr(torch, name))
                       for name in options.models.peer_weights}
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(
            options.model.parent, gguf_file=options.model.name)
        methods = {"plain": {}, "prompt lookup": {"prompt_lookup_num_tokens": LOOKUP}}
        if options.draft:
            methods["small model"] = {
                "assistant_model": load(options.draft, dtype=torch.float32)}
        self.methods = {(method, name): more for method, more in methods.items()
                        for name in self.models}

    def prompt(self, message):
        return self.tokenizer.apply_chat_template(
            [{"role": "user", "content": message}], add_generation_prompt=True,
            return_dict=True)["input_ids"]

    def decode(self, method, prompt):
        clock, model = Clock(), self.models[method[1]]

        def count(*_):
            clock.passes += 1

        hook = model.register_forward_hook(count)
        with self.torch.inference_mode():
            ids = model.generate(
                self.torch.tensor([prompt]), do_sample=False, streamer=Stream(clock),
                attention_mask=self.torch.ones(1, len(prompt), dtype=self.torch.long),
                max_new_tokens=self.limit, **self.methods[method])
        hook.remove()
        return clock.outcome(ids[0, len(prompt):].tolist())


class LlamaCpp:
    name = "llama.cpp"
    modules = ("llama_cpp",)

    def __init__(self, options):
        import llama_cpp
        from llama_cpp.llama_speculative import LlamaPromptLookupDecoding
        self.limit = options.max_new_tokens

        def model(**more):
            return llama_cpp.Llama(
                str(options.model), n_ctx=2048, n_threads=os.cpu_count(),
                n_threads_batch=os.cpu_count(), verbose=False, **more)

        blocks = options.models.blocks
        self.methods = {("plain", blocks): model(),
                        ("prompt lookup", blocks): model(
                            draft_model=LlamaPromptLookupDecoding(
                                num_pred_tokens=LOOKUP))}

    def decode(self, method, prompt):
        model = self.methods[method]
        model.reset()
        clock = Clock()
        evaluate = model.eval

        def counted(tokens):
            clock.passes += 1
            evaluate(tokens)

        model.eval = counted
        ids = []
        for token in model.generate(prompt, temp=0.0, reset=False):
            clock.add(1)
            ids.append(token)
            if token == model.token_eos() or len(ids) == self.limit:
                break
        del model.eval
        return clock.outcome(ids)


def first_message(line):
    row = json.loads(line)
    message = row["prompt"] if "prompt" in row else row["turns"][0]
    if not isinstance(message, str):
        raise ValueError("the prompt is no text")
    return message


def first_messages(path, most):
    """Evenly spread over the file, as an experiment takes them."""
    messages = []
    lines = path.read_bytes().split(b"\n")
    for number, line in enumerate(lines, 1):
        try:
            if line.strip():
                messages.append(first_message(line.decode("utf-8")))
        except (ValueError, LookupError, TypeError) as error:
            raise ValueError(f"{path}:{number}: expected a JSON object with the text "
                             f"`prompt` or the list `turns`, found {line[:60]!r}"
                             ) from error
    if not messages:
        raise ValueError(f"{path}: expected prompts, found none")
    count = min(most, len(messages))
    return [messages[i * len(messages) // count] for i in range(count)]


def speed(outcomes):
    return sum(o.tokens for o in outcomes) / sum(o.seconds for o in outcomes)


def interval(value, *columns):
    """95 %, by bootstrap over prompts; columns are resampled together."""
    chance = random.Random(0)
    count = len(columns[0])
    draws = []
    for _ in range(2000):
        picked = chance.choices(range(count), k=count)
        draws.append(value(*([column[i] for i in picked] for column in columns)))
    draws.sort()
    return draws[50], draws[-50]


def table(found, weights):
    texts, plain = (found["Banyan", "plain", name] for name in (weights[0], weights[-1]))
    yield (f"{'engine':<13}{'method':<17}{'weights':<10}{'tokens/s':>9}{'':18}"
           f"{'per pass':>9}{f'against Banyan plain {weights[-1]}':>27}"
           f"{f'text of {weights[0]}':>14}")
    for (engine, method, format_), outcomes in found.items():
        low, high = interval(speed, outcomes)
        ratio = speed(outcomes) / speed(plain)
        least, most = interval(lambda a, b: speed(a) / speed(b), outcomes, plain)
        passes = sum(len(o.ids) for o in outcomes) / sum(o.passes for o in outcomes)
        same = sum(o.ids == p.ids for o, p in zip(outcomes, texts))
        yield (f"{engine:<13}{method:<17}{format_:<10}{speed(outcomes):>9.1f}"
               f"{f' [{low:.1f}, {high:.1f}]':<18}{passes:>9.2f}"
               f"{f'{ratio:.2f} [{least:.2f}, {most:.2f}]':>27}"
               f"{f'{same} of {len(texts)}':>14}")


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="scripts/peers", description=__doc__, allow_abbrev=False,
        usage="scripts/peers [--models smollm2|qwen] [--prompts N] "
              "[--max-new-tokens N] [--workload FILE]",
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--models", choices=tuple(MODELS), default="smollm2")
    parser.add_argument("--prompts", type=int, default=10)
    parser.add_argument("--max-new-tokens", type=int, default=64)
    parser.add_argument("--workload", type=pathlib.Path,
                        default=ROOT / "experiments/workloads/chat.jsonl")
    options = parser.parse_args(arguments)
    if options.prompts < 1 or options.max_new_tokens < 2:
        parser.error("expected --prompts from 1 and --max-new-tokens from 2")
    options.models = MODELS[options.models]
    options.folder = options.folder.resolve()
    options.model = options.folder / options.models.file
    options.draft = options.models.draft and options.folder / options.models.draft
    try:
        options.messages = first_messages(options.workload, options.prompts)
    except (OSError, ValueError) as error:
        parser.error(f"--workload: {error}")
    return options


def compare(options):
    weights = options.models.weights
    prompts = len(options.messages)
    banyan = Banyan(options)
    engines, lines = [banyan], []
    for peer in (HuggingFace, LlamaCpp):
        try:
            for module in peer.modules:
                importlib.import_module(module)
        except ImportError as error:
            lines.append(f"{peer.name}: left out, {error}")
            continue
        engines.append(peer(options))
    turns = [(engine, method) for engine in engines for method in engine.methods]
    found = {(engine.name, *method): [] for engine, method in turns}
    same_prompts = 0
    for index, message in enumerate(options.messages):
        prompt = banyan.generate(("plain", weights[-1]),
                                 ["--chat", "--prompt", message])["prompt_ids"]
        same_prompts += any(isinstance(engine, HuggingFace) and
                            engine.prompt(message) == prompt for engine in engines)
        for engine, method in turns[index % len(turns):] + turns[:index % len(turns)]:
            found[(engine.name, *method)].append(engine.decode(method, prompt))
        print(f"{index + 1} of {prompts} prompts", file=sys.stderr, flush=True)
    processor = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo")
                      if line.startswith("model name")), platform.processor())
    print(f"{options.models.name}, greedy, {prompts} prompts of "
          f"{options.workload.name}, at most {options.max_new_tokens} new tokens; "
          f"{processor}, {os.cpu_count()} cores. Tokens per second after the prompt.")
    print("\n".join(table(found, weights)))
    if any(isinstance(engine, HuggingFace) for engine in engines):
        lines.append(f"transformers' tokenizer and chat template give Banyan's tokens for "
                     f"{same_prompts} of {prompts} prompts.")
    print("\n".join(lines + [
        "transformers expands the file's blocks and computes bf16 in bf16, Banyan in "
        "float32; llama.cpp computes with the file's 4-bit blocks: their texts may differ. "
        "No peer drafts a tree here."]))


def main(arguments):
    options = parse(arguments)
    if options.check:
        return IN_ORDER
    with tempfile.TemporaryDirectory() as options.scratch:
        compare(options)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
