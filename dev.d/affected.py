#!/usr/bin/env python3
"""What a change of the tree affects in a build folder: for `./dev test --affected` and `./dev lint`.

    affected.py --build DIR [--base REF | --changed FILE...] (--tests | --sources)
    affected.py --build DIR --all-sources
    affected.py [--base REF] --start

Changed files are those that differ from the merge base with REF, new files included. The default of REF is the upstream
branch, or main; on main itself HEAD if the work tree has changes, else HEAD~1. --changed names the files instead.

A program depends on its inputs in Ninja's graph: build.ninja, and the headers that the compiler reported in the last
build. A test depends on the programs of its command, on the folder of its script, and on the files and folders among
its arguments and in its ctest property REQUIRED_FILES. The root of the tree or of the build as an argument stands for
every file, unless REQUIRED_FILES lists what is read there.

After a change of CMake's files, or of data that a program may open (samples, weights, problem lists), all tests run.

--tests prints three lines: a sentence, the programs to build, and a regular expression for ctest. --sources prints the
C and C++ files to compile so that every changed one is seen, a line each; --all-sources those of the whole build.
--start prints the commit that the changes are counted from.
"""

import argparse
import functools
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = (".c", ".cpp")
HEADERS = (".h", ".cuh", ".inc")
CMAKE = re.compile(r"(^|/)(CMakeLists\.txt|CMakePresets\.json)$|\.cmake$|\.in$")  # after them no graph is certain
# Files that no compiled test reads.
FOR_SCRIPTS = re.compile(r"\.(md|py|sh|css)$|^(docs|dev\.d|packaging)/|^(dev|LICENSE)$|^\.")


class NoAnswer(Exception):
    """Why there is no answer."""


