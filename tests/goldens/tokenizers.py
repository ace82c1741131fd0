"""Writes or checks tests/goldens/tokenizers/*.json, made with the reference.

  tokenizers.py --write     computes every vector anew
  tokenizers.py --check     says whether the committed ones are still the same

Needs the PyPI package `tokenizers`; the version that was used stands in
profiles.json. Version 0.23 gives the text of an added token in its normalized
form, so that <s> decodes as "▁<s>" and is no longer known as special: use
0.22. The tests need none of this.

What is written: two small vocabularies, NAME.model.json, the section `model`;
and profiles.json, with the texts, and for each profile the other sections of
a tokenizer.json, what it changes in the model, and

  ids        of each text, special tokens added and parsed
  before     how many of these the post-processor puts before each text
  plain_ids  of each text, special tokens neither added nor parsed; null where
             these are `ids` but for the first `before`
  decoded    the text of each `ids`, or null where it is the text encoded
  skipped    the same without special tokens
  broken     lists of ids, with their text
"""

import json
import pathlib
import random
import sys

import write_or_check

# Beside this file, a folder has the name of the package.
sys.path = [path for path in sys.path
            if pathlib.Path(path or ".").resolve() !=
            pathlib.Path(__file__).parent]
import tokenizers  # noqa: E402
from tokenizers import decoders, models, pre_tokenizers, trainers  # noqa: E402

HERE = pathlib.Path(__file__).parent / "tokenizers"

CORPUS = """
A tree of tokens grows from the root, and the target model reads all of it in
one pass. The draft model proposes; the target model accepts or rejects. It's
the speculative way: we don't wait for each token, they'll be there together.
The tree has 12 nodes, 345 leaves, or 6789 of them, if you've time and memory.
I'm sure you'd say that the model isn't small. THE MODEL IS LARGE. The end.
    for node in tree:
        if node.accepted:
            path.append(node)
Der Baum wächst über Äste und Blätter; le modèle a prédit les mêmes mots.
Дерево растёт из корня, и модель читает его. 模型在树上工作,一次读完。
モデルは木を読む。 नमस्ते दुनिया। مرحبا بالعالم ١٢٣ 한국어 토큰. the the and and
""" * 3

TEXTS = [
    "",
    " ",
    "  ",
    "\n",
    "\t\n \r\n  \n\n\n x",
    "Hello world",
    "  Hello   world  ",
    "The tree has 12 nodes, 1234567 leaves.",
    "It's the model's; WE'LL see, they'Re, I'M, you'D, ''s 'tis 've 'LL 'x",
    "lo\u017ft '\u017fo long s",
    "speculative tokens, the speculative tree",
    "naïve café cafe\u0301 \u00c5 \u212b A\u030a ﬁ ² Ⅷ ½",
    "e\u0301\u0323 o\u0323\u0302\u0301 \u1100\u1161\u11a8 각 \u0344 क़",
    "👩‍👩‍👧‍👦 👍🏽 🏳️‍🌈 😀😁 ⓐ 🄰",
    "模型在树上工作。こんにちは 한국어",
    "नमस्ते १२३ مرحبا ١٢٣ ๓๔ Ⅻ 12३4",
    "a\u00a0b\u3000c\u0085d\u2028e\u2029f\u202fg\u1680h\u200bi\u180ej\ufeffk",
    "\u00a0\u00a0x \u3000 y\u0085\u0085",
    "a\x0bb\x0cc\x1cd\x1fe",
    "nul\x00byte\x00\x00",
    "line\r\nline\r\n\r\n  indented\r",
    " " * 40 + "x" + " " * 17,
    "\n" * 21 + "y" + "\n \n",
    "!!! ... ;;\n\n?!\r\n -- _a_ #$% 3.14 a.b",
    "    for node in tree:\n\t\tif x:\n\n    y = 2\n",
    "<|begin|>user<|end|> x <|begin|><|end|>",
    "<s> a <s>b</s> </s>\n<s></s>c <unk>",
    "▁ ▁▁ a▁b ▁",
    "<0x41><0xE6> <0x0A>",
    "left <l> mid<l>x  <l>  <r>  <r>x <lr>  y",
    "word <w> xw<w> <w>y <w>, é<w> ①<w> ⓐ<w> 🄰<w> _<w>",
    "Añ Añ <n> ▁<n>  <n>x caf\u0065\u0301! CAF\u00c9",
    "<n><n> <l><r>   <l>   <w><w>",
    "\U0010ffff\U000e0001\ue000\u0378",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "thethethethe andandand ThE",
]


