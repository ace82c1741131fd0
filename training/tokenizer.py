"""tokenizer: byte-level BPE from a corpus, as tokenizer.json."""

import json
import pathlib

import tokenizers
from tokenizers import decoders, models, pre_tokenizers, processors, trainers

from training.corpus import read_split
from training.errors import UserError
from training.files import replaced

END_OF_TEXT = "<|endoftext|>"
# How a text is cut into the words within which merges are learnt: GPT-2's is
# the library's own, Llama-3's takes one more sign into a word, up to three
# digits, and line ends together.
PATTERNS = {
    "gpt2": None,
    "llama3": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
              r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
              r"\s+(?!\S)|\s+",
}
SMALLEST = 257  # every byte, and the end of a text


def add_arguments(parser):
    parser.add_argument("--corpus", required=True, metavar="DIR",
                        help="what `corpus` wrote")
    parser.add_argument("--vocab-size", type=int, default=2048, metavar="N",
                        help="tokens, the %s at id 0 among them "
                        "(default: %%(default)s)" % END_OF_TEXT)
    parser.add_argument("--pattern", choices=tuple(PATTERNS), default="gpt2",
                        help="whose words merges stay in "
                        "(default: %(default)s)")
    parser.add_argument("--out", required=True, metavar="DIR",
                        help="where tokenizer.json goes")


def run(options):
    if options.vocab_size < SMALLEST:
        raise UserError(f"--vocab-size: expected at least {SMALLEST}, found "
                        f"{options.vocab_size}")
    texts = [document.text for document in read_split(options.corpus, "train")]
    trained = train(texts, options.vocab_size, options.pattern)
    out = pathlib.Path(options.out)
    with replaced(out / "tokenizer.json") as path:
        try:
            trained.save(path)
        except Exception as error:  # the library raises nothing narrower
            raise UserError(f"{out / 'tokenizer.json'}: cannot be written: "
                            f"{error}") from error
    with replaced(out / "tokenizer_config.json") as path:
        pathlib.Path(path).write_text(json.dumps({
            "tokenizer_class": "PreTrainedTokenizerFast",
            "bos_token": END_OF_TEXT,
            "eos_token": END_OF_TEXT,
            "clean_up_tokenization_spaces": False,
        }, indent=2) + "\n", encoding="utf-8")
    size = sum(len(text.encode()) for text in texts)
    ids = sum(len(e.ids) for e in trained.encode_batch_fast(texts))
    print(f"{trained.get_vocab_size():,} tokens, {size / ids:.2f} bytes each "
          f"on the training split: {out / 'tokenizer.json'}")


def train(texts, vocab_size, pattern="gpt2"):
    tokenizer = tokenizers.Tokenizer(models.BPE())
    words = PATTERNS[pattern]
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(
        add_prefix_space=False, use_regex=words is None)
    if words is not None:
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.Split(tokenizers.Regex(words), "isolated"),
             tokenizer.pre_tokenizer])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=vocab_size, special_tokens=[END_OF_TEXT],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False))
    return tokenizer


def read_tokenizer(directory):
    path = pathlib.Path(directory) / "tokenizer.json"
    if not path.exists():
        raise UserError(f"{path}: there is no such file")
    try:
        return tokenizers.Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises nothing narrower
        raise UserError(f"{path}: {error}") from error
