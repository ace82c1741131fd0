"""Computes the output distribution of a speculative method on toy bigram tables,
in exact rationals.

A reference implementation, written from the papers' rules without sight of the
C++ (except shuffled, rejection and blockwise, which the author of both wrote
later). It shares nothing with the C++: no random source, no tree with pointers;
distributions are added and multiplied. It computes only a few cases a second.

Words used below:
  state   the last token, or None before the first one
  row     a list of Fractions, a distribution over the next token
  draw    (token, proposal): the token and the row it was drawn from
  tree    a dict from a node (tuple of tokens, () the root) to the list of its
          draws in time order; a node that was not expanded is absent
  law     a distribution over outcomes, a dict from an outcome to its probability
"""

import itertools
import math
from fractions import Fraction

from law_drafts import (ONE, Table, ZERO, children, draft, normalised, one_hot,
                        positive_part, ranked, residual)

# ---- Verification: a distribution over (accepted path, last token) ---------------


def add(law, outcome, probability):
    if probability:
        law[outcome] = law.get(outcome, ZERO) + probability


def emit(law, path, row, weight):
    for x, p in enumerate(row):
        add(law, (path, x), weight * p)


def top_down(tree, target_row, judge):
    """Walks down. judge(p, draws) gives the distribution over draws taken, by
    token, and the weighted final rows:
    ({token: probability}, [(probability, row)])."""
    law = {}
    nodes = [((), ONE)]
    while nodes:
        node, weight = nodes.pop()
        taken, final = judge(target_row(node), tree.get(node, []))
        for x, p in taken.items():
            if p:
                nodes.append((node + (x,), weight * p))
        for p, row in final:
            if p:
                emit(law, node, row, weight * p)
    return law


def rounds(p, draws, next_proposal, lenience=ONE):
    """Round after round; next_proposal(draw, refused) is the q of the round."""
    cur, weight, taken, refused = p, ONE, {}, []
    for draw in draws:
        x = draw[0]
        q = next_proposal(draw, refused)
        assert q[x] > 0, "a token its law cannot draw"
        accept = min(ONE, cur[x] / (lenience * q[x]))
        taken[x] = taken.get(x, ZERO) + weight * accept
        weight *= 1 - accept
        if weight == 0:
            return taken, []
        cur = residual([c / lenience for c in cur], q)
        refused.append(draw)
    return taken, [(weight, cur)]


def leviathan(tree, target_row):

    def judge(p, draws):
        assert len(draws) <= 1
        if not draws:
            return {}, [(ONE, p)]
        (x, q), = draws
        accept = min(ONE, p[x] / q[x])
        if accept == 1:
            return {x: ONE}, []
        return {x: accept}, [(1 - accept, residual(p, q))]

    return top_down(tree, target_row, judge)


def multi_round(tree, target_row, lenience=ONE):
    return top_down(
        tree, target_row, lambda p, draws: rounds(
            p, draws, lambda draw, refused: draw[1], lenience))


def shuffled(tree, target_row):
    """Multi-round in every order of a node's draws, each as likely."""

    def judge(p, draws):
        orders = list(itertools.permutations(draws))
        taken, final = {}, []
        for order in orders:
            once, rest = rounds(p, order, lambda draw, refused: draw[1])
            for x, probability in once.items():
                add(taken, x, probability / len(orders))
            final += [(weight / len(orders), row) for weight, row in rest]
        return taken, final

    return top_down(tree, target_row, judge)


def rejection(tree, target_row):

    def judge(p, draws):
        assert len(draws) <= 1
        if not draws:
            return {}, [(ONE, p)]
        (x, q), = draws
        if any(a and not b for a, b in zip(p, q)):
            return {}, [(ONE, p)]
        most = max(a / b for a, b in zip(p, q) if a)
        accept = p[x] / (most * q[x])
        return {x: accept}, [(1 - accept, p)]

    return top_down(tree, target_row, judge)


def without_replacement(tree, target_row):
    """The verifier's own q: the node's first distribution, less rejected tokens."""

    def judge(p, draws):
        # One list drawn without replacement: its first draw's distribution is q.
        def proposal(draw, refused):
            q = list(draws[0][1])
            for x, _ in refused:
                q[x] = ZERO
            return normalised(q)

        return rounds(p, draws, proposal)

    return top_down(tree, target_row, judge)


