"""The copy of the tree that mutants are planted in, and its build."""

import fcntl
import hashlib
import json
import pathlib
import re
import shlex
import subprocess

from render import HEADER, MOST_MUTANTS, Rendering

# "file:line:column: error: ...", and for one in a header who asked for it.
ERROR = re.compile(r"^(\S+?):(\d+):(\d+): (?:fatal )?error:", re.MULTILINE)
REQUIRED = re.compile(r"^(\S+?):(\d+):(\d+):\s+required ", re.MULTILINE)
QUIET = "-w;-O1;-I${PROJECT_SOURCE_DIR}"
# An index out of range ends the program, as under scripts/test --asan. All files
# are told, since all share precompiled headers.
ASSERTING = "-D_GLIBCXX_ASSERTIONS"
# A file may be compiled in several folders.
ADDED = """
# Written by scripts/mutate.
function(keep_quiet folder)
  set_source_files_properties(%s
    DIRECTORY "${folder}" PROPERTIES COMPILE_OPTIONS "%s")
  get_property(below DIRECTORY "${folder}" PROPERTY SUBDIRECTORIES)
  foreach(one IN LISTS below)
    keep_quiet("${one}")
  endforeach()
endfunction()
keep_quiet("${PROJECT_SOURCE_DIR}")
"""
MARK = "copy_of_scripts_mutate"
# A library whose headers the build writes; files that include them are read only
# once they are there.
GENERATED = "banyan_records_proto"
NO_MATTER = ("scripts/", "docs/", "tests/scripts/", "README", "CONTRIBUTING")


class BuildError(Exception):
    """The copy does not build, and no mutant is to blame."""


class Copy:
    """`root`'s files, as git sees them, in `folder`."""

    def __init__(self, root, folder):
        self.root = root
        self.folder = folder
        self.build_folder = folder / "build/mutants"
        mark = folder / "build" / MARK
        if folder.exists() and any(folder.iterdir()) and not mark.exists():
            raise BuildError(f"{folder} holds something else than such a copy")
        mark.parent.mkdir(parents=True, exist_ok=True)
        self.mark = mark.open("a", encoding="utf-8")
        try:
            fcntl.flock(self.mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BuildError(f"another scripts/mutate is at work in {folder}; "
                             "--copy DIR makes a second copy") from None
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others",
             "--exclude-standard"], cwd=root, check=True, capture_output=True,
            text=True).stdout
        self.names = sorted(name for name in set(listed.split("\0"))
                            if name and (root / name).is_file())

    def digest(self):
        """Of the names and contents that a test may depend on."""
        digest = hashlib.sha256()
        for name in self.names:
            if name.startswith(NO_MATTER):
                continue
            content = hashlib.sha256((self.root / name).read_bytes())
            digest.update(f"{name}\0{content.hexdigest()}\n".encode())
        return digest.hexdigest()[:16]

    def refresh(self, planted):
        """Brings the copy up to date but for the files `planted`. A file
        that is right already keeps its time, and so its object file."""
        for name in self.names:
            if (name in planted or name == "CMakeLists.txt") and (
                    (self.folder / name).exists()):
                continue  # written by plant() and configure()
            self.write(name, (self.root / name).read_bytes())
            (self.folder / name).chmod((self.root / name).stat().st_mode)
        for path in list(self.strangers()):
            path.unlink()

    def strangers(self):
        """Files of the copy that the tree no longer has."""
        known = set(self.names)
        for path in self.folder.rglob("*"):
            name = path.relative_to(self.folder).as_posix()
            if path.is_file() and name not in known and not (
                    name.startswith("build/") or name == "banyan_mutant.h"):
                yield path

    def write(self, name, content):
        path = self.folder / name
        if path.exists() and path.read_bytes() == content:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    def configure(self, mutated):
        """Runs CMake. Warnings about mutants help nobody, and at -O1 files full
        of them compile in half the time."""
        self.mutated = sorted(mutated)
        paths = "".join(f'\n    "${{PROJECT_SOURCE_DIR}}/{name}"'
                        for name in self.mutated)
        text = (self.root / "CMakeLists.txt").read_text(encoding="utf-8")
        self.write("CMakeLists.txt",
                   (text + ADDED % (paths, QUIET)).encode())
        run(["cmake", "-S", self.folder, "-B", self.build_folder, "-G", "Ninja",
             "-DCMAKE_BUILD_TYPE=Release", "-DBANYAN_BENCHMARKS=OFF",
             "-DBANYAN_CUDA=OFF", "-DBANYAN_TOGETHER=1",
             f"-DCMAKE_CXX_FLAGS={ASSERTING}",
             "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"])

    def generate(self):
        """Makes the headers that nobody wrote."""
        command = ["cmake", "--build", self.build_folder, "--target"]
        if f"{GENERATED}:" in run([*command, "help"]):
            run([*command, GENERATED])

    def arguments(self):
        """What the compiler is told of each file, by its name."""
        commands = json.loads((self.build_folder / "compile_commands.json")
                              .read_text(encoding="utf-8"))
        of = {}
        for command in commands:
            path = pathlib.Path(command["file"])
            if self.folder not in path.parents:
                continue
            words = shlex.split(command["command"])
            of[path.relative_to(self.folder).as_posix()] = [
                word for before, word in zip(["", *words], words)
                if word.startswith(("-I", "-D", "-std=", "-isystem")) or
                before == "-isystem"]
        return of

    def plant(self, mutants):
        """Writes every file that may hold mutants with those of `mutants`,
        {number: mutant}, in it."""
        self.write("banyan_mutant.h",
                   (HEADER % MOST_MUTANTS).encode())
        renderings = {}
        for name in self.mutated:
            source = (self.root / name).read_text(encoding="utf-8")
            renderings[name] = Rendering(
                source, {number: mutant for number, mutant in mutants.items()
                         if mutant.file == name})
            self.write(name, renderings[name].text.encode("utf-8"))
        return renderings

    def build(self, renderings, targets=()):
        """Builds; returns the numbers of the mutants that do not compile."""
        command = ["cmake", "--build", self.build_folder]
        command += ["--target", *targets] if targets else []
        done = subprocess.run([*command, "--", "-k", "0"], check=False,
                              capture_output=True, text=True)
        if done.returncode == 0:
            return set()
        blamed = (self.blamed(ERROR, done.stdout, renderings) or
                  self.blamed(REQUIRED, done.stdout, renderings))
        if not blamed:
            raise BuildError(done.stdout[-4000:] + done.stderr[-1000:])
        return blamed

    def blamed(self, pattern, output, renderings):
        blamed = set()
        for name, line, column in pattern.findall(output):
            path = (self.build_folder / name).resolve()
            if self.folder not in path.parents:
                continue
            name = path.relative_to(self.folder).as_posix()
            if name in renderings:
                blamed |= renderings[name].blamed(int(line), int(column))
        return blamed


def run(command):
    done = subprocess.run(list(map(str, command)), check=False,
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise BuildError(done.stdout[-2000:] + done.stderr[-2000:])
    return done.stdout
