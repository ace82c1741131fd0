"""Muon for the matrices inside layers, AdamW for everything else."""

import torch


class Muon(torch.optim.Optimizer):
    """Muon (Jordan et al., 2024): Nesterov momentum, of which each matrix takes the
    nearest orthogonal one, found by Newton-Schulz. PyTorch's own computes that in bf16,
    which takes a hundred times as long on processors that lack it."""

    FACTORS = (3.4445, -4.7750, 2.0315)  # of Newton-Schulz, as published

    def __init__(self, matrices, lr, momentum=0.95, weight_decay=0.01):
        super().__init__(matrices, {"lr": lr, "momentum": momentum,
                                    "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is None:  # a layer that this step left out
                    continue
                state = self.state[weight]
                if not state:
                    state["mean"] = torch.zeros_like(weight)
                mean = state["mean"].lerp_(weight.grad, 1 - group["momentum"])
                ahead = weight.grad.lerp(mean, group["momentum"])
                rows, columns = weight.shape
                weight.mul_(1 - group["lr"] * group["weight_decay"])
                weight.add_(self.orthogonal(ahead),
                            alpha=-group["lr"] * max(1, rows / columns) ** 0.5)

    def orthogonal(self, matrix):
        """About U V' of the matrix's singular value decomposition U S V'."""
        a, b, c = self.FACTORS
        tall = matrix.shape[0] > matrix.shape[1]
        x = matrix.T if tall else matrix
        x = x / x.norm().clamp(min=1e-7)
        for _ in range(5):
            gram = x @ x.T
            x = torch.addmm(x, torch.addmm(gram, gram, gram, beta=b, alpha=c), x,
                            beta=a)
        return x.T if tall else x


def optimizers_of(named_parameters, options, share=1.0):
    """`share`: of the rates that the options name."""
    matrices, others = [], []
    for name, weight in named_parameters:
        inside = weight.dim() == 2 and "layers." in name
        (matrices if inside and options.muon_rate else others).append(weight)
    built = [torch.optim.AdamW(others, lr=share * options.rate,
                               betas=(0.9, 0.95), weight_decay=0.0)]
    if matrices:
        built.append(Muon(matrices, lr=share * options.muon_rate))
    for optimizer in built:
        for group in optimizer.param_groups:
            group["peak"] = group["lr"]
    return built


def add_arguments(parser, rate, muon_rate):
    parser.add_argument("--rate", type=float, default=rate, metavar="X",
                        help="peak learning rate of AdamW "
                        "(default: %(default)s)")
    parser.add_argument("--muon-rate", type=float, default=muon_rate,
                        metavar="X", help="peak learning rate of Muon, for "
                        "matrices inside layers; 0: AdamW for them too "
                        "(default: %(default)s)")
    parser.add_argument("--warmup", type=int, default=100, metavar="N",
                        help="steps to the peak, from where rates fall to 0 "
                        "in a straight line (default: %(default)s)")


def share_of_peak(step, steps, warmup):
    warmup = min(warmup, steps // 10)
    if step < warmup:
        return (step + 1) / warmup
    return (steps - step) / max(1, steps - warmup)
