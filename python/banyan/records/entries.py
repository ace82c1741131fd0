"""Reads record files entry by entry. docs/formats.md describes their bytes.

The rules are those of experiments/records/record_file.h: an incomplete last entry and
an incomplete last batch are a torn tail, which is left out; everything else that is
not as expected is an error. Contradictions within a record are found by check.py, where
a table is made or on request: that takes ten times as long as reading.
"""

import array
import hashlib
import os
import stat
import struct
import sys
import zlib
from typing import NamedTuple

from google.protobuf.message import DecodeError

from . import check, record_pb2

MAGIC = b"BANYANR1"
HEADER = struct.Struct("<III")  # length, its CRC-32, the CRC-32 of the payload
LENGTH = struct.Struct("<I")


class RecordError(ValueError):
    """Records that cannot be used. The message names the file and the byte."""


class NothingRecorded(RecordError):
    """A file that ends before its context. It may be removed."""


class RecordWarning(UserWarning):
    """What a reader of the numbers should know, as `banyan report` warns of it."""


class Entry(NamedTuple):
    """Where one prompt record is, and what joining the files takes of it."""

    byte: int
    cell: int
    prompt: int
    id: str
    kind: str
    turn: int
    batch: int
    batch_prompts: int
    asked: bytes  # a hash of the prompt's tokens; empty above temperature 0
    answered: bytes  # the same of the emitted tokens


class RecordFile(NamedTuple):
    """One record file. Its prompt records stay in the file."""

    path: str
    context: record_pb2.Context
    entries: list
    whole_bytes: int
    torn_bytes: int


def corrupt(path, byte, what):
    return RecordError(f"{path}: the entry at byte {byte}: {what}")


def _open(path):
    """Opens a file to read. Refuses pipes, sockets and devices as the program does:
    opening a pipe waits for a writer."""
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        kind = ("pipe" if stat.S_ISFIFO(mode) else
                "socket" if stat.S_ISSOCK(mode) else "device")
        raise RecordError(f"{path}: expected an ordinary file, found a {kind}")
    return open(path, "rb")


def _mismatch(what, expected, found):
    return (f"{what} does not match its checksum: expected {expected:#010x}, found "
            f"{found:#010x}")


def _payload_at(file, path, byte, size):
    """The payload of the entry at `byte`; None if the file ends before it does."""
    if size - byte < HEADER.size:
        return None
    file.seek(byte)
    header = file.read(HEADER.size)
    if len(header) < HEADER.size:
        return None
    length, length_sum, payload_sum = HEADER.unpack(header)
    found = zlib.crc32(header[:LENGTH.size])
    if found != length_sum:
        raise corrupt(path, byte, _mismatch("its length", length_sum, found))
    if size - byte - HEADER.size < length:
        return None
    payload = file.read(length)
    if len(payload) < length:
        return None
    found = zlib.crc32(payload)
    if found != payload_sum:
        raise corrupt(path, byte, _mismatch("it", payload_sum, found))
    return payload


def _parse(message_type, payload, path, byte, kind):
    try:
        return message_type.FromString(payload)
    except DecodeError as error:
        raise corrupt(path, byte, f"it is no {kind}") from error


def _describe_trunks(context):
    """What older builds did not record of trunks."""
    for cell in context.cells:
        for trunk in cell.trunks:
            if not trunk.HasField("chain"):
                trunk.chain = trunk.policy in ("chain", "adaptive_chain")
                trunk.adapts = trunk.policy in ("adaptive_chain", "best_first",
                                                "expand_rerank", "auto")


def _number_draws(record):
    """Numbers the draws of rounds whose builds did not: list after list."""
    for made in record.rounds:
        if any(draws.times for draws in made.lists):
            continue
        now = 0
        for draws in made.lists:
            draws.times.extend(range(now, now + len(draws.tokens)))
            now += len(draws.tokens)


def _hash(tokens):
    return hashlib.blake2b(array.array("I", tokens).tobytes(), digest_size=16).digest()


def _entry(byte, record, context):
    greedy = context.cells[record.cell].temperature == 0
    return Entry(byte, record.cell, record.prompt, record.id, sys.intern(record.kind),
                 record.turn, record.batch, record.batch_prompts,
                 _hash(record.prompt_tokens) if greedy else b"",
                 _hash(record.tokens) if greedy else b"")


def _of_a_torn_batch(entries):
    """How many entries at the end are of a batch that is not all there."""
    if not entries:
        return 0
    last = entries[-1]
    there = 0
    for entry in reversed(entries):
        if (entry.batch, entry.cell) != (last.batch, last.cell):
            break
        there += 1
    return there if there < last.batch_prompts else 0


def _scan_records(file, path, context, byte, size):
    """The entries from `byte` on, and where they end."""
    entries = []
    seen = set()
    while byte < size:
        payload = _payload_at(file, path, byte, size)
        if payload is None:
            break
        record = _parse(record_pb2.PromptRecord, payload, path, byte, "prompt record")
        wrong = check.check_cell(record, context)
        if not wrong and (record.cell, record.prompt) in seen:
            wrong = (f"prompt {record.prompt} of cell "
                     f"'{context.cells[record.cell].name}' is recorded already, in an "
                     "entry before")
        if wrong:
            raise corrupt(path, byte, wrong)
        seen.add((record.cell, record.prompt))
        entries.append(_entry(byte, record, context))
        byte += HEADER.size + len(payload)
    torn = _of_a_torn_batch(entries)
    if torn:
        byte = entries[-torn].byte
        del entries[-torn:]
    return entries, byte


def scan(path):
    """Reads a file once, entry by entry, and returns its RecordFile."""
    path = os.fspath(path)
    with _open(path) as file:
        size = os.fstat(file.fileno()).st_size
        begin = file.read(len(MAGIC))
        if not MAGIC.startswith(begin):
            raise RecordError(f"{path}: is no record file: expected it to begin with "
                              f"{MAGIC!r}, found {begin!r}")
        byte = len(MAGIC)
        payload = _payload_at(file, path, byte, size)
        if payload is None:
            raise NothingRecorded(f"{path}: ends before its context does: nothing was "
                                  "recorded, and it may be removed")
        context = _parse(record_pb2.Context, payload, path, byte, "context")
        _describe_trunks(context)
        wrong = check.check_context(context)
        if wrong:
            raise corrupt(path, byte, wrong)
        entries, end = _scan_records(file, path, context,
                                     byte + HEADER.size + len(payload), size)
    return RecordFile(path, context, entries, end, size - end)


def read_record(path, entry):
    """The prompt record of an entry. The file may have grown since it was scanned,
    but what was there must be as it was."""
    with _open(path) as file:
        size = os.fstat(file.fileno()).st_size
        payload = _payload_at(file, path, entry.byte, size)
    record = None if payload is None else _parse(
        record_pb2.PromptRecord, payload, path, entry.byte, "prompt record")
    if record is None or (record.cell, record.prompt) != (entry.cell, entry.prompt):
        raise corrupt(path, entry.byte, "it has changed since the file was opened")
    _number_draws(record)
    return record
