"""Writes or checks tests/goldens/tokenizers/splits.json, made with the reference.

  split_patterns.py --write     computes every cut anew
  split_patterns.py --check     says whether the committed ones are still right

Needs the PyPI package `tokenizers`; the version that was used stands in
splits.json. The tests need none of this.

What is written: `texts`; `splits`, each a `split`, as tokenizer.json has it,
and the `pieces` that it makes of each text; and `refused`, patterns that the
reference refuses.
"""

import json
import pathlib
import sys

import write_or_check

# Beside this file, a folder has the name of the package.
sys.path = [path for path in sys.path
            if pathlib.Path(path or ".").resolve() !=
            pathlib.Path(__file__).parent]
import tokenizers  # noqa: E402
from tokenizers import pre_tokenizers  # noqa: E402

FILE = pathlib.Path(__file__).parent / "tokenizers" / "splits.json"

CASES = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
REST = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
BEFORE = r"[^\r\n\p{L}\p{N}]?"
HAN = "&&[^\\p{Han}]]"

# Patterns that are published, by the models that have them.
PUBLISHED = {
    "gpt2": r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+"
            r"|\s+(?!\S)|\s+",
    "llama3": CASES + "|" + BEFORE + r"\p{L}+|\p{N}{1,3}" + REST,
    "qwen2": CASES + "|" + BEFORE + r"\p{L}+|\p{N}" + REST,
    "cl100k": r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+"
              r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
    "o200k": f"{BEFORE}{UPPER}*{LOWER}+{CASES}?|{BEFORE}{UPPER}+{LOWER}*"
             f"{CASES}?" + r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+"
             r"|\s+(?!\S)|\s+",
    "tekken": f"{BEFORE}{UPPER}*{LOWER}+|{BEFORE}{UPPER}+{LOWER}*"
              r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "kimi": r"[\p{Han}]+|" + f"{BEFORE}{UPPER[:-1]}{HAN}*{LOWER[:-1]}{HAN}+"
            f"{CASES}?|{BEFORE}{UPPER[:-1]}{HAN}+{LOWER[:-1]}{HAN}*{CASES}?"
            r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "deepseek_v3": r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+"
                   r"|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
                   r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "deepseek_han": "[一-龥\u3040-ゟ゠-ヿ]+",
    "deepseek_coder": r"\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-Ρ]+",
    "bloom": " ?[^(\\s|[.,!?…。，、।۔،])]+",
    "falcon": "[0-9][0-9][0-9]",
    "qwen3_next": CASES + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}"
                  r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "digits": r"\d{1,3}(?=(?:\d{3})*\b)",
    "words": r"\w+|[^\w\s]+",
    "clip": r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d"
            r"|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+",
}

# What Oniguruma means and other libraries do not, one thing each.
DIALECT = [
    r"\h+", r"\H+", r"\v", r"\s+", r"\S+", r"\d+", r"\D+", r"\w+", r"\W+",
    r"\R", r"\A.", r".\z", r".\Z", r".+", r"(?m:.+)", r"(?i)ΣΑΣ|Å",
    r"(?i:k)", r"(?i:\p{Lu})+", r"(?i:[a-c])+",
    r"a(?i)b|c", r"(a(?i)b|c)B", r"((?i)a)b", r"(?i-m:t)h", r"(?-i:a)b",
    r"o{2}+", r"c{1,2}+(o)\1", r"o{,2}", r"o{1,}?", r"o{1,2}+", r"o++", r"o**",
    r"o+?l", r"o{", r"{", r"o{,}", r"(?:o+)+", r"(?>o+)o?", r"[^(\s|[.,])]+",
    r"[a-z&&[^aeiou]]+", r"[^a-z&&[^x]]+", r"[\w&&[^\d]&&[^_]]+",
    r"[a-f[0-9]]+", r"[^a-f[^0-9a-z]]+", r"[\S\n]+", r"[^\S\n]+", r"[\W_]+",
    r"[^\W_]+", r"[\H ]+", r"[]e]+", r"[a-c-e]+", r"[-a]+", r"[\]\-\[]+",
    r"[\b\x41\u0042\x{43}]+", r"[[:punct:]]+", r"\p{Punct}+", r"[[:^alpha:]]+",
    r"[[:alpha:]\d]+", r"[[:alnum:]]+", r"[[:space:]]+", r"[[:word:]]+",
    r"[[:upper:]]+", r"[[:lower:]]+", r"[[:blank:]]+", r"[[:cntrl:]]+",
    r"[[:digit:]]+", r"[[:xdigit:]]+", r"[[:ascii:]]+", r"\p{Han}+",
    r"\p{Hiragana}+", r"\p{Latin}+", r"\p{Letter}+", r"\p{^L}+", r"\P{L}+",
    r"\p{lowercase_letter}+", r"\p{Upper}+", r"\p{LC}+", r"\p{Emoji}+",
    r"\p{Alphabetic}+", r"\p{Any}", r"\p{Assigned}+", r"\p{Mark}", r"\p{Cc}",
    r"(?<=a|he)l", r"(?<!\s)\d", r"(?<name>l)o", r"(l)\1", r"\/|\'|\-",
    r"\$|\+|\<", "é+", r"\(|\)", "日|本",
]
# The same, where matches may be empty.
EMPTY = [r"\b", r"\B", r"^", r"$", r"(?=\s)", r"(?!\w)", r"\Gx?", "", "x*",
         "l*", r"\Z", r"o*?", r"o{2}?", r"(?<=\d)(?=\d)"]

