"""Whether a context and a record agree with themselves.

The same rules as experiments/records/record_file.h, with the same messages. Every
function returns what is wrong, or an empty text.
"""

from . import record_pb2

STOPS = frozenset(record_pb2.Stop.values())
DRAW_KINDS = frozenset(record_pb2.DrawKind.values())
# The most parts that an experiment is cut into: what scripts/slurm takes.
MOST_SHARDS = 4_000_001


def check_context(context):
    """Every cell has a name of its own and a baseline that is a cell without trunks,
    and there are no more than MOST_SHARDS shards."""
    if context.shards > MOST_SHARDS:
        return f"expected at most {MOST_SHARDS} shards, found {context.shards}"
    names = set()
    cells = context.cells
    for cell in cells:
        if not cell.name or cell.name in names:
            return f"two cells have the name '{cell.name}', or none"
        names.add(cell.name)
        if cell.baseline >= len(cells) or cells[cell.baseline].trunks:
            return (f"cell '{cell.name}': the baseline {cell.baseline} is no cell "
                    "without trunks")
        for opponent in cell.opponents:
            if opponent.cell >= len(cells):
                return f"cell '{cell.name}': the opponent {opponent.cell} is no cell"
    return ""


def check_cell(record, context):
    """Its cell is one of the context's."""
    if record.cell >= len(context.cells):
        return f"its cell {record.cell} is none of the {len(context.cells)} there are"
    return ""


def check_record(record, context):
    """Everything that record_file.h lists. Requires a checked context, and a cell of
    it."""
    trunks = len(context.cells[record.cell].trunks)
    for number, made in enumerate(record.rounds):
        wrong = _check_round(made, trunks)
        if wrong:
            return f"round {number}: {wrong}"
    return (_check_stop(record) or _check_batch(record) or
            _check_carried(record, trunks) or _check_tokens(record))


def _check_stop(message):
    """Of a record, or of a round."""
    if message.stop not in STOPS:
        return f"its stop rule is {message.stop}, which is unknown"
    return ""


def _check_round(made, trunks):
    tokens = list(made.tokens)
    parents = list(made.parents)
    probes = set()
    return (_check_stop(made) or _check_tree(made, tokens, parents) or
            _check_probes(made, parents, trunks, probes) or
            _check_lists(made, tokens, parents, probes, trunks) or
            _check_draw_times(made) or _check_path(made, parents, probes) or
            _check_times(made, trunks))


def _check_tree(made, tokens, parents):
    nodes = len(tokens)
    if nodes == 0 or len(parents) != nodes:
        return f"a tree of {nodes} tokens has {len(parents)} parents"
    if len(made.target_probability) not in (0, nodes):
        return (f"a tree of {nodes} tokens has {len(made.target_probability)} target "
                "probabilities")
    if parents[0] != -1:
        return "node 0 has a parent"
    for node in range(1, nodes):
        if not 0 <= parents[node] < node:
            return f"node {node} has the parent {parents[node]}"
    return ""


def _check_probes(made, parents, trunks, probes):
    """Fills `probes` with their nodes."""
    if not made.probes:
        return ""
    last = 0
    for probe in made.probes:
        if not last < probe.node < len(parents) or not 0 <= probe.trunk < trunks:
            return (f"a probe stands at node {probe.node} of trunk {probe.trunk}, "
                    f"after {last}")
        last = probe.node
        probes.add(last)
    for node in range(1, len(parents)):
        if parents[node] in probes and node not in probes:
            return f"node {node} stands below a probe"
    return ""


