#!/usr/bin/env python3
"""Time and share of the memory's bandwidth by kernel, as Nsight Compute measured them.

  gpu_kernels.py FILE

FILE is what `ncu --page raw --csv --print-units base` printed with the metrics
gpu__time_duration.sum and dram__throughput.avg.pct_of_peak_sustained_elapsed.
Kernels are told apart by name and number of blocks.
"""

import argparse
import csv
import re
import sys

NOISE = re.compile(r"banyan::|on_nvidia::|\(anonymous namespace\)::|<unnamed>::"
                   r"|\(int\)|^void |\(.*$")


def rows(path):
    """The kernels in order: name, microseconds, percent of the bandwidth."""
    with open(path, encoding="utf-8") as lines:
        table = csv.DictReader(line for line in lines if line.startswith('"'))
        for row in table:
            def number(metric, row=row):
                key = next(key for key in row if key.startswith(metric))
                return float(row[key].replace(",", ""))
            if not row["Kernel Name"]:
                continue  # the units
            blocks = row["Grid Size"].strip("( ").split(",")[0]
            name = NOISE.sub("", row["Kernel Name"])
            yield (f"{name[:80]} of {blocks}", number("gpu__time") / 1e3,
                   number("dram__throughput"))


def main(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", metavar="FILE")
    path = parser.parse_args(arguments).file
    kernels = {}
    for name, time, share in rows(path):
        kernels.setdefault(name, []).append((time, share))
    if not kernels:
        print(f"{path}: no kernel", file=sys.stderr)
        return 1
    print("      us  times  us each  % of bandwidth")
    total = 0
    for name, found in sorted(kernels.items(),
                              key=lambda item: -sum(time for time, _ in item[1])):
        time = sum(time for time, _ in found)
        total += time
        print(f"{time:8.1f} {len(found):6d} {time / len(found):8.2f} "
              f"{sum(time * share for time, share in found) / time:15.1f}  {name}")
    print(f"{total:8.1f} {sum(map(len, kernels.values())):6d}  in all")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
