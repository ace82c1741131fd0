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
# By how much sums of probabilities may miss the end of an interval.
ROUNDING = 1e-15


class _Source:
    """What is known of one random number, for all numbers that are made of it.

    Of a uniform one its interval; of an exponential one its rate, of a Gumbel one its
    location, which a race that it won has changed.
    """

    def __init__(self, tape):
        self.tape, self.low, self.high, self.spent = tape, 0.0, 1.0, False
        self.rate, self.location = 1.0, 0.0

    def fresh(self):
        return not self.spent and self.low == 0 and self.high == 1

    def below(self, at):
        """Whether the number is below `at`."""
        if self.spent:
            raise CannotEnumerate("a random number is used again after it decided a race")
        if at <= self.low + ROUNDING:
            return False
        if at >= self.high - ROUNDING:
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

    # Equality of two numbers has probability 0.
    def __ge__(self, other):
        return True if other is self else self > other

    def __le__(self, other):
        return True if other is self else self < other

    def __eq__(self, other):
        return self is other

    __hash__ = object.__hash__

    # A copy is the same random number.
    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        raise CannotEnumerate("a random number that was not drawn is pickled")

    def _compare(self, other, greater):
        if other is self:  # numpy.searchsorted asks
            return False
        if isinstance(other, Noise):
            return self._wins(other) if greater else other._wins(self)
        number = _number(other)
        if number is not None:
            if math.isnan(number):
                return False
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

    def _alike(self, other):
        """Raises unless the two can race each other."""
        if (type(self) is not type(other) or self._source is other._source
                or not (self._source.fresh() and other._source.fresh())):
            raise CannotEnumerate("a race of random numbers that are not alike, fresh and "
                                  "different")

    def _operand(self, other):
        """The other operand as a number; None: it is something else."""
        if isinstance(other, Noise):
            raise CannotEnumerate("arithmetic of two random numbers")
        return _number(other)

    def __add__(self, other):
        number = self._operand(other)
        return NotImplemented if number is None else self._plus(number)

    def __mul__(self, other):
        number = self._operand(other)
        return NotImplemented if number is None else self._times(number)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self):
        return self._times(-1)

    def __sub__(self, other):
        number = self._operand(other)
        return NotImplemented if number is None else self._plus(-number)

    def __rsub__(self, other):
        number = self._operand(other)
        return NotImplemented if number is None else self._times(-1)._plus(number)

    def __truediv__(self, other):
        number = self._operand(other)
        if number is None:
            return NotImplemented
        return self._times(1 / number if number != 0 else math.copysign(math.inf, number))

    def __rtruediv__(self, other):
        number = self._operand(other)
        if number is None:
            return NotImplemented
        raise CannotEnumerate(f"a division by {self._name}")

    def clip(self, low=None, high=None):
        """With bounds that only guard against the ends of the interval."""
        raise CannotEnumerate(f"{self._name} is clipped")

    __float__ = _stop("the value")
    __bool__ = _stop("the truth")
    exp = _stop("the exponential")
    sqrt = _stop("the square root")
    __pow__ = _stop("a power")
    log = _stop("the logarithm")


