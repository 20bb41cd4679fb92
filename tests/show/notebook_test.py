"""Model.show in Python and `lenslet show` make the same page, up to times.

notebook_test.py LENSLET ROOT
"""

import json
import re
import subprocess
import sys
import unittest
from pathlib import Path

import lenslet

PROGRAM, ROOT = Path(sys.argv[1]), Path(sys.argv[2])
DIGIT = ROOT / "samples" / "digit_3_a.png"
DATA = re.compile(r'(<script type="application/json" id="data">)(.*?)(</script>)', re.S)


def parts(page):
    """The document without its data, and the data without what every run measures anew."""
    data = json.loads(DATA.search(page).group(2))
    profile = data["profile"]
    for row in [profile, *profile["layers"]]:
        for name in [name for name in row if name.endswith("_ns")] + ["ceiling_fraction", "bound_by"]:
            row.pop(name, None)
    return DATA.sub("", page, count=1), data


class Pages(unittest.TestCase):
    def check(self, model, *words):
        command = [PROGRAM, "show", DIGIT, "--device", "cpu", "--html", "-", *map(str, words)]
        written = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout
        ours, theirs = parts(model.show(DIGIT).html), parts(written)
        self.assertEqual(ours[0], theirs[0])
        self.assertEqual(json.dumps(ours[1]), json.dumps(theirs[1]))

    def test_the_built_in_network(self):
        self.check(lenslet.Model.load("robust", device="cpu"))

    def test_imported_networks(self):
        for name in ("mean_pool.onnx", "keras/digits.onnx"):
            file = ROOT / "tests/models/onnx" / name
            self.check(lenslet.Model.load(file, device="cpu"), "--model", file)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