def added(identity, content, **flags):
    token = {"id": identity, "content": content, "single_word": False,
             "lstrip": False, "rstrip": False, "normalized": False,
             "special": True}
    return {**token, **flags}


def train(pre_tokenizer, alphabet, size):
    """The merges and single characters learnt from the corpus, by rank."""
    made = tokenizers.Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizer
    made.train_from_iterator(
        CORPUS.splitlines(keepends=True),
        trainers.BpeTrainer(vocab_size=size, initial_alphabet=alphabet,
                            show_progress=False))
    model = json.loads(made.to_str())["model"]
    return list(model["vocab"]), [list(pair) for pair in model["merges"]]


def byte_level_model():
    tokens, merges = train(
        pre_tokenizers.ByteLevel(add_prefix_space=False),
        sorted(pre_tokenizers.ByteLevel.alphabet()), 400)
    tokens.append("Ġspeculative")  # which no merges make
    return {"type": "BPE", "vocab": {t: i for i, t in enumerate(tokens)},
            "merges": merges}


def sentencepiece_model():
    tokens, merges = train(
        pre_tokenizers.Metaspace(prepend_scheme="always"), [], 300)
    # Characters that become bytes: one of two, of those beyond Latin-1.
    gone = {t for t in tokens if len(t) == 1 and ord(t) > 255 and
            ord(t) % 2 and t != "▁"}
    tokens = [t for t in tokens if not gone & set(t)]
    merges = [m for m in merges if not gone & set("".join(m))]
    tokens = (["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)] +
              tokens)
    return {"type": "BPE", "unk_token": "<unk>", "fuse_unk": True,
            "byte_fallback": True,
            "vocab": {t: i for i, t in enumerate(tokens)},
            "merges": [" ".join(pair) for pair in merges]}


MODELS = {"byte_level": byte_level_model(),
          "sentencepiece": sentencepiece_model()}
# The first free id of each.
FREE = {name: len(model["vocab"]) for name, model in MODELS.items()}

GPT2 = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True,
        "use_regex": True}
BYTES = {**GPT2, "use_regex": False}
CASES = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
REST = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def split(pattern):
    return {"type": "Split", "pattern": {"Regex": pattern},
            "behavior": "Isolated", "invert": False}


def sequence(key, *items):
    return {"type": "Sequence", key: list(items)}


def template(token, identity):
    special = {"SpecialToken": {"id": token, "type_id": 0}}
    text = {"Sequence": {"id": "A", "type_id": 0}}
    second = {"Sequence": {"id": "B", "type_id": 1}}
    return {"type": "TemplateProcessing", "single": [special, text],
            "pair": [special, text, second],
            "special_tokens": {token: {"id": token, "ids": [identity],
                                       "tokens": [token]}}}


def metaspace(scheme, splits):
    return {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme,
            "split": splits}


LEGACY = sequence("normalizers", {"type": "Prepend", "prepend": "▁"},
                  {"type": "Replace", "pattern": {"String": " "},
                   "content": "▁"})
REPLACE = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
SPACES = sequence("decoders", REPLACE, {"type": "ByteFallback"},
                  {"type": "Fuse"},
                  {"type": "Strip", "content": " ", "start": 1, "stop": 0})


def flags(first, **more):
    """Tokens with each flag, normalized and not."""
    return [
        added(first, "<l>", lstrip=True, **more),
        added(first + 1, "<r>", rstrip=True, special=False, **more),
        added(first + 2, "<lr>", lstrip=True, rstrip=True, **more),
        added(first + 3, "<w>", single_word=True, special=False, **more),
        added(first + 4, "<n>", normalized=True, special=False),
        added(first + 5, "café", normalized=True, single_word=True,
              special=False),
        added(first + 6, "Añ", normalized=True),
        added(first + 7, "<n><n>", normalized=True),
        added(first + 8, "   ", normalized=True, special=False),
    ]


def specials(normalized):
    return [added(i, t, normalized=normalized)
            for i, t in enumerate(["<unk>", "<s>", "</s>"])]