def git(*words):
    try:
        return subprocess.run(["git", "-C", ROOT, *words], check=True, text=True, capture_output=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def start_of(base):
    """The commit that the changes are counted from: the merge base with `base`, or its default."""
    if git("rev-parse", "HEAD") is None:
        raise NoAnswer("this folder is not in a git repository, so the changes are unknown")
    names = [base] if base else ["@{upstream}", "origin/HEAD", "origin/main", "main"]
    known = [name for name in names if git("rev-parse", "--verify", "--quiet", name + "^{commit}")]
    if base and not known:
        raise NoAnswer(f"git has no commit {base}")
    start = git("merge-base", "HEAD", known[0]) if known else None
    if not base and start in (None, git("rev-parse", "HEAD")):
        start = "HEAD" if git("status", "--porcelain") else "HEAD~1"
    start = start or known[0]
    if git("rev-parse", "--verify", "--quiet", start + "^{commit}") is None:
        raise NoAnswer(f"git cannot compare the tree with {start}")
    return start


def changed_files(base):
    start = start_of(base)
    difference = git("diff", "--name-only", "--no-renames", start)
    if difference is None:
        raise NoAnswer(f"git cannot compare the tree with {start}")
    return sorted({*difference.splitlines(), *git("ls-files", "--others", "--exclude-standard").splitlines()})


class Graph:
    """Ninja's: what each output is made of. Files are absolute, as strings."""

    def __init__(self, folder):
        self.folder = os.path.abspath(folder)
        self.inputs, self.sources = {}, {}
        # Most headers are named by hundreds of objects, and most programs by several tests.
        self.path, self.made_of = functools.cache(self.path), functools.cache(self.made_of)
        text = Path(folder, "build.ninja").read_text(encoding="utf-8").replace("$\n", "")
        included = re.findall(r"^(?:include|subninja) (.*)$", text, re.MULTILINE)
        for name in included:
            if Path(folder, name).exists():
                text += "\n" + Path(folder, name).read_text(encoding="utf-8").replace("$\n", "")
        for match in re.finditer(r"^build (.*)$", text, re.MULTILINE):
            self.add(match.group(1))
        self.add_headers(subprocess.run(["ninja", "-C", folder, "-t", "deps"], text=True, capture_output=True).stdout)

    def add(self, statement):
        # Blanks and colons inside names are escaped by "$".
        words = [re.sub(r"\$(.)", r"\1", word) for word in re.findall(r"(?:\$.|[^ :|$])+|:|\|\||\|", statement)]
        colon = words.index(":")
        outputs = [self.path(word) for word in words[:colon] if word != "|"]
        rule, rest = words[colon + 1], words[colon + 2 :]
        inputs = rest[: rest.index("||")] if "||" in rest else rest
        later = rest[rest.index("||") + 1 :] if "||" in rest else []
        inputs = [self.path(word) for word in inputs if word != "|"]
        compiled = "_COMPILER__" in rule
        if compiled:
            self.sources[outputs[0]] = self.joined(inputs[0]) or inputs[:1]
            inputs += self.sources[outputs[0]]
        else:
            # Of a program these are the programs that it runs; of an object they would be all generated files.
            inputs += [self.path(word) for word in later]
        for output in outputs:
            self.inputs.setdefault(output, set()).update(inputs)

    def add_headers(self, text):
        output = ""
        for line in text.splitlines():
            if line.startswith("    "):
                self.inputs[output].add(self.path(line[4:]))
            elif line:
                output = self.path(line.split(": #deps")[0])
                self.inputs.setdefault(output, set())

    @staticmethod
    def joined(unit):
        """The sources that CMake joined in this generated file (cmake/LensletFirstBuild.cmake)."""
        if f"{os.sep}Unity{os.sep}" not in unit or not os.path.exists(unit):
            return []
        return re.findall(r'^#include "(.*)"$', Path(unit).read_text(encoding="utf-8"), re.MULTILINE)

    def path(self, word):
        return os.path.normpath(os.path.join(self.folder, word))

    def made_of(self, target):
        """All files that a file is made of, itself included."""
        seen, todo = set(), [target]
        while todo:
            one = todo.pop()
            if one not in seen:
                seen.add(one)
                todo += self.inputs.get(one, ())
        return seen


def tests_of(folder):
    """Name, command and REQUIRED_FILES of each test but those of ./dev test --apps.

    From CMake's files, because ctest omits the command of an unbuilt test."""
    text = Path(folder, "CTestTestfile.cmake").read_text(encoding="utf-8")
    for name in re.findall(r'^subdirs\("(.*)"\)$', text, re.MULTILINE):
        yield from tests_of(os.path.join(folder, name))
    required = {
        name: words.split(";")
        for name, words in re.findall(
            r'^set_tests_properties\(\[=\[(.*?)\]=\] PROPERTIES .*?REQUIRED_FILES "([^"]*)"', text, re.MULTILINE
        )
    }
    apart = set(re.findall(r'^set_tests_properties\(\[=\[(.*?)\]=\] PROPERTIES .*?LABELS "apps"', text, re.MULTILINE))
    for name, command in re.findall(r"^add_test\(\[=\[(.*?)\]=\] (.*)\)$", text, re.MULTILINE):
        if name not in apart:
            yield name, shlex.split(command), required.get(name, [])


def is_below(file, folder):
    return file == folder or file.startswith(folder + os.sep)


def select(graph, tests, changed):
    """The affected tests' names, the programs to build for them, and files that any program may open."""
    whole = (str(ROOT), graph.folder)
    changed = {os.path.join(ROOT, name) for name in changed}
    names, programs, compiled = [], set(), set()
    for name, command, required in tests:
        read = [word for word in [*command, *required] if os.path.isabs(word)]
        built = [word for word in read if word in graph.inputs]
        made_of = set().union(*(graph.made_of(word) for word in built)) if built else set()
        compiled |= made_of
        hit = bool(changed & made_of)
        for word in read:
            if word in whole:
                hit |= bool(changed) and not required
            elif word not in built and is_below(word, str(ROOT)) and not is_below(word, graph.folder):
                # The files beside a script count as part of it.
                folder = os.path.dirname(word) if word in command[:2] else word
                hit |= any(is_below(file, folder) for file in changed)
        if hit:
            names.append(name)
            programs.update(built)
    data = {os.path.relpath(file, ROOT) for file in changed - compiled}
    return names, programs, sorted(file for file in data if not FOR_SCRIPTS.search(file))


def affected_tests(folder, changed):
    graph = Graph(folder)
    tests = list(tests_of(folder))
    names, programs, data = select(graph, tests, changed)
    why = [file for file in changed if CMAKE.search(file)] or data
    if why:
        return f"all tests: {why[0]} may affect any of them", ["all"], "."
    if not names:
        return f"no test is affected by {len(changed)} changed files", [], ""
    pattern = "^(" + "|".join(re.escape(name) for name in names) + ")$"
    targets = sorted(os.path.relpath(program, graph.folder) for program in programs)
    return f"{len(names)} of {len(tests)} tests are affected by {len(changed)} changed files", targets, pattern


def compiled_by(graph):
    """The pairs of a source of the tree and the object made of it."""
    return sorted(
        (source, output)
        for output, sources in graph.sources.items()
        for source in sources
        if source.endswith(SOURCES) and os.path.exists(source)
    )


def all_sources(folder):
    graph = Graph(folder)
    made = {source for source, _ in compiled_by(graph)}
    return sorted(os.path.relpath(source, ROOT) for source in made if not is_below(source, graph.folder))


def sources_of(folder, changed):
    """A changed source itself; for a changed header a source of its own name, else the first that includes it."""
    graph = Graph(folder)
    compiled = compiled_by(graph)
    answer = set()
    for name in (os.path.join(ROOT, name) for name in changed):
        if name.endswith(HEADERS):
            readers = [source for source, output in compiled if name in graph.inputs[output]]
            own = [source for source in readers if os.path.splitext(source)[0] == os.path.splitext(name)[0]]
            answer.update((own or readers)[:1])
        elif any(source == name for source, _ in compiled):
            answer.add(name)
    return sorted(os.path.relpath(source, ROOT) for source in answer)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build")
    parser.add_argument("--base")
    parser.add_argument("--changed", nargs="*")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--tests", action="store_true")
    what.add_argument("--sources", action="store_true")
    what.add_argument("--all-sources", action="store_true")
    what.add_argument("--start", action="store_true")
    options = parser.parse_args()
    if not options.build and not options.start:
        parser.error("--build is required")
    try:
        files = options.changed
        if files is None and (options.tests or options.sources):
            files = changed_files(options.base)
        if options.start:
            print(start_of(options.base))
        elif options.all_sources:
            print("\n".join(all_sources(options.build)))
        elif options.sources:
            print("\n".join(sources_of(options.build, files)))
        else:
            sentence, targets, pattern = affected_tests(options.build, files)
            print(sentence, " ".join(targets), pattern, sep="\n")
    except NoAnswer as reason:
        sys.exit(f"dev: {reason}")


if __name__ == "__main__":
    main()
