"""The tokenizer: every byte comes back, and the end of a text is id 0."""

from tests.training import support
from training.data import end_of_text_id
from training.errors import UserError
from training.tokenizer import END_OF_TEXT, SMALLEST, read_tokenizer

ODD = ["", " ", "\n\n\t  x", "\r\n", "na\u00efve caf\u00e9 \u2028\u2029",
       "\U0001f600\u200d\U0001f3fd", "\x00\x01\x7f\x80", "e\u0301 \u00e9",
       "\ufeffdef\u00a0f():", "".join(map(chr, range(1, 0x180)))]


class Tokenizer(support.FolderTest):

    def trained(self, size):
        corpus = support.write_corpus(self.folder / "corpus",
                                      train=support.texts(20))
        self.train("tokenizer", "--corpus", corpus, "--vocab-size", size,
                   "--out", self.folder / str(size))
        return read_tokenizer(self.folder / str(size))

    def test_fewer_than_every_byte_are_refused(self):
        self.assertIn("--vocab-size: expected at least 257, found 256",
                      self.refused("tokenizer", "--corpus", self.folder,
                                   "--vocab-size", 256, "--out", self.folder))

    def test_the_smallest_spells_bytes(self):
        tokenizer = self.trained(SMALLEST)
        self.assertEqual(tokenizer.get_vocab_size(), 257)
        for text in ODD:
            ids = tokenizer.encode(text, add_special_tokens=False).ids
            self.assertEqual(len(ids), len(text.encode()), repr(text))
            self.assertEqual(tokenizer.decode(ids), text)

    def test_texts_come_back(self):
        tokenizer = self.trained(280)
        self.assertEqual(tokenizer.get_vocab_size(), 280)
        for text in ODD + support.texts(3):
            ids = tokenizer.encode(text, add_special_tokens=False).ids
            self.assertEqual(tokenizer.decode(ids), text)
        self.assertLess(len(ids), len(text.encode()))

    def test_words_are_those_of_the_pattern(self):
        corpus = support.write_corpus(
            self.folder / "corpus",
            train=["\n\n    .self(12345)\n\n    .self(12345)\n"] * 9)

        def words(pattern):
            out = self.folder / pattern
            self.train("tokenizer", "--corpus", corpus, "--vocab-size", 320,
                       "--pattern", pattern, "--out", out)
            tokenizer = read_tokenizer(out)
            text = "\n\n    .self(12345)"
            ids = tokenizer.encode(text, add_special_tokens=False).ids
            self.assertEqual(tokenizer.decode(ids), text)
            return [tokenizer.decode([id]) for id in ids]

        self.assertEqual(words("gpt2"),
                         ["\n\n   ", " .", "self", "(", "12345", ")"])
        self.assertEqual(words("llama3"),
                         ["\n\n", "   ", " .", "self", "(", "123", "45",
                          ")"])

    def test_the_end_of_a_text_is_id_0(self):
        tokenizer = self.trained(280)
        self.assertEqual(tokenizer.token_to_id(END_OF_TEXT), 0)
        self.assertEqual(end_of_text_id(tokenizer), 0)

    def test_a_missing_and_a_broken_file_are_refused(self):
        with self.assertRaisesRegex(UserError, "tokenizer.json: there is no"):
            read_tokenizer(self.folder)
        (self.folder / "tokenizer.json").write_text("{}", encoding="utf-8")
        with self.assertRaisesRegex(UserError, "tokenizer.json: "):
            read_tokenizer(self.folder)
