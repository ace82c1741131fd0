"""Writes the tables of docs/presets.md from records.

    python3 scripts/methods_table.py PROGRAM RECORDS... [--file docs/presets.md]
                                     [--keep]

RECORDS are the record folders of configs/methods_2m.yaml, methods_110m.yaml and
methods_smollm2.yaml. Every number comes from them, by `banyan report`. Replaces the text
between the file's two markers and keeps all other text; `banyan list presets` reads the
numbers at temperature 0 from configs/measured_presets.json, which is written too. With --keep, RECORDS may have some of the presets
only (run a copy of such a configuration with fewer methods): the rows of the other
presets stay as they are. Needs Python's protobuf.
"""

import argparse
import csv
import io
import json
import os
import re
import subprocess
import sys
import warnings

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(1, os.path.join(sys.path[0], "..", "python"))
import system_python  # noqa: E402

BEGIN = "<!-- from records: scripts/methods_table.py -->"
END = "<!-- end of what is from records -->"
COSTS = "configs/costs/flat.yaml"
METRICS = ["tokens_per_pass", "speed", "predicted_by_curve", "time_shares"]


def run(program, *arguments):
    return subprocess.run([program, *arguments], check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def figures_of(program, folder):
    """Returns value, low and high, by cell, metric and key."""
    text = run(program, "report", folder, "--format", "csv", "--curve", COSTS,
               "--metrics", ",".join(METRICS))
    figures = {}
    for row in csv.DictReader(io.StringIO(text)):
        number = {name: float(row[name]) if row[name] else None
                  for name in ("value", "low", "high")}
        figures[row["cell"], row["metric"], row["key"]] = number
    return figures


def drafts_with_itself(setting):
    """Returns whether a drafter's model is the target itself, in fewer bits for
    example. The stated cost of its kind of drafter does not apply then."""
    target = os.path.realpath(setting.target.directory)
    return any(os.path.realpath(model.directory) == target
               for model in setting.models)


def rows_of(program, folder):
    """Returns one dict for each cell that drafts."""
    import banyan.records  # needs protobuf, which main() requires
    figures = figures_of(program, folder)
    with warnings.catch_warnings():  # the report prints them too
        warnings.simplefilter("ignore", banyan.records.RecordWarning)
        cells = banyan.records.read(folder).cells
    rows = []
    for cell in cells:
        if not cell.setting.trunks:
            continue

        def number(metric, key="", name=cell.name):
            return figures.get((name, metric, key))

        shares = {phase: (number("time_shares", phase) or {}).get("value") or 0
                  for phase in ("draft", "target")}
        rows.append({
            "method": cell.method,
            "temperature": cell.temperature,
            "target": cell.setting.target.name,
            "lossless": cell.lossless,
            "tokens": number("tokens_per_pass"),
            "speed": number("speed"),
            "flat": None if drafts_with_itself(cell.setting) else number(
                "predicted_by_curve", os.path.basename(COSTS)),
            "shares": shares,
        })
    return rows


def interval(number):
    if number is None:
        return ""
    if number["low"] is None:
        return f"{number['value']:.2f}"
    return f"{number['value']:.2f} [{number['low']:.2f}, {number['high']:.2f}]"


def line(row):
    if "line" in row:
        return row["line"]
    draft, target = (100 * row["shares"][phase] for phase in ("draft", "target"))
    return (f"| {row['method']} | {'yes' if row['lossless'] else '**no**'} "
            f"| {row['tokens']['value']:.2f} | {draft:.0f} / {target:.0f} "
            f"| {interval(row['speed'])} | {interval(row['flat'])} |")


def table(rows):
    out = ["| preset | lossless | tokens per pass | drafting / target, % of the "
           "time | speedup over plain | predicted, flat costs |",
           "| --- | --- | ---: | ---: | ---: | ---: |"]
    for row in sorted(rows, key=lambda row: -row["tokens"]["value"]):
        out.append(line(row))
    return out


def text_of(rows):
    out = []
    targets = sorted({row["target"] for row in rows}, key=len)
    for target in targets:
        for temperature in sorted({row["temperature"] for row in rows
                                   if row["target"] == target}):
            some = [row for row in rows if row["target"] == target
                    and row["temperature"] == temperature]
            out += ["", f"### {target}, temperature {temperature:g}", ""]
            out += table(some)
    return "\n".join(out[1:]) + "\n"


def split(document):
    """Returns the document's text before, between and after the markers."""
    begin, end = document.find(BEGIN), document.find(END)
    if begin < 0 or end < begin:
        raise SystemExit(f"no '{BEGIN}' with '{END}' after it")
    return document[:begin], document[begin + len(BEGIN):end], document[end:]


def kept_rows(table_text, rows):
    """Returns the rows of the earlier tables that `rows` does not replace."""
    renewed = {(row["target"], row["temperature"], row["method"])
               for row in rows}
    kept = []
    for line_before in table_text.splitlines():
        heading = re.fullmatch(r"### (.+), temperature (\S+)", line_before)
        if heading:
            target, temperature = heading[1], float(heading[2])
        cells = [cell.strip() for cell in line_before.split("|")[1:-1]]
        if not cells or cells[0] in ("preset", "---"):
            continue
        if (target, temperature, cells[0]) not in renewed:
            kept.append({"target": target, "temperature": temperature,
                         "method": cells[0], "line": line_before,
                         "tokens": {"value": float(cells[2])}})
    return kept


def measured_of(table_text):
    """Returns the greedy numbers of the tables, by target and preset."""
    measured = {}
    for line_before in table_text.splitlines():
        heading = re.fullmatch(r"### (.+), temperature (\S+)", line_before)
        if heading:
            target, temperature = heading[1], float(heading[2])
        cells = [cell.strip() for cell in line_before.split("|")[1:-1]]
        if not cells or cells[0] in ("preset", "---") or temperature != 0:
            continue
        speedup = re.fullmatch(r"(\S+) \[(\S+), (\S+)\]", cells[4])
        if speedup:
            value, low, high = map(float, speedup.groups())
            measured.setdefault(target, {})[cells[0]] = {
                "tokens_per_pass": float(cells[2]), "speedup": value, "low": low,
                "high": high}
    return measured


def write_measured(path, table_text):
    lines = []
    for target, presets in measured_of(table_text).items():
        rows = [f"    {json.dumps(name)}: {json.dumps(numbers)}"
                for name, numbers in sorted(presets.items())]
        lines.append(f"  {json.dumps(target)}: {{\n" + ",\n".join(rows) + "\n  }")
    with open(path, "w", encoding="utf-8") as file:
        file.write("{\n" + ",\n".join(lines) + "\n}\n")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program", help="the program banyan")
    parser.add_argument("records", nargs="+", help="folders of runs")
    parser.add_argument("--file", default="docs/presets.md")
    parser.add_argument("--measured", default="configs/measured_presets.json")
    parser.add_argument("--keep", action="store_true",
                        help="keep the rows that RECORDS lack")
    options = parser.parse_args()
    system_python.require("google.protobuf")
    rows = [row for folder in options.records
            for row in rows_of(options.program, folder)]
    if not rows:
        raise SystemExit("no cell of these records drafts")
    with open(options.file, encoding="utf-8") as file:
        before, between, after = split(file.read())
    if options.keep:
        rows = kept_rows(between, rows) + rows
    text = text_of(rows)
    with open(options.file, "w", encoding="utf-8") as file:
        file.write(f"{before}{BEGIN}\n\n{text}\n{after}")
    write_measured(options.measured, text)
    print(f"{options.file}: {len(rows)} rows")


if __name__ == "__main__":
    main()
