"""How record files become the cells of an experiment, or of several.

The rules and sentences are those of experiments/records/record_set.cc.
"""

import os
import posixpath

from . import entries, machine, record_pb2
from .cells import Cell, PairPlaces, Place, is_repeat
from .entries import NothingRecorded, RecordError

ENDING = ".banyan"
SHOWN_OF_HASH = 8


class _Experiment:
    """One experiment's files, and where its records are."""

    def __init__(self):
        self.files = []  # numbers
        self.found = []  # by cell: {prompt: [Place]}; several only of baselines
        self.context = None


def _read_folder(folder, passed_over):
    names = [name for name in os.listdir(folder)
             if os.path.splitext(name)[1] == ENDING]
    if not names:
        raise RecordError(f"{folder}: has no record file (*{ENDING})")
    files = []
    for path in sorted((os.path.join(folder, name) for name in names),
                       key=os.fsencode):
        try:
            files.append(entries.scan(path))
        except NothingRecorded as error:
            passed_over.append(str(error))
    return files


def read_files(paths, passed_over):
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    files = []
    for path in map(os.fspath, paths):
        if os.path.isdir(path):
            files += _read_folder(path, passed_over)
        else:
            files.append(entries.scan(path))
    if not files:
        raise NothingRecorded("\n".join(passed_over) or "no path was given")
    return sorted(files, key=lambda file: os.fsencode(file.path))


def _experiments(files, mixed):
    experiments = {}  # by hash
    for number, file in enumerate(files):
        found = experiments.setdefault(file.context.experiment_hash, _Experiment())
        if len(experiments) > 1 and not mixed:
            raise RecordError(
                f"{files[0].path} and {file.path}: different experiments "
                f"({files[0].context.question} | {file.context.question}); mixed=True "
                "puts them side by side")
        _add_file(files, number, found)
    return list(experiments.values())


def _check_same_experiment(file, first):
    both = f"{file.path} and {first.path}: one experiment, but other"
    if _names(file.context) != _names(first.context):
        raise RecordError(f"{both} cells")
    if file.context.costs != first.context.costs:
        raise RecordError(f"{both} measured costs, which choose the cells")
    if (file.context.shards > 1 and first.context.shards > 1 and
            file.context.cut != first.context.cut):
        raise RecordError(f"{file.path} and {first.path}: one experiment, cut into "
                          "shards by prompts and by cells")
    other = _first_differing_file(file.context, first.context)
    if other:
        raise RecordError(f"{file.path} was made with another {other} than "
                          f"{first.path}")


def _add_file(files, number, experiment):
    """Adds a file to its experiment. Of baselines, several files may have a record of
    one prompt."""
    file = files[number]
    if experiment.files:
        _check_same_experiment(file, files[experiment.files[0]])
    else:
        experiment.context = file.context
        experiment.found = [{} for _ in file.context.cells]
    experiment.files.append(number)
    baselines = {cell.baseline for i, cell in enumerate(file.context.cells)
                 if cell.baseline != i}
    for entry in file.entries:
        there = experiment.found[entry.cell].setdefault(entry.prompt, [])
        cell = file.context.cells[entry.cell]
        if there and entry.cell not in baselines and not is_repeat(cell):
            raise RecordError(
                f"{file.path}: prompt {entry.prompt} of cell "
                f"'{cell.name}' is recorded already, in "
                f"{files[there[0].file].path}")
        there.append(Place(number, entry))


def _names(context):
    return [cell.name for cell in context.cells]


def _add_name(path, fingerprint, read):
    """Adds a file under the names of its folder and itself: the same model may be
    elsewhere on another machine."""
    written = posixpath.normpath(path) if path else ""
    key = ("/".join(written.split("/")[-2:]) if not path.endswith("/") else
           written.split("/")[-1] + "/")
    paths = read.setdefault(key, [path, []])
    paths[0] = path
    paths[1] = sorted(paths[1] + [fingerprint])


def _files_of(cell, listed):
    read = {}
    if listed:
        for file in cell.files:
            _add_name(file.path, file.fingerprint, read)
        return read
    for model in (cell.target, *cell.models):
        _add_name(model.directory, model.fingerprint, read)
    return read


def _first_differing_file(a, b):
    """The rule of experiments/records/machine.h: the first file that a cell read in
    one form here and in another there; empty without one."""
    for cell_a, cell_b in zip(a.cells, b.cells):
        listed = bool(cell_a.files and cell_b.files)
        of_a, of_b = _files_of(cell_a, listed), _files_of(cell_b, listed)
        for name in sorted({**of_a, **of_b}):
            if of_a.get(name, ["", []])[1] != of_b.get(name, ["", []])[1]:
                return (of_a.get(name) or of_b[name])[0]
    return ""


def _machines(files):
    """The number of each file's machine, and the files of each machine."""
    machine_of, machines = [], []
    for number, file in enumerate(files):
        for label, alike in enumerate(machines):
            if not machine.differences(files[alike[0]].context, file.context):
                alike.append(number)
                machine_of.append(label)
                break
        else:
            machine_of.append(len(machines))
            machines.append([number])
    return machine_of, machines


