"""What the tests of the report share: the interpreter, the parsed page, and the pages drawn so far."""

import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from html.parser import HTMLParser
from pathlib import Path

import synthetic

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "apps" / "report" / "report.py"
VOID = {"meta", "br", "rect", "use", "path", "link", "img", "input", "hr"}


def find_python():
    """The first interpreter that has matplotlib."""
    for candidate in (sys.executable, "/usr/bin/python3"):
        if (
            os.path.exists(candidate)
            and subprocess.run([candidate, "-c", "import matplotlib"], capture_output=True).returncode == 0
        ):
            return candidate
    return None


PYTHON = find_python()


class Page(HTMLParser):
    """Collects a page's elements and the errors in their nesting."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.problems, self.ids, self.tags, self.cells, self.scripts, self.words = [], [], [], [], [], [], []
        self.feed(text)
        if self.open:
            self.problems.append(f"never closed: {self.open}")

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags.append((tag, attributes))
        if "id" in attributes:
            self.ids.append(attributes["id"])
        if tag not in VOID:
            self.open.append(tag)
        if tag == "td":
            self.cells.append([attributes.get("title"), ""])
        if tag == "script":
            self.scripts.append([attributes, ""])

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        if not self.open or self.open[-1] != tag:
            self.problems.append(f"</{tag}> closes {self.open[-1:]}")
        else:
            self.open.pop()

    def handle_data(self, data):
        if "td" in self.open:
            self.cells[-1][1] += data
        if self.open and self.open[-1] == "script":
            self.scripts[-1][1] += data
        elif "style" not in self.open:
            self.words.append(data)


class ReportTest(unittest.TestCase):
    pages = {}  # of all parts: drawn once each

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="lenslet-report-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def write(self, document, name="results.json"):
        path = self.folder / name
        path.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
        return path

    def run_script(self, *arguments, environment=None, script=SCRIPT):
        return subprocess.run(
            [PYTHON, str(script), *map(str, arguments)],
            capture_output=True,
            text=True,
            env={**os.environ, **(environment or {})},
        )

    def run_report(self, *arguments):
        """run_script() in this process: most of a small page's time is the start of matplotlib."""
        import report

        errors, code = io.StringIO(), 0
        with contextlib.redirect_stderr(errors):
            try:
                report.main([str(argument) for argument in arguments])
            except SystemExit as end:
                code = end.code
        return subprocess.CompletedProcess(arguments, code, stderr=errors.getvalue())

    def page(self, *documents):
        import page
        import results

        texts = tuple(document if isinstance(document, str) else json.dumps(document) for document in documents)
        if texts not in self.pages:
            self.pages[texts] = page.render(
                results.groups([results.File(f"results-{i}.json", text) for i, text in enumerate(texts)])
            )
        return self.pages[texts]

    def network(self, faster=1.0):
        """A profile of two layers, and a problem on two backends."""
        maker = synthetic.Maker()
        for name, ns in (("conv1", 20000), ("fc1", 5000)):
            maker.row(
                ns / faster,
                name=name,
                problem="mb64ic1ih28oc6kh5" if name == "conv1" else None,
                backend="direct",
                flops=1e7,
                bytes_ideal=1e6,
            )
        maker.row(26000 / faster, name="uninstrumented", cache="", layout=None, math=None)
        return {**synthetic.document(maker.rows, device="cpu"), "tool": "lenslet profile", "batch": 64}
