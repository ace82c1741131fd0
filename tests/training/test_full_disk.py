"""No room on the disk: a sentence, and what was there before is still there."""

import contextlib
import resource

from tests.training import support
from tests.training.test_trainer import RECIPES, Trained
from training.model import read_model


@contextlib.contextmanager
def disk_of(size):
    """No file can grow beyond `size` bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


class FullDisk(Trained):

    def assert_no_room(self, name, size, *arguments):
        """Fails at a file, which stays what it was."""
        path = self.out / name
        before = path.read_bytes() if path.exists() else None
        with disk_of(size):
            sentence = self.refused(*arguments)
        self.assertIn(f"{path}", sentence)
        self.assertEqual(path.read_bytes() if path.exists() else None, before)
        self.assertEqual([p.name for p in self.out.glob(f"{name}.*")], [])
        return sentence

    def test_the_state_before_is_kept(self):
        self.killed()
        size = (self.out / "state.pt").stat().st_size
        for part in (2, 100):  # one fails amid tensors, one at the first
            sentence = self.assert_no_room(
                "state.pt", size // part, *RECIPES["pretrain"]("--out",
                                                               self.out))
            self.assertIn("cannot be written", sentence)
            self.assertEqual(self.state()["step"], 7)
        self.train(*RECIPES["pretrain"]("--out", self.out))

    def test_a_model_is_whole_or_not_there(self):
        arguments = RECIPES["pretrain"]("--out", self.out, "--save-minutes", 9)
        self.assert_no_room("model.safetensors", 8000, *arguments)
        self.assertFalse((self.out / "training.json").exists())
        self.train(*arguments)
        read_model(self.out)

    def test_heads_are_whole_or_not_there(self):
        arguments = RECIPES["medusa"]("--out", self.out, "--save-minutes", 9)
        self.assert_no_room("medusa_lm_head.safetensors", 8000, *arguments)
        self.train(*arguments)

    def test_a_tokenizer_is_whole_or_not_there(self):
        self.assert_no_room("tokenizer.json", 3000, "tokenizer", "--corpus",
                            support.tiny().corpus, "--vocab-size", 280,
                            "--out", self.out)

    def test_a_tokenizer_is_copied_whole_or_not_at_all(self):
        tiny = support.tiny()
        source = self.folder / "large"
        self.train("tokenizer", "--corpus", tiny.corpus, "--vocab-size", 280,
                   "--out", source)
        size = (source / "tokenizer.json").stat().st_size
        arguments = (*support.pretrain(tiny, "--out", self.out, "--hidden", 4,
                                       "--feed-forward", 4, layers=1),
                     "--tokenizer", source)
        self.assert_no_room("tokenizer.json", size - 1, *arguments)
        self.assertFalse((self.out / "training.json").exists())

    def test_ids_and_splits_are_whole_or_not_there(self):
        source = self.folder / "source"
        source.mkdir()
        for i, text in enumerate(support.texts(40)):
            (source / f"f{i}.py").write_text(text * 9, encoding="utf-8")
        self.assert_no_room("train.jsonl", 500, "corpus", "--source", source,
                            "--out", self.out, "--test", "f1")
        corpus = support.write_corpus(self.out, train=support.texts(40))
        with disk_of(900):
            self.assertRegex(self.refused(*support.pretrain(
                support.tiny(), "--corpus", corpus, "--out",
                self.folder / "model")), "npy: cannot be written")
        self.assertEqual(list(corpus.glob("*.npy*")), [])

    def test_a_log_without_room_ends_the_run(self):
        with disk_of(30):
            self.assertIn("log.csv: File too large", self.refused(
                *RECIPES["pretrain"]("--out", self.out, "--save-minutes", 9)))

    def test_a_directory_that_cannot_be_made_is_named(self):
        (self.folder / "file").write_text("", encoding="utf-8")
        self.assertIn("Not a directory", self.refused(
            *RECIPES["pretrain"]("--out", self.folder / "file" / "out")))

    def test_a_file_that_cannot_be_read_is_named(self):
        (self.folder / "train.jsonl").mkdir()
        self.assertRegex(self.refused(
            "tokenizer", "--corpus", self.folder, "--out", self.out),
            "Is a directory: .*train.jsonl")