def _once(sentences):
    """The first sentence, and how many others are of its kind."""
    if len(sentences) > 1:
        more = len(sentences) - 1
        return [f"{sentences[0]}; the same holds for {more} more "
                f"file{'s' if more > 1 else ''}"]
    return sentences


def _machine_warnings(files, machines):
    def text(label):
        paths = ", ".join(files[number].path for number in machines[label])
        return f"{paths} (machine {label + 1})"

    first = files[machines[0][0]].context
    apart = [f"{text(label)} and {text(0)}: times are not alike ("
             + "; ".join(machine.differences(files[alike[0]].context, first)) + ")"
             for label, alike in enumerate(machines) if label > 0]
    fast = [f"{file.path}: was made with --fast: what shares a pass changes last bits, "
            "so greedy texts of a method may differ from plain decoding's"
            for file in files if file.context.machine.fast]
    return apart + _once(fast)


def loaded_warning(files):
    """A list of the one sentence on machines that were loaded, or of none."""
    return _once([f"{file.path}: {machine.overload_text(file.context.machine)}"
                  for file in files if machine.is_overloaded(file.context.machine)])


def _unique_names(experiments):
    """Names of cells by experiment and cell, no two alike."""
    uses = {}
    for experiment in experiments:
        for name in _names(experiment.context):
            uses[name] = uses.get(name, 0) + 1
    return [[name if uses[name] == 1 else
             f"{name}@{experiment.context.experiment_hash[:SHOWN_OF_HASH]}"
             for name in _names(experiment.context)] for experiment in experiments]


def _baseline_of(own, baselines, machine_of):
    """The baseline's record of the same file or else, if the machine is alike, of
    another."""
    for place in baselines:
        if place.file == own.file:
            return place
    for place in baselines:
        if machine_of[place.file] == machine_of[own.file]:
            return place
    return None


def _one_a_machine(places, machine_of):
    """The first place of each machine: a baseline that several files have counts
    once."""
    first = {}
    for place in places:
        first.setdefault(machine_of[place.file], place)
    return list(first.values())


def _cells(experiment, names, machine_of, sentences):
    cells = []
    apart = 0
    for number, setting in enumerate(experiment.context.cells):
        if is_repeat(setting):
            continue
        pairs = []
        for prompt, places in sorted(experiment.found[number].items()):
            baselines = experiment.found[setting.baseline].get(prompt, [])
            for own in _one_a_machine(places, machine_of):
                baseline = _baseline_of(own, baselines, machine_of)
                apart += bool(baselines) and baseline is None
                pairs.append(PairPlaces(own, baseline, machine_of[own.file]))
        own_baseline = setting.baseline == number
        cells.append(Cell(names[number],
                          None if own_baseline else names[setting.baseline],
                          setting, experiment.context, pairs))
    if apart:
        sentences.append(f"{apart} record{'s' if apart > 1 else ''} not paired with the "
                         "baseline's: that was recorded on another machine")
    return cells


def _ranges(numbers):
    """"0, 2 to 5, 7" of ascending numbers."""
    runs = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 2 else
                     ", ".join(map(str, run)) for run in runs)


def _missing(files, experiment, names):
    """Sentences on shards and prompts that are missing."""
    context = experiment.context
    here = {}  # records by shard
    for number in experiment.files:
        shard = files[number].context.shard
        here[shard] = here.get(shard, 0) + len(files[number].entries)
    shards = range(context.shards)
    sentences = []
    for some, of_one, of_several in (
            ([shard for shard in shards if shard not in here],
             "is not among the files", "are not among the files"),
            ([shard for shard in shards if here.get(shard) == 0],
             "has no record yet", "have no record yet")):
        if some:
            sentences.append(f"shard{'s' if len(some) > 1 else ''} {_ranges(some)} of "
                             f"{context.shards} "
                             f"{of_several if len(some) > 1 else of_one}")
    if context.cut == record_pb2.CELLS and context.shards > 1:
        sentences.append(
            f"the cells were divided among {context.shards} shards, each of which "
            "repeated plain decoding for its cells; cells of different shards were not "
            "interleaved")
    short_of = {}  # by count
    for name, found, setting in zip(names, experiment.found, context.cells):
        if len(found) < context.workload.prompts and not is_repeat(setting):
            short_of.setdefault(len(found), []).append(name)
    return sentences + [
        f"{count} of {context.workload.prompts} prompts are recorded for "
        f"{', '.join(cells)}" for count, cells in sorted(short_of.items())]


def cells_of(files, mixed, sentences):
    """The cells of all files. Adds what a reader of the numbers should know to
    `sentences`."""
    sentences += [f"{file.path}: ends in a torn entry ({file.torn_bytes} bytes), which "
                  "is left out: the run was stopped" for file in files if file.torn_bytes]
    experiments = _experiments(files, mixed)
    machine_of, machines = _machines(files)
    sentences += _machine_warnings(files, machines)
    cells = []
    for experiment, names in zip(experiments, _unique_names(experiments)):
        cells += _cells(experiment, names, machine_of, sentences)
        sentences += _missing(files, experiment, names)
    return cells
