"""Counts every metric again, from raw counts, and holds it against the report.

  recount_test.py BANYAN MAKE_RECORDS

A second implementation that shares nothing with the first but the record file:
made-up records of five cells, with prompts that are missing, go through Python's
reader into this file's plain sums, and through `banyan report --format csv`. Every
number must be there on both sides, with the same count of prompts, and equal to
1e-9 of its size.
"""

import collections
import csv
import json
import math
import pathlib
import subprocess
import sys
import tempfile
import unittest
import warnings

PROJECT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(PROJECT / "scripts"), str(PROJECT / "python")]
sys.dont_write_bytecode = True
import system_python  # noqa: E402 (the path comes first)

system_python.skip_without("google.protobuf")
import banyan.records  # noqa: E402

BANYAN, MAKE_RECORDS = sys.argv[1:3]
PHASES = ("draft", "derive", "target", "verify", "commit", "device")

# Of another machine, for `--curve`.
PASS_MS = {1: 2.0, 4: 2.1, 12: 3.5, 400: 60}
LEVEL_MS = {"small_model": 0.7, "ngram": 0.03}


def phases(made):
    """Of those who shared a round each is charged an equal share."""
    return {phase: (sum(made.draft_ns) if phase == "draft"
                    else getattr(made, f"{phase}_ns")) / max(1, made.sequences)
            for phase in PHASES}


def total_ns(record):
    return sum(sum(phases(made).values()) for made in record.rounds)


def target_ns(record):
    return sum(phases(made)["target"] for made in record.rounds)


def draft_ns(record):
    return sum(phases(made)["draft"] for made in record.rounds)


def wall_ns(record):
    return record.prefill_ns + total_ns(record)


def latency_ns(record):
    return record.ended_ns - record.admitted_ns if record.batch \
        else wall_ns(record)


def depths(made):
    found = []
    for parent in made.parents:
        found.append(0 if parent < 0 else found[parent] + 1)
    return found


def probes(made):
    return {probe.node for probe in made.probes}


def drafted(made):
    """The depths of the nodes that somebody drew."""
    return [depth for node, depth in enumerate(depths(made))
            if node > 0 and node not in probes(made)]


def drawn_below(made, node):
    return any(parent == node and child not in probes(made)
               for child, parent in enumerate(made.parents))


def reached(made):
    """(draw list, accepted child or None) of the root and the path."""
    nodes = [0, *made.path]
    after = dict(zip(nodes, made.path))
    return [(draws, after.get(draws.node)) for draws in made.lists
            if draws.node in nodes]


def pass_ms(tokens):
    below = max(key for key in PASS_MS if key <= tokens)
    above = min(key for key in PASS_MS if key >= tokens)
    share = (tokens - below) / ((above - below) or 1)
    return PASS_MS[below] + share * (PASS_MS[above] - PASS_MS[below])


def levels_of(made, trunk):
    return max((depths(made)[child] for draws in made.lists
                if draws.trunk == trunk
                for child in draws.children if child >= 0), default=0)


def stated_ms(record, trunks):
    return math.fsum(
        (pass_ms(made.pass_tokens or len(made.tokens)) + sum(
            levels_of(made, trunk) * LEVEL_MS[drafter]
            for trunk, drafter in enumerate(trunks))) /
        max(1, made.sequences)
        for made in record.rounds)


def oracle_ms(record, drafter):
    """Had each round drafted what was kept of its path and nothing else."""
    total = 0
    for made in record.rounds:
        kept = min(len(made.path), made.emitted)
        total += pass_ms(kept + 1 + len(made.probes)) + (
            kept * LEVEL_MS[drafter])
    return total


def trunks_of(made, node):
    """Whose draws led to the node, in the order of the first of them. Older builds
    numbered no draws: there trunks drew one after another."""
    times = {draws.trunk: draws.times[list(draws.children).index(node)]
             if draws.times else draws.trunk for draws in made.lists
             if node in draws.children}
    return sorted(times, key=times.get)


def units(records):
    """How many resample apart: prompts, and batches of them."""
    return len({("batch", record.batch) if record.batch
                else record.prompt for record in records})


