"""Is EAGLE's verification exact? Judges `evaluate_posterior` of a copy of its program.

    python examples/referee/of_eagle.py FOLDER      # with EAGLE's eagle/model/utils.py

EAGLE-2 and 3 draft the likeliest tokens: their draws are deterministic. EAGLE-1 draws
without replacement and hands over the drafter's probabilities. The token after the path is
drawn from what `evaluate_posterior` returns, as EAGLE's update_inference_inputs does.
"""

import hashlib
import importlib.util
import inspect
import pathlib
import sys

import banyan.referee
import torch


def load(folder):
    path = pathlib.Path(folder) / "utils.py"
    spec = importlib.util.spec_from_file_location("eagle_utils", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module, hashlib.sha256(path.read_bytes()).hexdigest()


def is_eagle_1(eagle):
    return "op" in inspect.signature(eagle.evaluate_posterior).parameters


def probabilities(tree, q, paths, candidates):
    """What EAGLE-1 hands over: of each candidate its probability when it was drawn, the
    drafter's rows by level, and where a candidate's row and earlier siblings stand."""
    chance = {0: 1.0}
    for (_, token, child), row in zip(tree.draws, tree.drawn_from):
        chance[child] = row[token]
    rows, siblings = [], []
    for path in paths:
        rows.append([int(tree.parents[node]) for node in path])
        siblings.append([[other for other in tree.children(tree.parents[node])
                          if other < node] if node else [] for node in path])
    masses = torch.tensor([[chance[node] for node in path] +
                           [0.0] * (candidates.shape[1] - len(path)) for path in paths],
                          dtype=torch.float64)
    levels = [torch.from_numpy(q)] * candidates.shape[1]
    return masses, levels, rows, torch.from_numpy(tree.tokens)[None], siblings


def rule_of(eagle):
    def evaluate_posterior(p, q, draws, tree):
        paths = tree.paths()
        longest = max(map(len, paths))
        rows = torch.tensor([path + [-1] * (longest - len(path)) for path in paths])
        tokens = torch.cat([torch.from_numpy(tree.tokens), torch.tensor([-1])])
        logits = torch.from_numpy(tree.logits)
        candidates = tokens[rows]
        processor = eagle.prepare_logits_processor(tree.temperature, top_p=tree.top_p)
        more = (probabilities(tree, q, paths, candidates) if is_eagle_1(eagle) else ())
        best, accepted, masses = eagle.evaluate_posterior(
            logits[rows], candidates, processor, *more)
        token = torch.multinomial(masses, 1)
        return [*candidates[best, 1:int(accepted) + 1].tolist(), token.item()]
    return evaluate_posterior


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    module, digest = load(sys.argv[1])
    verdict = banyan.referee.exact_of(
        rule_of(module),
        draws="without_replacement" if is_eagle_1(module) else "deterministic")
    print(f"utils.py, SHA-256 {digest}")
    print(verdict)
    sys.exit(not verdict.exact)
