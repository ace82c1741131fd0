"""Finds the places of a C++ file where a small mistake can be planted.

Walks the syntax tree that libclang gives of the file's function bodies. What
stands in a constant expression (constexpr, a case's label, a template's
argument) cannot be chosen when the program starts and is left out, and so are
words that only describe an error.
"""

import re
import sys

sys.path.append("/usr/lib/python3/dist-packages")  # Debian's, for any Python
from clang import cindex  # noqa: E402 (the path comes first)

from mutant import (as_bytes, lines_around, numbered, of_bytes,
                    one_line)  # noqa: E402
from swaps import constants, swapped_operator, swapped_names  # noqa: E402

Kind = cindex.CursorKind
FUNCTIONS = (Kind.FUNCTION_DECL, Kind.CXX_METHOD, Kind.CONSTRUCTOR,
             Kind.DESTRUCTOR, Kind.FUNCTION_TEMPLATE, Kind.CONVERSION_FUNCTION)
CLASSES = (Kind.CLASS_DECL, Kind.STRUCT_DECL, Kind.CLASS_TEMPLATE)
SCOPES = CLASSES + (Kind.NAMESPACE,)
LOOPS = (Kind.FOR_STMT, Kind.WHILE_STMT, Kind.DO_STMT,
         Kind.CXX_FOR_RANGE_STMT)
LEAVES = (Kind.RETURN_STMT, Kind.BREAK_STMT, Kind.CONTINUE_STMT)
LITERALS = (Kind.INTEGER_LITERAL, Kind.FLOATING_LITERAL,
            Kind.CXX_BOOL_LITERAL_EXPR)
MINIMA = {"min": "max", "max": "min", "min_element": "max_element",
          "max_element": "min_element"}
# Calls that only word an error, and those that change no result.
WORDS = re.compile(r"StrCat|StrFormat|StrJoin|\w*Error(At)?$")
NO_RESULT = re.compile(r"(\.|->)(reserve|shrink_to_fit)\(")
MACRO = re.compile(r"\bBANYAN_(RETURN_IF_ERROR|ASSIGN_OR_RETURN)\b\(")


def without_macros(source):
    """The source with the project's macros as plain C++ of the same length, so
    that the syntax tree shows what they are given."""
    pieces = list(source)
    for match in MACRO.finditer(source):
        begin, open_at = match.start(), match.end() - 1
        close, comma = matching(source, open_at)
        if match.group(1) == "RETURN_IF_ERROR":
            blank = "(void)".ljust(open_at - begin)
            pieces[begin:open_at] = blank
        elif comma is not None:
            pieces[begin:open_at + 1] = " " * (open_at + 1 - begin)
            pieces[comma:comma + 2] = "=*"  # a comma and a space or a new line
            pieces[close] = " "
    return "".join(pieces)


def matching(source, open_at):
    """Where the parenthesis closes, and its first own comma or None."""
    depth = 0
    comma = None
    for at in range(open_at, len(source)):
        depth += (source[at] in "([{") - (source[at] in ")]}")
        if depth == 0:
            return at, comma
        if depth == 1 and source[at] == "," and comma is None:
            comma = at
    raise ValueError("a parenthesis that does not close")