def profiles():
    """Name, model, changes in the model, the other sections."""
    free = FREE["byte_level"]
    chat = [added(free, "<|begin|>"), added(free + 1, "<|end|>")]
    byte_level = {"decoder": GPT2, "post_processor": GPT2, "added_tokens": chat}
    yield "gpt2", "byte_level", {}, {**byte_level, "pre_tokenizer": GPT2}
    yield "gpt2_prefix", "byte_level", {}, {
        **byte_level, "pre_tokenizer": {**GPT2, "add_prefix_space": True}}
    yield "llama3", "byte_level", {"ignore_merges": True}, {
        **byte_level,
        "pre_tokenizer": sequence("pretokenizers",
                                  split(CASES + r"\p{N}{1,3}" + REST), BYTES),
        "post_processor": sequence("processors", GPT2,
                                   template("<|begin|>", free))}
    yield "qwen2", "byte_level", {}, {
        **byte_level, "normalizer": {"type": "NFC"},
        "pre_tokenizer": sequence("pretokenizers",
                                  split(CASES + r"\p{N}" + REST), BYTES)}
    yield "digits", "byte_level", {}, {
        **byte_level,
        "normalizer": sequence("normalizers", {"type": "NFKC"},
                               {"type": "Strip", "strip_left": True,
                                "strip_right": True}),
        "pre_tokenizer": sequence("pretokenizers",
                                  {"type": "Digits",
                                   "individual_digits": False}, GPT2)}
    yield "flags", "byte_level", {}, {
        "decoder": GPT2, "pre_tokenizer": GPT2, "added_tokens": flags(free)}
    yield "flags_nfc", "byte_level", {}, {
        "decoder": GPT2, "pre_tokenizer": GPT2, "normalizer": {"type": "NFC"},
        "added_tokens": flags(free, normalized=True)}
    pieces = {"post_processor": template("<s>", 1), "decoder": SPACES}
    yield "llama2", "sentencepiece", {}, {
        **pieces, "normalizer": LEGACY, "added_tokens": specials(True)}
    yield "llama2_flags", "sentencepiece", {}, {
        **pieces, "normalizer": LEGACY,
        "added_tokens": specials(False) + flags(FREE["sentencepiece"])}
    for scheme, splits in (("first", False), ("always", True),
                           ("never", True)):
        one_space = metaspace(scheme, splits)
        yield f"metaspace_{scheme}", "sentencepiece", {}, {
            "post_processor": template("<s>", 1),
            "pre_tokenizer": one_space, "added_tokens": specials(False),
            "decoder": sequence("decoders", {"type": "ByteFallback"},
                                one_space)}
    yield "unknown_fused", "sentencepiece", {"byte_fallback": False}, {
        "normalizer": LEGACY, "added_tokens": specials(False)}
    yield "unknown", "sentencepiece", {"byte_fallback": False,
                                       "fuse_unk": False}, {
        "pre_tokenizer": metaspace("first", True), "added_tokens":
        specials(False), "decoder": metaspace("first", True)}


def broken(tokenizer, chance):
    """Lists of ids that no text has, as their decoder must be ready for."""
    size = max(tokenizer.get_vocab(with_added_tokens=True).values()) + 1
    lists = [[chance.randrange(min(size, 300)) if chance.random() < 0.7 else
              chance.randrange(size) for _ in range(chance.randrange(1, 9))]
             for _ in range(8)]
    return [{"ids": ids, "text": tokenizer.decode(ids,
                                                  skip_special_tokens=False)}
            for ids in lists]


def vectors(name, model, changes, sections):
    full = {"version": "1.0", "truncation": None, "padding": None,
            "added_tokens": [], "normalizer": None, "pre_tokenizer": None,
            "post_processor": None, "decoder": None, **sections,
            "model": {**MODELS[model], **changes}}
    reference = tokenizers.Tokenizer.from_str(json.dumps(full))
    ids = [reference.encode(text).ids for text in TEXTS]
    reference.encode_special_tokens = True
    before = len(reference.encode("").ids)
    plain = [reference.encode(text, add_special_tokens=False).ids
             for text in TEXTS]
    plain = [None if now == then[before:] else now
             for now, then in zip(plain, ids)]

    def decoded(skip):
        texts = [reference.decode(each, skip_special_tokens=skip)
                 for each in ids]
        return [None if now == then else now
                for now, then in zip(texts, TEXTS)]

    return {"name": name, "model": model, "changes": changes,
            "sections": sections, "ids": ids, "before": before,
            "plain_ids": plain,
            "decoded": decoded(False), "skipped": decoded(True),
            "broken": broken(reference, random.Random(name))}


def compute():
    files = {HERE / f"{name}.model.json":
             json.dumps(model, ensure_ascii=False) + "\n"
             for name, model in MODELS.items()}
    lists = [json.dumps(vectors(*profile), ensure_ascii=True,
                        separators=(",", ":")) for profile in profiles()]
    files[HERE / "profiles.json"] = (
        "{" + f'"tokenizers_version": "{tokenizers.__version__}",\n' +
        f'"texts": {json.dumps(TEXTS)},\n"profiles": [\n' +
        ",\n".join(lists) + "\n]}\n")
    return files


if __name__ == "__main__":
    sys.exit(write_or_check.main(__doc__, compute))
