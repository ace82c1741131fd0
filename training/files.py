"""Files that are either whole or not there."""

import contextlib
import json
import os
import pathlib
import shutil
import tempfile

from training.errors import UserError


@contextlib.contextmanager
def replaced(path):
    """Gives a temporary name beside `path`, which takes its place at the end.

    If anything fails, a full disk among it, `path` is as it was before.
    """
    path = pathlib.Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name + ".")
        os.close(handle)
        os.chmod(name, 0o644)
    except OSError as error:
        raise UserError(
            f"{path}: cannot be written: {error.strerror}") from error
    try:
        yield name
        with open(name, "rb") as written:
            os.fsync(written.fileno())
        os.replace(name, path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise UserError(f"{path}: cannot be written: {reason}") from error
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)


def copy_file(source, target):
    with replaced(target) as name:
        shutil.copyfile(source, name)


def write_text(path, text):
    with replaced(path) as name:
        pathlib.Path(name).write_text(text, encoding="utf-8")


def write_json(path, value):
    write_text(path, json.dumps(value, indent=2) + "\n")


def read_json(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError as error:
        raise UserError(f"{path}: there is no such file") from error
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: {error}") from error
