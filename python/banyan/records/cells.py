"""Cells, and where their records are."""

from typing import NamedTuple, Optional

from . import record_pb2
from .entries import Entry


def is_repeat(setting):
    """Whether a cell decodes its baseline's prompts a second time, which no table has
    (experiments/records/record_set.h)."""
    return not setting.trunks and setting.method == "plain_2"


class Place(NamedTuple):
    """A record in a file."""

    file: int
    entry: Entry


class PairPlaces(NamedTuple):
    """A record, and its baseline's: itself where the cell is its own baseline."""

    own: Place
    baseline: Optional[Place]
    machine: int


class Cell:
    """What all files say of one cell.

    name       unique among the cells that were read
    baseline   the name of its baseline; None: it is its own
    setting    the message Cell; a claim that texts refute is withdrawn in it
    context    the message Context of the experiment's first file
    """

    def __init__(self, name, baseline, setting, context, pairs):
        self.name = name
        self.baseline = baseline
        self.setting = setting
        self.context = context
        self.pairs = pairs  # PairPlaces, by number of the prompt

    def __repr__(self):
        return f"<Cell {self.name!r}, {len(self.pairs)} prompts>"

    @property
    def method(self):
        return self.setting.method

    @property
    def target(self):
        """The target's name, or else its directory."""
        return self.setting.target.name or self.setting.target.directory

    @property
    def temperature(self):
        return self.setting.temperature

    @property
    def lossless(self):
        return self.setting.lossless

    @property
    def axes(self):
        """What varies, by name, as texts."""
        return {axis.name: axis.value for axis in self.setting.axes}


def _comparable(cell, places):
    """Whether the record's text can be held against plain decoding's: not without a
    baseline, above temperature 0, or after earlier turns that differ."""
    return (places.baseline is not None and places.baseline != places.own and
            cell.temperature == 0 and
            places.own.entry.asked == places.baseline.entry.asked)


def _differs(places):
    return places.own.entry.answered != places.baseline.entry.answered


def withdraw_refuted_claims(cells):
    """The rule of experiments/records/record_set.h. Returns a sentence for each cell whose
    texts refute its claim to be lossless."""
    sentences = []
    refuted = set()
    for cell in cells:
        if not cell.lossless or cell.context.machine.fast:
            continue
        differ = [_differs(places) for places in cell.pairs
                  if _comparable(cell, places)]
        if any(differ):
            refuted.add((id(cell.context), cell.method))
            sentences.append(
                f"NOT LOSSLESS: {cell.name} claims to be, but {sum(differ)} of its "
                f"{len(differ)} texts at temperature 0 differ from plain "
                "decoding's")
    for cell in cells:
        if cell.lossless and (id(cell.context), cell.method) in refuted:
            setting = record_pb2.Cell()
            setting.CopyFrom(cell.setting)
            setting.lossless = False
            setting.evidence = record_pb2.REFUTED
            cell.setting = setting
    return sentences
