"""Record files read together: the shards of one experiment, or several experiments.

The rules are those of experiments/records/record_set.h. Files are read twice: first
from end to end, to find the records, then each record when it is asked for. So memory
grows with the number of records and not with their size.
"""

import warnings
from typing import Iterator, NamedTuple, Optional

from . import check, entries, record_pb2
from .cells import Cell, Place, withdraw_refuted_claims
from .entries import RecordWarning
from .join import cells_of, loaded_warning, read_files


class Pair(NamedTuple):
    """A prompt as a cell decoded it, beside the same prompt without drafters."""

    cell: Cell
    record: record_pb2.PromptRecord
    baseline: Optional[record_pb2.PromptRecord]  # None: there is none on this machine
    file: str
    machine: str  # "1"; machines are numbered in the order of the files


class Run:
    """The records of one or more files.

    files      RecordFile each: path, context, entries, torn_bytes
    cells      Cell each, in the order of the experiment
    question   of the first file
    warnings   sentences, as `banyan report` prints them
    refuted    a sentence for each cell whose texts refute its claim to be lossless
    """

    def __init__(self, paths, mixed=False):
        self.warnings = []
        self.files = read_files(paths, self.warnings)
        self.cells = cells_of(self.files, mixed, self.warnings)
        self.warnings[:0] = loaded_warning(self.files)
        self.refuted = withdraw_refuted_claims(self.cells)
        self._plain = {}  # figures of baselines' records, by place

    @property
    def question(self):
        return self.files[0].context.question

    def __repr__(self):
        return (f"<Run of {len(self.files)} files, {len(self.cells)} cells: "
                f"{self.question!r}>")

    def __iter__(self) -> Iterator[Pair]:
        """Every record beside its baseline's, in the order of `banyan export`: cell by
        cell, by number of the prompt. One record is held at a time."""
        for cell, places in self.places():
            record = self.read(places.own)
            baseline = (record if places.baseline == places.own else
                        places.baseline and self.read(places.baseline))
            yield Pair(cell, record, baseline, self.files[places.own.file].path,
                       str(places.machine + 1))

    def records(self):
        """(Cell, PromptRecord) of every record, in the same order."""
        for cell, places in self.places():
            yield cell, self.read(places.own)

    def cell(self, name):
        """The cell of this name."""
        for cell in self.cells:
            if cell.name == name:
                return cell
        raise KeyError(f"no cell '{name}'; there are "
                       f"{', '.join(cell.name for cell in self.cells)}")

    def check(self):
        """Raises RecordError for the first record that contradicts itself, as the
        program does when it reads. Takes about ten times as long as reading."""
        for number, file in enumerate(self.files):
            for entry in file.entries:
                self.checked(Place(number, entry))

    @property
    def prompts(self):
        """A Table with a row for each record: a prompt that a cell decoded."""
        from .tables import prompts_table
        return prompts_table(self)

    @property
    def rounds(self):
        """A Table with a row for each round."""
        from .tables import rounds_table
        return rounds_table(self)

    @property
    def nodes(self):
        """A Table with a row for each node of each round's tree."""
        from .tables import nodes_table
        return nodes_table(self)

    def places(self):
        """(Cell, PairPlaces) of every record."""
        for cell in self.cells:
            for places in cell.pairs:
                yield cell, places

    def read(self, place):
        """The record at a place."""
        return entries.read_record(self.files[place.file].path, place.entry)

    def checked(self, place):
        """The record at a place, for what walks its trees. Raises RecordError if it
        contradicts itself."""
        record = self.read(place)
        file = self.files[place.file]
        wrong = check.check_record(record, file.context)
        if wrong:
            raise entries.corrupt(file.path, place.entry.byte, wrong)
        return record

    def baseline_figures(self, places, own):
        """The RecordFigures of the baseline's record; None without one. `own` are
        those of the record itself."""
        from .rounds import record_figures
        if places.baseline is None or places.baseline == places.own:
            return own if places.baseline else None
        key = (places.baseline.file, places.baseline.entry.byte)
        if key not in self._plain:
            self._plain[key] = record_figures(self.checked(places.baseline))
        return self._plain[key]


def read(paths, mixed=False):
    """Reads record files, and of folders the files that end in .banyan.

    `paths` is a path or several. The result is a Run, which holds no record: records
    are read when they are asked for. What a reader of the numbers should know is
    warned of by RecordWarning: torn tails, shards and prompts that are missing,
    machines that differ or were busy, and claims to be lossless that texts refute.

    Raises RecordError if a file is no record file or is damaged, if a prompt of a cell
    is recorded twice, if shards of one experiment read different files and, unless
    `mixed`, if the files are of different experiments. A file that ends before its
    context is passed over in a folder, with a warning.
    """
    run = Run(paths, mixed)
    for sentence in run.warnings + run.refuted:
        warnings.warn(sentence, RecordWarning, stacklevel=2)
    return run
