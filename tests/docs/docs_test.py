"""The checks of documents bite: planted faults are found.

python3 tests/docs/docs_test.py     # the parts that need doxygen are skipped where it is not installed
"""

import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
import markdown_blocks  # noqa: E402
import result_files_test  # noqa: E402
import shorten  # noqa: E402

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


class Scratch(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lenslet_docs_test_")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, name, text, executable=False):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        if executable:
            path.chmod(0o755)
        return path


class Marks(Scratch):
    def parse(self, text):
        return markdown_blocks.blocks(self.write("page.md", text), "page.md")

    def test_blocks_and_marks(self):
        found = self.parse(
            "text\n```sh\none\n```\n<!-- run: gpu, exit 4 -->\n\n```sh\ntwo\n```\n<!-- run: not, too long -->\n"
            "```sh\nthree\n```\n<!-- after: a/b.txt: a line -->\n```cmake\nfour\n```\n"
        )
        self.assertEqual([block.text for block in found], ["one\n", "two\n", "three\n", "four\n"])
        self.assertEqual([block.what for block in found], ["", "gpu", "not", "a/b.txt"])
        self.assertEqual([block.exit_code for block in found], [0, 4, 0, 0])
        self.assertEqual(found[2].reason, "too long")
        self.assertEqual(found[3].reason, "a line")
        self.assertEqual(found[1].place, "page.md:8")

    def test_what_is_not_known_is_refused(self):
        for mark in ("run: nowhere", "run: not", "run: tests/x y", "after: a/b.txt"):
            with self.assertRaises(markdown_blocks.MarkError, msg=mark):
                self.parse(f"<!-- {mark} -->\n```sh\none\n```\n")
        with self.assertRaises(markdown_blocks.MarkError):
            self.parse("<!-- run: gpu -->\ntext\n")


class Commands(Scratch):
    def setUp(self):
        super().setUp()
        (self.folder / "samples").mkdir()
        for name in ("digit_4_b.png", "digit_0_a.png", "digit_1_a.png", "digit_2_a.png"):
            shutil.copy(ROOT / "samples" / name, self.folder / "samples")
        for name in ("lenslet", "convbench"):
            self.write(f"programs/{name}", '#!/bin/sh\necho "$0 $*"\n[ "$1" != wrong ]\n', executable=True)

    def run_page(self, text, *options):
        self.write("page.md", text)
        command = [sys.executable, HERE / "run_commands.py", self.folder, self.folder / "programs", *options]
        run = subprocess.run(command, capture_output=True, text=True)
        return run.returncode, run.stdout + run.stderr

    def test_commands_run(self):
        code, output = self.run_page(
            "```sh\nlenslet right photo.png | grep right\ntest -e data/t10k-images-idx3-ubyte.gz\n```\n"
        )
        self.assertEqual(code, 0, output)
        self.assertIn("lenslet right photo.png", output)

    def test_faults_are_found(self):
        right = "```sh\nlenslet right\n```\n"
        for page, words in (
            ("```sh\nlenslet wrong\nlenslet right\n```\n", "exit 1, expected 0"),
            ("```sh\nlenslet wrong | cat\n```\n", "exit 1, expected 0"),
            ("```sh\nno_such_program\n```\n", "exit 127"),
            ("<!-- run: exit 3 -->\n```sh\nlenslet right\n```\n", "exit 0, expected 3"),
            (right + "<!-- run: tests/nowhere -->\n```sh\nlenslet right\n```\n", "there is no tests/nowhere"),
            (right + "<!-- run: someday -->\n```sh\nlenslet right\n```\n", "'<!-- run: someday -->' is unknown"),
            ("```sh\n./dev build\n```\n", "mark it"),
            ("no commands\n", "no block was run"),
            ("```console\n$ echo one\ntwo\n```\n", "prints something else"),
            ("```console\n$ echo one\none\n$ lenslet wrong\n…\n```\n", "exit 1, expected 0"),
        ):
            code, output = self.run_page(page)
            self.assertEqual(code, 1, page + output)
            self.assertIn(words, output)

    def test_what_commands_print(self):
        page = "```console\n$ printf 'a\\nb\\nc 1.5\\nd\\n'\na\n…\nc …\nd\n$ echo one\n…\n```\n"
        code, output = self.run_page(page)
        self.assertEqual(code, 0, output)

    def test_blocks_for_a_gpu(self):
        page = "```sh\nlenslet wrong\n```\n<!-- run: gpu -->\n```sh\nlenslet right\n```\n"
        self.assertEqual(self.run_page(page, "--gpu")[0], 0)
        self.write("programs/lenslet", "#!/bin/sh\necho no GPU here >&2\nexit 4\n", executable=True)
        code, output = self.run_page(page, "--gpu")
        self.assertEqual((code, output), (77, "skipped: no GPU here\n"))

    def test_less_work(self):
        self.assertEqual(
            shorten.shortened("lenslet", ["profile", "--batch-size", "10000"]),
            ["profile", "--batch-size", "64", "--min-time-ms", "1", "--warmup-ms", "0"],
        )
        self.assertEqual(shorten.shortened("lenslet", ["eval", "--limit", "3"]), ["eval", "--limit", "3"])
        self.assertEqual(shorten.shortened("convbench", ["sweep", "--sizes=32"])[:2], ["sweep", "--sizes=32"])
        for problem, smaller in (("mb1ic64ih56oc64kh3ph1", "mb1ic64ih28oc64kh3ph1"), ("ic6ih12iw300oc16oh8kh5",) * 2):
            self.assertEqual(
                shorten.shortened("convbench", ["run", "--problem", problem])[:3], ["run", "--problem", smaller]
            )


class ResultFiles(unittest.TestCase):
    PAGE = (
        "## Members of every file\n| member | content |\n|---|---|\n| `schema` | its name |\n"
        "## lenslet.some/1\n| member | content |\n|---|---|\n| `rows[]` | {`name`, times {min}} |\n"
        "### CSV\n| `column` | value |\n## Other\n| `word` | x |\n"
    )

    def test_names(self):
        expected = {"": ({"schema"}, {"schema"}), "lenslet.some/1": ({"rows"}, {"rows", "name", "times", "min"})}
        self.assertEqual(result_files_test.sections(self.PAGE), expected)

    def test_keys(self):
        document = {"schema": "lenslet.some/1", "rows": [{"name": {"min": 1}, "labels": {"free": 1}}]}
        self.assertEqual(result_files_test.keys(document), {"schema", "rows", "name", "min", "labels"})


@unittest.skipUnless(shutil.which("doxygen"), "doxygen is not installed (./dev docs installs it)")
class ApiReference(Scratch):
    def reference(self, header):
        for name in ("docs/Doxyfile", "docs/doxygen_filter.awk", "docs/api_reference.md", "tests/tree/list_headers.sh"):
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.folder / name)
        page = self.folder / "docs" / "api_reference.md"
        page.write_text("# Interfaces\n")
        for folder in ("layers", "models", "api"):
            (self.folder / folder).mkdir(exist_ok=True)
        self.write("framework/thing.h", header)
        script = [ROOT / "docs" / "api_reference.sh", self.folder / "out", self.folder]
        run = subprocess.run(script, capture_output=True, text=True)
        return run.returncode, run.stdout + run.stderr

    HEADER = "// Thing: something.\n#pragma once\nnamespace lenslet {{\nclass Thing {{\n public:\n{}\n}};\n}}\n"

    def test_documented(self):
        for member in (
            "  /// Words.\n  int f();",
            "  // Words.\n  int f();",
            "  int f();  // words",
            "  int a = 0, b = 1;  // words with <signs> and \\signs",
            "  Thing(const Thing&) = delete;\n  Thing& operator=(const Thing&) = delete;\n  ~Thing();",
        ):
            code, output = self.reference(self.HEADER.format(member))
            self.assertEqual(code, 0, member + output)
            self.assertTrue((self.folder / "out" / "html" / "index.html").exists())

    def test_not_documented(self):
        for member, name in (
            ("  int f();", "f()"),
            ("  int a = 0, b = 1;", "b (variable)"),
            ("  Thing(int size);", "Thing(int size)"),
        ):
            code, output = self.reference(self.HEADER.format(member))
            self.assertNotEqual(code, 0, member)
            self.assertIn(f"{name} " if "(variable" not in name else name, output)
            self.assertIn("not documented", output)
        header = self.HEADER.format("  int f();  // words").replace("Thing: something.", "A header.")
        code, output = self.reference(header)
        self.assertNotEqual(code, 0)
        self.assertIn("lenslet::Thing is not documented", output)

    def test_internal_headers_are_left_out(self):
        code, output = self.reference(self.HEADER.format("  int f();").replace("something.", "something. Internal."))
        self.assertEqual(code, 0, output)


if __name__ == "__main__":
    unittest.main(verbosity=2)  # with the reasons of the skips
