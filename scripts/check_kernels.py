#!/usr/bin/env python3
"""Compiles every kernel for GPUs, warnings being errors, and keeps nothing.

  scripts/check_kernels.py [--report]

  --report    what the compiler says of each kernel for architecture 9.0a:
              registers, bytes of the stack, bytes spilled

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
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORDS = [line for line in (ROOT / "cmake/nvcc_options.txt").read_text(
    encoding="utf-8").splitlines() if line.startswith("-")]
OPTIONS = ["-std=c++20"] + [w for w in WORDS if not w.startswith("-gencode")]
ALL = [w for w in WORDS if w.startswith("-gencode")]
ENTRY = re.compile(r"Compiling entry function '(\w+)'")
STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores")
NAMESPACE = re.compile(r"(\w+|\(anonymous namespace\))::")
REGISTERS = re.compile(r"Used (\d+) registers")


def compile_one(nvcc, source, options):
    return subprocess.run(
        [nvcc, *OPTIONS, *options, "-I", str(ROOT), "-c", str(source), "-o",
         os.devnull], capture_output=True, text=True, check=False)


def report(text):
    """Lines of the table that the assembler's words make."""
    names = subprocess.run(["c++filt"], input="\n".join(ENTRY.findall(text)),
                           capture_output=True, text=True, check=True)
    stacks, registers = STACK.findall(text), REGISTERS.findall(text)
    for name, stack, used in zip(names.stdout.split("\n"), stacks, registers):
        kernel = re.search(r"Run<(.*)>\(", name)
        short = NAMESPACE.sub("", kernel.group(1) if kernel else name)
        yield f"{short:34} {used:>9} {stack[0]:>6} {stack[1]:>8}"


def main(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--report", action="store_true")
    wants_report = parser.parse_args(arguments).report
    nvcc = (os.environ.get("CUDACXX") or shutil.which("nvcc")
            or shutil.which("nvcc", path="/usr/local/cuda/bin"))
    if nvcc is None:
        print("no nvcc: kernels are compiled for the host device alone")
        return 77
    sources = sorted(ROOT.glob("core/*/cuda/*_cuda.cu"))
    if not sources:
        print("no kernels below core")
        return 1
    options = ["-arch=sm_90a", "-Xptxas", "-v"] if wants_report else ALL
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = list(pool.map(lambda s: compile_one(nvcc, s, options), sources))
    if wants_report:
        print(f"{'kernel':34} registers  stack  spilled")
    failed = 0
    for source, run in zip(sources, runs):
        if run.returncode != 0:
            failed += 1
            print(f"{source.relative_to(ROOT)}:\n{run.stdout}{run.stderr}")
        elif wants_report:
            for line in report(run.stderr):
                print(line)
    print(f"{len(sources) - failed} files compiled, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
