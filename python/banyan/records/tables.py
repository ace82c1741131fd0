"""Records as typed tables: a row for each prompt, round or tree node.

A Table is read from the files each time it is walked, row by row, so it may be larger
than memory. Its columns are declared below, each with its unit and meaning;
python/README.md has them too, and a test compares.
"""

import itertools
from typing import NamedTuple

from . import record_pb2, rounds

STR, INT, FLOAT, BOOL = "str", "int", "float", "bool"
BATCH_ROWS = 65536


class Column(NamedTuple):
    name: str
    type: str  # one of the four above
    unit: str
    meaning: str
    missing: bool = False  # some rows have None


class Table:
    """Rows of plain values, read when they are asked for.

    columns    Column each
    """

    def __init__(self, columns, rows):
        self.columns = tuple(columns)
        self._rows = rows

    def __repr__(self):
        return f"<Table: {', '.join(column.name for column in self.columns)}>"

    def __iter__(self):
        """Each row as a dict."""
        names = [column.name for column in self.columns]
        for row in self._rows():
            yield dict(zip(names, row))

    def tuples(self):
        """Each row as a tuple, in the order of the columns."""
        return iter(self._rows())

    def pandas(self):
        """The whole table as a pandas.DataFrame, integers as "Int64" where some are
        missing."""
        import pandas
        parts = [self._frame(pandas, columns) for columns in self._chunks()]
        if not parts:
            parts = [self._frame(pandas, [[] for _ in self.columns])]
        return pandas.concat(parts, ignore_index=True)

    def arrow_schema(self):
        """The pyarrow.Schema, with unit and meaning as metadata of the fields."""
        import pyarrow
        types = {STR: pyarrow.string(), INT: pyarrow.int64(), FLOAT: pyarrow.float64(),
                 BOOL: pyarrow.bool_()}
        return pyarrow.schema([
            pyarrow.field(column.name, types[column.type], column.missing,
                          {"unit": column.unit, "meaning": column.meaning})
            for column in self.columns])

    def batches(self, rows=BATCH_ROWS):
        """Gives pyarrow.RecordBatches of at most `rows` rows, one after another."""
        import pyarrow
        schema = self.arrow_schema()
        for columns in self._chunks(rows):
            yield pyarrow.record_batch(
                [pyarrow.array(column, field.type)
                 for column, field in zip(columns, schema)], schema=schema)

    def arrow(self):
        """The whole table as a pyarrow.Table."""
        import pyarrow
        return pyarrow.Table.from_batches(self.batches(), self.arrow_schema())

    def _chunks(self, size=BATCH_ROWS):
        """Lists of values by column, of at most `size` rows."""
        rows = iter(self._rows())
        while True:
            chunk = list(itertools.islice(rows, size))
            if not chunk:
                return
            yield [list(column) for column in zip(*chunk)]

    def _frame(self, pandas, columns):
        def typed(column, values):
            if column.type == STR:
                return pandas.Series(values, dtype=object)
            if column.type == INT and column.missing:
                return pandas.array(values, dtype="Int64")
            return pandas.Series(values, dtype={INT: "int64", FLOAT: "float64",
                                                BOOL: "bool"}[column.type])

        return pandas.DataFrame({
            column.name: typed(column, values)
            for column, values in zip(self.columns, columns)})


