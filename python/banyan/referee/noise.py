"""Random numbers that are not drawn: each knows its distribution.

A uniform number is an interval of [0, 1), which a comparison with a number cuts in two.
Its negative logarithm is exponential, the negative logarithm of that has Gumbel's
distribution. Two such numbers that nothing was asked of yet can be compared with each
other: that is a choice by their rates, after which the smaller (or the larger) one stands
for both. So `(p / exponential).argmax()` and `(logits + gumbel).argmax()` are choices.
"""

import math
import numbers

import numpy

from .chance import CannotEnumerate

# A guard against log(0) or a division by 0 that a program may add. It moves
# probabilities by less than this.
GUARD = 1e-9


class _Source:
    """What is known of one uniform number."""

    def __init__(self, tape):
        self.tape, self.low, self.high, self.spent = tape, 0.0, 1.0, False

    def fresh(self):
        return not self.spent and self.low == 0 and self.high == 1

    def below(self, at):
        """Whether the number is below `at`."""
        if self.spent:
            raise CannotEnumerate("a random number is used again after it decided a race")
        if at <= self.low:
            return False
        if at >= self.high:
            return True
        below = self.tape.choose([at - self.low, self.high - at]) == 0
        if below:
            self.high = at
        else:
            self.low = at
        return below


def _number(value):
    """A float, of a number or an array of one; None: it is something else."""
    if isinstance(value, numbers.Real):
        return float(value)
    try:
        return float(value) if getattr(value, "ndim", None) == 0 else None
    except TypeError:
        return None


def _stop(what):
    def method(self, *_args):
        raise CannotEnumerate(f"{what} of a random number that was not drawn: it can be "
                              "compared, scaled, or raced under argmax")
    return method


class Noise:
    """One random number: a Uniform, an Exponential or a Gumbel."""

    def __gt__(self, other):
        return self._compare(other, greater=True)

    def __lt__(self, other):
        return self._compare(other, greater=False)

    # Equality has probability 0.
    def __ge__(self, other):
        return self > other

    def __le__(self, other):
        return self < other

    def __eq__(self, other):
        return self is other

    __hash__ = object.__hash__

    def _compare(self, other, greater):
        if other is self:  # numpy.searchsorted asks
            return False
        if isinstance(other, Noise):
            return self._wins(other) if greater else other._wins(self)
        number = _number(other)
        if number is not None:
            return not self._below(number) if greater else self._below(number)
        if not hasattr(other, "__array__"):
            return NotImplemented
        array = numpy.asarray(other)
        found = numpy.empty(array.shape, dtype=bool)
        for place, element in numpy.ndenumerate(array):
            found[place] = self._compare(element, greater)
        # PyTorch's tensors are answered by one of theirs.
        return other.new_tensor(found) if hasattr(other, "new_tensor") else found

    def _below(self, number):
        raise CannotEnumerate(f"a comparison of {self._name} with a number")

    def _wins(self, other):
        raise CannotEnumerate(f"a comparison of {self._name} with {other._name}")

    def __radd__(self, other):
        return self + other

    def __rmul__(self, other):
        return self * other

    def __neg__(self):
        return self * -1

    def __sub__(self, other):
        number = _number(other)
        return NotImplemented if number is None else self + -number

    def __rsub__(self, other):
        return -self + other

    def __truediv__(self, other):
        number = _number(other)
        return NotImplemented if number is None else self * (1 / number)

    def clip(self, low=None, high=None, **_more):
        """With bounds that only guard against the ends of the interval."""
        if (low is not None and low > GUARD) or (high is not None and high < 1 - GUARD):
            raise CannotEnumerate("a random number is clipped")
        return self

    __float__ = _stop("the value")
    __bool__ = _stop("the truth")
    exp = _stop("the exponential")
    sqrt = _stop("the square root")
    __pow__ = _stop("a power")
    log = _stop("the logarithm")


class Uniform(Noise):
    _name = "a uniform number"

    def __init__(self, source, scale=1.0, offset=0.0):
        self._source, self._scale, self._offset = source, scale, offset

    def _below(self, number):
        at = (number - self._offset) / self._scale
        return self._source.below(at) if self._scale > 0 else not self._source.below(at)

    def __add__(self, other):
        number = _number(other)
        if number is None:
            return NotImplemented
        return Uniform(self._source, self._scale, self._offset + number)

    def __mul__(self, other):
        number = _number(other)
        if number is None:
            return NotImplemented
        if number == 0:
            return 0.0
        return Uniform(self._source, self._scale * number, self._offset * number)

    def log(self):
        low, high = sorted((self._offset, self._offset + self._scale))
        if not (self._source.fresh() and abs(low) <= GUARD and abs(high - 1) <= GUARD):
            raise CannotEnumerate("the logarithm of a random number that is not uniform "
                                  "between 0 and 1 any more")
        self._source.spent = True
        return -Exponential(_Source(self._source.tape))

    def __int__(self):
        ends = sorted((self._offset, self._offset + self._scale))
        first, last = math.floor(ends[0]), math.ceil(ends[1]) - 1
        if first < 0:
            raise CannotEnumerate("a random number below 0 is rounded")
        for whole in range(first, last):
            if self._below(whole + 1):
                return whole
        return last

    __floor__ = __trunc__ = __int__

    def floor(self):
        return int(self)


