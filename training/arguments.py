"""Checks the arguments of a recipe where its packages are not installed.

    python3 -m training.arguments RECIPE ...

Prints help and refuses arguments as `python -m training` does, and runs no recipe:
scripts/train calls it before it installs the packages. A package that is missing is
replaced by a stand-in, with which a recipe can be imported and declare its options. Exit
status 3: the arguments are in order, and no help was printed.
"""

import importlib.abc
import importlib.machinery
import pathlib
import sys

from training.__main__ import parse

IN_ORDER = 3
REQUIREMENTS = pathlib.Path(__file__).with_name("requirements.txt")


class AnyName(type):
    """The type of StandIn: each of its attributes is StandIn again."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return StandIn

    def __bool__(cls):
        return False


class StandIn(metaclass=AnyName):
    """Whatever a recipe takes of a package when it is imported: a base class, a
    decorator, a function, a number."""

    def __new__(cls, *_, **__):
        return StandIn


class MissingPackages(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the packages of requirements.txt, and their modules, that no other finder
    found."""

    def __init__(self):
        lines = REQUIREMENTS.read_text(encoding="utf-8").splitlines()
        self.names = {line.split("==")[0] for line in lines}

    def find_spec(self, fullname, path=None, target=None):
        if fullname.split(".")[0] not in self.names:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def exec_module(self, module):
        module.__getattr__ = lambda name: StandIn


def main(arguments):
    sys.meta_path.append(MissingPackages())
    parse(arguments)
    return IN_ORDER


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