class Uniform(Noise):
    """offset + scale * u."""

    _name = "a uniform number"

    def __init__(self, source, scale=1.0, offset=0.0):
        self._source, self._scale, self._offset = source, scale, offset

    def _ends(self):
        return sorted((self._offset, self._offset + self._scale))

    def _below(self, number):
        at = (number - self._offset) / self._scale
        return self._source.below(at) if self._scale > 0 else not self._source.below(at)

    def _plus(self, number):
        return Uniform(self._source, self._scale, self._offset + number)

    def _times(self, number):
        if not math.isfinite(number):
            raise CannotEnumerate("a uniform number is divided by 0")
        if number == 0:
            return 0.0
        return Uniform(self._source, self._scale * number, self._offset * number)

    def clip(self, low=None, high=None):
        first, last = self._ends()
        if (low is not None and not low <= first + GUARD) or (
                high is not None and not high >= last - GUARD):
            raise CannotEnumerate("a uniform number is clipped")
        return self

    def log(self):
        low, high = self._ends()
        if not (self._source.fresh() and abs(low) <= GUARD and abs(high - 1) <= GUARD):
            raise CannotEnumerate("the logarithm of a random number that is not uniform "
                                  "between 0 and 1 any more")
        self._source.spent = True
        return -Exponential(_Source(self._source.tape))

    def __int__(self):
        first, last = self._ends()
        if first < 0:
            raise CannotEnumerate("a random number below 0 is rounded")
        first, last = math.floor(first), math.ceil(last) - 1
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

    def __init__(self, source, scale=1.0, inverse=False):
        self._source, self._scale, self._inverse = source, scale, inverse

    def _plus(self, number):
        if abs(number) > GUARD:
            raise CannotEnumerate("a number is added to an exponential one")
        return self

    def _times(self, number):
        return Exponential(self._source, self._scale * number, self._inverse)

    def __rtruediv__(self, other):
        number = self._operand(other)
        if number is None:
            return NotImplemented
        if self._inverse or self._scale == 0:
            raise CannotEnumerate("a division by an inverted random number, or by 0")
        return Exponential(self._source, number / self._scale, True)

    def clip(self, low=None, high=None):
        if self._inverse or self._scale < 0 or high is not None or low > GUARD:
            raise CannotEnumerate("an exponential number is clipped")
        return self

    def log(self):
        if self._inverse or self._scale <= 0 or not self._source.fresh():
            raise CannotEnumerate("the logarithm of an exponential number that is not "
                                  "fresh")
        self._source.spent = True
        source = _Source(self._source.tape)
        source.location = math.log(self._source.rate) - math.log(self._scale)
        return -Gumbel(source)

    def _speed(self):
        """The rate of what is smallest in the winner."""
        scale = abs(self._scale)
        return (self._source.rate * scale if self._inverse else
                self._source.rate / scale if scale > 0 else math.inf)

    def _wins(self, other):
        """Whether this one is the larger."""
        self._alike(other)
        if self._inverse != other._inverse:
            raise CannotEnumerate("a race of random numbers that are not alike")
        if (self._scale < 0) != (other._scale < 0):
            return other._scale < 0
        # The larger has the smaller E / scale if inverted, or if both are negative, and
        # else the larger scale * E.
        if self._inverse != (self._scale < 0):
            return _race(self, other)
        return _race(other, self)

    def _take(self, speed):
        """It stands for all that it was raced with: their smallest."""
        scale = abs(self._scale)
        self._source.rate = speed / scale if self._inverse else speed * scale


class Gumbel(Noise):
    """sign * (G + shift), where G has Gumbel's distribution."""

    _name = "a Gumbel number"

    def __init__(self, source, shift=0.0, sign=1):
        self._source, self._shift, self._sign = source, shift, sign

    def _plus(self, number):
        return Gumbel(self._source, self._shift + self._sign * number, self._sign)

    def _times(self, number):
        if abs(number) != 1:
            raise CannotEnumerate("a Gumbel number is scaled")
        return Gumbel(self._source, self._shift, self._sign * int(number))

    def _log_speed(self):
        return self._source.location + self._shift

    def _speed(self):
        return math.exp(self._log_speed())

    def _wins(self, other):
        self._alike(other)
        if self._sign < 0 or other._sign < 0:
            raise CannotEnumerate("the smaller of two Gumbel numbers")
        return _race(self, other)

    def _take(self, speed):
        self._source.location = math.log(speed) - self._shift


def _race(self, other):
    """Whether `self` wins, by the two speeds. The winner then stands for both."""
    speeds = self._speed(), other._speed()
    if not all(math.isfinite(speed) for speed in speeds):
        raise CannotEnumerate(f"a race at the speeds {speeds}")
    if not any(speeds):  # neither is ever first; as in argmax, the earlier one stays
        return False
    won = self._source.tape.choose(speeds) == 0
    winner, loser = (self, other) if won else (other, self)
    loser._source.spent = True
    winner._take(sum(speeds))
    return won


def uniform(tape):
    return Uniform(_Source(tape))


def exponential(tape):
    return Exponential(_Source(tape))


def gumbel(tape):
    return Gumbel(_Source(tape))