def k_seq(tree, target_row):

    def judge(p, draws):
        if not draws:
            return {}, [(ONE, p)]
        q, count = draws[0][1], len(draws)
        assert all(law == q for _, law in draws)

        def beta(rho):
            return sum(min(b, a / rho) for a, b in zip(p, q))

        def gap(rho):
            return 1 - (1 - beta(rho))**count - rho * beta(rho)

        if beta(ONE) == 0:
            return {}, [(ONE, p)]
        # Floats bound the root; any rho with gap(rho) <= 0 is lossless.
        low, high = 1.0, float(count)
        if gap(ONE) <= 0:
            high = low
        while (middle := (low + high) / 2) not in (low, high):
            if gap(Fraction(middle)) <= 0:
                high = middle
            else:
                low = middle
        rho = Fraction(high)
        weight, taken = ONE, {}
        for x, _ in draws:
            accept = min(ONE, p[x] / (rho * q[x]))
            taken[x] = taken.get(x, ZERO) + weight * accept
            weight *= 1 - accept
        if weight == 0:
            return taken, []
        b = beta(rho)
        share = (1 - (1 - b)**count) / b
        rest = [
            max(a - min(c, a / rho) * share, ZERO) for a, c in zip(p, q)
        ]
        return taken, [(weight, normalised(rest))]

    return top_down(tree, target_row, judge)


def match(tree, target_row):

    def judge(p, draws):
        drawn = set(children(draws))
        taken = {x: p[x] for x in drawn}
        miss = [ZERO if x in drawn else p[x] for x in range(len(p))]
        return taken, [(sum(miss), normalised(miss))] if sum(miss) else []

    return top_down(tree, target_row, judge)


def point_mass(tree, target_row):

    def judge(p, draws):
        cur, weight, taken = list(p), ONE, {}
        for x in children(draws):
            taken[x] = weight * cur[x]
            weight *= 1 - cur[x]
            if weight == 0:
                return taken, []
            cur[x] = ZERO
            cur = normalised(cur)
        return taken, [(weight, cur)]

    return top_down(tree, target_row, judge)


def greedy(tree, target_row):

    def judge(p, draws):
        best = ranked(p)[0]
        if best in children(draws):
            return {best: ONE}, []
        return {}, [(ONE, one_hot(best, len(p)))]

    return top_down(tree, target_row, judge)


def block(tree, target_row):
    path, node = [], ()
    while tree.get(node):
        (x, q), = tree[node]
        path.append((x, q))
        node += (x,)
    gamma = len(path)
    carried = [ONE]  # p_0, p_1, ...
    node = ()
    for x, q in path:
        carried.append(min(carried[-1] * target_row(node)[x] / q[x], ONE))
        node += (x,)

    def excess(i):  # pos(p_i P - Q) after i tokens
        scaled = [carried[i] * a for a in target_row(node[:i])]
        return positive_part(scaled, path[i][1])

    law, weight = {}, ONE
    for i in range(gamma, -1, -1):  # the last coin that succeeds
        if i == 0:
            coin = ONE
        elif i == gamma:
            coin = carried[gamma]
        else:
            room = sum(excess(i))
            divisor = room + 1 - carried[i]
            coin = room / divisor if divisor else ONE
        if weight * coin:
            row = target_row(node) if i == gamma else normalised(excess(i))
            emit(law, node[:i], row, weight * coin)
        weight *= 1 - coin
    return law


def traversal(tree, target_row):
    """From the leaves, on a merged trie."""
    law = {}

    def visit(node, a, weight):
        """Adds what is emitted at or below; gives the weight of refusal."""
        cur, refused = target_row(node), set()
        for x, q in tree.get(node, []):
            if x not in refused:
                value = min(a * cur[x] / q[x], ONE)
                weight = visit(node + (x,), value, weight)
                if weight == 0:
                    return ZERO
                refused.add(x)
            rest = positive_part([a * c for c in cur], q)
            room = sum(rest)
            divisor = room + 1 - a
            a = room / divisor if divisor else ONE
            cur = normalised(rest) if room else cur
        emit(law, node, cur, weight * a)
        return weight * (1 - a)

    left = visit((), ONE, ONE)
    assert left == 0
    return law


def typical(epsilon, delta):
    """Floats for the entropy only."""

    def keeps(p, x):
        entropy = -sum(float(y) * math.log(y) for y in p if y)
        return p[x] > min(epsilon, delta * math.exp(-entropy))

    return keeps


def bild(rollback):
    return lambda p, x: p[x] > 0 and -math.log(p[x]) <= rollback


