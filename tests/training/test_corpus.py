"""Files into splits: what is held out, what is dropped, what is refused."""

from tests.training import support
from training.corpus import read_split
from training.errors import UserError
from training.files import read_json


def body(name, lines=6):
    """A file unlike any other."""
    return "".join(f"def {name}_{name}_function_{'abcdefghij'[i]}(argument):\n"
                   for i in range(lines))


class CorpusTest(support.FolderTest):

    def setUp(self):
        super().setUp()
        self.source = self.folder / "source"
        self.out = self.folder / "corpus"

    def write(self, path, content=None):
        path = self.source / path
        path.parent.mkdir(parents=True, exist_ok=True)
        if content is None:
            content = body(path.stem + path.parent.name)
        path.write_bytes(content.encode() if isinstance(content, str)
                         else content)

    def corpus(self, *more):
        self.train("corpus", "--source", self.source, "--out", self.out, *more)
        return read_json(self.out / "corpus.json")

    def paths(self, split):
        return [d.path for d in read_split(self.out, split)]


class Splits(CorpusTest):

    def test_prefixes_hold_out_whole_directories(self):
        for path in ("a/one.py", "a/deep/two.py", "b/three.py", "b/four.py",
                     "c/five.py", "c.py", "d/six.txt"):
            self.write(path)
        summary = self.corpus("--test", "a/", "--validation", "b/",
                              "--exclude", "c/")
        self.assertEqual(self.paths("test"), ["a/deep/two.py", "a/one.py"])
        self.assertEqual(self.paths("validation"), ["b/four.py", "b/three.py"])
        self.assertEqual(self.paths("train"), ["c.py"])
        self.assertEqual(summary["dropped"], {"excluded": 1})
        self.assertEqual(summary["test"]["files"], 2)
        self.assertEqual(summary["test"]["bytes"],
                         len(body("onea")) + len(body("twodeep")))

    def test_without_prefixes_a_hash_of_the_path_decides(self):
        names = [f"{a}{b}" for a in "abcdefghijklmnopqrst" for b in "uvwxyz"]
        for name in names:
            self.write(f"{name}.py")
        self.corpus("--held-out-share", 0.2)
        splits = {split: set(self.paths(split)) for split in
                  ("train", "validation", "test")}
        self.assertEqual(sum(map(len, splits.values())), len(names))
        self.assertEqual(set().union(*splits.values()),
                         {f"{name}.py" for name in names})
        # 120 files, a fifth each: 24, give or take five deviations of 4.4.
        for split in ("validation", "test"):
            self.assertTrue(2 <= len(splits[split]) <= 46, splits[split])
        # The content does not decide.
        for name in names:
            self.write(f"{name}.py", body("other" + name))
        self.corpus("--held-out-share", 0.2)
        self.assertEqual(set(self.paths("test")), splits["test"])

    def test_everything_held_out_is_refused(self):
        self.write("a/one.py")
        self.assertIn("every file was held out",
                      self.refused("corpus", "--source", self.source, "--out",
                                   self.out, "--test", "a/"))

    def test_a_missing_source_is_refused(self):
        self.assertIn("nowhere: there is no such file or directory",
                      self.refused("corpus", "--source",
                                   self.folder / "nowhere", "--out", self.out))

    def test_a_source_without_such_files_is_refused(self):
        self.write("one.txt")
        self.assertIn("no file ending in .py",
                      self.refused("corpus", "--source", self.source, "--out",
                                   self.out))


class Duplicates(CorpusTest):

    def test_what_is_near_to_held_out_text_leaves_the_training_split(self):
        self.write("held/one.py", body("same", 10))
        self.write("a/copy.py", body("same", 10))
        self.write("a/near.py", body("same", 10) + body("more", 5))  # 2 thirds
        self.write("a/apart.py", body("same", 10) + body("much", 10))  # a half
        self.write("b/copy.py", body("same", 10))
        summary = self.corpus("--test", "held/", "--validation", "b/")
        self.assertEqual(self.paths("test"), ["held/one.py"])
        self.assertEqual(self.paths("train"), ["a/apart.py"])
        self.assertEqual(summary["validation"]["files"], 0)
        self.assertEqual(summary["dropped"], {"most lines seen before": 3})

    def test_copies_of_short_lines_are_dropped_too(self):
        self.write("held/one.py", "x = y\n" * 9)
        self.write("a/copy.py", "x = y\n" * 9)
        self.write("a/other.py", "y = z\n" * 9)
        summary = self.corpus("--test", "held/")
        self.assertEqual(self.paths("test"), ["held/one.py"])
        self.assertEqual(self.paths("train"), ["a/other.py"])
        self.assertEqual(sum(summary["dropped"].values()), 1)


class Dropped(CorpusTest):

    def test_files_without_text_are_dropped_and_counted(self):
        self.write("good.py")
        self.write("table.py", "x = [" + "0x1f, " * 20 + "]\n")
        self.write("long.py", body("long", 10))
        self.write("latin.py", "caf\u00e9 = 1\n".encode("latin-1"))
        self.write("empty.py", "")
        self.write("blank.py", " \n\n")
        self.write("binary.py", "abc\0def\n")
        summary = self.corpus("--max-bytes", len(body("goodsource")) + 9)
        self.assertEqual(self.paths("train"), ["good.py"])
        self.assertEqual(
            sorted((count, reason.split()[0]) for reason, count in
                   summary["dropped"].items()),
            [(1, "longer"), (1, "mostly"), (1, "not"), (3, "empty")])

    def test_line_ends_of_windows_are_made_plain(self):
        self.write("one.py", body("one").replace("\n", "\r\n"))
        self.corpus("--held-out-share", 0)
        self.assertEqual(read_split(self.out, "train")[0].text, body("one"))


class ReadingSplits(support.FolderTest):

    def assert_refused(self, content, message):
        (self.folder / "train.jsonl").write_bytes(content)
        with self.assertRaisesRegex(UserError, message):
            read_split(self.folder, "train")

    def test_a_broken_line_is_named(self):
        good = b'{"path": "a", "text": "b"}\n'
        for broken in (b"{\n", b"[1]\n", b'{"path": "a"}\n', b"\n",
                       b'{"path": "a", "text": 5}\n', b"\xff\n"):
            with self.subTest(broken):
                self.assert_refused(good + broken,
                                    "train.jsonl:2: expected an object with "
                                    "path and text")

    def test_an_empty_and_a_missing_split_are_refused(self):
        self.assert_refused(b"", "the train split is empty")
        with self.assertRaisesRegex(UserError, "test.jsonl: there is no such"):
            read_split(self.folder, "test")
