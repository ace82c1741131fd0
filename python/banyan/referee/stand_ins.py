"""`random` and `numpy.random` as they are while a function is enumerated."""

import contextlib
import random

import numpy

from . import noise
from .chance import CannotEnumerate


def _array(make, size):
    """One number, or an array of so many."""
    if size is None:
        return make()
    shape = (size,) if numpy.ndim(size) == 0 else tuple(size)
    made = numpy.empty(shape, dtype=object)
    for place in numpy.ndindex(*shape):
        made[place] = make()
    return made


def _order(tape, count, most=None):
    """The numbers below `count`, or `most` of them, in a random order."""
    left = list(range(count))
    return [left.pop(tape.choose([1] * len(left)))
            for _ in range(count if most is None else most)]


class Python:
    """The functions of the module `random`."""

    def __init__(self, tape):
        self._tape = tape

    def random(self):
        return noise.uniform(self._tape)

    def uniform(self, a, b):
        return noise.uniform(self._tape) * (b - a) + a

    def randrange(self, start, stop=None, step=1):
        values = range(start) if stop is None else range(start, stop, step)
        return values[self._tape.choose([1] * len(values))]

    def randint(self, a, b):
        return self.randrange(a, b + 1)

    def choice(self, values):
        return values[self._tape.choose([1] * len(values))]

    def choices(self, population, weights=None, *, cum_weights=None, k=1):
        if cum_weights is not None:
            weights = [b - a for a, b in zip([0, *cum_weights], cum_weights)]
        if weights is None:
            weights = [1] * len(population)
        return [population[self._tape.choose(weights)] for _ in range(k)]

    def sample(self, population, k):
        return [population[i] for i in _order(self._tape, len(population), k)]

    def shuffle(self, values):
        values[:] = [values[i] for i in _order(self._tape, len(values))]

    def expovariate(self, lambd=1.0):
        return noise.exponential(self._tape) * (1 / lambd)

    def seed(self, *_arguments):
        pass


class NumPy:
    """The functions of `numpy.random` and the methods of its generators."""

    def __init__(self, tape):
        self._tape = tape

    def random(self, size=None, **_more):
        return _array(lambda: noise.uniform(self._tape), size)

    random_sample = ranf = sample = random

    def rand(self, *shape):
        return self.random(shape or None)

    def uniform(self, low=0.0, high=1.0, size=None):
        return self.random(size) * (high - low) + low

    def exponential(self, scale=1.0, size=None):
        return _array(lambda: noise.exponential(self._tape), size) * scale

    def standard_exponential(self, size=None, **_more):
        return self.exponential(size=size)

    def gumbel(self, loc=0.0, scale=1.0, size=None):
        if scale != 1:
            raise CannotEnumerate("Gumbel numbers of another scale than 1")
        return _array(lambda: noise.gumbel(self._tape), size) + loc

    def choice(self, a, size=None, replace=True, p=None, **_more):
        values = numpy.arange(a) if numpy.ndim(a) == 0 else numpy.asarray(a)
        weights = [1.0] * len(values) if p is None else [float(mass) for mass in p]
        if size is None:
            return values[self._tape.choose(weights)]
        count = int(numpy.prod(size))
        picked = []
        for _ in range(count):
            picked.append(self._tape.choose(weights))
            if not replace:
                weights[picked[-1]] = 0
        return values[numpy.array(picked, dtype=int)].reshape(size)

    def integers(self, low, high=None, size=None, endpoint=False, **_more):
        first, end = (0, low) if high is None else (low, high)
        values = range(first, end + int(endpoint))
        made = _array(lambda: values[self._tape.choose([1] * len(values))], size)
        return made if size is None else made.astype(int)

    def randint(self, low, high=None, size=None, **_more):
        return self.integers(low, high, size)

    def multinomial(self, n, pvals, size=None):
        if size is not None:
            raise CannotEnumerate("numpy.random.multinomial with a size")
        counts = numpy.zeros(len(pvals), dtype=int)
        for _ in range(n):
            counts[self._tape.choose(pvals)] += 1
        return counts

    def permutation(self, x):
        values = numpy.arange(x) if numpy.ndim(x) == 0 else numpy.asarray(x)
        return values[_order(self._tape, len(values))]

    def shuffle(self, x):
        x[:] = [x[i] for i in _order(self._tape, len(x))]

    def seed(self, *_arguments):
        pass


def _refused(name):
    def call(*_arguments, **_more):
        raise CannotEnumerate(f"{name} has no stand-in")
    return call


def _public(instance):
    return {name for name in dir(instance) if not name.startswith("_")}


def _replace(stack, module, name, stand_in):
    """Every function of `module` that draws, those without a stand-in too."""
    methods = _public(stand_in)
    drawing = {other for other in dir(module) if not other.startswith("_")
               and callable(getattr(module, other))
               and not isinstance(getattr(module, other), type)
               and other not in ("get_state", "set_state", "getstate", "setstate",
                                 "get_bit_generator", "set_bit_generator")}
    for function in drawing:
        stack.callback(setattr, module, function, getattr(module, function))
        setattr(module, function, getattr(stand_in, function) if function in methods
                else _refused(f"{name}.{function}"))


@contextlib.contextmanager
def replaced(tape):
    """Within it `random`, `numpy.random` and, where it is, PyTorch ask the tape."""
    with contextlib.ExitStack() as stack:
        _replace(stack, random, "random", Python(tape))
        generator = NumPy(tape)
        _replace(stack, numpy.random, "numpy.random", generator)
        stack.callback(setattr, numpy.random, "default_rng", numpy.random.default_rng)
        numpy.random.default_rng = lambda *_: generator
        try:
            from .torch_stand_ins import Mode
        except ImportError:
            pass
        else:
            stack.enter_context(Mode(tape))
        yield
