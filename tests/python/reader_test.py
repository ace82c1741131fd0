"""Holds Python's reader of record files against the program, on runs that the program
makes and on files that are torn, damaged or made by hand.

    reader_test.py BANYAN MAKE_RECORDS
"""

import copy
import json
import os
import signal
import sys
import unittest
import warnings

sys.dont_write_bytecode = True
from recorded import (HEADER_BYTES, Recorded, banyan, pb, read,  # noqa: E402
                      reported,
                      run, two_cells, warnings_of, write)

from google.protobuf import json_format  # noqa: E402


def parsed(fields, message):
    return json_format.ParseDict(fields, message)


class ReadTest(Recorded):

    def every_run(self):
        return [self.shards(), self.cells(), self.batched(), self.chats(), self.made()]

    def test_gives_what_export_gives(self):
        for folder in self.every_run():
            lines = run("export", folder, "--format", "jsonl").stdout.splitlines()
            pairs = list(read(folder))
            with self.subTest(folder.name):
                self.assertEqual(len(pairs), len(lines))
                self.assertGreater(len(pairs), 8)
            for pair, line in zip(pairs, map(json.loads, lines)):
                with self.subTest(folder.name, cell=pair.cell.name,
                                  prompt=pair.record.prompt):
                    self.assertEqual(pair.cell.name, line["cell"])
                    self.assertEqual(pair.cell.baseline, line["baseline"])
                    self.assertEqual(pair.cell.context.experiment_hash,
                                     line["experiment_hash"])
                    self.assertEqual(pair.cell.setting,
                                     parsed(line["setting"], pb.Cell()))
                    self.assertEqual(pair.record,
                                     parsed(line["record"], pb.PromptRecord()))

    def test_gives_the_contexts_that_export_gives(self):
        for folder in self.every_run():
            lines = run("export", folder, "--format", "context").stdout.splitlines()
            got = [(file.path, file.context) for file in read(folder).files]
            want = [(line["path"], parsed(line["context"], pb.Context()))
                    for line in map(json.loads, lines)]
            self.assertEqual(got, want, folder.name)

    def test_warns_as_the_program_does(self):
        for folder in self.every_run():
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                banyan.records.read(folder)
            self.assertEqual([str(warning.message) for warning in caught],
                             warnings_of(run("export", folder)), folder.name)

    def test_pairs_a_record_with_the_baselines_of_its_file(self):
        """Both shards have plain decoding of every prompt, at other times."""
        for pair in read(self.cells()):
            self.assertIn(pair.baseline, self.records_of(pair.file))
            self.assertEqual(pair.baseline.prompt, pair.record.prompt)
            self.assertEqual(pair.baseline.cell, pair.cell.setting.baseline)
            if pair.cell.baseline is None:
                self.assertEqual(pair.baseline, pair.record)

    def records_of(self, path):
        return [record for _, record in read(path).records()]

    def test_takes_a_file_or_several(self):
        files = sorted(self.shards().glob("*.banyan"))
        self.assertEqual([(pair.record, pair.file) for pair in read(map(str, files))],
                         [(pair.record, pair.file) for pair in read(self.shards())])
        self.assertIn("shard 1 of 2 is not among the files", read(files[0]).warnings)

    def test_the_schemas_rules_hold_of_recorded_runs(self):
        for folder in self.every_run():
            read(folder).check()

    def test_a_cell_is_found_by_its_name(self):
        records = read(self.shards())
        for cell in records.cells:
            self.assertIs(records.cell(cell.name), cell)
        with self.assertRaises(KeyError):
            records.cell("another")

    def test_what_changed_since_is_not_read(self):
        """A record of an older file, in a newer one at its path."""
        path = self.folder / "changing.banyan"
        context, records = two_cells()
        write(path, context, records)
        before = read(path)
        records[0].prompt += 7
        write(path, context, records)
        with self.raises(path, "the entry at byte", "changed"):
            list(before)

    # Files made by hand.

    def files(self, name, *contents):
        folder = self.folder / name
        folder.mkdir()
        for number, (context, records) in enumerate(contents):
            write(folder / f"{number}.banyan", context, records)
        return folder

    def both_refuse(self, folder, *parts):
        """Also the program, in the same words."""
        with self.raises(*parts):
            read(folder)
        refused = run("export", folder, expected=(1, 2)).stderr
        for part in parts:
            self.assertIn(str(part), refused)

    def test_a_prompt_recorded_twice_is_refused(self):
        context, records = two_cells()
        self.both_refuse(self.files("twice", (context, records), (context, records)),
                         "1.banyan: prompt 0 of cell 'chain' is recorded already, in",
                         "0.banyan")
        self.both_refuse(
            self.files("twice_in_one", (context, [*records, records[0]])),
            "prompt 0 of cell 'plain' is recorded already, in an entry before")

    def test_a_baseline_may_be_in_several_files(self):
        """Its own row is the first file's; a record elsewhere takes the baseline of its
        file."""
        context, [plain, chain] = two_cells()
        later = copy.deepcopy(plain)
        later.order = 5
        folder = self.files("baselines", (context, [plain]), (context, [later, chain]))
        first, second = read(folder)
        self.assertEqual((first.record.order, first.baseline.order), (0, 0))
        self.assertEqual((second.record.order, second.baseline.order), (1, 5))
        self.same_as_the_report(folder)

    def test_a_baseline_of_another_file_on_a_like_machine_counts(self):
        context, [plain, chain] = two_cells()
        folder = self.files("apart", (context, [plain]), (context, [chain]))
        self.assertEqual([pair.baseline.order for pair in read(folder)], [0, 0])
        self.same_as_the_report(folder)

    def test_pairs_do_not_span_unlike_machines(self):
        context, [plain, chain] = two_cells()
        other, _ = two_cells(cpu="another processor")
        folder = self.files("unlike", (context, [plain]), (other, [chain]))
        records = read(folder)
        self.assertEqual([pair.baseline and pair.baseline.order for pair in records],
                         [0, None])
        self.assertEqual([pair.machine for pair in records], ["1", "2"])
        self.assertEqual(records.warnings, warnings_of(run("export", folder)))
        self.assertIn("cpu: another processor | a processor", records.warnings[0])
        self.same_as_the_report(folder)

    def test_a_baseline_on_two_machines_counts_on_both(self):
        context, [plain, chain] = two_cells()
        other, _ = two_cells(cpu="another processor")
        later = copy.deepcopy(plain)
        later.order = 5
        folder = self.files("both", (context, [plain, chain]), (other, [later]))
        self.assertEqual([(pair.cell.name, pair.record.order, pair.machine)
                          for pair in read(folder)],
                         [("plain", 0, "1"), ("plain", 5, "2"), ("chain", 1, "1")])
        self.same_as_the_report(folder)

    def same_as_the_report(self, folder):
        lines = run("report", folder, "--format", "csv", "--metrics",
                    "speed,tokens").stdout.splitlines()[1:]
        got = [(row["cell"], row["metric"], float(row["value"]), row["prompts"])
               for row in reported(folder).summary(["speed", "tokens"])]
        want = []
        for cell, *_, metric, _, value, _, _, prompts in (line.replace(
                ", ", "; ").split(",") for line in lines):
            want.append((cell.strip('"').replace("; ", ", "), metric, float(value),
                         int(prompts)))
        self.assertEqual(got, want)

    def test_different_experiments_are_refused_unless_mixed(self):
        context, records = two_cells()
        other = copy.deepcopy(context)
        other.experiment_hash = "9876543210"
        folder = self.files("mixed", (context, records), (other, records))
        with self.raises("0.banyan", "1.banyan", "different experiments"):
            read(folder)
        self.assertEqual([cell.name for cell in read(folder, mixed=True).cells],
                         ["plain@01234567", "chain@01234567", "plain@98765432",
                          "chain@98765432"])
        want = [json.loads(line)["cell"]
                for line in run("export", folder).stdout.splitlines()]
        self.assertEqual([pair.cell.name for pair in read(folder, mixed=True)], want)

    def test_shards_that_do_not_fit_together_are_refused(self):
        context, [plain, chain] = two_cells()

        def other(change):
            changed = copy.deepcopy(context)
            change(changed)
            return changed

        def renamed(changed):
            changed.cells[1].name = "another"

        def costs(changed):
            changed.costs.passes.add(target="small")

        def cut(changed):
            changed.cut = pb.CELLS

        def weights(changed):
            changed.cells[1].models.add(name="draft", directory="elsewhere/draft",
                                        fingerprint="ff")

        context.shards = 2
        context.cells[1].models.add(name="draft", directory="models/draft",
                                    fingerprint="ee")
        for change, words in ((renamed, "other cells"), (costs, "other measured costs"),
                              (cut, "cut into shards by prompts and by cells"),
                              (weights, "was made with another")):
            if change is weights:
                context.cells[1].models[0].directory = "elsewhere/draft"
            changed = other(change)
            if change is weights:
                del changed.cells[1].models[0]
            folder = self.files(change.__name__, (context, [plain]), (changed, [chain]))
            self.both_refuse(folder, words, "0.banyan", "1.banyan")

    def test_texts_refute_a_claim(self):
        context, [plain, chain] = two_cells()
        chain.tokens[1] = 9
        chain.rounds[0].next = 9
        folder = self.files("refuted", (context, [plain, chain]))
        records = read(folder)
        cell = records.cell("chain")
        self.assertFalse(cell.lossless)
        self.assertEqual(cell.setting.evidence, pb.REFUTED)
        self.assertTrue(records.cell("plain").lossless)
        self.assertIn(records.refuted[0], run("report", folder, expected=(3,)).stdout)

    def test_a_record_that_contradicts_itself_is_found_by_check_and_tables(self):
        faults = {
            "node 1 has the parent 1": lambda made: made.parents.__setitem__(1, 1),
            "node 1 has the parent 5": lambda made: made.parents.__setitem__(1, 5),
            "node 1 has the parent -2": lambda made: made.parents.__setitem__(1, -2),
            "draw 0 at node 0 points to node 7, which is no child with its token":
                lambda made: made.lists[0].children.__setitem__(0, 7),
            "draw 0 at node 0 points to node -2, which is no child with its token":
                lambda made: made.lists[0].children.__setitem__(0, -2),
            "a draw list stands at node 4 of trunk 0":
                lambda made: setattr(made.lists[0], "node", 4),
            "the path goes from node 0 to node -1, which is no child of it":
                lambda made: made.path.__setitem__(0, -1),
            "its stop rule is 9, which is unknown":
                lambda made: setattr(made, "stop", 9),
            "the kind of draw at node 0 is 9, which is unknown":
                lambda made: setattr(made.lists[0], "draws", 9),
            "the overlap at node 0 is 2, no probability":
                lambda made: setattr(made.lists[0], "overlap", 2),
            "a list of 1 draws has 1 children and 0 masses":
                lambda made: made.lists[0].ClearField("q"),
            "a list of 1 draws has 2 numbers in time":
                lambda made: made.lists[0].times.extend([0, 1]),
            "draw 0 at node 0 has the number 5 in time, out of order":
                lambda made: (made.lists[0].times.append(5), made.lists.append(
                    made.lists[0])),
            "draw 0 at node 0 points to node 1, which is no child with its token":
                lambda made: made.lists[0].tokens.__setitem__(0, 8),
            "the path goes from node 0 to node 2, which is no child of it":
                lambda made: made.path.__setitem__(0, 2),
            "a path of 1 emitted 3 tokens": lambda made: setattr(made, "emitted", 3),
            "what it emitted is not the record's":
                lambda made: setattr(made, "next", 8),
            "1 trunks have 2 times of drafting": lambda made: made.draft_ns.append(1),
            "a phase took -1 ns": lambda made: setattr(made, "verify_ns", -1),
            "a probe stands at node 0 of trunk 0, after 0":
                lambda made: made.probes.add(node=0),
            "a tree of 2 tokens has 1 target probabilities":
                lambda made: made.target_probability.append(1),
        }
        for number, (words, plant) in enumerate(faults.items()):
            context, records = two_cells()
            plant(records[1].rounds[0])
            path = self.folder / f"fault{number}.banyan"
            begin = write(path, context, records)[2]
            found = read(path)
            for walk in (found.check, lambda: list(found.prompts), lambda: list(found.rounds),
                         lambda: list(found.nodes)):
                with self.subTest(words), self.raises(
                        path, f"the entry at byte {begin}: round 0: {words}"):
                    walk()
            with self.subTest(words):
                self.assertIn(words, run("export", path, expected=(1, 2)).stderr)

    def test_other_contradictions_are_found_by_check(self):
        faults = {
            "batch 1 has 0 prompts": {"batch": 1},
            "it taught 3 trunks of a cell of 1": {"learnt": [b"", b"", b""]},
            "its rounds emitted 2 of its 3 tokens": {"tokens": [3, 4, 5]},
            "2 tokens have 1 log-probabilities and 0 gaps": {"log_probability": [-1]},
            "it was admitted at 5 ns, read in 0 ns and ended at 0 ns":
                {"admitted_ns": 5},
            "its stop rule is 7, which is unknown": {"stop": 7},
        }
        for number, (words, fields) in enumerate(faults.items()):
            context, records = two_cells()
            for name, value in fields.items():
                records[1].ClearField(name)
                records[1].MergeFrom(pb.PromptRecord(**{name: value}))
            path = self.folder / f"other{number}.banyan"
            write(path, context, records)
            with self.subTest(words):
                with self.raises(words):
                    read(path).check()
                self.assertIn(words, run("export", path, expected=(1, 2)).stderr)

    def test_pipes_and_devices_are_refused(self):
        folder = self.folder / "pipe"
        folder.mkdir()
        os.mkfifo(folder / "a.banyan")
        signal.alarm(60)  # ends a reader that waits for a writer
        self.addCleanup(signal.alarm, 0)
        self.both_refuse(folder, folder / "a.banyan",
                         "expected an ordinary file, found a pipe")
        self.both_refuse("/dev/zero", "/dev/zero: expected an ordinary file, found a "
                         "device")

    def test_a_pipe_in_the_place_of_a_file_that_was_read_is_refused(self):
        path = self.folder / "replaced.banyan"
        write(path, *two_cells())
        before = read(path)
        path.unlink()
        os.mkfifo(path)
        signal.alarm(60)
        self.addCleanup(signal.alarm, 0)
        with self.raises(path, "expected an ordinary file, found a pipe"):
            list(before)

    def test_contexts_and_cells_are_checked_when_read(self):
        context, records = two_cells()
        context.cells[0].baseline = 1
        self.both_refuse(self.files("baseline", (context, [])),
                         "cell 'plain': the baseline 1 is no cell without trunks")
        context, records = two_cells()
        context.cells[1].name = "plain"
        self.both_refuse(self.files("names", (context, [])),
                         "two cells have the name 'plain', or none")
        context, records = two_cells()
        context.shards = 4_000_000_000
        self.both_refuse(self.files("most_shards", (context, [])),
                         "expected at most 4000001 shards, found 4000000000")
        context, records = two_cells()
        records[1].cell = 2
        self.both_refuse(self.files("cell", (context, records)),
                         "its cell 2 is none of the 2 there are")