class Cell:
    """One cell's records, their counts {(metric, key): value}, and the number
    of prompts that each value is counted from."""

    def __init__(self, cell, records, baselines):
        self.records = records
        self.rounds = [made for record in self.records
                       for made in record.rounds]
        self.setting = cell.setting
        self.trunks = [trunk.drafter for trunk in self.setting.trunks]
        self.own_baseline = cell.baseline is None
        by_prompt = {record.prompt: record for record in baselines}
        self.pairs = [(record, by_prompt[record.prompt])
                      for record in self.records if record.prompt in by_prompt]
        self.values = {}
        self.prompts = {}
        self.count()

    def give(self, metric, key, over, under, prompts):
        if under:
            self.values[metric, key] = over / under
            self.prompts[metric, key] = prompts

    def prompts_with(self, holds):
        return units(filter(holds, self.records))

    def share(self, metric, hits, counted_in):
        """Counter of keys over all that `counted_in` lists of a record."""
        everything = sum(len(counted_in(record)) for record in self.records)
        for key, over in hits.items():
            self.give(metric, key, over, everything,
                      self.prompts_with(counted_in))

    def count(self):
        self.count_totals()
        self.count_times()
        self.count_against_baseline()
        self.count_divergence()
        if self.trunks:
            self.count_acceptance()
            self.count_by_depth()
            self.count_by_list()
            self.count_by_trunk()
            self.count_at_root()

    def count_totals(self):
        everyone = units(self.records)
        tokens = sum(len(record.tokens) for record in self.records)
        self.give("tokens", "", tokens, 1, everyone)
        self.give("rounds", "", len(self.rounds), 1, everyone)
        self.give("tokens_per_pass", "", tokens, len(self.rounds), everyone)
        self.give("ms_per_token", "",
                  sum(map(total_ns, self.records)) / 1e6, tokens, everyone)
        self.give("latency", "",
                  sum(map(latency_ns, self.records)) / 1e6, tokens, everyone)
        self.give("throughput", "", tokens,
                  sum(map(wall_ns, self.records)) / 1e9, everyone)
        self.give("drafted_nodes", "",
                  sum(len(drafted(made)) for made in self.rounds),
                  len(self.rounds), everyone)
        self.give("rows_per_pass", "", math.fsum(
            (made.pass_tokens or len(made.tokens)) /
            max(1, made.sequences) for made in self.rounds),
                  len(self.rounds), everyone)
        logs = [value for record in self.records
                for value in record.log_probability]
        self.give("log_probability", "", math.fsum(logs), len(logs), everyone)
        self.give("peak_memory", "", max(
            record.peak_memory_bytes for record in self.records),
            2 ** 20, everyone)
        self.count_stores()

    def count_stores(self):
        most = {}
        for record in self.records:
            of_record = collections.Counter()
            for store in record.stores:
                for what in ("held", "dropped"):
                    of_record[f"trunk {store.trunk}: {store.unit} "
                              f"{what}"] += getattr(store, what)
            for key, count in of_record.items():
                most[key] = max(count, most.get(key, 0))
        for key, count in most.items():
            self.give("stores", key, count, 1,
                      self.prompts_with(lambda record: record.stores))

    def count_times(self):
        for phase in PHASES:
            spent = sum(phases(made)[phase] for made in self.rounds)
            if phase == "device" and spent == 0:  # it ran no rounds
                continue
            self.give("time_shares", phase, spent,
                      sum(map(total_ns, self.records)), units(self.records))

    def count_against_baseline(self):
        pairs = self.pairs
        everyone = units(record for record, _ in pairs)
        tokens = sum(len(record.tokens) for record, _ in pairs)
        passes = sum(len(plain.rounds) for _, plain in pairs)
        plain_tokens = sum(len(plain.tokens) for _, plain in pairs)
        plain_ns = sum(total_ns(plain) for _, plain in pairs)
        plain_pass = sum(target_ns(plain) for _, plain in pairs) / passes
        self.give("speed", "", plain_ns / plain_tokens,
                  sum(total_ns(record) for record, _ in pairs) / tokens,
                  everyone)
        self.give("wall_speed", "",
                  sum(wall_ns(plain) for _, plain in pairs) / plain_tokens,
                  sum(wall_ns(record) for record, _ in pairs) / tokens,
                  everyone)
        spent = sum(draft_ns(record) + target_ns(record) for record, _ in pairs)
        self.give("predicted_speed", "", plain_pass * tokens, spent, everyone)
        self.give("predicted_by_curve", "costs.yaml",
                  tokens * sum(stated_ms(plain, []) for _, plain in pairs),
                  plain_tokens * sum(stated_ms(record, self.trunks)
                                     for record, _ in pairs), everyone)
        if not self.trunks:
            return
        own = [(record, plain) for record, plain in pairs
               if len(self.trunks) == 1 and
               all(made.sequences <= 1 for made in record.rounds)]
        if own:
            self.give("oracle_by_curve", "costs.yaml",
                      sum(len(record.tokens) for record, _ in own) *
                      sum(stated_ms(plain, []) for _, plain in own),
                      sum(len(plain.tokens) for _, plain in own) *
                      sum(oracle_ms(record, self.trunks[0])
                          for record, _ in own),
                      units(record for record, _ in own))
        drafting = sum(draft_ns(record) for record, _ in pairs)
        levels = sum(max(drafted(made), default=0) for record, _ in pairs
                     for made in record.rounds)
        drew = units(record for record, _ in pairs
                     if any(map(drafted, record.rounds)))
        self.give("drafter_cost", "", drafting, levels * plain_pass, drew)
        self.give("drafter_cost", "pass", drafting, plain_pass * sum(
            len(record.rounds) for record, _ in pairs), everyone)

    def count_divergence(self):
        if self.setting.temperature != 0 or self.own_baseline:
            return
        places = {}
        gaps = {}
        alike = [(record, plain) for record, plain in self.pairs
                 if record.prompt_tokens == plain.prompt_tokens]
        for record, plain in alike:
            if record.tokens == plain.tokens:
                continue
            both = zip(record.tokens, plain.tokens)
            place = next((i for i, (a, b) in enumerate(both) if a != b),
                         min(len(record.tokens), len(plain.tokens)))
            places[record.prompt] = place
            if place < len(plain.logit_gap):
                gaps[record.prompt] = plain.logit_gap[place]
        def among(prompts):
            return units(record for record, _ in alike
                         if record.prompt in prompts)

        self.give("divergence", "prompts", len(places), len(alike),
                  units(record for record, _ in alike))
        self.give("divergence", "place", sum(places.values()), len(places),
                  among(places))
        self.give("divergence", "logit gap", sum(gaps.values()), len(gaps),
                  among(gaps))

    def count_acceptance(self):
        kept = 0
        lengths = collections.Counter()
        saved = 0
        for made in self.rounds:
            kept += min(len(made.path), made.emitted)
            lengths[f"length {len(made.path)}"] += 1
            children = [child for draws in made.lists
                        for child in draws.children if child >= 0]
            saved += len(children) - len(set(children))
        everyone = units(self.records)
        self.give("accepted_per_pass", "", kept, len(self.rounds), everyone)
        self.give("nodes_saved", "", saved, len(self.rounds), everyone)
        self.share("accepted_lengths", lengths,
                   lambda record: record.rounds)

    def count_by_depth(self):
        deepest = max(max(drafted(made), default=0) for made in self.rounds)
        self.share("acceptance_by_depth",
                   {f"depth {depth}": sum(len(made.path) >= depth
                                          for made in self.rounds)
                    for depth in range(1, deepest + 1)},
                   lambda record: record.rounds)
        for depth in range(1, deepest + 1):
            came = [(record, made) for record in self.records
                    for made in record.rounds
                    if len(made.path) >= depth - 1 and
                    drawn_below(made, ([0, *made.path])[depth - 1])]
            self.give("conditional_acceptance_by_depth", f"depth {depth}",
                      sum(len(made.path) >= depth for _, made in came),
                      len(came), units(record for record, _ in came))

    def count_by_list(self):
        looked = [(record, draws, child) for record in self.records
                  for made in record.rounds
                  for draws, child in reached(made)]
        lossless = self.setting.lossless
        overlaps = [(record, draws.overlap) for record, draws, _ in looked
                    if lossless]
        self.give("alpha", "", math.fsum(value for _, value in overlaps),
                  len(overlaps), units(record for record, _ in overlaps))
        drawn = [entry for entry in looked if entry[1].tokens]
        if lossless and len(self.trunks) == 1:
            self.give("endless_chain", "", len(drawn), math.fsum(
                1 - draws.overlap for _, draws, _ in drawn),
                      units(record for record, _, _ in drawn))
        ranks = {f"rank {i + 1}": 0 for _, draws, _ in drawn
                 for i in range(len(draws.tokens))}
        for _, draws, child in drawn:
            if child in draws.children:
                ranks[f"rank {list(draws.children).index(child) + 1}"] += 1
        for key, hits in ranks.items():
            self.give("acceptance_by_rank", key, hits, len(drawn),
                      units(record for record, _, _ in drawn))

    def count_by_trunk(self):
        keys = [f"trunk {i} {name}" for i, name in enumerate(self.trunks)]
        first = dict.fromkeys(keys, 0)
        alone = dict.fromkeys(keys, 0)
        for made in self.rounds:
            for node in made.path:
                trunks = trunks_of(made, node)
                first[keys[trunks[0]]] += 1
                if len(trunks) == 1:
                    alone[keys[trunks[0]]] += 1
        self.share("acceptance_by_trunk", first,
                   lambda record: [node for made in record.rounds
                                   for node in made.path])
        self.share("gain_by_trunk", alone, lambda record: record.rounds)

    def count_at_root(self):
        mass = collections.defaultdict(float)
        for record in self.records:
            for trunk, name in enumerate(self.trunks):
                rounds = []
                for made in record.rounds:
                    for draws in made.lists:
                        if draws.node == 0 and draws.trunk == trunk:
                            kept = [child for child in draws.children
                                    if child >= 0]
                            rounds.append([made.target_probability[child]
                                           for child in dict.fromkeys(kept)])
                for count in range(1, 6) if rounds else ():
                    mass[f"trunk {trunk} {name}, {count}"] += math.fsum(
                        math.fsum(of_round[:count]) for of_round in rounds)
        self.share("success_at_root", mass, lambda record: record.rounds)


