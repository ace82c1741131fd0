"""Divergences of a draft distribution q from the target's p, by row of logits.

Total variation decides acceptance: a draft from q is accepted with probability
sum(min(p, q)) = 1 - total variation. Jensen-Shannon lies between the two
Kullback-Leibler divergences: both distributions against their mean, weighted
equally.
"""

import math

import torch
from torch.nn import functional


def forward_kl(p_logits, q_logits):
    p = functional.log_softmax(p_logits.float(), dim=-1)
    q = functional.log_softmax(q_logits.float(), dim=-1)
    return (p.exp() * (p - q)).sum(-1)


def reverse_kl(p_logits, q_logits):
    return forward_kl(q_logits, p_logits)


def jensen_shannon(p_logits, q_logits):
    p = functional.log_softmax(p_logits.float(), dim=-1)
    q = functional.log_softmax(q_logits.float(), dim=-1)
    mean = torch.logaddexp(p, q) - math.log(2)
    return (p.exp() * (p - mean) + q.exp() * (q - mean)).sum(-1) / 2


def total_variation(p_logits, q_logits):
    p = functional.softmax(p_logits.float(), dim=-1)
    q = functional.softmax(q_logits.float(), dim=-1)
    return (p - q).abs().sum(-1) / 2


DIVERGENCES = {
    "forward-kl": forward_kl,
    "reverse-kl": reverse_kl,
    "jensen-shannon": jensen_shannon,
    "total-variation": total_variation,
}


def agreement(p_logits, q_logits):
    """sum(min(p, q)), and whether the likeliest tokens are the same."""
    p = functional.softmax(p_logits.float(), dim=-1)
    q = functional.softmax(q_logits.float(), dim=-1)
    return (torch.minimum(p, q).sum(-1),
            (p_logits.argmax(-1) == q_logits.argmax(-1)).float())
