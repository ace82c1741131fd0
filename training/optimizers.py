"""Muon for the matrices inside layers, AdamW for everything else."""

import torch


def optimizers_of(named_parameters, options, share=1.0):
    """`share`: of the rates that the options name."""
    matrices, others = [], []
    for name, weight in named_parameters:
        inside = weight.dim() == 2 and "layers." in name
        (matrices if inside and options.muon_rate else others).append(weight)
    built = [torch.optim.AdamW(others, lr=share * options.rate,
                               betas=(0.9, 0.95), weight_decay=0.0)]
    if matrices:
        built.append(torch.optim.Muon(
            matrices, lr=share * options.muon_rate, momentum=0.95,
            weight_decay=0.01))
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
