#!/usr/bin/env python3
"""Reads ctest's JUnit file and says what came of the tests.

  summarize_tests.py RESULTS.xml CTEST_EXIT_CODE

Prints the failed tests, the skipped ones with their reasons, and last the line
`N passed, N failed[, N skipped]`. Fails if any failed or if ctest did.
"""

import argparse
import sys
import xml.etree.ElementTree as ElementTree

# What ctest says of a test that skipped itself. It files a test that could not
# be started under "skipped" too; that one failed.
SKIPPED_ITSELF = ("SKIP_RETURN_CODE", "SKIP_REGULAR_EXPRESSION_MATCHED")


def skip_reason(case):
    """What a skipped test wrote, without GoogleTest's own lines."""
    output = (case.findtext("system-out") or "").splitlines()
    lines = [line.strip() for line in output]
    said = [line for line in lines if line and not line.startswith(
        ("[", "Running main()", "Note: Google Test filter", "1 test."))]
    # GoogleTest writes "file:line: Skipped", then the message.
    for i, line in enumerate(said):
        if line.endswith(": Skipped"):
            said = said[i + 1:] or [line]
            break
    return said[0] if said else "no reason given"


def outcome(case):
    """("passed" | "failed" | "skipped", why) of one testcase element."""
    status = case.get("status")
    if status == "run":
        return "passed", ""
    if status == "disabled":
        return "skipped", "disabled"
    if status == "notrun":
        skipped = case.find("skipped")
        message = "" if skipped is None else skipped.get("message", "")
        if message.startswith(SKIPPED_ITSELF):
            return "skipped", skip_reason(case)
        return "failed", message or "not run"
    failure = case.find("failure")
    return "failed", "" if failure is None else failure.get("message", "")


def summarize(cases, ctest_status):
    """The lines to print, the summary last, and whether all is well."""
    count = {"passed": 0, "failed": 0, "skipped": 0}
    lines = []
    for case in cases:
        what, why = outcome(case)
        count[what] += 1
        if what != "passed":
            lines.append(f"{what}: {case.get('name')}" + (why and f": {why}"))
    if ctest_status != 0 and count["failed"] == 0:
        lines.append(f"failed: ctest itself, exit code {ctest_status}")
        count["failed"] = 1
    summary = f"{count['passed']} passed, {count['failed']} failed"
    if count["skipped"]:
        summary += f", {count['skipped']} skipped"
    return lines + [summary], count["failed"] == 0


def main(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", metavar="RESULTS.xml")
    parser.add_argument("ctest_status", type=int, metavar="CTEST_EXIT_CODE")
    options = parser.parse_args(arguments)
    try:
        cases = ElementTree.parse(options.results).getroot().iter("testcase")
        lines, well = summarize(list(cases), options.ctest_status)
    except (OSError, ElementTree.ParseError) as error:
        lines = [f"failed: no test results: {error}", "0 passed, 1 failed"]
        well = False
    print("\n".join(lines))
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
