"""convert: published heads as safetensors, and EAGLE heads in another layout.

FILE is a pickle of Medusa heads or of an EAGLE head with its config.json beside
it, or the directory of an EAGLE head. A pickle can run anything; this reads
tensors only and refuses the rest. With `--layout` an EAGLE-3 head is written
with other names: `safeai` (those of SafeAILab, SpecForge and SGLang) or
`speculators` (vLLM's). What a layout cannot say is refused.
"""

import pathlib

import torch

from training import eagle_layouts
from training.errors import UserError
from training.files import read_json, write_json
from training.medusa import describe_heads
from training.model import read_tensors, write_tensors

PREFIX = "medusa_head."  # of the heads within a Medusa-2 checkpoint
DTYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}


def add_arguments(parser):
    parser.add_argument("published", metavar="FILE",
                        help="medusa_lm_head.pt, pytorch_model.bin or such, or "
                        "a directory")
    parser.add_argument("--out", required=True, metavar="DIR")
    parser.add_argument("--dtype", choices=tuple(DTYPES),
                        help="default: bf16 for Medusa heads, for EAGLE heads "
                        "what is stored")
    parser.add_argument("--layout", choices=eagle_layouts.LAYOUTS,
                        help="of an EAGLE head (default: its own)")


def run(options):
    source = pathlib.Path(options.published)
    tensors = (read_tensors if source.is_dir() else read_pickled)(source)
    if eagle_layouts.is_eagle(tensors):
        convert_eagle(tensors, source, options)
    elif options.layout or source.is_dir():
        raise UserError(f"{source}: not an EAGLE head: no tensor 'fc.weight' "
                        "or 'input_proj.weight'")
    else:
        convert_medusa(tensors, source, options)


def convert_medusa(tensors, source, options):
    heads, blocks, size = describe_heads(tensors, source)
    out = pathlib.Path(options.out)
    write_tensors(tensors, out / "medusa_lm_head.safetensors",
                  DTYPES[options.dtype or "bf16"])
    config = {}
    beside = source.parent / "config.json"
    if beside.exists():
        config = read_json(beside)
    # The published counts are unreliable; the tensors' are not.
    config.update({"medusa_num_heads": heads, "medusa_num_layers": blocks,
                   "hidden_size": size})
    write_json(out / "config.json", config)
    print(f"{heads} heads of {blocks} blocks, {size} wide: {out}")


def convert_eagle(tensors, source, options):
    folder = source if source.is_dir() else source.parent
    out = pathlib.Path(options.out)
    if out.exists() and out.samefile(folder):
        raise UserError(f"--out: {out} is the folder that is read")
    config = read_json(folder / "config.json")
    layout = options.layout or eagle_layouts.layout_of(config, tensors)
    config, tensors = eagle_layouts.in_layout(layout, config, tensors, source)
    dtype = DTYPES.get(options.dtype)
    if dtype:
        config = {**config, "torch_dtype": str(dtype).removeprefix("torch.")}
    write_tensors(tensors, out / "model.safetensors", dtype)
    write_json(out / "config.json", config)
    print(f"an EAGLE head in the layout {layout}, {len(tensors)} tensors: "
          f"{out}")


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
