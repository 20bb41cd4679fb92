"""Plants a fault in a copy of the tree, and builds the programs that should catch it."""

import re
import subprocess

EXTENSION = "lenslet_python"  # the target that tests of the Python package need


class Planted:
    """A copy of the tree with a planted fault; leaving the context removes it."""

    def __init__(self, tree, fault):
        self.path, self.fault = tree / fault["file"], fault

    def __enter__(self):
        self.text = self.path.read_text()
        assert self.text.count(self.fault["before"]) == 1
        self.path.write_text(self.text.replace(self.fault["before"], self.fault["after"]))

    def __exit__(self, *_):
        self.path.write_text(self.text)


def targets_of(catchers):
    return sorted(
        {
            target
            for c in catchers
            for target in (
                [f"test_{c['test']}"] if "test" in c else [EXTENSION] if "python" in c else c.get("targets", [])
            )
        }
    )


def compile_targets(options, catchers):
    """None, or what the build printed when it failed."""
    targets = targets_of(catchers)
    if not targets:
        return None
    built = subprocess.run(
        [options.cmake, "--build", options.build, "--parallel", str(options.jobs), "--target", *targets],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if built.returncode == 0:
        return None
    lines = [line for line in built.stdout.splitlines() if re.search(r"\berror\b|undefined reference", line)]
    return (lines or built.stdout.splitlines() or ["no output"])[0]


def program_of(build, catcher):
    return build / "tests" / f"test_{catcher['test']}" if "test" in catcher else build / "ctest"