# Behaviours are tried with these, of which the last are plain texts.
TRIED = [r"\s", r"\w+|[^\w\s]+", r"l*", PUBLISHED["gpt2"]]
TRIED_TEXTS = [" ", "ll", ""]
BEHAVIORS = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext",
             "Contiguous"]

REFUSED = [
    "(", ")", "a(b", "[a", "[z-a]", "*a", "a|*", r"\p{Nonsense}", r"\p{L",
    "(?<=a", "(?q:a)", "[a-\\d]", "\\", r"(a)\2", r"[[:nope:]]",
]

TEXTS = [
    "Hello  world, it's 12 o'clock!  ",
    "we'LL x'\u017f cool ooo oool 12345 a_b 0xFFee [z]-\\b{2}",
    "a\nb\r\n\r\n  c\n \n\td\x0be\x0cf\x85g\u2028h\u2029i\u00a0\u3000j\u180ek ",
    "e\u0301a\u0323\u0302 क़ नमस्ते ①ⓐ Ⅻ½² १२३ ٣ _\u200d\u200c ﬁ ß STRASSE",
    "漢字〆々ー、日本語テスト ひらがな カタカナ 한국어 模型。",
    "👩\u200d👩\u200d👧 👍🏽 $+<=>^`|~ !?…। ,. ab.cd",
    "Straße ΣΑΣ σας \u212a\u212b kK ŭ ǅ ʰ ª \x00\x01\x1f\x7f\x1c",
    "helloHELLO allan xyxx (l) <|startoftext|> 'S 'Re",
    "\n",
    "   ",
    "l",
]


def cut(split):
    loaded = tokenizers.Tokenizer.from_str(json.dumps({
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [], "normalizer": None, "pre_tokenizer": split,
        "post_processor": None, "decoder": None,
        "model": {"type": "BPE", "vocab": {}, "merges": []}}))
    return [[piece for piece, _ in
             loaded.pre_tokenizer.pre_tokenize_str(text)] for text in TEXTS]


def split(pattern, kind="Regex", behavior="Isolated", invert=False):
    return {"type": "Split", "pattern": {kind: pattern}, "behavior": behavior,
            "invert": invert}


def splits():
    for pattern in [*PUBLISHED.values(), *EMPTY]:
        yield split(pattern)
    for pattern in DIALECT:
        yield split(pattern, behavior="Removed", invert=True)
    for kind, patterns in (("Regex", TRIED), ("String", TRIED_TEXTS)):
        for pattern in patterns:
            for behavior in BEHAVIORS:
                for invert in (False, True):
                    yield split(pattern, kind, behavior, invert)


def is_refused(pattern):
    try:
        cut(split(pattern))
    except Exception:  # the package raises no type of its own
        return True
    return False


def compute():
    refused = [pattern for pattern in REFUSED if is_refused(pattern)]
    assert refused == REFUSED, set(REFUSED) - set(refused)
    rows = [json.dumps({"split": each, "pieces": cut(each)},
                       separators=(",", ":"), ensure_ascii=False)
            for each in splits()]
    text = ("{" + f'"tokenizers_version": "{tokenizers.__version__}",\n' +
            f'"texts": {json.dumps(TEXTS)},\n' +
            f'"refused": {json.dumps(REFUSED)},\n"splits": [\n' +
            ",\n".join(rows) + "\n]}\n")
    return {FILE: text}


if __name__ == "__main__":
    sys.exit(write_or_check.main(__doc__, compute))
