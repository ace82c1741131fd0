"""Stand-ins for `random` and `numpy.random` while a function is enumerated."""

import contextlib
import math
import random
import sys

import numpy

from . import noise
from .chance import CannotEnumerate


def _array(make, size):
    """Makes one number, or an array of this size."""
    if size is None:
        return make()
    shape = (size,) if numpy.ndim(size) == 0 else tuple(size)
    made = numpy.empty(shape, dtype=object)
    for place in numpy.ndindex(*shape):
        made[place] = make()
    return made


def _size(size, *parameters):
    """The size that numpy takes of its parameters, where none is stated."""
    return numpy.broadcast(*parameters, 0).shape or None if size is None else size


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

    def seed(self, a=None, *_more):
        _no_seed(a)


class NumPy:
    """The functions of `numpy.random` and the methods of its generators."""

    def __init__(self, tape):
        self._tape = tape

    def random(self, size=None, dtype=None):
        return _array(lambda: noise.uniform(self._tape), size)

    random_sample = ranf = sample = random

    def rand(self, *shape):
        return self.random(shape or None)

    def uniform(self, low=0.0, high=1.0, size=None):
        return self.random(_size(size, low, high)) * (high - low) + low

    def exponential(self, scale=1.0, size=None):
        return _array(lambda: noise.exponential(self._tape), _size(size, scale)) * scale

    def standard_exponential(self, size=None, dtype=None, method="zig"):
        return self.exponential(size=size)

    def gumbel(self, loc=0.0, scale=1.0, size=None):
        if numpy.any(numpy.not_equal(scale, 1)):
            raise CannotEnumerate("Gumbel numbers of another scale than 1")
        return _array(lambda: noise.gumbel(self._tape), _size(size, loc)) + loc

    def choice(self, a, size=None, replace=True, p=None, shuffle=True):
        values = numpy.arange(a) if numpy.ndim(a) == 0 else numpy.asarray(a)
        weights = [1.0] * len(values) if p is None else [float(mass) for mass in p]
        if len(weights) != len(values):
            raise ValueError("'a' and 'p' must have same size")
        if p is not None and abs(math.fsum(weights) - 1) > 1.5e-8:
            raise ValueError("probabilities do not sum to 1")
        if size is None:
            return values[self._tape.choose(weights)]
        count = int(numpy.prod(size))
        picked = []
        for _ in range(count):
            picked.append(self._tape.choose(weights))
            if not replace:
                weights[picked[-1]] = 0
        return values[numpy.array(picked, dtype=int)].reshape(size)

    def integers(self, low, high=None, size=None, dtype=None, endpoint=False):
        first, end = (0, low) if high is None else (low, high)
        values = range(first, end + int(endpoint))
        made = _array(lambda: values[self._tape.choose([1] * len(values))], size)
        return made if size is None else made.astype(int)

    def randint(self, low, high=None, size=None, dtype=None):
        return self.integers(low, high, size)

    def multinomial(self, n, pvals, size=None):
        if size is not None:
            raise CannotEnumerate("numpy.random.multinomial with a size")
        # numpy gives the last category what the others leave.
        masses = [float(mass) for mass in pvals[:-1]]
        if math.fsum(masses) > 1 + 1e-12:
            raise ValueError("sum(pvals[:-1]) > 1.0")
        masses.append(max(0.0, 1 - math.fsum(masses)))
        counts = numpy.zeros(len(masses), dtype=int)
        for _ in range(n):
            counts[self._tape.choose(masses)] += 1
        return counts

    def permutation(self, x):
        values = numpy.arange(x) if numpy.ndim(x) == 0 else numpy.asarray(x)
        return values[_order(self._tape, len(values))]

    def shuffle(self, x):
        x[:] = [x[i] for i in _order(self._tape, len(x))]

    def seed(self, seed=None):
        _no_seed(seed)


def _no_seed(seed):
    if seed is not None:
        raise CannotEnumerate("a seed makes random numbers that are the same in each round")


def _refused(name):
    def call(*_arguments, **_more):
        raise CannotEnumerate(f"{name} has no stand-in")
    return call


def _public(instance):
    return {name for name in dir(instance) if not name.startswith("_")}


class _RefusedClass(type):
    """Makes classes whose instances are as before, and that make none."""

    def __call__(cls, *_arguments, **_more):
        raise CannotEnumerate(f"{cls.__name__} makes a generator that is not seen")


def _set(stack, module, name, value):
    stack.callback(setattr, module, name, getattr(module, name))
    setattr(module, name, value)


def _replace(stack, module, name, stand_in, classes):
    """Replaces everything in `module` that draws, also what has no stand-in."""
    methods = _public(stand_in)
    for function in dir(module):
        value = getattr(module, function)
        if function in classes:
            _set(stack, module, function, _RefusedClass(function, (), {}))
        elif not (function.startswith("_") or isinstance(value, type) or
                  not callable(value) or function in ("getstate", "get_state",
                                                      "get_bit_generator")):
            _set(stack, module, function, getattr(stand_in, function)
                 if function in methods else _refused(f"{name}.{function}"))


def _states():
    """The states of the generators that exist before."""
    found = [random.getstate(), numpy.random.get_state()]
    torch = sys.modules.get("torch")
    if torch is not None:
        found.append(torch.get_rng_state())
    return [repr([item.tolist() if hasattr(item, "tolist") else item for item in state])
            if isinstance(state, tuple) else repr(state.tolist()) for state in found]


@contextlib.contextmanager
def replaced(tape):
    """Within it `random`, `numpy.random` and, where it is, PyTorch ask the tape.

    Raises CannotEnumerate afterwards if a generator was used that is not replaced.
    """
    try:
        from .torch_stand_ins import Mode
    except ImportError:
        Mode = None
    before = _states()
    with contextlib.ExitStack() as stack:
        generator = NumPy(tape)
        _replace(stack, random, "random", Python(tape), ("Random", "SystemRandom"))
        _replace(stack, numpy.random, "numpy.random", generator,
                 ("RandomState", "Generator"))

        def default_rng(seed=None):
            _no_seed(seed)
            return generator
        numpy.random.default_rng = default_rng  # set back with the others
        if Mode is not None:
            stack.enter_context(Mode(tape))
        yield
    if _states() != before:
        raise CannotEnumerate("the function draws from a generator by a way that is not "
                              "seen, such as a function that was imported by its name")
