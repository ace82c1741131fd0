"""What one place of the syntax tree may be mistaken for."""

from clang import cindex

Kind = cindex.CursorKind

# Each relation's boundary, and itself turned round.
RELATIONS = {"<": ("<=", ">"), "<=": ("<", ">="), ">": (">=", "<"),
             ">=": (">", "<="), "==": ("!=",), "!=": ("==",)}
OPERATORS = {"+": "-", "-": "+", "*": "/", "/": "*", "%": "*", "&&": "||",
             "||": "&&", "|": "&", "&": "|", "+=": "-=", "-=": "+=",
             "*=": "/=", "/=": "*=", "|=": "&=", "&=": "|="}
BINARY = (Kind.BINARY_OPERATOR, Kind.COMPOUND_ASSIGNMENT_OPERATOR)
# Names that are mistaken for each other.
PAIRS = (("p", "q"), ("target", "draft"), ("ours", "theirs"),
         ("own", "theirs"), ("mine", "theirs"), ("low", "high"),
         ("row", "other"), ("x", "y"), ("x_scale", "y_scale"),
         ("before", "left"), ("start_", "left_"), ("first", "last"),
         ("node", "child"), ("parent", "child"), ("node", "best"))
PARTNERS = {}
for one, two in PAIRS:
    PARTNERS.setdefault(one, []).append(two)
    PARTNERS.setdefault(two, []).append(one)
# Calls whose arguments may stand in any order.
SYMMETRIC = ("min", "max", "swap", "Overlap", "Check")


def own_type(cursor):
    """The type without reference and const."""
    kind = cursor.type.get_canonical()
    if kind.kind in (cindex.TypeKind.LVALUEREFERENCE,
                     cindex.TypeKind.RVALUEREFERENCE):
        kind = kind.get_pointee()
    return kind.spelling.removeprefix("const ")


def swapped_operator(cursor, text):
    """(kind, changed text) of every operator that might stand there."""
    if cursor.kind == Kind.UNARY_OPERATOR:
        yield from unary(text)
        return
    sides = list(cursor.get_children())
    start = cursor.extent.start.offset
    if cursor.kind == Kind.CALL_EXPR and len(sides) == 3 and (
            cursor.spelling.startswith("operator")):
        begin = sides[0].extent.end.offset - start
        end = sides[2].extent.start.offset - start
    elif cursor.kind in BINARY and len(sides) == 2:
        begin = sides[0].extent.end.offset - start
        end = sides[1].extent.start.offset - start
    else:
        return
    between = text[begin:end]
    operator = between.strip()
    changes = [("relation", other) for other in RELATIONS.get(operator, ())]
    if operator in OPERATORS:
        changes.append(("operator", OPERATORS[operator]))
    for kind, other in changes:
        yield kind, text[:begin] + between.replace(operator, other) + text[end:]


def unary(text):
    for one, other in (("++", "--"), ("--", "++")):
        if text.startswith(one):
            yield "operator", other + text[2:]
        elif text.endswith(one):
            yield "operator", text[:-2] + other
    if text[0] == "!" and text[1:2] != "=":
        yield "operator", text[1:]
    if text[0] == "-" and text[1:2] != "-":
        yield "operator", text[1:]


def constants(text):
    """A constant's neighbours; twice a fraction, as one off is far off."""
    if text in ("true", "false"):
        return ["false" if text == "true" else "true"]
    digits = text.rstrip("uUlLfF") if not text.startswith("0x") else text
    try:
        value = float(digits) if not digits.startswith("0x") else int(text, 16)
    except ValueError:
        return []
    if value != int(value):
        return [f"(2 * {text})"]
    suffix = text[len(digits):]
    is_float = not digits.replace("x", "").isalnum() or "e" in digits
    point = ".0" if is_float and "0x" not in text else ""
    changed = [f"{int(value) + 1}{point}{suffix}"]
    if value > 0:
        changed.append(f"{int(value) - 1}{point}{suffix}")
    return changed


def swapped_names(cursor, text_of, above, variables):
    """(place, text) for p where q belongs: two arguments of one type swapped,
    a name for its partner."""
    if cursor.kind == Kind.CALL_EXPR:
        yield from swapped_arguments(cursor, text_of)
    elif cursor.kind == Kind.DECL_REF_EXPR:
        declared = cursor.referenced
        if declared is not None and text_of(cursor) == declared.spelling and (
                declared.kind in (Kind.VAR_DECL, Kind.PARM_DECL)):
            names = dict(variables)
            for parent in above:
                if parent.kind in (Kind.LAMBDA_EXPR, above[0].kind):
                    names.update((child.spelling, child)
                                 for child in parent.get_children()
                                 if child.kind == Kind.PARM_DECL)
            for other in partners(declared, names):
                yield cursor, other
    elif cursor.kind == Kind.MEMBER_REF_EXPR:
        field = cursor.referenced
        if field is not None and field.kind == Kind.FIELD_DECL:
            names = {child.spelling: child
                     for child in field.semantic_parent.get_children()
                     if child.kind == Kind.FIELD_DECL}
            text = text_of(cursor)
            for other in partners(field, names):
                if text.endswith(field.spelling):
                    yield cursor, text[:-len(field.spelling)] + other


def partners(declared, names):
    for other in PARTNERS.get(declared.spelling, ()):
        if other in names and own_type(names[other]) == own_type(declared):
            yield other


def swapped_arguments(call, text_of):
    if call.spelling in SYMMETRIC or call.spelling.startswith("operator"):
        return
    start = call.extent.start.offset
    text = text_of(call)
    arguments = [argument for argument in call.get_arguments()
                 if argument is not None and text_of(argument).strip()]
    for one, two in zip(arguments, arguments[1:]):
        texts = text_of(one), text_of(two)
        if (own_type(one) != own_type(two) or texts[0] == texts[1] or
                "iterator" in own_type(one) or  # swapped they never meet
                all(text.startswith('"') for text in texts)):
            continue
        edges = [place - start for place in (
            one.extent.start.offset, one.extent.end.offset,
            two.extent.start.offset, two.extent.end.offset)]
        if not 0 < edges[0] < edges[1] <= edges[2] < edges[3] <= len(text):
            continue
        yield call, (text[:edges[0]] + text_of(two) + text[edges[1]:edges[2]] +
                     text_of(one) + text[edges[3]:])
