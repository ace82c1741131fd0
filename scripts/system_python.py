"""Modules that are installed for the system's Python only.

scripts/setup installs Debian's packages of Python modules. The `python3` that is first
in PATH may be another Python, which lacks them.
"""

import importlib
import os
import sys

SYSTEM_PYTHON = "/usr/bin/python3"
# Debian's package of each module.
PACKAGES = {
    "google.protobuf": "python3-protobuf",
    "matplotlib": "python3-matplotlib",
    "pandas": "python3-pandas",
    "selenium": "python3-selenium",
}
SKIPPED = 77  # the exit code of a skipped test


def _missing(modules):
    for module in modules:
        try:
            importlib.import_module(module)
        except ImportError:
            return module
    return ""


def use_python_with(*modules):
    """Starts this program again with the system's Python if this one lacks a module.
    Returns the sentence that one is missing, or an empty text."""
    module = _missing(modules)
    if module and sys.executable != SYSTEM_PYTHON and os.path.exists(SYSTEM_PYTHON):
        os.execv(SYSTEM_PYTHON, [SYSTEM_PYTHON, *sys.argv])
    if not module:
        return ""
    if module not in PACKAGES:
        return f"the Python module {module} is missing"
    return f"the package {PACKAGES[module]} is missing"


def require(*modules):
    """The same, and ends a script that lacks a module."""
    why_not = use_python_with(*modules)
    if why_not:
        sys.exit(f"{os.path.basename(sys.argv[0])}: {why_not}: run scripts/setup docs")


def skip_without(*modules):
    """The same, and skips a test that lacks a module, with the reason."""
    why_not = use_python_with(*modules)
    if why_not:
        print(why_not)
        sys.exit(SKIPPED)
