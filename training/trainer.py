"""The loop that every recipe shares: rates, log, progress, kills, resuming.

A recipe gives the loss of a step; whatever is random in it comes from the seed
and the step's number, so that a run that was killed and resumed takes the same
steps as one that was not.
"""

import contextlib
import csv
import hashlib
import math
import os
import pathlib
import signal
import sys
import time

import torch
import tqdm

from training import made_for
from training.errors import UserError
from training.files import read_json, replaced, write_json
from training.optimizers import share_of_peak

STATE = "state.pt"
SUMMARY = "training.json"
# Options that change how a run goes, not what comes of it.
PASSING = ("command", "handler", "words", "out", "device", "compile",
           "save_minutes", "log_every", "threads", "texts")
# Options that name directories: what is in them counts, not where they are.
INPUTS = ("corpus", "tokenizer", "target", "student", "before")
CONTENTS = ("train.jsonl", "tokenizer.json", "model.safetensors")


def add_arguments(parser, steps):
    parser.add_argument("--out", required=True, metavar="DIR",
                        help="where the result goes, its log.csv and, while "
                        "training, state.pt, from which a run goes on")
    parser.add_argument("--steps", type=int, default=steps, metavar="N",
                        help="default: %(default)s")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--device", default="auto", metavar="D",
                        help="auto, cpu, cuda (default: %(default)s)")
    parser.add_argument("--precision", choices=("auto", "f32", "bf16"),
                        default="auto", help="of products; auto: bf16 on a "
                        "GPU, f32 elsewhere")
    parser.add_argument("--compile", action="store_true",
                        help="compile layers with torch.compile: a fifth "
                        "faster, after a minute")
    parser.add_argument("--threads", type=int, default=0, metavar="N",
                        help="CPU threads (default: all)")
    parser.add_argument("--save-minutes", type=float, default=2.0, metavar="X",
                        help="how often state.pt is written "
                        "(default: %(default)s)")
    parser.add_argument("--log-every", type=int, default=20, metavar="N",
                        help="steps to a line of log.csv "
                        "(default: %(default)s)")


def device_of(options):
    if options.threads:
        torch.set_num_threads(options.threads)
    if options.device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if options.device.startswith("cuda") and not torch.cuda.is_available():
        raise UserError("--device cuda: PyTorch finds no GPU")
    return options.device


def autocast(options, device):
    """The precision of the products of a recipe."""
    kind = device.split(":")[0]
    narrow = (options.precision == "bf16" or
              options.precision == "auto" and kind == "cuda")
    return torch.autocast(kind, torch.bfloat16, enabled=narrow)


def machine(options):
    """What computed it, in a few words."""
    if device_of(options) != "cpu":
        return torch.cuda.get_device_name()
    count = torch.get_num_threads()
    cores = f"{count} CPU core{'s' if count > 1 else ''}"
    name = _processor()
    return f"{cores} ({name})" if name else cores


def _processor():
    """Returns the processor's name; empty where the system does not tell it."""
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines
                 if line.startswith("model name")), "")


def already_done(options):
    """True if `--out` holds the result of these very options."""
    path = pathlib.Path(options.out) / SUMMARY
    if not path.exists():
        return False
    if read_json(path)["options"] != lasting(options):
        raise UserError(f"{path}: made with other options; give another --out "
                        "or remove the directory")
    print(f"{options.out}: trained already with these options")
    return True


def lasting(options):
    """The options that decide the result, as training.json keeps them."""
    return {name: fingerprint(value) if name in INPUTS else
            bool(value) if name == "states" else value
            for name, value in sorted(vars(options).items())
            if name not in PASSING}


def fingerprint(directories):
    """What lies in a directory, in a few letters."""
    if isinstance(directories, list):
        return [fingerprint(directory) for directory in directories]
    digest = hashlib.sha256()
    for name in CONTENTS:
        path = pathlib.Path(directories) / name
        if path.exists():
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


