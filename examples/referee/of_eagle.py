"""Is EAGLE's verification exact? Judges `evaluate_posterior` of a copy of its program.

    python examples/referee/of_eagle.py FOLDER      # with EAGLE's eagle/model/utils.py

EAGLE drafts the likeliest tokens, so its draws are deterministic. The token after the path
is drawn from what `evaluate_posterior` returns, as EAGLE's update_inference_inputs does.
"""

import hashlib
import importlib.util
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


def rule_of(eagle):
    def evaluate_posterior(p, q, draws, tree):
        paths = tree.paths()
        longest = max(map(len, paths))
        rows = torch.tensor([path + [-1] * (longest - len(path)) for path in paths])
        tokens = torch.cat([torch.from_numpy(tree.tokens), torch.tensor([-1])])
        logits = torch.from_numpy(tree.logits)
        candidates = tokens[rows]
        best, accepted, masses = eagle.evaluate_posterior(
            logits[rows], candidates,
            eagle.prepare_logits_processor(tree.temperature, top_p=tree.top_p))
        token = torch.multinomial(masses, 1)
        return [*candidates[best, 1:int(accepted) + 1].tolist(), token.item()]
    return evaluate_posterior


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    module, digest = load(sys.argv[1])
    verdict = banyan.referee.exact_of(rule_of(module), draws="deterministic")
    print(f"utils.py, SHA-256 {digest}")
    print(verdict)
    sys.exit(not verdict.exact)