def _check_lists(made, tokens, parents, probes, trunks):
    most = 1 + 1e-9  # a sum over a vocabulary rounds
    for draws in made.lists:
        node = draws.node
        if (not 0 <= node < len(tokens) or not 0 <= draws.trunk < trunks or
                node in probes):
            return f"a draw list stands at node {node} of trunk {draws.trunk}"
        drawn = list(draws.tokens)
        children = list(draws.children)
        if len(children) != len(drawn) or len(draws.q) != len(drawn):
            return (f"a list of {len(drawn)} draws has {len(children)} children and "
                    f"{len(draws.q)} masses")
        if draws.draws not in DRAW_KINDS:
            return f"the kind of draw at node {node} is {draws.draws}, which is unknown"
        if not 0 <= draws.overlap <= most:
            return f"the overlap at node {node} is {draws.overlap:g}, no probability"
        for draw, child in enumerate(children):
            if child == -1:
                continue
            if (not 1 <= child < len(tokens) or parents[child] != node or
                    tokens[child] != drawn[draw] or child in probes):
                return (f"draw {draw} at node {node} points to node {child}, which is "
                        "no child with its token")
    return ""


def _check_draw_times(made):
    """All draws have numbers in time or none, each another, rising along a list."""
    seen, drawn = set(), 0
    for draws in made.lists:
        drawn += len(draws.tokens)
        times = list(draws.times)
        if len(times) not in (0, len(draws.tokens)):
            return (f"a list of {len(draws.tokens)} draws has {len(times)} numbers in "
                    "time")
        for draw, time in enumerate(times):
            if time in seen or draw > 0 and time < times[draw - 1]:
                return (f"draw {draw} at node {draws.node} has the number {time} in "
                        "time, out of order")
            seen.add(time)
    if len(seen) not in (0, drawn):
        return f"{len(seen)} of its {drawn} draws have a number in time"
    return ""


def _check_path(made, parents, probes):
    last = 0
    for node in made.path:
        if not 1 <= node < len(parents) or parents[node] != last or node in probes:
            return (f"the path goes from node {last} to node {node}, which is no child "
                    "of it")
        last = node
    if made.emitted > len(made.path) + 1:
        return f"a path of {len(made.path)} emitted {made.emitted} tokens"
    return ""


def _check_times(made, trunks):
    if len(made.draft_ns) != trunks:
        return f"{trunks} trunks have {len(made.draft_ns)} times of drafting"
    least = min(made.derive_ns, made.target_ns, made.verify_ns, made.commit_ns,
                made.device_ns, *made.draft_ns)
    return f"a phase took {least} ns" if least < 0 else ""


def _check_batch(record):
    if (record.batch > 0) != (record.batch_prompts > 0):
        return f"batch {record.batch} has {record.batch_prompts} prompts"
    if (record.prefill_ns < 0 or record.admitted_ns < 0 or
            record.ended_ns < record.admitted_ns):
        return (f"it was admitted at {record.admitted_ns} ns, read in "
                f"{record.prefill_ns} ns and ended at {record.ended_ns} ns")
    for number, made in enumerate(record.rounds):
        if made.sequences > max(record.batch_prompts, 1):
            return (f"round {number}: {made.sequences} sequences shared it, of a batch "
                    f"of {record.batch_prompts}")
        if 0 < made.pass_tokens < len(made.tokens):
            return (f"round {number}: a pass of {made.pass_tokens} tokens scored "
                    f"{len(made.tokens)}")
    return ""


def _check_carried(record, trunks):
    if len(record.learnt) not in (0, trunks):
        return f"it taught {len(record.learnt)} trunks of a cell of {trunks}"
    for store in record.stores:
        if store.trunk >= trunks:
            return f"a store is of trunk {store.trunk} of a cell of {trunks}"
    return ""


def _check_tokens(record):
    tokens = list(record.tokens)
    counted = 0
    for number, made in enumerate(record.rounds):
        written = made.tokens
        emitted = [written[node] for node in made.path] + [made.next]
        emitted = emitted[:made.emitted]
        if tokens[counted:counted + made.emitted] != emitted:
            return f"round {number}: what it emitted is not the record's"
        counted += made.emitted
    if counted != len(tokens):
        return f"its rounds emitted {counted} of its {len(tokens)} tokens"
    if (len(record.log_probability) not in (0, len(tokens)) or
            len(record.logit_gap) not in (0, len(tokens))):
        return (f"{len(tokens)} tokens have {len(record.log_probability)} "
                f"log-probabilities and {len(record.logit_gap)} gaps")
    return ""
