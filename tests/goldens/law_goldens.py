"""Writes or checks tests/goldens/law/*.json, the oracle's numbers for small cases.

  law_goldens.py --write            computes every golden anew
  law_goldens.py --check PROGRAM    compares them with `PROGRAM exact FILE --json`
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import law_oracle

HERE = pathlib.Path(__file__).parent / "law"

# (start, one row for each previous token)
P3 = ("0.1 0.3 0.6", "0.2 0.5 0.3", "0.6 0.3 0.1", "0.3 0.3 0.4")
Q3 = ("0.7 0.2 0.1", "0.5 0.3 0.2", "0.3 0.3 0.4", "0.1 0.6 0.3")
R3 = ("0.3 0.5 0.2", "0.2 0.2 0.6", "0.4 0.2 0.4", "0.5 0.2 0.3")
PZ = ("0.4 0 0.6", "0 0.75 0.25", "0.5 0.5 0", "1 0 0")
QZ = ("0.5 0.5 0", "0.2 0 0.8", "0 0.4 0.6", "0.3 0 0.7")
P2 = ("0.35 0.65", "0.8 0.2", "0.45 0.55")
Q2 = ("0.6 0.4", "0.3 0.7", "0.9 0.1")
P4 = ("0.1 0.2 0.3 0.4", "0.4 0.3 0.2 0.1", "0.25 0.15 0.35 0.25",
      "0.05 0.5 0.05 0.4", "0.7 0.1 0.1 0.1")
Q4 = ("0.4 0.3 0.2 0.1", "0.1 0.2 0.3 0.4", "0.3 0.3 0.2 0.2",
      "0.2 0.1 0.6 0.1", "0.15 0.35 0.25 0.25")
# No two paths of a round are equally likely.
T3 = ("0.1 0.35 0.55", "0.23 0.46 0.31", "0.62 0.27 0.11", "0.34 0.25 0.41")
TIES_P = ("0.5 0.5 0", "0.2 0.4 0.4", "0.4 0.4 0.2", "0.3 0.3 0.4")
TIES_Q = ("0.4 0.4 0.2", "0.3 0.35 0.35", "0.1 0.45 0.45", "0.5 0 0.5")
# Along the chain 0, 1, 2 the threshold is delta's, epsilon's, epsilon's.
THRESHOLD_P = ("0.085 0.305 0.31 0.3", "0.02 0.12 0.86 0",
               "0.9 0.01 0.085 0.005", "0.25 0.3 0.2 0.25", "0.1 0.2 0.3 0.4")
THRESHOLD_Q = ("0.7 0.1 0.1 0.1", "0.1 0.7 0.1 0.1", "0.1 0.1 0.7 0.1",
               "0.1 0.2 0.3 0.4", "0.4 0.3 0.2 0.1")
APART_P = ("0.5 0.5 0 0", "0 0 0.3 0.7", "0.2 0.8 0 0", "0 1 0 0", "1 0 0 0")
APART_Q = ("0 0 0.4 0.6", "0.9 0.1 0 0", "0 0 1 0", "0.5 0 0.5 0", "0 0 1 0")


def chain(gamma, law="independent"):
    return {"name": "chain", "nodes": gamma, "draws": law}


def expansion(branching, law="independent"):
    return {"name": "expansion", "branching": branching, "draws": law}


def sequences(count, gamma):
    return {"name": "sequences", "width": count, "levels": gamma}


def case(verifier, policy, p=P3, q=(Q3, ), horizon=3, temperature=1,
         trunks=None, **options):
    made = {
        "vocab": len(p) - 1,
        "horizon": horizon,
        "target": tables(p),
        "drafters": [tables(one) for one in q],
        "verifier": {"name": verifier, **options},
        "temperature": temperature,
    }
    if trunks:
        made["trunks"] = [{"drafter": d, "policy": t} for d, t in trunks]
    else:
        made["policy"] = policy
    return made


def tables(rows):
    return rows[0].split(), [row.split() for row in rows[1:]]


W, D = "without_replacement", "deterministic"
CASES = {
    "leviathan": case("leviathan", chain(3)),
    "leviathan_zeros": case("leviathan", chain(2), PZ, (QZ, )),
    "leviathan_apart": case("leviathan", chain(2), APART_P, (APART_Q, ),
                            horizon=2),
    "leviathan_same": case("leviathan", chain(2), Q3),
    "leviathan_cold": case("leviathan", chain(3), PZ, (R3, ), temperature=0),
    "block": case("block", chain(3)),
    "block_two_letters": case("block", chain(4), P2, (Q2, )),
    "block_zeros": case("block", chain(3), PZ, (QZ, )),
    "block_same": case("block", chain(2), Q3),
    "multi_round": case("multi_round", expansion([2, 2])),
    "multi_round_three": case("multi_round", expansion([3]), P4, (Q4, ),
                              horizon=2),
    "multi_round_sequences": case("multi_round", sequences(3, 2), P2, (Q2, )),
    "multi_round_ranked": case("multi_round", expansion([2, 2], D)),
    "multi_round_two_drafters": case("multi_round", expansion([2]),
                                     q=(Q3, R3)),
    "multi_round_two_trunks": case(
        "multi_round", None, q=(Q3, R3),
        trunks=[(1, expansion([2], W)), (0, chain(2)), (0, chain(1, D))]),
    "multi_round_zeros": case("multi_round", expansion([2, 1]), PZ, (QZ, )),
    "without_replacement": case("without_replacement", expansion([2, 2], W)),
    "without_replacement_zeros": case("without_replacement",
                                      expansion([3, 1], W), PZ, (QZ, )),
    "without_replacement_four": case("without_replacement",
                                     expansion([3], W), P4, (Q4, ),
                                     horizon=2),
    "k_seq": case("k_seq", expansion([2, 2])),
    "k_seq_sequences": case("k_seq", sequences(2, 2)),
    "k_seq_three": case("k_seq", expansion([3]), P4, (Q4, ), horizon=2),
    "k_seq_zeros": case("k_seq", expansion([2, 1]), PZ, (QZ, )),
    "k_seq_apart": case("k_seq", expansion([2]), APART_P, (APART_Q, ),
                        horizon=2),
    "traversal": case("traversal", expansion([2, 2])),
    "traversal_three": case("traversal", expansion([3, 1])),
    "traversal_sequences": case("traversal", sequences(2, 2)),
    "traversal_drawn_once": case("traversal", expansion([2, 2], W)),
    "traversal_zeros": case("traversal", expansion([2, 1]), PZ, (QZ, )),
    "traversal_ranked": case("traversal", expansion([2, 2], D)),
    "traversal_two_trunks": case(
        "traversal", None, q=(Q3, R3),
        trunks=[(0, chain(2)), (1, expansion([2, 1], W))]),
    "traversal_same": case("traversal", expansion([2, 1]), R3, (R3, )),
    "match": case("match", expansion([2, 2])),
    "match_ranked": case("match", expansion([2, 2], D), P4, (Q4, ),
                         horizon=2),
    "point_mass": case("point_mass", expansion([2, 2], D)),
    "point_mass_drawn": case("point_mass", expansion([2, 2]), PZ, (QZ, )),
    "greedy": case("greedy", expansion([2, 2], D), q=(R3, ), temperature=0),
    "greedy_ties": case("greedy", chain(2, D), TIES_P, (TIES_Q, ),
                        temperature=0),
    "lenience": case("lenience", chain(2), lenience="0.5"),
    "lenience_tree": case("lenience", expansion([2, 1]), lenience="0.8"),
    "typical": case("typical", expansion([2, 2], D), T3),
    "typical_thresholds": case("typical", chain(3, D), THRESHOLD_P,
                               (THRESHOLD_Q, )),
    "typical_drawn": case("typical", expansion([2, 1]), T3, (Q3, ),
                          epsilon="0.4", delta="0.9"),
    "bild": case("bild", chain(3), T3, rollback="1.3"),
    "bild_drawn": case("bild", expansion([2, 1]), T3, (Q3, ), rollback="1.1"),
    "top_beta": case("top_beta", chain(3), P4, (Q4, ), horizon=2, beta="2",
                     tolerance="1"),
    "top_beta_drawn": case("top_beta", expansion([2, 2]), T3, (Q3, ), beta="3",
                           tolerance="0.8"),
    "rejection": case("rejection", chain(3)),
    "rejection_zeros": case("rejection", chain(2), PZ, (R3, )),
    "rejection_apart": case("rejection", chain(2), PZ, (QZ, )),
    "rejection_same": case("rejection", chain(2), Q3),
    "shuffled": case("multi_round", expansion([2, 1]), order="shuffled"),
    "shuffled_three": case("multi_round", expansion([3]), P4, (Q4, ),
                           horizon=2, order="shuffled"),
    "shuffled_ranked": case("multi_round", expansion([2, 2], D),
                            order="shuffled"),
    "shuffled_two_drafters": case("multi_round", expansion([2]), q=(Q3, R3),
                                  order="shuffled"),
    "blockwise_top_k": case("blockwise_top_k", chain(3), P4, (Q4, ),
                            horizon=2, k="2"),
    "blockwise_top_k_drawn": case("blockwise_top_k", expansion([2, 2]), T3,
                                  (Q3, ), k="2"),
    "blockwise_distance": case("blockwise_distance", chain(3), P4, (Q4, ),
                               horizon=2, epsilon="1"),
    "blockwise_distance_drawn": case("blockwise_distance", expansion([2, 2]),
                                     T3, (Q3, ), epsilon="1"),
}


def yaml(made):
    """The case as a file of `banyan exact`."""

    def flow(value):
        if isinstance(value, dict):
            return "{" + ", ".join(f"{k}: {flow(v)}"
                                   for k, v in value.items()) + "}"
        if isinstance(value, (list, tuple)):
            return "[" + ", ".join(map(flow, value)) + "]"
        return str(value)

    def model(name, one):
        start, following = one
        return f"{name}{{start: {flow(start)}, next: {flow(following)}}}\n"

    text = f"vocab: {made['vocab']}\nhorizon: {made['horizon']}\n"
    text += model("target: ", made["target"])
    text += "drafters:\n"
    for one in made["drafters"]:
        text += model("  - ", one)
    for key in ("policy", "trunks", "verifier"):
        if key in made:
            text += f"{key}: {flow(made[key])}\n"
    if made["temperature"] != 1:
        text += f"sampling: {{temperature: {made['temperature']}}}\n"
    return text


def golden(made):
    numbers = law_oracle.exact(made)
    for text in numbers["law"]:
        if made["verifier"]["name"] in ("typical", "lenience", "bild",
                                        "top_beta", "blockwise_top_k",
                                        "blockwise_distance"):
            break
        error = abs(numbers["law"][text] - numbers["target_law"][text])
        assert error < 1e-12, "the oracle says this lossless case is biased"

    def strings(law):
        return {",".join(map(str, text)): float(p) for text, p in law.items()}

    return {
        "yaml": yaml(made),
        "expected_tokens_per_round":
        float(numbers["expected_tokens_per_round"]),
        "acceptance_per_depth":
        [float(p) for p in numbers["acceptance_per_depth"]],
        "law": strings(numbers["law"]),
    }


def difference(want, got):
    """The largest difference, and where."""
    worst = (0.0, "")

    def see(where, a, b):
        nonlocal worst
        worst = max(worst, (abs(a - b), where))

    see("expected_tokens_per_round", want["expected_tokens_per_round"],
        got["expected_tokens_per_round"])
    a, b = want["acceptance_per_depth"], got["acceptance_per_depth"]
    for depth in range(max(len(a), len(b))):
        see(f"acceptance at depth {depth + 1}",
            a[depth] if depth < len(a) else 0.0,
            b[depth] if depth < len(b) else 0.0)
    assert want["law"].keys() == got["distribution"].keys()
    for text, p in want["law"].items():
        see(f"law of {text}", p, got["distribution"][text])
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", metavar="PROGRAM")
    arguments = parser.parse_args()
    if arguments.write:
        HERE.mkdir(exist_ok=True)
        for name, made in CASES.items():
            text = json.dumps(golden(made), indent=1) + "\n"
            (HERE / f"{name}.json").write_text(text)
    if not arguments.check:
        return 0
    bad = 0
    for path in sorted(HERE.glob("*.json")):
        want = json.loads(path.read_text())
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(want["yaml"])
            file.flush()
            run = subprocess.run(
                [arguments.check, "exact", file.name, "--json"],
                capture_output=True, text=True)
        if run.returncode:
            print(f"{path.stem:28} refused: {run.stderr.strip()}")
            bad += 1
            continue
        error, where = difference(want, json.loads(run.stdout))
        limit = 1e-9 if path.stem.startswith(("k_seq", "typical")) else 1e-12
        if error > limit:
            print(f"{path.stem:28} {error:.3g} {where}")
            bad += 1
        else:
            print(f"{path.stem:28} agrees, {error:.1e}")
    print(f"{bad} differ")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
