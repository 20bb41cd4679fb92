"""The comparison with other frameworks judges what was timed, and continues when a side fails.

python3 tests/peers/peers_test.py [-k PATTERN]     # exit 77: skipped, because no interpreter has NumPy
"""

import os
import subprocess
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[2]
TESTS = ("frameworks_test", "user_calls_test", "callers_test")

if __name__ == "__main__":
    try:
        import numpy  # noqa: F401
    except ImportError:
        # The first python3 on PATH need not be the distribution's, for which ./dev setup --tests installs packages.
        for other in map(str, (ROOT / "build/python/venv/bin/python", "/usr/bin/python3")):
            found = [other, "-c", "import numpy"]
            if os.path.exists(other) and subprocess.run(found, capture_output=True).returncode == 0:
                os.execv(other, [other, *sys.argv])
        print(
            "skipped: no NumPy in python3, /usr/bin/python3 or the virtual environment of ./dev python "
            "(./dev setup --tests)"
        )
        sys.exit(77)
    sys.path.insert(0, str(ROOT / "apps" / "peers"))
    unittest.main(module=None, argv=[sys.argv[0], *sys.argv[1:], *TESTS], verbosity=0)