class Trainer:
    def __init__(self, options, module, optimizers, columns=()):
        self.options = options
        self.out = pathlib.Path(options.out)
        self.module = module
        self.optimizers = optimizers
        self.columns = ("step", "loss", *columns, "rate", "seconds")
        self.lasting = lasting(options)
        self.step = 0
        self.seconds = 0.0
        self.processor_seconds = 0.0
        self.saved_step = None
        self.recent = []
        self.last = {}
        self.interrupted = None

    def train(self, loss_of_step):
        """Takes all steps; `loss_of_step(step)` gives the loss and a dict of
        figures to log. Returns what is worth keeping in training.json."""
        self._resume()
        bar = tqdm.tqdm(total=self.options.steps, initial=self.step,
                        desc=self.out.name, unit="step", smoothing=0.05,
                        mininterval=1 if sys.stderr.isatty() else 30)
        with bar, self._signals():
            saved_at = started = time.monotonic()
            before = self.seconds
            busy_before = self.processor_seconds - time.process_time()
            while self.step < self.options.steps:
                loss, figures = self._loss(loss_of_step)
                # Only now it is known that these weights are sound.
                if self.interrupted:
                    self._stop()
                if (time.monotonic() - saved_at >
                        self.options.save_minutes * 60):
                    self._save()
                    saved_at = time.monotonic()
                self._update(loss, figures)
                self.seconds = before + time.monotonic() - started
                self.processor_seconds = busy_before + time.process_time()
                if (self.step % self.options.log_every == 0 or
                        self.step == self.options.steps):
                    self._log()
                    bar.set_postfix(loss=f"{self.last['loss']:.4f}")
                bar.update()
            if not all(bool(torch.isfinite(weight).all())
                       for weight in self.module.parameters()):
                raise self._diverged("the weights are not finite")
            if self.interrupted:
                self._stop()
        return {"steps": self.step, "seconds": round(self.seconds, 1),
                "processor_seconds": round(self.processor_seconds, 1),
                **{name: round(value, 5) for name, value in self.last.items()}}

    def finish(self, recipe, figures):
        """Says for which target the result is, and that it is whole."""
        if recipe != "pretrain":
            made_for.write(self.out, self.options.target,
                           made_for.drafter_of(recipe, self.options))
        write_json(self.out / SUMMARY, {
            "recipe": recipe, "command": " ".join([recipe,
                                                   *self.options.words]),
            "options": self.lasting,
            "machine": machine(self.options), "torch": torch.__version__,
            **figures})
        with contextlib.suppress(FileNotFoundError):
            (self.out / STATE).unlink()

    def _stop(self):
        self._save()
        raise UserError(f"stopped at step {self.step} by {self.interrupted}; "
                        "the same command goes on from there")

    def _loss(self, loss_of_step):
        loss, figures = loss_of_step(self.step)
        value = float(loss.detach())
        if not math.isfinite(value):
            raise self._diverged(f"the loss is {value}")
        return loss, {"loss": value, **figures}

    def _diverged(self, what):
        where = (f"the state of step {self.saved_step} is kept in "
                 f"{self.out / STATE}" if self.saved_step is not None else
                 "nothing was saved yet")
        return UserError(f"step {self.step}: {what}; {where}; try lower rates")

    def _update(self, loss, figures):
        share = share_of_peak(self.step, self.options.steps,
                              self.options.warmup)
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = group["peak"] * share
        for optimizer in self.optimizers:
            optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.module.parameters(), 1.0)
        for optimizer in self.optimizers:
            optimizer.step()
        self.step += 1
        self.recent.append(figures)

    def _log(self):
        self.last = {}
        for name in ("loss", *self.columns[2:-2]):
            # Some figures are not of every step.
            values = [float(r[name]) for r in self.recent if name in r]
            if values:
                self.last[name] = sum(values) / len(values)
        self.recent = []
        row = {"step": self.step, **self.last,
               "rate": self.optimizers[0].param_groups[0]["lr"],
               "seconds": self.seconds}
        path = self.out / "log.csv"
        try:
            fresh = not path.exists()
            with open(path, "a", encoding="utf-8", newline="") as file:
                writer = csv.writer(file)
                if fresh:
                    writer.writerow(self.columns)
                writer.writerow([row["step"]] + [
                    f"{row[name]:.6g}" if name in row else ""
                    for name in self.columns[1:]])
        except OSError as error:
            raise UserError(f"{path}: {error.strerror}") from error

    def _save(self):
        state = {
            "step": self.step,
            "seconds": self.seconds,
            "processor_seconds": self.processor_seconds,
            "recent": self.recent,
            "last": self.last,
            "options": self.lasting,
            "module": self.module.state_dict(),
            "optimizers": [o.state_dict() for o in self.optimizers],
        }
        with replaced(self.out / STATE) as name:
            try:
                torch.save(state, name)
            except RuntimeError as error:  # how PyTorch tells of a full disk
                kept = ("" if self.saved_step is None else
                        f"; the state of step {self.saved_step} is kept")
                raise UserError(f"{self.out / STATE}: cannot be written: "
                                f"{error}{kept}") from error
        self.saved_step = self.step

    def _resume(self):
        path = self.out / STATE
        try:
            self.out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"{self.out}: {error.strerror}") from error
        if not path.exists():
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.out / "log.csv")
            return
        try:
            state = torch.load(path, weights_only=True)
        except Exception as error:  # a broken pickle can raise anything
            raise UserError(f"{path}: not a state of this program: "
                            f"{error}") from error
        if state["options"] != self.lasting:
            raise UserError(f"{path}: a run with other options stopped here; "
                            "give those, another --out, or remove it")
        self.module.load_state_dict(state["module"])
        for optimizer, stored in zip(self.optimizers, state["optimizers"]):
            optimizer.load_state_dict(stored)
        self.step = self.saved_step = state["step"]
        self.seconds = state["seconds"]
        self.processor_seconds = state.get("processor_seconds", 0.0)
        self.recent = state["recent"]
        self.last = state.get("last", {})
        self._cut_log()
        print(f"{self.out}: goes on from step {self.step}")

    def _cut_log(self):
        path = self.out / "log.csv"
        if not path.exists():
            return
        with open(path, encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))
        # A kill may leave half a line: of a later step, cut to an earlier one.
        kept = rows[:1] + [row for row in rows[1:]
                           if len(row) == len(self.columns) and
                           int(row[0]) <= self.step]
        with replaced(path) as name:
            with open(name, "w", encoding="utf-8", newline="") as file:
                csv.writer(file).writerows(kept)

    @contextlib.contextmanager
    def _signals(self):
        def note(number, _):
            self.interrupted = signal.Signals(number).name

        before = {number: signal.signal(number, note)
                  for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
