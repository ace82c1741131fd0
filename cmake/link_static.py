"""Runs a linker's command with static libraries in the place of shared ones.

    link_static.py COMMAND...

`libX.so` and `libX.so.1` become `libX.a` where that file stands beside them; Highway,
MPI and paths to search for libraries when the program runs are left out.
"""

import os
import re
import subprocess
import sys


def static(argument):
    """The argument, or None if it is left out."""
    name = os.path.basename(argument)
    if re.match(r"lib(hwy|mpi|mpi_cxx|open-rte|open-pal)\.so", name):
        return None
    if argument.startswith("-Wl,-rpath,/"):
        return None
    archive = re.sub(r"\.so(\.\d+)*$", ".a", argument)
    if archive != argument and os.path.exists(archive):
        return archive
    library = re.fullmatch(r"-l([\w+-]+)", argument)
    if library and library[1] != "divsufsort":
        return f"-l:lib{library[1]}.a"
    return argument


def main():
    arguments = [static(argument) for argument in sys.argv[1:]]
    sys.exit(subprocess.run([argument for argument in arguments if argument],
                            check=False).returncode)


if __name__ == "__main__":
    main()
