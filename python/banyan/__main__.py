"""python -m banyan: the program `banyan`, with parts in Python."""

import sys

from . import parts, program


def main():
    words = sys.argv[1:]
    if "--allow-python" in words:
        words.remove("--allow-python")
        parts.allow_everywhere()
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        return program.core().run(["banyan", *words], program.writer(sys.stdout),
                                  program.writer(sys.stderr))
    except KeyboardInterrupt:
        print("banyan: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
