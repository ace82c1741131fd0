"""The report's intervals: a bootstrap over prompts (experiments/metrics/bootstrap.h).

The resamples are those of the program, drawn by the same counter-based generator, and
sums are taken in its order. So the intervals are the report's to the last digit. With
numpy they take milliseconds, without it a second for a number of 100 prompts.
"""

import math
from typing import NamedTuple, Optional

from .metrics import RATIO, RELATIVE, Part, contributes, value

try:
    import numpy
except ImportError:
    numpy = None

RESAMPLES = 2000
SEED = 1979
LOW, HIGH = 0.025, 0.975

# Philox4x64-10 (Salmon et al. 2011).
_MULTIPLIERS = (0xD2E7470EE14C6C93, 0xCA5A826395121157)
_WEYL = (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)
_ROUNDS = 10
_WORD = (1 << 64) - 1
_HALF = (1 << 32) - 1
_UNUSED_BITS = 64 - 53


class Estimate(NamedTuple):
    value: float
    low: Optional[float] = None  # none of totals, and of fewer than two prompts
    high: Optional[float] = None
    prompts: int = 0  # that contribute


def _product(a, b):
    """The high and the low word of the product of two words. `b` may be an array of
    numpy's, whose products keep the low word only."""
    if isinstance(b, int):
        return (a * b) >> 64, (a * b) & _WORD
    word = numpy.uint64
    half, shift = word(_HALF), word(32)
    a_low, a_high = word(a & _HALF), word(a >> 32)
    b_low, b_high = b & half, b >> shift
    middle = a_high * b_low + ((a_low * b_low) >> shift)
    other = a_low * b_high + (middle & half)
    return a_high * b_high + (middle >> shift) + (other >> shift), word(a) * b


def _uniform(first):
    """The program's number in [0, 1) for the choice whose first word this is
    (core/base/keyed_uniform.h). `first` is a number, or an array of numpy's."""
    zero = first & 0 if isinstance(first, int) else first & numpy.uint64(0)
    words = [first, zero, zero, zero]
    key = [SEED, 0]
    for _ in range(_ROUNDS):
        high0, low0 = _product(_MULTIPLIERS[0], words[0])
        high1, low1 = _product(_MULTIPLIERS[1], words[2])
        keys = key if isinstance(first, int) else [numpy.uint64(word) for word in key]
        words = [high1 ^ words[1] ^ keys[0], low1, high0 ^ words[3] ^ keys[1], low0]
        key = [(word + step) & _WORD for word, step in zip(key, _WEYL)]
    if isinstance(first, int):
        return float(words[0] >> _UNUSED_BITS) * 2.0 ** -53
    return (words[0] >> numpy.uint64(_UNUSED_BITS)).astype(float) * 2.0 ** -53


def _quantile(values, share):
    """Between the two values next to it. Requires sorted values, at least one."""
    place = share * float(len(values) - 1)
    below = math.floor(place)
    above = min(below + 1, len(values) - 1)
    low, high = float(values[below]), float(values[above])
    if not math.isfinite(low) or not math.isfinite(high):
        return low  # there is nothing between a number and infinity
    return low + (place - float(below)) * (high - low)


def _total(parts, places):
    sums = [0.0, 0.0, 0.0, 0.0]
    for place in places:
        for i, number in enumerate(parts[place]):
            sums[i] += number
    return Part(*sums)


class Bootstrap:
    """The same prompts give the same resamples, every time."""

    def __init__(self):
        self._places = {}  # by number of prompts

    def of(self, form, parts):
        """The Estimate that the prompts' parts make; None if they make none."""
        total = _total(parts, range(len(parts)))
        number = value(form, total)
        if number is None:
            return None
        prompts = sum(contributes(form, part) for part in parts)
        if form not in (RATIO, RELATIVE) or prompts < 2:
            return Estimate(number, prompts=prompts)
        values = (self._numpy_values if numpy else self._values)(form, parts)
        if not len(values):
            return Estimate(number, prompts=prompts)
        return Estimate(number, _quantile(values, LOW), _quantile(values, HIGH),
                        prompts)

    def _values(self, form, parts):
        size = len(parts)
        if size not in self._places:
            self._places[size] = [
                [int(_uniform(place << 32 | resample) * float(size))
                 for place in range(size)] for resample in range(RESAMPLES)]
        values = (value(form, _total(parts, places)) for places in self._places[size])
        return sorted(number for number in values if number is not None)

    def _numpy_values(self, form, parts):
        size = len(parts)
        if size not in self._places:
            place = numpy.arange(size, dtype=numpy.uint64) << numpy.uint64(32)
            resample = numpy.arange(RESAMPLES, dtype=numpy.uint64)
            self._places[size] = (_uniform(place[:, None] | resample[None, :]) *
                                  float(size)).astype(numpy.intp)
        columns = numpy.array(parts, dtype=float).T
        sums = numpy.zeros((len(columns), RESAMPLES))
        for places in self._places[size]:  # one after another: sums round as there
            sums += columns[:, places]
        over, under, base_over, base_under = sums
        there = under > 0
        if form == RELATIVE:
            there &= (base_over > 0) & (base_under > 0)
        with numpy.errstate(all="ignore"):
            values = over[there] / under[there]
            if form == RELATIVE:
                values = values / (base_over[there] / base_under[there])
        return numpy.sort(values[~numpy.isnan(values)])
