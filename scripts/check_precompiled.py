#!/usr/bin/env python3
"""Finds includes that only the precompiled headers make good.

  check_precompiled.py [ROOT]

Every file of a build begins with precompiled headers (cmake/precompile.cmake), so
the compiler does not miss their includes. Here each name of NAMES that a file uses
needs its header, in the file or in a header of ours that it includes. So
core/base/common.h does for all that it includes. Prints `file:line: what is
missing`. Every header that is precompiled has names here.
"""

import re
import sys

import check_includes

STD = r"std::(?:%s)\b"
ABSL = r"absl::(?:%s)\b"
# Of each precompiled header: what begins the uses of its names. Names that other
# headers have too (std::remove, std::abs) are left out.
NAMES = {
    "algorithm": STD % (
        r"adjacent_find|all_of|any_of|binary_search|clamp|copy|copy_if|copy_n|"
        r"count|count_if|equal|equal_range|fill|fill_n|find|find_if|for_each|"
        r"generate|includes|is_permutation|is_sorted|lexicographical_compare|"
        r"lower_bound|make_heap|max|max_element|merge|min|min_element|minmax|"
        r"mismatch|next_permutation|none_of|nth_element|partial_sort|partition|"
        r"partition_point|pop_heap|push_heap|remove_if|replace|reverse|rotate|"
        r"search|set_difference|shuffle|sort|stable_sort|transform|unique|"
        r"upper_bound"),
    "array": STD % "array",
    "cmath": STD % (
        r"cbrt|ceil|cos|erf|exp|expm1|fabs|floor|fma|frexp|hypot|isfinite|isinf|"
        r"isnan|ldexp|lgamma|llround|log|log1p|log2|lround|nearbyint|nextafter|"
        r"pow|round|signbit|sin|sqrt|tanh|trunc"),
    "cstddef": STD % "byte|nullptr_t|ptrdiff_t|size_t",
    "cstdint": STD % r"u?int(?:8|16|32|64|ptr)_t",
    "functional": STD % "cref|equal_to|function|greater|hash|invoke|less|plus|ref",
    "limits": STD % "numeric_limits",
    "map": STD % "map|multimap",
    "memory": STD % (r"enable_shared_from_this|make_shared|make_unique|shared_ptr|"
                     r"static_pointer_cast|unique_ptr|weak_ptr"),
    "numeric": STD % "accumulate|gcd|inner_product|iota|lcm|partial_sum|reduce",
    "optional": STD % "make_optional|nullopt|optional",
    "set": STD % "multiset|set",
    "string": STD % "getline|stod|stoi|stoll|string|to_string",
    "utility": STD % "as_const|declval|exchange|forward|make_pair|move|pair|swap",
    "variant": STD % "get_if|holds_alternative|monostate|variant|visit",
    "vector": STD % "vector",
    "absl/functional/function_ref.h": ABSL % "FunctionRef",
    "absl/status/status.h": ABSL % r"OkStatus|Status|StatusCode|\w+Error",
    "absl/status/statusor.h": ABSL % "StatusOr",
    "absl/strings/match.h": ABSL % (
        r"EndsWith|EqualsIgnoreCase|StartsWith|StrContains"),
    "absl/strings/numbers.h": ABSL % r"SimpleAto\w+|SimpleHexAtoi",
    "absl/strings/str_cat.h": ABSL % "AlphaNum|Dec|Hex|StrAppend|StrCat",
    "absl/strings/str_format.h": ABSL % (
        r"FPrintF|FormatSpec|ParsedFormat|PrintF|SNPrintF|StrAppendFormat|"
        r"StrFormat"),
    "absl/strings/str_join.h": ABSL % "StrJoin",
    "absl/strings/str_split.h": ABSL % (
        r"ByAnyChar|ByChar|ByString|MaxSplits|SkipEmpty|SkipWhitespace|StrSplit"),
    "absl/strings/string_view.h": ABSL % "string_view",
    "absl/types/span.h": ABSL % "MakeConstSpan|MakeSpan|Span",
    "core/base/common.h": r"\bBANYAN_(?:ASSIGN_OR_RETURN|RETURN_IF_ERROR)\b",
    "gmock/gmock.h": r"\b(?:EXPECT|ASSERT)_THAT\b|\bMOCK_METHOD\b",
    "gtest/gtest.h": (r"^(?:INSTANTIATE_TEST_SUITE_P|TEST|TEST_F|TEST_P)\(|"
                      r"\b(?:ASSERT|EXPECT)_(?:EQ|FALSE|GE|GT|LE|LT|NE|TRUE)\("),
    "nlohmann/json.hpp": r"\bnlohmann::",
    "experiments/records/record.pb.h": r"\brecords::[A-Z]",
}
# Headers that do as well as another.
AS_WELL = {"gtest/gtest.h": "gmock/gmock.h",
           "nlohmann/json.hpp": "nlohmann/json_fwd.hpp"}
USES = {header: re.compile(names, re.MULTILINE)
        for header, names in NAMES.items()}
INCLUDE = re.compile(r"^\s*#\s*include\s*[<\"]([^>\"]+)[>\"]", re.MULTILINE)
# Comments, raw and plain strings: names in them are no uses.
WORDS = re.compile(r'//[^\n]*|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"', re.DOTALL)
PRECOMPILED = re.compile(r"(?<!\$)<([a-z0-9_/.]+)>")
CMAKE = ("cmake/precompile.cmake", "CMakeLists.txt",
         "experiments/CMakeLists.txt")


def without_words(text):
    """The text with comments and strings blank, its lines as they were."""
    return WORDS.sub(lambda match: "\n" * match[0].count("\n"), text)


def reached(path, includes, found):
    """Adds to `found` what the file includes, directly or through ours."""
    for header in includes.get(path, ()):
        if header not in found:
            found.add(header)
            reached(header, includes, found)
    return found


def check_text(path, text, headers):
    """What one file that reaches `headers` lacks, as printable lines."""
    code = without_words(text)
    for header, uses in USES.items():
        use = uses.search(code)
        if use and not headers & {header, AS_WELL.get(header)}:
            line = code.count("\n", 0, use.start()) + 1
            yield f"{path}:{line}: {use[0].strip()} needs #include <{header}>"


def check(texts):
    """The breaches of {path: text}."""
    includes = {path: INCLUDE.findall(text) for path, text in texts.items()}
    return [breach for path, text in texts.items()
            for breach in check_text(path, text,
                                     reached(path, includes, {path}))]


def precompiled(root):
    """The headers that are precompiled, and what those of ours among them
    include."""
    named = {header for name in CMAKE for header in PRECOMPILED.findall(
        (root / name).read_text(encoding="utf-8"))}
    return named.union(*(INCLUDE.findall((root / header).read_text(encoding="utf-8"))
                         for header in named if (root / header).is_file()))


def unnamed(root):
    """The precompiled headers that NAMES has nothing of."""
    return sorted(precompiled(root) - NAMES.keys())


def main(arguments):
    root = check_includes.root_of(arguments, __doc__)
    texts = {path: (root / path).read_text(encoding="utf-8")
             for path in check_includes.source_files(root)}
    breaches = check(texts) + [
        f"scripts/check_precompiled.py: nothing of <{header}> is in NAMES"
        for header in unnamed(root)]
    for breach in breaches:
        print(breach)
    print(f"{len(texts)} files, {len(breaches)} includes missing")
    return 1 if breaches or not texts else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
