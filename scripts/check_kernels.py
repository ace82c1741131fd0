#!/usr/bin/env python3
"""Compiles every kernel for GPUs, warnings being errors, and keeps nothing.

  scripts/check_kernels.py [--report]
  scripts/check_kernels.py --ptx
  scripts/check_kernels.py --expect FILE;FILE...

  --report    what the compiler says of each kernel for architecture 9.0a:
              registers of a thread and of a block, bytes of shared memory, of
              code, and spilled. A kernel that spills fails the check.
  --ptx       compiles for 9.0a as far as PTX, and fails on instructions whose
              result is not given by one rounding of one formula: approximate
              ones, such that flush small numbers to zero, products and sums that
              the assembler may contract, and atomic sums of floats
  --expect    compiles nothing: fails unless these are the kernels

With the options of the build (cmake/nvcc_options.txt), which does the same where
BANYAN_CUDA is on. nvcc is $CUDACXX, the one on the path, or in /usr/local/cuda.
Without one there is nothing to check, and 77 is returned.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORDS = [line for line in (ROOT / "cmake/nvcc_options.txt").read_text(
    encoding="utf-8").splitlines() if line.startswith("-")]
OPTIONS = ["-std=c++20"] + [w for w in WORDS if not w.startswith("-gencode")]
ALL = [w for w in WORDS if w.startswith("-gencode")]
NAMESPACE = re.compile(r"(\w+|\(anonymous namespace\))::")
# What ptxas says of one kernel. Shared memory is named where there is some.
RESOURCES = re.compile(
    r"Compiling entry function '(\w+)'.*?(\d+) bytes spill stores, "
    r"(\d+) bytes spill loads.*?Used (\d+) registers([^\n]*)", re.DOTALL)
SHARED = re.compile(r"(\d+) bytes smem")
# The most threads of a block, as the compiler passes them on to ptxas.
THREADS = re.compile(r"\.entry (\w+)\([^)]*\)\s*\.maxntid (\d+)")
CODE = re.compile(r"\.text\.(\w+)\s+PROGBITS\s+\w+\s+\w+\s+(\w+)")

INSTRUCTION = re.compile(r"^\s*(?:@!?%p\d+\s+)?([a-z]\w*(?:[.:]+\w+)+)", re.MULTILINE)
ROUNDED = re.compile(r"(?:add|sub|mul|fma|mad|div|rcp|sqrt)\.(?!rn\.).*\bb?f(?:16|32|64)")
FLOAT_ATOMIC = re.compile(r"(?:atom|red)\..*\bb?f(?:16|32|64)")


def inexact(ptx):
    """The instructions of a PTX text that --ptx names, each once."""
    return sorted({
        name for name in INSTRUCTION.findall(ptx)
        if ".approx" in name or ".ftz" in name or ROUNDED.match(name)
        or FLOAT_ATOMIC.match(name)})


def sources(root=ROOT):
    """The kernels: what git knows, or, without git, what stands below core."""
    listed = subprocess.run(["git", "-C", root, "ls-files", "*_cuda.cu"],
                            capture_output=True, text=True, check=False)
    if listed.returncode == 0:
        return sorted(listed.stdout.split())
    return sorted(path.relative_to(root).as_posix()
                  for path in (root / "core").rglob("*_cuda.cu"))


def compile_one(nvcc, source, options):
    return subprocess.run(
        [nvcc, *OPTIONS, *options, "-I", str(ROOT), "-c", str(ROOT / source),
         "-o", os.devnull], capture_output=True, text=True, check=False)


def read_ptx(nvcc, source):
    """Returns the run and the names of inexact instructions."""
    with tempfile.TemporaryDirectory() as folder:
        ptx = pathlib.Path(folder) / "kernels.ptx"
        run = subprocess.run(
            [nvcc, *OPTIONS, "-arch=compute_90a", "-ptx", "-I", str(ROOT),
             str(ROOT / source), "-o", ptx], capture_output=True, text=True,
            check=False)
        if run.returncode != 0:
            return run, []
        return run, inexact(ptx.read_text(encoding="utf-8"))


def examine(nvcc, source):
    """Compiles for 9.0a. Returns the run and the kernels:
    {name, registers, threads, shared, code, spilled}; threads are 0 where the
    source does not limit them."""
    with tempfile.TemporaryDirectory() as folder:
        cubin = pathlib.Path(folder) / "kernels.cubin"
        run = subprocess.run(
            [nvcc, *OPTIONS, "-arch=sm_90a", "-cubin", "-Xptxas", "-v", "--keep",
             "--keep-dir", folder, "-I", str(ROOT), str(ROOT / source), "-o",
             cubin], capture_output=True, text=True, check=False)
        if run.returncode != 0:
            return run, []
        ptx = "".join(path.read_text(encoding="utf-8")
                      for path in pathlib.Path(folder).glob("*.ptx"))
        sections = subprocess.run(["readelf", "-SW", cubin], capture_output=True,
                                  text=True, check=True).stdout
    threads = {name: int(most) for name, most in THREADS.findall(ptx)}
    code = {name: int(size, 16) for name, size in CODE.findall(sections)}
    return run, [
        {"name": name, "registers": int(registers),
         "threads": threads.get(name, 0), "code": code[name],
         "shared": sum(int(n) for n in SHARED.findall(rest)),
         "spilled": int(stored) + int(loaded)}
        for name, stored, loaded, registers, rest in RESOURCES.findall(run.stderr)]


def report(kernels):
    """Lines of the table."""
    names = subprocess.run(
        ["c++filt"], input="\n".join(kernel["name"] for kernel in kernels),
        capture_output=True, text=True, check=True).stdout.split("\n")
    for full, kernel in zip(names, kernels):
        inner = re.search(r"Run(?:Bounded)?<(.*)>\(", full)
        short = NAMESPACE.sub("", inner.group(1) if inner else full)
        threads = kernel["threads"]
        block = threads * kernel["registers"] if threads else "-"
        yield (f"{short:34} {kernel['registers']:>9} {threads or '-':>7} {block:>6} "
               f"{kernel['shared']:>6} {kernel['code']:>6} {kernel['spilled']:>7}")


def main(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--ptx", action="store_true")
    parser.add_argument("--expect", metavar="FILE;FILE...")
    options = parser.parse_args(arguments)
    found = sources()
    if options.expect is not None:
        wanted = sorted(pathlib.Path(f).resolve().relative_to(ROOT).as_posix()
                        for f in options.expect.split(";"))
        if wanted != found:
            print(f"expected {' '.join(wanted)}\nfound {' '.join(found)}")
            return 1
        print(f"{len(found)} files, as expected")
        return 0
    if not found:
        print("no kernels below core")
        return 1
    nvcc = (os.environ.get("CUDACXX") or shutil.which("nvcc")
            or shutil.which("nvcc", path="/usr/local/cuda/bin"))
    if nvcc is None:
        print("no nvcc: kernels are compiled for the host device alone")
        return 77
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        if options.ptx:
            runs = list(pool.map(lambda s: read_ptx(nvcc, s), found))
        elif options.report:
            runs = list(pool.map(lambda s: examine(nvcc, s), found))
        else:
            runs = [(run, []) for run in
                    pool.map(lambda s: compile_one(nvcc, s, ALL), found)]
    if options.report:
        print(f"{'kernel':34} registers threads  block shared   code spilled")
    failed = bad = 0
    for source, (run, kernels) in zip(found, runs):
        if run.returncode != 0:
            failed += 1
            print(f"{source}:\n{run.stdout}{run.stderr}")
        if options.ptx:
            for name in kernels:
                print(f"{source}: {name}")
            bad += len(kernels)
            continue
        for line in report(kernels):
            print(line)
        bad += sum(kernel["spilled"] > 0 for kernel in kernels)
    if bad and options.report:
        print(f"{bad} kernels spill registers")
    print(f"{len(found) - failed} files compiled, {failed} failed")
    return 1 if failed or bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
