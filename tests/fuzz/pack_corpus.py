#!/usr/bin/env python3
"""Writes the corpus of packed models' headers.

    tests/fuzz/pack_corpus.py build/release/banyan tests/fuzz/corpus/pack

The headers are those of small models of tests/goldens, of which one layer is left: what
is shorter is changed more often where it matters. Each of the others has one
contradiction. Checksums are 0, because the fuzzer makes them right.
"""
import copy
import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

PAGE = 4096
MODELS = (("llama", "f32"), ("gpt2", "bf16"), ("mistral", "bf16"), ("qwen2", "q8"),
          ("qwen3", "f32"))
ROOT = pathlib.Path(__file__).resolve().parents[2]


def packed(program, model, weights):
    """The header of a packed model, and the bytes of its data."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.pack"
        subprocess.run([program, "pack", "--model",
                        ROOT / "tests/goldens/checkpoints" / model, "--weights", weights,
                        "--out", path], check=True, stdout=subprocess.DEVNULL)
        file = path.read_bytes()
    size = struct.unpack("<Q", file[16:24])[0]
    begin = (24 + size + PAGE - 1) // PAGE * PAGE
    return json.loads(file[24:24 + size]), len(file) - begin


def one_layer(header, data):
    """Leaves out all layers but the first, and moves the rest together."""
    config = json.loads(header["texts"]["config.json"])
    for key in ("num_hidden_layers", "n_layer"):
        if key in config:
            config[key] = 1
    if "layer_types" in config:
        config["layer_types"] = config["layer_types"][:1]
    header["texts"]["config.json"] = json.dumps(config)

    def stays(tensor):
        return not re.search(r"\.[1-9][0-9]*\.", tensor)

    header["tensors"] = {name: tensor for name, tensor in header["tensors"].items()
                         if stays(name)}
    header["vectors"] = [vector for vector in header["vectors"]
                         if stays(vector["tensor"])]
    offset = 0
    for vector in header["vectors"]:
        vector["checksum"] = 8 * "0"
        vector["offset"] = offset
        offset += 4 * vector["numbers"]
    offset = (offset + PAGE - 1) // PAGE * PAGE
    ends = [matrix["offset"] for matrix in header["matrices"][1:]] + [data]
    kept = []
    for matrix, end in zip(header["matrices"], ends):
        size = end - matrix["offset"]
        if stays(matrix["parts"][0]["tensor"]):
            matrix["checksums"] = len(matrix["checksums"]) * "0"
            matrix["offset"] = offset
            offset += size
            kept.append(matrix)
    header["matrices"] = kept
    return header


def contradictions(header):
    """(name, header): each with one change that no reader may take."""
    config = json.loads(header["texts"]["config.json"])
    vectors, matrices = len(header["vectors"]), len(header["matrices"])
    qkv = 1  # the matrix of several parts, after the embedding

    def layers(changed):
        text = json.dumps({**config, "num_hidden_layers": 2})
        changed["texts"]["config.json"] = text

    changes = {
        "vector_missing": lambda h: h["vectors"].pop(0),
        "vector_twice": lambda h: h["vectors"].insert(0, h["vectors"][0]),
        "vector_of_one_number": lambda h: h["vectors"][0].update(numbers=1),
        "vector_offset": lambda h: h["vectors"][vectors - 1].update(offset=2 ** 40),
        "matrix_missing": lambda h: h["matrices"].pop(),
        "matrix_not_finite": lambda h: h["matrices"][matrices - 1].update(offset=81920),
        "matrices_reversed": lambda h: h["matrices"].reverse(),
        "columns": lambda h: h["matrices"][qkv].update(columns=35),
        "rows": lambda h: h["matrices"][0].update(rows=82),
        "parts_reversed": lambda h: h["matrices"][qkv]["parts"].reverse(),
        "part_twice": lambda h: h["matrices"][qkv]["parts"].append(
            h["matrices"][qkv]["parts"][0]),
        "first": lambda h: h["matrices"][0]["parts"][0].update(first=1),
        "another_tensor": lambda h: h["matrices"][matrices - 1]["parts"][0].update(
            tensor="model.embed_tokens.weight"),
        "panels": lambda h: h["matrices"][0].update(panels=7),
        "offset_within_a_page": lambda h: h["matrices"][0].update(offset=4100),
        "checksums": lambda h: h["matrices"][0].update(checksums="0"),
        "format_of_a_pass": lambda h: h.update(format="bf16"),
        "format_of_a_matrix": lambda h: h["matrices"][qkv].update(format="q8"),
        "vector_turned": lambda h: h["tensors"]["model.norm.weight"].update(turned=True),
        "shape": lambda h: h["tensors"]["model.norm.weight"].update(shape=[35]),
        "shape_turned": lambda h: h["tensors"]["lm_head.weight"].update(turned=True),
        "no_config": lambda h: h["texts"].clear(),
        "another_layer": layers,
    }
    for name, change in changes.items():
        changed = copy.deepcopy(header)
        change(changed)
        yield name, changed


def main(program, folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)

    def write(name, header):
        (folder / f"{name}.json").write_text(json.dumps(header, separators=(",", ":")))

    for model, weights in MODELS:
        header = one_layer(*packed(program, model, weights))
        write(f"ok_{model}_{weights}", header)
        if model == "llama":
            for name, changed in contradictions(header):
                write(f"bad_{name}", changed)
    write("bad_empty", {})


if __name__ == "__main__":
    main(*sys.argv[1:])