class Finder:
    """The mutants of one file, in the order of the text."""

    def __init__(self, name, source):
        self.name = name
        self.source = as_bytes(source)  # offsets of libclang count them
        self.function = ""
        self.places = []

    def text(self, cursor):
        return self.source[cursor.extent.start.offset:
                           cursor.extent.end.offset]

    def add(self, kind, start, end, text, statement=False):
        before, after = lines_around(self.source, start, end, text)
        if before == after or "#" in before[:1]:
            return
        self.places.append(dict(
            file=self.name, function=self.function, kind=kind, start=start,
            end=end, text=of_bytes(one_line(text)), statement=statement,
            before=of_bytes(before), after=of_bytes(after)))

    def replace(self, kind, cursor, text):
        self.add(kind, cursor.extent.start.offset, cursor.extent.end.offset,
                 text)

    def find(self, unit, path):
        for cursor in unit.cursor.get_children():
            place = cursor.location.file
            if place is not None and place.name == path:
                self.declaration(cursor, "")
        return numbered(self.places)

    def declaration(self, cursor, scope):
        owner = cursor.semantic_parent
        if cursor.kind in FUNCTIONS and owner.kind in CLASSES:
            scope = owner.spelling
        name = f"{scope}::{cursor.spelling}" if scope else cursor.spelling
        if cursor.kind in FUNCTIONS:
            self.function = name
            if (cursor.is_definition() and
                    not self.text(cursor).startswith("constexpr")):
                for child in cursor.get_children():
                    if child.kind.is_expression() or (
                            child.kind == Kind.COMPOUND_STMT):
                        self.walk(child, [cursor], {})
        elif cursor.kind in SCOPES:
            inner = scope if cursor.kind == Kind.NAMESPACE else name
            for child in cursor.get_children():
                self.declaration(child, inner)

    def walk(self, cursor, above, variables):
        """`above`: the cursors it stands in; `variables`: those declared
        before it, by name."""
        if self.is_left_alone(cursor, above):
            return
        self.statement(cursor, above)
        self.expression(cursor, above)
        for place, text in swapped_names(cursor, self.text, above, variables):
            self.replace("p and q", place, text)
        for child in cursor.get_children():
            self.walk(child, above + [cursor], variables)
        if cursor.kind in (Kind.VAR_DECL, Kind.PARM_DECL):
            variables[cursor.spelling] = cursor

    def is_left_alone(self, cursor, above):
        parent = above[-1]
        if cursor.kind == Kind.DECL_STMT:
            return re.match(r"(static\s+)?constexpr\b", self.text(cursor))
        if cursor.kind in (Kind.STATIC_ASSERT, Kind.TYPE_REF,
                           Kind.TEMPLATE_REF, Kind.PARM_DECL):
            return True
        if parent.kind in (Kind.DECL_REF_EXPR, Kind.CASE_STMT) and (
                cursor.kind in LITERALS):
            return True
        return cursor.kind == Kind.CALL_EXPR and WORDS.match(cursor.spelling)

    def expression(self, cursor, above):
        text = self.text(cursor)
        if not text.strip():
            return
        for kind, changed in swapped_operator(cursor, text):
            self.replace(kind, cursor, changed)
        if cursor.kind in LITERALS:
            for changed in constants(text):
                self.replace("constant", cursor, changed)
        if cursor.kind == Kind.CALL_EXPR and cursor.spelling in MINIMA:
            name = re.compile(r"^(std::)" + cursor.spelling + r"\b")
            if name.match(text):
                self.replace("min and max", cursor,
                             name.sub(r"\1" + MINIMA[cursor.spelling], text))

    def statement(self, cursor, above):
        """A call, an assignment or a way out that is left out."""
        parent = above[-1]
        start, end = cursor.extent.start.offset, cursor.extent.end.offset
        text = self.text(cursor)
        if cursor.kind in LEAVES:
            if leads_on(cursor, above) and self.source[end:end + 1] == ";":
                self.add("left out", start, end + 1, ";", statement=True)
        elif cursor.kind.is_expression() and is_body(cursor, parent):
            if NO_RESULT.search(text):
                return
            if text.startswith("BANYAN_RETURN_IF_ERROR"):
                self.add("left out", start, end + 1, ";", statement=True)
            elif not text.startswith(("BANYAN", "(void)")):
                self.add("left out", start, end, "(void)0")


def is_body(cursor, parent):
    """Whether an expression stands where a statement may."""
    if parent.kind == Kind.COMPOUND_STMT:
        return True
    children = list(parent.get_children())
    if parent.kind == Kind.IF_STMT:
        return cursor in children[1:]
    return cursor == children[-1] and parent.kind in LOOPS + (
        Kind.CASE_STMT, Kind.DEFAULT_STMT)


def leads_on(cursor, above):
    """Whether something else follows where a way out is left out: another
    statement or another turn of a loop. No function may run off its end."""
    inner = cursor
    for outer in reversed(above):
        if outer.kind in LOOPS:
            return cursor.kind != Kind.CONTINUE_STMT
        if outer.kind == Kind.SWITCH_STMT and cursor.kind == Kind.BREAK_STMT:
            return False
        if outer.kind == Kind.COMPOUND_STMT:
            children = list(outer.get_children())
            if children[-1] != inner:
                return True
        elif outer.kind not in (Kind.IF_STMT, Kind.CASE_STMT, Kind.DEFAULT_STMT,
                                Kind.SWITCH_STMT):
            return False
        inner = outer
    return False


def find_mutants(name, path, source, arguments):
    """All mutants of a file. `arguments` are its compiler's."""
    unit = cindex.Index.create().parse(
        path, args=arguments, unsaved_files=[(path, without_macros(source))])
    faults = [str(fault) for fault in unit.diagnostics if fault.severity >= 4]
    if faults:
        raise ValueError(f"{name} cannot be read: {faults[0]}")
    finder = Finder(name, source)
    return finder.find(unit, path)
