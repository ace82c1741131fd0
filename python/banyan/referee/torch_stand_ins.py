"""PyTorch's random functions while a function is enumerated.

A random tensor is an ordinary tensor of NaN, beside which an array of Noise stands. What
is done to the tensor is done to the array: elements are chosen and moved, scaled, logged,
compared and raced. Anything else that such a tensor enters is refused.
"""

import numpy
import torch
from torch.overrides import TorchFunctionMode

from . import noise
from .chance import CannotEnumerate

# Functions that choose and move elements: they are done to the elements' numbers.
_MOVES = {"__getitem__", "view", "reshape", "squeeze", "unsqueeze", "flatten", "expand",
          "expand_as", "permute", "transpose", "t", "contiguous", "clone", "index_select",
          "gather", "select", "narrow", "unbind", "split", "chunk", "view_as", "movedim",
          "swapaxes", "ravel", "take_along_dim"}
# Functions that leave an element what it is.
_KEEPS = {"to", "detach", "cpu", "float", "double", "type", "type_as", "requires_grad_"}
_COMPARISONS = {"lt": numpy.less, "less": numpy.less, "__lt__": numpy.less,
                "le": numpy.less_equal, "less_equal": numpy.less_equal,
                "__le__": numpy.less_equal,
                "gt": numpy.greater, "greater": numpy.greater, "__gt__": numpy.greater,
                "ge": numpy.greater_equal, "greater_equal": numpy.greater_equal,
                "__ge__": numpy.greater_equal}
_ARITHMETIC = {"add": numpy.add, "__add__": numpy.add, "__radd__": numpy.add,
               "sub": numpy.subtract, "__sub__": numpy.subtract,
               "__rsub__": lambda a, b: numpy.subtract(b, a),
               "rsub": lambda a, b: numpy.subtract(b, a),
               "mul": numpy.multiply, "__mul__": numpy.multiply,
               "__rmul__": numpy.multiply, "multiply": numpy.multiply,
               "div": numpy.divide, "divide": numpy.divide, "__truediv__": numpy.divide,
               "true_divide": numpy.divide,
               "__rtruediv__": lambda a, b: numpy.divide(b, a),
               "__rdiv__": lambda a, b: numpy.divide(b, a)}
# What is asked of the tensor itself.
_FACTS = {"shape", "dtype", "device", "ndim", "layout", "is_cuda", "requires_grad", "size",
          "dim", "numel", "__len__", "stride", "is_floating_point", "element_size"}


def _name(function):
    name = function.__name__
    return function.__self__.__name__ if name == "__get__" else name