def top_beta(beta, tolerance):

    def keeps(p, x):
        above = sum(1 for y in p if y > p[x])
        return p[x] > 0 and above < beta and (
            math.log(max(p)) - math.log(p[x]) <= tolerance)

    return keeps


def blockwise_top_k(k):
    return lambda p, x: p[x] > 0 and sum(1 for y in p if y > p[x]) < k


def blockwise_distance(epsilon):
    return lambda p, x: p[x] > 0 and abs(x - ranked(p)[0]) <= epsilon


def longest(tree, target_row, keeps):
    """Among the longest kept paths the likeliest."""
    kept = [((), ONE)]
    best = [((), ONE)]
    while kept:
        best, longer = kept, []
        for node, probability in kept:
            p = target_row(node)
            for x in children(tree.get(node, [])):
                if keeps(p, x):
                    longer.append((node + (x,), probability * p[x]))
        kept = longer
    likeliest = max(probability for _, probability in best)
    winners = [node for node, p in best if p == likeliest]
    assert len(winners) == 1, "a tie the rules leave open"
    law = {}
    emit(law, winners[0], target_row(winners[0]), ONE)
    return law


def verify(verifier, tree, target_row):
    name = verifier["name"]
    if name == "lenience":
        return multi_round(tree, target_row, Fraction(verifier["lenience"]))
    if name == "typical":
        return longest(tree, target_row,
                       typical(float(Fraction(verifier.get("epsilon", "0.09"))),
                               float(Fraction(verifier.get("delta", "0.3")))))
    if name == "bild":
        return longest(tree, target_row, bild(float(verifier["rollback"])))
    if name == "top_beta":
        return longest(tree, target_row,
                       top_beta(int(verifier["beta"]),
                                float(verifier["tolerance"])))
    if name == "blockwise_top_k":
        return longest(tree, target_row, blockwise_top_k(int(verifier["k"])))
    if name == "blockwise_distance":
        return longest(tree, target_row,
                       blockwise_distance(int(verifier["epsilon"])))
    if verifier.get("order") == "shuffled":
        return shuffled(tree, target_row)
    return {
        "leviathan": leviathan,
        "multi_round": multi_round,
        "without_replacement": without_replacement,
        "k_seq": k_seq,
        "match": match,
        "point_mass": point_mass,
        "greedy": greedy,
        "block": block,
        "traversal": traversal,
        "rejection": rejection,
    }[name](tree, target_row)


# ---- Rounds ----------------------------------------------------------------------


def exact(case):
    """The oracle's numbers for a case: see the keys at the end."""
    temperature = case.get("temperature", 1)
    assert temperature in (0, 1)
    vocab, horizon = case["vocab"], case["horizon"]
    target = Table(*case["target"], temperature)
    drafters = [Table(*tables, temperature) for tables in case["drafters"]]
    if "trunks" in case:
        trunks = [(drafters[t["drafter"]], t["policy"])
                  for t in case["trunks"]]
    else:
        trunks = [(drafter, case["policy"]) for drafter in drafters]

    memo = {}

    def one_round(state):
        if state not in memo:
            law = memo[state] = {}
            for probability, tree in draft(trunks, state):
                verdict = verify(case["verifier"], tree,
                                 lambda node: target.row(state, node))
                assert abs(sum(verdict.values()) - 1) < Fraction(1, 10**12)
                for outcome, p in verdict.items():
                    add(law, outcome, probability * p)
        return memo[state]

    law = {}

    def continue_from(text, weight):
        if len(text) >= horizon:
            add(law, text[:horizon], weight)
            return
        for (path, last), p in one_round(text[-1] if text else None).items():
            continue_from(text + path + (last,), weight * p)

    continue_from((), ONE)

    first = one_round(None)
    deepest = max(len(path) for path, _ in first)
    target_law = {}
    for text in itertools.product(range(vocab), repeat=horizon):
        p = ONE
        for i in range(horizon):
            p *= target.row(None, text[:i])[text[i]]
        target_law[text] = p
    return {
        "expected_tokens_per_round":
        sum(p * (len(path) + 1) for (path, _), p in first.items()),
        "acceptance_per_depth": [
            sum(p for (path, _), p in first.items() if len(path) >= depth)
            for depth in range(1, deepest + 1)
        ],
        "law": {text: law.get(text, ZERO)
                for text in target_law},
        "target_law":
        target_law,
    }
