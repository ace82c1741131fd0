"""The numbers of cells with their intervals, as `banyan report --format csv` has them."""

import re

from . import metrics as catalogue
from .bootstrap import Bootstrap
from .entries import RecordError
from .metrics import METRICS, NOTHING, Counted
from .rounds import record_figures
from .cells import Cell, split_by_machine
from .tables import FLOAT, INT, OF_CELL, STR, Column, Table, axis_columns

CELL, *PROPERTIES = OF_CELL
NUMBERS = (
    Column("metric", STR, "", "`banyan list` describes each."),
    Column("key", STR, "", "Tells the numbers of a metric apart; empty if it is one."),
    Column("value", FLOAT, "", "A sum over prompts divided by another."),
    Column("low", FLOAT, "", "The 95 % interval's lower end.", missing=True),
    Column("high", FLOAT, "", "The 95 % interval's upper end.", missing=True),
    Column("prompts", INT, "", "How many prompts the number is computed from."),
)
COLUMNS = (CELL, *PROPERTIES, *NUMBERS)


def _root(parents, i):
    while parents[i] != i:
        i = parents[i]
    return i


def prompt_places(entries):
    """The place of each record's part: the turns of a chat share one, and so do the
    prompts of a batch (experiments/metrics/cell_counts.cc)."""
    parents = list(range(len(entries)))
    chats, batches = {}, {}

    def join(i, first):
        i, first = _root(parents, i), _root(parents, first)
        parents[max(i, first)] = min(i, first)

    for i, entry in enumerate(entries):
        first = chats.setdefault(entry.id, i)
        if entry.turn > 0:
            join(i, first)
        else:
            chats[entry.id] = i
        if entry.batch > 0:
            join(i, batches.setdefault(entry.batch, i))
    roots = [_root(parents, i) for i in range(len(parents))]
    number = {root: place for place, root in enumerate(sorted(set(roots)))}
    return [number[root] for root in roots]


def key_order(key):
    """"depth 2" before "depth 10"."""
    words, number, rest = re.match(r"(\D*)(\d*)(.*)", key, re.DOTALL).groups()
    return words, int(number or 0), rest, key


def _count(run, cell, names):
    """{metric: {key: [Part by place]}} of a cell, each record read once."""
    places = prompt_places([pair.own.entry for pair in cell.pairs])
    size = max(places, default=-1) + 1
    keyed = {name: {} for name in names}
    every = {name: [NOTHING] * size for name in names}
    for place, pair in zip(places, cell.pairs):
        record = run.checked(pair.own)
        own = record_figures(record)
        counted = Counted(cell.setting, record, own, run.baseline_figures(pair, own))
        for name in names:
            parts, of_every = METRICS[name].count(counted)
            every[name][place] = every[name][place].plus(of_every)
            for key, part in parts.items():
                at = keyed[name].setdefault(key, [NOTHING] * size)
                at[place] = at[place].plus(part)
    return {name: {key: [part.plus(more) for part, more in zip(parts, every[name])]
                   for key, parts in sorted(keyed[name].items(),
                                            key=lambda item: key_order(item[0]))}
            for name in names}


def _keep_kind(cells, kind):
    """The cells with the prompts of a kind only."""
    kinds = {pair.own.entry.kind for cell in cells for pair in cell.pairs}
    if kind not in kinds:
        raise RecordError(f"no prompt is of the kind '{kind}'; there are "
                          f"{', '.join(sorted(kinds))}")
    kept = []
    for cell in cells:
        pairs = [pair for pair in cell.pairs if pair.own.entry.kind == kind]
        kept.append(Cell(cell.name, cell.baseline, cell.setting, cell.context, pairs))
    return kept


def estimates(run, names, kind=None):
    """[(Cell, {metric: {key: Estimate}})], the cells split by machine where several
    recorded one."""
    for name in names:
        if name not in METRICS:
            raise ValueError(f"no metric '{name}' here; there are {', '.join(METRICS)}")
    cells = run.cells if kind is None else _keep_kind(run.cells, kind)
    cells = split_by_machine(cells)
    bootstrap = Bootstrap()
    found = []
    for cell in cells:
        numbers = {}
        for name, keyed in _count(run, cell, names).items():
            made = {key: bootstrap.of(METRICS[name].form, parts)
                    for key, parts in keyed.items()}
            numbers[name] = {key: estimate for key, estimate in made.items()
                             if estimate is not None}
        found.append((cell, numbers))
    return found


def summary_table(run, names=None, kind=None):
    names = catalogue.DEFAULT if names is None else (
        (names,) if isinstance(names, str) else tuple(names))
    found = estimates(run, names, kind)
    axes = axis_columns([cell for cell, _ in found],
                        {column.name for column in PROPERTIES})

    def rows():
        for cell, numbers in found:
            of_cell = (cell.name, cell.method, cell.target, cell.temperature,
                       cell.lossless, *axes.values(cell))
            for name in names:
                for key, estimate in numbers[name].items():
                    yield (*of_cell, name, key, *estimate)

    return Table((CELL, *PROPERTIES, *axes.columns, *NUMBERS), rows)