class Exponential(Noise):
    """scale * E or, inverted, scale / E, where E is exponential."""

    _name = "an exponential number"

    def __init__(self, source, scale=1.0, inverse=False, rate=1.0):
        self._source, self._scale, self._inverse = source, scale, inverse
        self._rate = rate  # of E

    def __add__(self, other):
        number = _number(other)
        if number is None:
            return NotImplemented
        if abs(number) > GUARD:
            raise CannotEnumerate("a number is added to an exponential one")
        return self

    def __mul__(self, other):
        number = _number(other)
        if number is None:
            return NotImplemented
        return Exponential(self._source, self._scale * number, self._inverse, self._rate)

    def __rtruediv__(self, other):
        number = _number(other)
        if number is None:
            return NotImplemented
        if self._inverse:
            raise CannotEnumerate("an exponential number is inverted twice")
        if self._scale == 0:
            raise CannotEnumerate("a division by 0")
        return Exponential(self._source, number / self._scale, True, self._rate)

    def log(self):
        if self._inverse or self._scale <= 0 or not self._source.fresh():
            raise CannotEnumerate("the logarithm of an exponential number that is not "
                                  "fresh")
        self._source.spent = True
        return -Gumbel(_Source(self._source.tape),
                       math.log(self._rate) - math.log(self._scale))

    def _below(self, number):
        raise CannotEnumerate("a comparison of an exponential number with a number")

    def _wins(self, other):
        """Whether this one is the larger."""
        if (not isinstance(other, Exponential) or self._inverse != other._inverse
                or not (self._source.fresh() and other._source.fresh())):
            raise CannotEnumerate("a race of random numbers that are not alike and fresh")
        if self._inverse:  # the larger is the one whose E / scale is smaller
            if self._scale < 0 or other._scale < 0:
                raise CannotEnumerate("a race of negative numbers")
            mine, others = self._scale * self._rate, other._scale * other._rate
            return _race(self, other, mine, others)
        if self._scale == 0 or other._scale == 0:
            raise CannotEnumerate("a race of a number that is scaled by 0")
        if self._scale < 0 and other._scale < 0:  # the larger has the smaller E
            return _race(self, other, self._rate / -self._scale,
                         other._rate / -other._scale)
        if self._scale > 0 and other._scale > 0:
            return _race(other, self, other._rate / other._scale,
                         self._rate / self._scale)
        return self._scale > 0

    def _take(self, speed):
        """It stands for all that it was raced with: their smallest E."""
        self._rate = speed / self._scale if self._inverse else speed * abs(self._scale)


class Gumbel(Noise):
    """sign * (G + shift), where G has Gumbel's distribution."""

    _name = "a Gumbel number"

    def __init__(self, source, shift=0.0, sign=1):
        self._source, self._shift, self._sign = source, shift, sign

    def __add__(self, other):
        number = _number(other)
        if number is None:
            return NotImplemented
        return Gumbel(self._source, self._shift + self._sign * number, self._sign)

    def __mul__(self, other):
        number = _number(other)
        if number is None:
            return NotImplemented
        if abs(number) != 1:
            raise CannotEnumerate("a Gumbel number is scaled")
        return Gumbel(self._source, self._shift, self._sign * int(number))

    def _wins(self, other):
        if (not isinstance(other, Gumbel) or self._sign != other._sign
                or not (self._source.fresh() and other._source.fresh())):
            raise CannotEnumerate("a race of random numbers that are not alike and fresh")
        if self._sign < 0:
            raise CannotEnumerate("the smaller of two Gumbel numbers")
        most = max(self._shift, other._shift)
        if most == -math.inf:  # neither can win; as argmax, the first stays
            return False
        return _race(self, other, math.exp(self._shift - most),
                     math.exp(other._shift - most), most)

    def _take(self, speed, most):
        self._shift = most + math.log(speed)


def _race(self, other, mine, others, *scale):
    """Whether `self` wins, by these speeds. The winner then stands for both."""
    if mine == 0 or others == 0:
        won = mine > 0
    else:
        won = self._source.tape.choose([mine, others]) == 0
    winner, loser = (self, other) if won else (other, self)
    if mine + others > 0:
        loser._source.spent = True
        winner._take(mine + others, *scale)
    return won


def uniform(tape):
    return Uniform(_Source(tape))


def exponential(tape):
    return Exponential(_Source(tape))


def gumbel(tape):
    return Gumbel(_Source(tape))
