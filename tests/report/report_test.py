"""The report shows the data of the files in one self-contained page, whatever they lack.

python3 tests/report/report_test.py [-k PATTERN]     # exit 77: skipped, because matplotlib is not installed

Runs the tests of this folder's files in one process, which starts matplotlib once and draws each page once.
"""

import os
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
import support  # noqa: E402

if __name__ == "__main__":
    if support.PYTHON is None:
        print("skipped: matplotlib is not installed (./dev setup --tests)")
        sys.exit(77)
    if support.PYTHON != sys.executable:
        os.execv(support.PYTHON, [support.PYTHON, *sys.argv])
    sys.path.insert(0, str(support.SCRIPT.parent))
    folder = str(Path(__file__).resolve().parent)
    discover = [sys.argv[0], "discover", "--start-directory", folder, "--pattern", "*_test.py"]
    unittest.main(module=None, argv=discover + sys.argv[1:])