def run(*arguments):
    return subprocess.run(list(map(str, arguments)), check=True,
                          capture_output=True, text=True).stdout


class RecountTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            run(MAKE_RECORDS, folder / "run.banyan")
            (folder / "costs.yaml").write_text(json.dumps(
                {"passes": [{"ms": PASS_MS}], "levels": [{"ms": LEVEL_MS}]}))
            text = run(BANYAN, "report", folder, "--format", "csv",
                       "--curve", folder / "costs.yaml")
            by_cell = collections.defaultdict(list)
            with warnings.catch_warnings():  # of the prompts that are missing
                warnings.simplefilter("ignore", banyan.records.RecordWarning)
                records = banyan.records.read(folder)
            for cell, record in records.records():
                by_cell[cell.name].append(record)
        cls.reported = {(row["cell"], row["metric"], row["key"]): row
                        for row in csv.DictReader(text.splitlines())}
        cls.cells = {
            cell.name: Cell(cell, by_cell[cell.name],
                            by_cell[cell.baseline or cell.name])
            for cell in records.cells}

    def test_every_number_is_the_same_on_both_sides(self):
        counted = {(name, *key): (value, cell.prompts[key])
                   for name, cell in self.cells.items()
                   for key, value in cell.values.items()}
        def names(keys):
            return sorted({metric for _, metric, _ in keys})
        missing, foreign = (self.reported.keys() - counted.keys(),
                            counted.keys() - self.reported.keys())
        self.assertFalse(missing,
                         f"reported and not counted here: {names(missing)}")
        self.assertFalse(foreign,
                         f"counted here and not reported: {names(foreign)}")
        for key, (value, prompts) in counted.items():
            with self.subTest(key):
                row = self.reported[key]
                self.assertTrue(
                    math.isclose(float(row["value"]), value, rel_tol=1e-9,
                                 abs_tol=1e-12),
                    f"the report has {row['value']}, counted here: {value}")
                self.assertEqual(int(row["prompts"]), prompts)

    def test_every_metric_is_among_them(self):
        catalogue = json.loads(run(BANYAN, "list", "--json"))["metrics"]
        self.assertEqual({row["name"] for row in catalogue},
                         {metric for _, metric, _ in self.reported})

    def test_intervals_hold_the_number(self):
        for key, row in self.reported.items():
            if not row["low"]:
                continue
            low, value, high = (float(row[name])
                                for name in ("low", "value", "high"))
            with self.subTest(key):
                self.assertLessEqual(low, value + 1e-12)
                self.assertGreaterEqual(high, value - 1e-12)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