OF_CELL = (
    Column("cell", STR, "", "The cell's name."),
    Column("method", STR, "", "The method's name in the experiment."),
    Column("target", STR, "", "The target's name, or else its directory."),
    Column("temperature", FLOAT, "", "Of the sampling."),
    Column("lossless", BOOL, "", "Whether the method keeps the target distribution; "
           "false if its texts refute the claim."),
)
OF_PROMPT = (
    Column("machine", STR, "", "The machine's number; times of two machines are not "
           "alike."),
    Column("prompt", INT, "", "The prompt's number in the workload."),
    Column("id", STR, "", "The prompt's name in the workload."),
    Column("kind", STR, "", "The prompt's kind in the workload."),
    Column("turn", INT, "", "Which turn of a chat, from 0."),
    Column("batch", INT, "", "The batch it was decoded in, from 1; 0 if alone."),
)
PROMPTS = (
    Column("file", STR, "", "The record file."),
    Column("order", INT, "", "The record's place in the run, over all cells."),
    Column("prompt_tokens", INT, "tokens", "Length of the prompt."),
    Column("tokens", INT, "tokens", "Emitted tokens."),
    Column("rounds", INT, "rounds", "Rounds, each a target pass."),
    Column("nodes", INT, "nodes", "Drafted nodes of all rounds."),
    Column("accepted", INT, "tokens", "Accepted drafted tokens, those that a stop rule "
           "cut too."),
    Column("stop", STR, "", "Why decoding stopped."),
    Column("prefill_ns", INT, "ns", "Time of the prefill."),
    Column("rounds_ns", FLOAT, "ns", "Time of all rounds. Of a round that several "
           "sequences shared, an equal share."),
    Column("latency_ns", FLOAT, "ns", "Time from the prompt's admission to its end."),
    Column("plain_tokens", INT, "tokens", "The baseline's emitted tokens on this "
           "prompt.", missing=True),
    Column("plain_rounds", INT, "rounds", "The baseline's rounds.", missing=True),
    Column("plain_ns", FLOAT, "ns", "The baseline's time of all rounds.", missing=True),
    Column("peak_memory_bytes", INT, "bytes", "Of the process, while the prompt was "
           "decoded; 0 if not measured."),
    Column("log_probability", FLOAT, "nats", "Of the emitted tokens under the target at "
           "temperature 1, summed.", missing=True),
)
ROUNDS = (
    Column("round", INT, "", "The round's number, from 0."),
    Column("nodes", INT, "nodes", "Drafted nodes: all but the root and the probes."),
    Column("probes", INT, "nodes", "Extra rows scored for the drafter."),
    Column("levels", INT, "", "Depth of the deepest drafted node."),
    Column("accepted", INT, "tokens", "Accepted drafted tokens."),
    Column("emitted", INT, "tokens", "Kept of the accepted tokens and the one after "
           "them."),
    Column("next", INT, "", "The token after the accepted ones."),
    Column("stop", STR, "", "The stop rule that cut the round, or none."),
    Column("sequences", INT, "", "Sequences that shared the round. Times and rows are "
           "of all of them."),
    Column("pass_tokens", INT, "rows", "Rows of the target's pass."),
    Column("draft_ns", INT, "ns", "Drafting, all trunks together."),
    Column("derive_ns", INT, "ns", "Merging the trees and flattening them for the pass."),
    Column("target_ns", INT, "ns", "The target's pass."),
    Column("verify_ns", INT, "ns", "Verification."),
    Column("commit_ns", INT, "ns", "Taking over what was accepted."),
    Column("device_ns", INT, "ns", "A round that the device ran alone: all but "
           "commit_ns."),
    Column("host_cause", STR, "", "Why the host ran a round that the device might "
           "have run alone (docs/devices.md), or none."),
)
NODES = (
    Column("round", INT, "", "The round's number, from 0."),
    Column("node", INT, "", "The node's number, depth first; the root is 0."),
    Column("parent", INT, "", "The parent's number; -1 of the root."),
    Column("depth", INT, "", "0 of the root."),
    Column("token", INT, "", "The node's token."),
    Column("target_probability", FLOAT, "", "The target's probability of the token "
           "after its parent; 1 for the root, 0 for probes.", missing=True),
    Column("trunk", INT, "", "The trunk (one drafter's tree before merging) that first "
           "drew the node, or whose probe it is.", missing=True),
    Column("trunks", INT, "", "How many trunks drew it."),
    Column("rank", INT, "", "Place of the draw among that trunk's draws at the parent, "
           "from 1.", missing=True),
    Column("q", FLOAT, "", "The token's mass in the draft distribution of that draw.",
           missing=True),
    Column("draws", INT, "", "How many draws that trunk made at the parent.",
           missing=True),
    Column("draw_kind", STR, "", "How they were drawn: independent, "
           "without_replacement or deterministic.", missing=True),
    Column("accepted", BOOL, "", "Whether the node is on the accepted path."),
    Column("probe", BOOL, "", "An extra row scored for the drafter; nobody drew it."),
)
TAKEN = {column.name for column in OF_CELL + OF_PROMPT + PROMPTS + ROUNDS + NODES}

