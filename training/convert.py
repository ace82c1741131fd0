"""convert: published pickled heads as safetensors.

A pickle can run anything; this reads tensors only and refuses the rest.
"""

import pathlib

import torch

from training.errors import UserError
from training.files import read_json, write_json
from training.medusa import describe_heads
from training.model import write_tensors

PREFIX = "medusa_head."  # of the heads within a Medusa-2 checkpoint


def add_arguments(parser):
    parser.add_argument("pickled", metavar="FILE",
                        help="medusa_lm_head.pt or such")
    parser.add_argument("--out", required=True, metavar="DIR")
    parser.add_argument("--dtype", choices=("bf16", "f16", "f32"),
                        default="bf16", help="default: %(default)s")


def run(options):
    tensors = read_pickled(options.pickled)
    heads, blocks, size = describe_heads(tensors, options.pickled)
    dtype = {"bf16": torch.bfloat16, "f16": torch.float16,
             "f32": torch.float32}[options.dtype]
    out = pathlib.Path(options.out)
    write_tensors(tensors, out / "medusa_lm_head.safetensors", dtype)
    config = {}
    beside = pathlib.Path(options.pickled).parent / "config.json"
    if beside.exists():
        config = read_json(beside)
    # The published counts are unreliable; the tensors' are not.
    config.update({"medusa_num_heads": heads, "medusa_num_layers": blocks,
                   "hidden_size": size})
    write_json(out / "config.json", config)
    print(f"{heads} heads of {blocks} blocks, {size} wide: {out}")


def read_pickled(path):
    try:
        loaded = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError as error:
        raise UserError(f"{path}: there is no such file") from error
    except Exception as error:  # a broken pickle can raise anything
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise UserError(f"{path}: holds more than tensors, or is broken: "
                        f"{reason}") from error
    if not isinstance(loaded, dict):
        raise UserError(f"{path}: expected tensors by name, found a "
                        f"{type(loaded).__name__}")
    unnamed = [name for name in loaded if not isinstance(name, str)]
    if unnamed:
        raise UserError(f"{path}: expected names, found {unnamed[0]!r}")
    inner = {name.removeprefix(PREFIX): value
             for name, value in loaded.items() if name.startswith(PREFIX)}
    tensors = inner or loaded
    for name, value in tensors.items():
        if not isinstance(value, torch.Tensor):
            raise UserError(f"{path}: {name!r}: expected a tensor, found a "
                            f"{type(value).__name__}")
    return tensors