class DamageTest(Recorded):

    def whole(self):
        """The bytes of a small file, whose last two records are a batch, where its
        entries end, and the context's end."""
        context, [plain, chain] = two_cells()
        batch = [copy.deepcopy(chain) for _ in range(2)]
        for prompt, record in enumerate(batch, 1):
            record.prompt = prompt
            record.batch = 1
            record.batch_prompts = 2
        path = self.folder / "whole.banyan"
        begin, *ends = write(path, context, [plain, chain, *batch])
        self.assertEqual(begin, 8)
        return path.read_bytes(), ends

    def test_a_torn_tail_at_every_byte_is_left_out(self):
        whole, [_, plain, chain, first, last] = self.whole()
        path = self.folder / "torn.banyan"
        entries = read(self.folder / "whole.banyan").files[0].entries
        asked = 0
        for size in range(plain, last + 1):
            path.write_bytes(whole[:size])
            kept, end = next((kept, end) for kept, end in (
                (4, last), (2, chain), (1, plain)) if end <= size)
            found = banyan.records.Run(path).files[0]
            self.assertEqual(found.entries, entries[:kept], size)
            self.assertEqual(found.whole_bytes, end, size)
            self.assertEqual(found.torn_bytes, size - end, size)
            if size % 29 == 0 or size == first:  # what the program does, a few times
                asked += 1
                self.assertEqual(read(path).warnings, warnings_of(run("export", path)))
        self.assertGreater(asked, 9)

    def test_a_torn_tail_is_warned_of(self):
        whole, [*_, last] = self.whole()
        path = self.folder / "warned.banyan"
        path.write_bytes(whole[:last - 1])
        with self.assertWarnsRegex(banyan.records.RecordWarning, "ends in a torn entry"):
            banyan.records.read(path)

    def test_a_recorded_batch_that_is_torn_is_left_out(self):
        path = next(self.batched().glob("*.banyan"))
        file = read(path).files[0]
        torn = self.folder / "torn_batch.banyan"
        torn.write_bytes(path.read_bytes()[:file.entries[-1].byte])
        size = file.entries[-1].batch_prompts
        self.assertGreater(size, 1)
        self.assertEqual(read(torn).files[0].entries, file.entries[:-size])
        self.assertEqual(read(torn).warnings, warnings_of(run("export", torn)))

    def test_a_flipped_bit_in_any_byte_of_an_entry_is_found(self):
        whole, [_, begin, end, *_] = self.whole()
        path = self.folder / "flipped.banyan"
        asked = 0
        for byte in range(begin, end):
            damaged = bytearray(whole)
            damaged[byte] ^= 1 << byte % 8
            path.write_bytes(damaged)
            what = ("its length does not match its checksum" if byte < begin + 8 else
                    "it does not match its checksum")
            with self.raises(path, f"the entry at byte {begin}: {what}: expected 0x",
                             "found 0x"):
                read(path)
            if byte % 19 == 0:
                asked += 1
                self.assertIn(f"the entry at byte {begin}: {what}",
                              run("export", path, expected=(1, 2)).stderr)
        self.assertGreater(asked, 3)

    def test_a_file_that_ends_before_its_context_is_passed_over_in_a_folder(self):
        whole, [context, *_] = self.whole()
        folder = self.folder / "begun"
        folder.mkdir()
        (folder / "a.banyan").write_bytes(whole)
        for size in (0, 3, 8, 8 + HEADER_BYTES - 1, context - 1):
            (folder / "b.banyan").write_bytes(whole[:size])
            found = read(folder)
            self.assertEqual(len(found.files), 1)
            self.assertIn("b.banyan: ends before its context does", found.warnings[0])
            self.assertEqual(found.warnings, warnings_of(run("export", folder)))
            with self.assertRaises(banyan.records.NothingRecorded):
                read(folder / "b.banyan")
        (folder / "a.banyan").unlink()
        with self.assertRaises(banyan.records.NothingRecorded):
            read(folder)

    def test_other_files_are_refused(self):
        path = self.folder / "other.banyan"
        path.write_bytes(b"BANYANR2 and more")
        with self.raises(path, "is no record file", "BANYANR1", "BANYANR2"):
            read(path)
        empty = self.folder / "empty"
        empty.mkdir()
        with self.raises(empty, "has no record file (*.banyan)"):
            read(empty)
        with self.assertRaises(FileNotFoundError):
            read(self.folder / "nothing.banyan")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
