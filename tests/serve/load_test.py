"""`lenslet serve` and the bare server under wrk for a few seconds: every answer comes, whole and right.

python3 tests/serve/load_test.py LENSLET BEAST_ECHO
Exit code 77: no wrk. Rates are no part of it: other processes share the machine.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "apps" / "peers" / "serve_load.py"


def main():
    if shutil.which("wrk") is None:
        print("skipped: wrk is not installed (./dev test --apps)")
        return 77
    lenslet, echo = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "serve.json"
        command = [sys.executable, "-B", SCRIPT, "--lenslet", lenslet, "--echo", echo, "--json", file]
        command += ["--threads", "2", "--client-threads", "1", "--connections", "16"]
        command += ["--batches", "1,64", "--rounds", "2", "--seconds", "1"]
        status = subprocess.run(command, timeout=600).returncode
        rows = json.loads(file.read_text())["rows"]
    passed = [row for row in rows if row["status"] == "PASSED" and row["requests"] > 0]
    kinds = [(row["side"], row["batch"], row["load"]) for row in passed]
    expected = [
        (side, batch, load)
        for batch, load in ((1, "full"), (1, "half"), (64, "full"))
        for side in ("Lenslet", "Beast echo")
    ]
    if status or kinds != expected:
        print(f"exit code {status}; passed: {kinds}, expected: {expected}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
