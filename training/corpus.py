"""corpus: text files into training, validation and test splits.

A split is decided by file. `--validation` and `--test` name directories (or
files) under the source that are held out whole, for near-duplicates across
files flatter every figure; without them, files are held out by a hash of their
path. Duplicates are dropped: a file that says what another says, or most of
whose lines stand in files already kept. Held-out files come first there, so
that what is near to them leaves the training split.
"""

import dataclasses
import hashlib
import json
import pathlib

from training.errors import UserError
from training.files import read_json, replaced, write_json

SPLITS = ("train", "validation", "test")


@dataclasses.dataclass
class Document:
    path: str  # relative to its source
    text: str


def add_arguments(parser):
    parser.add_argument("--source", nargs="+", required=True, metavar="PATH",
                        help="directories or files to read")
    parser.add_argument("--out", required=True, metavar="DIR")
    parser.add_argument("--suffix", nargs="+", default=[".py"], metavar="S",
                        help="endings of the files wanted (default: .py)")
    parser.add_argument("--exclude", nargs="+", default=[], metavar="PREFIX",
                        help="leave out paths that begin so")
    parser.add_argument("--validation", nargs="+", default=[], metavar="PREFIX",
                        help="hold out paths that begin so")
    parser.add_argument("--test", nargs="+", default=[], metavar="PREFIX",
                        help="hold out paths that begin so")
    parser.add_argument("--held-out-share", type=float, default=0.02,
                        metavar="X", help="without --validation and --test: "
                        "the share of files in each (default: %(default)s)")
    parser.add_argument("--max-bytes", type=int, default=400_000, metavar="N",
                        help="drop longer files (default: %(default)s)")
    parser.add_argument("--max-seen", type=float, default=0.6, metavar="X",
                        help="drop a file if more of its lines were seen "
                        "before (default: %(default)s)")
    parser.add_argument("--max-symbols", type=float, default=0.5, metavar="X",
                        help="drop a file, as a generated table, if more of "
                        "its characters are neither letters nor blank "
                        "(default: %(default)s)")


def run(options):
    documents, dropped = _read(options)
    if not documents:
        raise UserError(f"{' '.join(options.source)}: no file ending in "
                        f"{' or '.join(options.suffix)} was kept")
    splits = {name: [] for name in SPLITS}
    for document in documents:
        splits[_split_of(document.path, options)].append(document)
    splits = _without_duplicates(splits, options.max_seen, dropped)
    if not splits["train"]:
        raise UserError("every file was held out; there is nothing to train on")
    write_splits(options.out,
                 {name: [dataclasses.asdict(document) for document in kept]
                  for name, kept in splits.items()},
                 dropped, "files", options.validation, options.test)


def write_splits(out, splits, dropped, what, validation=(), test=()):
    """Writes rows with a path and a text or turns; prints what each split holds and
    why others were dropped. `what` the rows are: files."""
    out = pathlib.Path(out)
    summary = {}
    for name, rows in splits.items():
        with replaced(out / f"{name}.jsonl") as path:
            with open(path, "w", encoding="utf-8") as file:
                file.writelines(json.dumps(row) + "\n" for row in rows)
        size = sum(len(text.encode()) for row in rows
                   for text in row.get("turns") or [row["text"]])
        summary[name] = {"files": len(rows), "bytes": size}
    for name in SPLITS:
        print(f"{name:<12}{summary[name]['files']:>8} {what}"
              f"{summary[name]['bytes']:>14,} bytes")
    for reason, count in dropped.items():
        print(f"dropped     {count:>8} {what}: {reason}")
    write_json(out / "corpus.json", {
        **summary, "dropped": dropped, "validation_prefixes": list(validation),
        "test_prefixes": list(test)})


def read_split(directory, split, template=None):
    """The documents of one split; chats, lines with `turns` instead of `text`, as
    `template` (chats.template_of) writes them."""
    path = pathlib.Path(directory) / f"{split}.jsonl"
    if not path.exists():
        raise UserError(f"{path}: there is no such file; `corpus` writes it")
    documents = []
    with open(path, "rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                fields = json.loads(line.decode("utf-8"))
                if "turns" in fields:
                    text = _chat(fields["turns"], template, f"{path}:{number}")
                else:
                    text = fields["text"]
                if not isinstance(text, str):
                    raise TypeError("text is not a string")
                documents.append(Document(fields["path"], text))
            except (ValueError, KeyError, TypeError) as error:
                raise UserError(f"{path}:{number}: expected an object with "
                                f"path and text, or turns: {error}") from error
    if not documents:
        raise UserError(f"{path}: the {split} split is empty")
    return documents


def _chat(turns, template, place):
    if not isinstance(turns, list) or not turns or not all(isinstance(turn, str) for turn in turns):
        raise TypeError("turns are not texts")
    if template is None:
        raise UserError(f"{place}: a chat, and the model has no chat template")
    return template(turns)


def describe(directory):
    return read_json(pathlib.Path(directory) / "corpus.json")


def _read(options):
    documents = []
    dropped = {}

    def drop(reason):
        dropped[reason] = dropped.get(reason, 0) + 1

    for source in options.source:
        for relative, path in _paths(pathlib.Path(source), options.suffix):
            if _begins(relative, options.exclude):
                drop("excluded")
                continue
            raw = path.read_bytes()
            if len(raw) > options.max_bytes:
                drop(f"longer than {options.max_bytes:,} bytes")
                continue
            try:
                text = raw.decode("utf-8")
            except UnicodeDecodeError:
                drop("not UTF-8")
                continue
            text = text.replace("\r\n", "\n")
            if not text.strip() or "\0" in text:
                drop("empty or binary")
            elif _symbols(text) > options.max_symbols:
                drop("mostly digits and symbols")
            else:
                documents.append(Document(relative, text))
    return documents, dropped


def _paths(source, suffixes):
    if source.is_file():
        return [(source.name, source)]
    if not source.is_dir():
        raise UserError(f"{source}: there is no such file or directory")
    return sorted((path.relative_to(source).as_posix(), path)
                  for path in source.rglob("*")
                  if path.is_file() and path.suffix in suffixes)


def _begins(path, prefixes):
    return any(path.startswith(prefix) for prefix in prefixes)


def _symbols(text):
    dense = [c for c in text if not c.isspace()]
    return sum(not c.isalpha() and c != "_" for c in dense) / len(dense)


def _split_of(path, options):
    if options.validation or options.test:
        if _begins(path, options.test):
            return "test"
        return "validation" if _begins(path, options.validation) else "train"
    return split_by_hash(path, options.held_out_share)


def split_by_hash(path, share):
    """`share` of the paths are in each of test and validation."""
    place = int(hashlib.sha256(path.encode()).hexdigest()[:8], 16) / 2**32
    if place < share:
        return "test"
    return "validation" if place < 2 * share else "train"


def _without_duplicates(splits, max_seen, dropped):
    seen = set()
    kept = {}
    for name in ("test", "validation", "train"):
        kept[name] = []
        for document in splits[name]:
            lines = [hash(line.strip()) for line in document.text.split("\n")
                     if len(line.strip()) >= 20]
            known = sum(line in seen for line in lines)
            whole = hash(document.text)  # tells where all lines are short
            if whole in seen or known > max_seen * len(lines):
                reason = "most lines seen before"
                dropped[reason] = dropped.get(reason, 0) + 1
                continue
            seen.update(lines + [whole])
            kept[name].append(document)
    return {name: kept[name] for name in SPLITS}
