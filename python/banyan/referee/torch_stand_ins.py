"""PyTorch's random functions while a function is enumerated.

A random tensor is an ordinary tensor of NaN that is paired with an array of Noise.
Operations on the tensor are applied to the array: indexing and reshaping, arithmetic with
numbers, logarithms, comparisons and argmax. Any other operation raises CannotEnumerate.
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
# Functions that may convert an element: to another floating type it stays what it is, to
# a type of whole numbers it is rounded down.
_CONVERTS = {"to", "type", "detach", "cpu", "float", "double", "half", "bfloat16", "int",
             "long"}
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


_REFUSED = {"randn", "randn_like", "normal", "normal_", "randperm", "random_", "bernoulli_",
            "randint_like", "poisson", "geometric_", "cauchy_", "log_normal_", "dropout",
            "dropout_", "alpha_dropout", "feature_dropout", "native_dropout", "rrelu",
            "binomial", "_standard_gamma", "_sample_dirichlet", "manual_seed",
            "set_rng_state", "seed"}


def _name(function):
    name = function.__name__
    return function.__self__.__name__ if name == "__get__" else name


def _flat(values):
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _flat(value)
        else:
            yield value


def _storage(tensor):
    try:
        return tensor.untyped_storage().data_ptr()
    except (RuntimeError, NotImplementedError):  # it has none that can be looked at
        return 0


def _only(name, given, *known):
    """Refuses keywords that would change what is computed."""
    for keyword, value in given.items():
        if keyword not in (*known, "dtype", "device", "layout", "requires_grad",
                           "pin_memory") and value is not None:
            raise CannotEnumerate(f"torch's {name} with {keyword}=")
    return given


class Mode(TorchFunctionMode):
    """Within it random tensors are those of `tape`."""

    def __init__(self, tape):
        super().__init__()
        self._tape = tape
        self._noise = {}     # by the tensor's id: the tensor, which stays, and its array
        self._storages = set()  # of those tensors

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = _name(function)
        if name in _REFUSED:
            raise CannotEnumerate(f"torch's {name} has no stand-in")
        made = getattr(self, f"_make_{name}", None)
        if made is not None:
            return made(*args, **kwargs)
        tensors = [value for value in _flat((*args, *kwargs.values()))
                   if isinstance(value, torch.Tensor)]
        known = [id(tensor) in self._noise for tensor in tensors]
        if not any(known):
            if self._storages and name not in _FACTS and any(
                    _storage(tensor) in self._storages for tensor in tensors):
                raise CannotEnumerate("random numbers are read by another tensor that "
                                      "shares their memory")
            return function(*args, **kwargs)
        return self._apply(function, name, args, kwargs)

    def _of(self, arg):
        """The array of a tensor."""
        if id(arg) in self._noise:
            return self._noise[id(arg)][1]
        return arg.numpy(force=True) if isinstance(arg, torch.Tensor) else arg

    def _keep(self, tensor, array):
        self._noise[id(tensor)] = (tensor, array)
        storage = _storage(tensor)
        if storage:
            self._storages.add(storage)
        return tensor

    def _tensor(self, array, like=None):
        """A tensor for an array of Noise."""
        return self._keep(
            torch.full(array.shape, float("nan"),
                       dtype=like.dtype if like is not None else None), array)

    def _fresh(self, tensor, make):
        array = numpy.empty(tuple(tensor.shape), dtype=object)
        for place in numpy.ndindex(*array.shape):
            array[place] = make(self._tape)
        return self._keep(tensor, array)

    def _apply(self, function, name, args, kwargs):
        if name in _FACTS:
            return function(*args, **kwargs)
        tensor = args[0]
        if name in _COMPARISONS or name in _ARITHMETIC:
            _only(name, kwargs)
            if len(args) != 2:
                raise CannotEnumerate(f"torch's {name} of {len(args)} operands")
            a, b = (self._of(arg) for arg in args)
            if name in _COMPARISONS:
                return torch.from_numpy(numpy.asarray(_COMPARISONS[name](a, b), dtype=bool))
            like = tensor if isinstance(tensor, torch.Tensor) else args[1]
            return self._tensor(numpy.asarray(_ARITHMETIC[name](a, b), dtype=object), like)
        if id(tensor) not in self._noise:
            raise CannotEnumerate(f"torch's {name} with random numbers beside a tensor")
        if name in ("log", "neg", "__neg__", "negative"):
            _only(name, kwargs)
            work = numpy.log if name == "log" else numpy.negative
            return self._tensor(numpy.asarray(work(self._of(tensor)), dtype=object), tensor)
        if name in ("clamp", "clamp_min", "clip"):
            _only(name, kwargs, "min", "max")
            low, high = (*args[1:], None, None)[:2]
            low, high = kwargs.get("min", low), kwargs.get("max", high)
            for element in self._of(tensor).flat:
                element.clip(low, high)
            return tensor
        if name in _CONVERTS:
            return self._convert(function, args, kwargs)
        if name in ("argmax", "argmin", "max", "min"):
            return self._extreme(name, tensor, *args[1:], **kwargs)
        if name == "item":
            return self._of(tensor).reshape(()).item()
        if name == "tolist":
            return self._of(tensor).tolist()
        if name in _MOVES:
            return self._move(function, args, kwargs)
        raise CannotEnumerate(f"torch's {name} of random numbers that were not drawn")

    def _convert(self, function, args, kwargs):
        converted = function(args[0].new_ones(args[0].shape), *args[1:], **kwargs)
        array = self._of(args[0])
        if converted.is_floating_point():
            return self._tensor(array, converted)
        if converted.dtype == torch.bool:
            raise CannotEnumerate("random numbers are converted to truth values")
        return torch.tensor([int(element) for element in array.reshape(-1)],
                            dtype=converted.dtype).reshape(array.shape)

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

    def _make_rand(self, *size, **more):
        return self._fresh(torch.empty(*size, **_only("rand", more, "generator", "size"))
                           .fill_(float("nan")), noise.uniform)

    def _make_rand_like(self, tensor, **more):
        return self._fresh(torch.empty_like(tensor, **_only("rand_like", more))
                           .fill_(float("nan")), noise.uniform)

    def _filled(self, tensor, make):
        if tensor._base is not None or not tensor.untyped_storage().resizable():
            raise CannotEnumerate("random numbers are written into memory that another "
                                  "tensor or array has too")
        return self._fresh(tensor.fill_(float("nan")), make)

    def _make_uniform_(self, tensor, low=0.0, high=1.0, **more):
        more = _only("uniform_", more, "generator", "from", "to")
        low, high = more.get("from", low), more.get("to", high)
        return self._filled(tensor, lambda tape: noise.uniform(tape) * (high - low) + low)

    def _make_exponential_(self, tensor, lambd=1.0, **more):
        _only("exponential_", more, "generator")
        return self._filled(tensor, lambda tape: noise.exponential(tape) * (1 / lambd))

    def _make_multinomial(self, probabilities, num_samples, replacement=False, **more):
        _only("multinomial", more, "generator")
        rows = probabilities.numpy(force=True)
        picked = []
        for row in rows.reshape(-1, rows.shape[-1]):
            weights = row.astype(float)
            for _ in range(num_samples):
                picked.append(self._tape.choose(weights))
                if not replacement:
                    weights[picked[-1]] = 0
        return torch.tensor(picked).reshape(*rows.shape[:-1], num_samples)

    def _make_bernoulli(self, probabilities, *args, **more):
        _only("bernoulli", more, "generator")
        if args:
            raise CannotEnumerate("torch.bernoulli with a probability beside the tensor")
        rows = probabilities.numpy(force=True)
        drawn = [float(self._tape.choose([1 - p, p])) for p in rows.reshape(-1).tolist()]
        return torch.tensor(drawn, dtype=probabilities.dtype).reshape(rows.shape)

    def _make_randint(self, *args, **more):
        _only("randint", more, "generator")
        low, high, size = args if len(args) == 3 else (0, *args)
        drawn = [low + self._tape.choose([1] * (high - low))
                 for _ in range(int(numpy.prod(size)))]
        return torch.tensor(drawn, dtype=more.get("dtype")).reshape(size)