class Mode(TorchFunctionMode):
    """Within it random tensors are those of `tape`."""

    def __init__(self, tape):
        super().__init__()
        self._tape = tape
        self._noise = {}  # by the tensor's id: the tensor, which stays, and its array

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = _name(function)
        made = getattr(self, f"_make_{name}", None)
        if made is not None:
            return made(function, *args, **kwargs)
        if not any(id(arg) in self._noise for arg in self._flat(args, kwargs)):
            return function(*args, **kwargs)
        return self._apply(function, name, args, kwargs)

    @staticmethod
    def _flat(args, kwargs):
        for arg in (*args, *kwargs.values()):
            if isinstance(arg, (list, tuple)):
                yield from arg
            else:
                yield arg

    def _of(self, arg):
        """The array of a tensor."""
        if id(arg) in self._noise:
            return self._noise[id(arg)][1]
        return arg.numpy(force=True) if isinstance(arg, torch.Tensor) else arg

    def _tensor(self, array, like=None):
        """A tensor for an array of Noise."""
        tensor = torch.full(array.shape, float("nan"),
                            dtype=like.dtype if like is not None else None)
        self._noise[id(tensor)] = (tensor, array)
        return tensor

    def _fresh(self, tensor, make):
        array = numpy.empty(tuple(tensor.shape), dtype=object)
        for place in numpy.ndindex(*array.shape):
            array[place] = make(self._tape)
        self._noise[id(tensor)] = (tensor, array)
        return tensor

    def _apply(self, function, name, args, kwargs):
        if name in _FACTS:
            return function(*args, **kwargs)
        tensor = args[0]
        if name in _COMPARISONS:
            a, b = (self._of(arg) for arg in args[:2])
            return torch.from_numpy(numpy.asarray(_COMPARISONS[name](a, b), dtype=bool))
        if name in _ARITHMETIC:
            a, b = (self._of(arg) for arg in args[:2])
            result = _ARITHMETIC[name](a, b)
            like = tensor if isinstance(tensor, torch.Tensor) else args[1]
            return self._tensor(numpy.asarray(result, dtype=object), like)
        if name in ("log", "neg", "__neg__", "negative"):
            work = numpy.log if name == "log" else numpy.negative
            return self._tensor(numpy.asarray(work(self._of(tensor)), dtype=object), tensor)
        if name in ("clamp", "clamp_min", "clip"):
            low, high = (*args[1:], None, None)[:2]
            low, high = kwargs.get("min", low), kwargs.get("max", high)
            for element in self._of(tensor).flat:
                element.clip(low, high)
            return tensor
        if name in _KEEPS:
            return tensor
        if name in ("argmax", "argmin", "max", "min"):
            return self._extreme(name, tensor, *args[1:], **kwargs)
        if name == "item":
            return self._of(tensor).reshape(()).item()
        if name == "tolist":
            return self._of(tensor).tolist()
        if name in _MOVES:
            return self._move(function, args, kwargs)
        raise CannotEnumerate(f"torch's {name} of random numbers that were not drawn")

    def _move(self, function, args, kwargs):
        array = self._of(args[0])
        places = torch.arange(array.size).reshape(array.shape)
        moved = function(places, *args[1:], **kwargs)

        def taken(to):
            picked = numpy.empty(tuple(to.shape), dtype=object)
            picked.reshape(-1)[:] = array.reshape(-1)[to.reshape(-1).numpy()]
            return self._tensor(picked, args[0])
        return tuple(map(taken, moved)) if isinstance(moved, (tuple, list)) else taken(moved)

    def _extreme(self, name, tensor, dim=None, keepdim=False):
        array = self._of(tensor)
        find = numpy.argmin if name.endswith("min") else numpy.argmax
        if dim is None:
            place = int(find(array))
            if name.startswith("arg"):
                return torch.tensor(place)
            return self._tensor(numpy.asarray(array.reshape(-1)[place], dtype=object),
                                tensor)
        places = torch.from_numpy(numpy.asarray(find(array, axis=dim), dtype=numpy.int64))
        if keepdim:
            places = places.unsqueeze(dim)
        if name.startswith("arg"):
            return places
        raise CannotEnumerate(f"torch's {name} of random numbers, along a dimension")

    # Functions that draw, by name.

    def _make_rand(self, function, *args, **kwargs):
        return self._fresh(torch.full_like(function(*args, **kwargs), float("nan")),
                           noise.uniform)

    _make_rand_like = _make_rand

    def _filled(self, tensor, make):
        if tensor._base is not None:
            raise CannotEnumerate("random numbers are written into a part of a tensor")
        tensor.fill_(float("nan"))
        return self._fresh(tensor, make)

    def _make_uniform_(self, _function, tensor, *args, **kwargs):
        low, high = (*args, 0.0, 1.0)[:2] if len(args) != 1 else (args[0], 1.0)
        low, high = kwargs.get("from", low), kwargs.get("to", high)
        return self._filled(tensor, lambda tape: noise.uniform(tape) * (high - low) + low)

    def _make_exponential_(self, _function, tensor, lambd=1.0, **_more):
        return self._filled(tensor, lambda tape: noise.exponential(tape) * (1 / lambd))

    def _make_multinomial(self, _function, probabilities, num_samples, replacement=False,
                          **_more):
        rows = probabilities.numpy(force=True)
        picked = []
        for row in rows.reshape(-1, rows.shape[-1]):
            weights = row.astype(float)
            for _ in range(num_samples):
                picked.append(self._tape.choose(weights))
                if not replacement:
                    weights[picked[-1]] = 0
        return torch.tensor(picked).reshape(*rows.shape[:-1], num_samples)

    def _make_bernoulli(self, _function, probabilities, *args, **_more):
        if args:
            raise CannotEnumerate("torch.bernoulli with a probability beside the tensor")
        rows = probabilities.numpy(force=True)
        drawn = [float(self._tape.choose([1 - p, p])) for p in rows.reshape(-1).tolist()]
        return torch.tensor(drawn, dtype=probabilities.dtype).reshape(rows.shape)

    def _make_randint(self, _function, *args, **kwargs):
        low, high, size = args if len(args) == 3 else (0, *args)
        drawn = [low + self._tape.choose([1] * (high - low))
                 for _ in range(int(numpy.prod(size)))]
        return torch.tensor(drawn, dtype=kwargs.get("dtype")).reshape(size)

    def _make_manual_seed(self, *_arguments, **_more):
        return None

    def _refuse(self, function, *_args, **_kwargs):
        raise CannotEnumerate(f"torch's {function.__name__} has no stand-in")

    _make_randn = _make_randn_like = _make_normal = _make_normal_ = _refuse
    _make_randperm = _make_random_ = _make_bernoulli_ = _refuse
    _make_randint_like = _make_poisson = _make_geometric_ = _make_cauchy_ = _refuse
    _make_log_normal_ = _make_dropout = _refuse
