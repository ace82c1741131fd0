"""The program's commands as functions."""

import codecs
import contextlib
import importlib
import io
import json
import os
import pathlib
import sys
import tempfile

from . import parts
_REFUTED = 3  # the exit status: texts refute a claim to be lossless


class Error(Exception):
    """A failed command: its message, with its exit status as `code`.

    `printed` is the standard output up to the failure. If `exact` refutes a method's
    claim to be lossless, this is the whole result.
    """

    def __init__(self, message, code, printed=""):
        super().__init__(message)
        self.code, self.printed = code, printed


def core():
    """The extension: beside this file or, of a clone, where its build put it."""
    package = sys.modules[__package__]
    for folder in (os.environ.get("BANYAN_EXTENSION"),
                   pathlib.Path(__file__).resolve().parents[2] / "build/release/python/banyan"):
        if folder and os.fspath(folder) not in package.__path__:
            package.__path__.append(os.fspath(folder))
    try:
        module = importlib.import_module("banyan._core")
    except ImportError as error:
        raise ImportError(
            "banyan's extension is not built: see python/README.md "
            f"(`banyan.records` and `banyan.referee` work without it): {error}") from error
    # Presets are found from here on.
    if "BANYAN_HOME" not in os.environ:
        for folder in pathlib.Path(module.__file__).resolve().parents:
            if (folder / "configs/methods").is_dir():
                os.environ["BANYAN_HOME"] = str(folder)
                break
    return module


def writer(stream):
    """A function that writes bytes of UTF-8 to a text stream."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def write(data):
        stream.write(decoder.decode(data))
        stream.flush()
    return write


class _Tee(io.StringIO):
    def write(self, text):
        sys.stderr.write(text)
        return super().write(text)

    def flush(self):
        sys.stderr.flush()


def command(*words, quiet=False):
    """Runs a command line and returns what it prints. Raises Error if it fails.

    Progress and warnings go to sys.stderr unless `quiet`.
    """
    return _run([str(word) for word in words], quiet)[0]


def _run(words, quiet):
    module = core()
    out, err = io.StringIO(), io.StringIO() if quiet else _Tee()
    code = module.run(["banyan", *words], writer(out), writer(err))
    if code not in (0, _REFUTED):
        lines = [line for line in err.getvalue().splitlines() if line]
        message = "\n".join(line.removeprefix("banyan: ") for line in lines
                            if line.startswith("banyan: ")) or "\n".join(lines)
        raise Error(message or f"banyan {words[0]} failed", code, out.getvalue())
    return out.getvalue(), code


def _plain(value):
    """A dict for YAML: classes by their names."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, type):
        return parts.path_of(value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    return value


@contextlib.contextmanager
def _file(source):
    """The path of a YAML file, of YAML text or of a dict.

    Text and dicts are written into the working folder for as long as they are needed, so
    that paths in them are relative to it.
    """
    if isinstance(source, os.PathLike) or (isinstance(source, str) and "\n" not in source
                                           and not source.lstrip().startswith("{")):
        yield os.fspath(source)
        return
    text = source if isinstance(source, str) else json.dumps(_plain(source))
    handle, path = tempfile.mkstemp(prefix=".banyan-", suffix=".yaml", dir=".")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        yield path
    except Error as error:
        name = "<text>" if isinstance(source, str) else "<dict>"
        raise Error(str(error).replace(path, name), error.code, error.printed) from None
    finally:
        os.unlink(path)


def _options(options):
    words = []
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            words.append(option)
        elif isinstance(value, dict):  # set={"limits.max_new_tokens": 8}
            for key, item in value.items():
                words += [option, f"{key}={json.dumps(_plain(item))}"
                          if not isinstance(item, str) else f"{key}={item}"]
        elif isinstance(value, (list, tuple)):
            if all(isinstance(item, str) for item in value):
                for item in value:
                    words += [option, item]
            else:
                words += [option, ",".join(map(str, value))]
        else:
            words += [option, os.fspath(value) if isinstance(value, os.PathLike)
                      else str(value)]
    return words


def _json(words, options, quiet):
    return json.loads(_run([*words, *_options(options), "--json"], quiet)[0])


def generate(prompt=None, *, model, method=None, quiet=True, **options):
    """Generates text; a dict with `text`, `ids` and what it took.

    `prompt` is a text, or the messages of a chat as a list. `method` is a preset's name, a
    file, or a dict. Other options are those of `banyan generate`: chat=True,
    temperature=0, max_new_tokens=64, compare=True, ids=[1, 2].
    """
    words = ["generate", "--model", os.fspath(model)]
    for message in [prompt] if isinstance(prompt, str) else prompt or []:
        words += ["--prompt", message]
    if method is None:
        return _json(words, options, quiet)
    with _file(method) as path:
        return _json([*words, "--method", path], options, quiet)


def check(experiment, *, quiet=True, **options):
    """Checks an experiment; a dict with its cells and the estimated time."""
    with _file(experiment) as path:
        return json.loads(_run(["check", path, *_options(options), "--format", "json"],
                               quiet)[0])


def run(experiment, out, *, quiet=False, **options):
    """Runs an experiment into the folder `out` and returns its Report.

    The same call resumes an interrupted run. Options are those of `banyan run`, such as
    set={"workload.prompts": 8}.
    """
    with _file(experiment) as path:
        _run(["run", path, "--out", os.fspath(out), *_options(options)], quiet)
    return report(out)


def report(records, *, quiet=True, **options):
    """The Report of records: files, or folders of them."""
    paths = [records] if isinstance(records, (str, os.PathLike)) else records
    text, _ = _run(["report", *map(os.fspath, paths), *_options(options),
                    "--format", "json"], quiet)
    from .records import Report  # needs protobuf
    return Report(json.loads(text))


def measure(source=None, *, quiet=True, **options):
    """Measures a model (model=...), or an experiment or a method; a dict."""
    if source is None:
        return _json(["measure"], options, quiet)
    with _file(source) as path:
        return _json(["measure", path], options, quiet)


def tree(source, *, quiet=True, **options):
    """Builds and rates the shape of a draft tree; a dict."""
    with _file(source) as path:
        return _json(["tree", path], options, quiet)


def exact(source, *, quiet=True, **options):
    """The exact output distribution of a method on a toy model; a dict."""
    with _file(source) as path:
        return _json(["exact", path], options, quiet)


def add_metric(metric):
    """Has reports compute a Metric from now on, in this process."""
    from .records import record_pb2  # needs protobuf

    def parsed(kind, data):
        return None if data is None else kind.FromString(data)

    def count(cell, record, baseline):
        return metric.count(parsed(record_pb2.Cell, cell),
                            parsed(record_pb2.PromptRecord, record),
                            parsed(record_pb2.PromptRecord, baseline))

    if not metric.name or not metric.sentence:
        raise ValueError("a metric needs a `name` and a `sentence`")
    core().add_metric(metric.name, metric.sentence, metric.unit, count)


def presets(*, quiet=True):
    """The presets, with what each needs and how fast it was."""
    return json.loads(_run(["list", "--json"], quiet)[0])["presets"]
