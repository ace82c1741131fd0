"""What is computed in float64 is float64 throughout."""

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class NoFloat32(TorchDispatchMode):
    """An error where an operation gives float32."""

    def __torch_dispatch__(self, func, types_, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor) and result.dtype == torch.float32:
            raise AssertionError(f"{func} gives float32")
        return result
