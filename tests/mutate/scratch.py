"""What the tests of mutate.py share: an entry of the list, and a small tree that they may change."""

import contextlib
import io
import json
import pathlib
import stat
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import mutate
import verdicts

PYTHON_TEST = "python/tests/test_sum.py::test_bias"


def fault(name="dropped_bias", **changes):
    row = {
        "name": name,
        "side": "cpu",
        "file": "layers/sum.cpp",
        "before": "sum = bias;",
        "after": "sum = 0;",
        "caught_by": [{"test": "layers", "filter": "Sum.*"}],
    }
    row.update(changes)
    return {key: value for key, value in row.items() if value is not None}


class Scratch(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.root = self.folder / "root"
        self.write("layers/sum.cpp", "sum = bias;\nsum += x;\n")
        self.write(
            "tests/sum/tests.cmake", "lenslet_test(layers SOURCES sum.cpp)\nlenslet_test(layers_gpu SOURCES s.cu GPU)\n"
        )
        self.addCleanup(setattr, mutate, "ROOT", mutate.ROOT)
        mutate.ROOT = self.root

    def write(self, name, text, base=None):
        path = (base or self.root) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def script(self, name, body):
        path = self.write(name, "#!/bin/sh\n" + body, self.folder)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def faults(self, *rows):
        self.write("tests/mutate/faults/cpu.json", json.dumps(rows))

    def mutate(self, *arguments, main=mutate.main):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code = main([str(argument) for argument in arguments])
            except SystemExit as end:
                code = end.code
        return code, out.getvalue() + err.getvalue()

    def verdicts(self, *arguments):
        return self.mutate(*arguments, main=verdicts.main)