_STOPS = {value: name.lower() for name, value in record_pb2.Stop.items()}
_KINDS = {value: name.lower() for name, value in record_pb2.DrawKind.items()}
_HOST_CAUSES = {value: name.lower() if value else "none"
                for name, value in record_pb2.HostCause.items()}


class _Axes:
    """The columns of the cells' axes, and a cell's values of them."""

    def __init__(self, names, taken):
        self._names = names
        self.columns = tuple(
            Column(f"matrix.{name}" if name in taken else name, STR, "",
                   "An axis of the experiment.", missing=True) for name in names)

    def values(self, cell):
        axes = cell.axes
        return tuple(axes.get(name) for name in self._names)


def axis_columns(cells, taken):
    """Of all cells, in their order. An axis named as one of `taken` is matrix.NAME."""
    return _Axes(list(dict.fromkeys(name for cell in cells for name in cell.axes)),
                 taken)


def _table(run, columns, rows_of):
    """A Table with the columns of cell, axes and prompt before `columns`.
    `rows_of(places, record)` gives tuples of the latter."""
    axes = axis_columns(run.cells, TAKEN)

    def rows():
        before, of_cell = None, ()
        for cell, places in run.places():
            if cell is not before:
                before, of_cell = cell, (cell.name, cell.method, cell.target,
                                         cell.temperature, cell.lossless,
                                         *axes.values(cell))
            record = run.checked(places.own)
            start = (*of_cell, str(places.machine + 1), record.prompt, record.id,
                     record.kind, record.turn, record.batch)
            for row in rows_of(places, record):
                yield start + row

    return Table((*OF_CELL, *axes.columns, *OF_PROMPT, *columns), rows)


def prompts_table(run):
    def row(places, record):
        own = rounds.record_figures(record)
        plain = run.baseline_figures(places, own)
        yield (run.files[places.own.file].path, record.order,
               len(record.prompt_tokens), own.tokens, own.rounds,
               sum(map(rounds.drafted_nodes, record.rounds)),
               sum(len(made.path) for made in record.rounds), _STOPS[record.stop],
               record.prefill_ns, own.rounds_ns, rounds.latency_ns(record, own),
               plain and plain.tokens, plain and plain.rounds,
               plain and plain.rounds_ns, record.peak_memory_bytes,
               sum(record.log_probability) if record.log_probability else None)

    return _table(run, PROMPTS, row)


def rounds_table(run):
    def rows(_, record):
        for number, made in enumerate(record.rounds):
            yield (number, rounds.drafted_nodes(made), len(made.probes),
                   rounds.levels(made), len(made.path), made.emitted, made.next,
                   _STOPS[made.stop], rounds.sequences(made), rounds.pass_tokens(made),
                   sum(made.draft_ns), made.derive_ns, made.target_ns, made.verify_ns,
                   made.commit_ns, made.device_ns,
                   _HOST_CAUSES[made.host_cause])

    return _table(run, ROUNDS, rows)


def _drawn(made):
    """By node that somebody drew: [trunk, trunks, rank, q, draws, kind] of the draw that
    led to it first."""
    found, by, first = {}, {}, {}
    for draws in made.lists:
        children, times = list(draws.children), list(draws.times)
        for draw, child in enumerate(children):
            if child < 0:
                continue
            by.setdefault(child, set()).add(draws.trunk)
            if child not in first or times[draw] < first[child]:
                first[child] = times[draw]
                found[child] = (draws.trunk, draw + 1, draws.q[draw], len(children),
                                _KINDS[draws.draws])
    return {node: (trunk, len(by[node]), *more)
            for node, (trunk, *more) in found.items()}


def nodes_table(run):
    def rows(_, record):
        for number, made in enumerate(record.rounds):
            yield from _nodes_of(number, made)

    return _table(run, NODES, rows)


def _nodes_of(number, made):
    parents = list(made.parents)
    tokens = list(made.tokens)
    depths = rounds.depths(parents)
    probability = list(made.target_probability) or [None] * len(tokens)
    probes = {probe.node: probe.trunk for probe in made.probes}
    path = set(made.path)
    drawn = _drawn(made)
    for node, parent in enumerate(parents):
        nobody = (probes.get(node), 0, None, None, None, None)
        yield (number, node, parent, depths[node], tokens[node], probability[node],
               *drawn.get(node, nobody), node in path, node in probes)
