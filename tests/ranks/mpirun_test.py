"""lenslet eval under mpirun with four local ranks: the answers are, bit for bit, those of one process, and a rank that
fails or dies ends the others.

    mpirun_test.py LENSLET
"""

import json
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "docs"))
from fixtures import idx

RANKS = 4
IMAGES = 2300  # the loss is summed over 512: five tasks, so one rank has two and the last is cut
LIMIT_S = 120
LENSLET = sys.argv.pop(1)
MPIRUN = shutil.which("mpirun")
if MPIRUN is None:
    print("skipped: mpirun is not installed (./dev setup --tests)")
    sys.exit(77)

ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("LENSLET_")}
ENVIRONMENT.update(
    OMPI_ALLOW_RUN_AS_ROOT="1",
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",  # containers run tests as root
    OMPI_MCA_rmaps_base_oversubscribe="1",
    OMPI_MCA_btl="self,vader",
    OMPI_MCA_btl_vader_single_copy_mechanism="none",
)
version = subprocess.run([MPIRUN, "--version"], capture_output=True, text=True, check=False, env=ENVIRONMENT)
if "Open MPI" not in version.stdout:
    print(f"skipped: {MPIRUN} is not Open MPI's")
    sys.exit(77)


def write_images(folder, count):
    """Strokes, with labels that are often wrong, so that there are misses in every share."""
    chosen = random.Random(1)
    images = bytearray()
    for i in range(count):
        image = bytearray(28 * 28)
        column, row, ink = 6 + i % 15, 4 + i // 15 % 18, chosen.randrange(100, 256)
        for y in range(4, 24):
            image[28 * y + column : 28 * y + column + 3] = bytes([ink] * 3)
        image[28 * row + 5 : 28 * row + 23] = bytes([ink] * 18)
        images += image
    folder.mkdir()
    (folder / "t10k-images-idx3-ubyte").write_bytes(idx((count, 28, 28), images))
    labels = bytes(chosen.choice([1, 4, 7]) for _ in range(count))
    (folder / "t10k-labels-idx1-ubyte").write_bytes(idx((count,), labels))


def write_many_images(folder, count):
    """Blank ones, in files without blocks on the disk, for ranks that are to be stopped while they compute."""
    folder.mkdir()
    for name, dims in (("images-idx3", (count, 28, 28)), ("labels-idx1", (count,))):
        file, header = folder / f"t10k-{name}-ubyte", idx(dims)
        file.write_bytes(header)
        os.truncate(file, len(header) + math.prod(dims))


def children_of(parent):
    """Process numbers, in the order in which they started."""
    children = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            children.append(int(entry.name))
    return sorted(children)


class Mpirun(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.temporary.name)
        write_images(cls.folder / "data", IMAGES)
        write_many_images(cls.folder / "many", 200_000)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def command(self, arguments, ranks, data="data"):
        evaluate = [LENSLET, "eval", "--data", data, "--threads", "1", *arguments.split()]
        return [MPIRUN, "-n", str(ranks), *evaluate] if ranks else evaluate

    def run_eval(self, arguments, ranks=RANKS, expected=0, **environment):
        """The run; ranks=0 starts it without mpirun."""
        return self.run_command(self.command(arguments, ranks), expected, **environment)

    def run_command(self, command, expected, **environment):
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT_S,
            cwd=self.folder,
            env={**ENVIRONMENT, **environment},
        )
        self.assertEqual(done.returncode, expected, done.stdout + done.stderr)
        return done

    def expect_one_message(self, done, *words):
        lines = [line for line in done.stderr.splitlines() if line.startswith("lenslet: ")]
        self.assertEqual(len(lines), 1, done.stderr)
        for word in words:
            self.assertIn(word, lines[0])

    def outputs(self, name):
        files = {kind: self.folder / f"{name}.{kind}" for kind in ("json", "csv", "npy", "misses")}
        arguments = "--device cpu --json {json} --csv {csv} --logits {npy} --misses {misses}".format(
            **{kind: path.name for kind, path in files.items()}
        )
        return arguments, files

    def test_answers_are_those_of_one_process(self):
        arguments, one = self.outputs("one")
        self.run_eval(arguments, ranks=0)
        arguments, four = self.outputs("four")
        done = self.run_eval(arguments)
        self.assertEqual(done.stdout.count("accuracy:"), 1)
        self.assertIn("ranks:      4 with 252 to 1,024 images: 4 on cpu of ", done.stdout)
        for kind in ("npy", "misses"):
            self.assertEqual(one[kind].read_bytes(), four[kind].read_bytes(), kind)
        alone, together = (json.loads(files["json"].read_text()) for files in (one, four))
        for member in (
            "count",
            "correct",
            "accuracy",
            "accuracy_interval_95",
            "loss",
            "not_numbers",
            "confusion",
            "misses",
            "layers",
            "images_file",
        ):
            self.assertEqual(alone[member], together[member], member)
        self.assertEqual(alone["ranks"], [])
        self.assertEqual(
            [(rank["first"], rank["count"]) for rank in together["ranks"]],
            [(0, 1024), (1024, 512), (1536, 512), (2048, 252)],
        )
        self.assertEqual([library["name"] for library in alone["libs"]], [])

    def test_more_ranks_than_images(self):
        done = self.run_eval("--device cpu --limit 2 --json few.json")
        self.assertIn("2 of 2,300 images", done.stdout)
        few = json.loads((self.folder / "few.json").read_text())
        self.assertEqual(few["count"], 2)
        self.assertEqual([rank["count"] for rank in few["ranks"]], [2, 0, 0, 0])

    def test_an_error_of_all_ranks_is_one_message(self):
        self.expect_one_message(
            self.run_eval("--device cpu --min-accuracy 1 --limit 9", expected=1), "below --min-accuracy"
        )
        self.expect_one_message(self.run_eval("--bogus", expected=2), "no option --bogus")
        self.expect_one_message(self.run_eval("--device cpu --split train", expected=3), "train-images")
        self.expect_one_message(self.run_eval("--device cpu --backend-matrix", expected=2), "for one process")
        modules = self.folder / "modules"
        modules.mkdir()
        self.expect_one_message(
            self.run_eval("--device cpu", expected=4, LENSLET_MODULE_PATH=str(modules)), "lenslet_mpi.so was not found"
        )

    def test_an_error_of_one_rank_names_it(self):
        first = self.command("--device cpu", 2)
        second = self.command("--device cpu --split train", 0)
        done = self.run_command([*first, ":", "-n", "1", *second], expected=3)
        self.expect_one_message(done, "rank 2 of 3: ", "train-images")

    def test_gpus_are_for_ranks(self):
        self.expect_one_message(self.run_eval("--device cuda:rank", ranks=0, expected=2), "mpirun")

    def start(self, json_file):
        """A run whose ranks compute, and their processes. The last one is stopped, so that no rank can end; until then
        each rank has a second's work (50,000 images, one by one, layer by layer)."""
        command = self.command(
            f"--device cpu --plan layered --backend direct --batch-size 1 --json {json_file}", RANKS, "many"
        )
        started = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=self.folder, env=ENVIRONMENT
        )
        for line in started.stdout:
            if line.startswith("data:"):
                ranks = children_of(started.pid)
                os.kill(ranks[-1], signal.SIGSTOP)
                self.assertEqual(len(ranks), RANKS)
                return started, ranks
        self.fail("mpirun ended early")

    def expect_end(self, started, ranks, json_file):
        out = started.communicate(timeout=LIMIT_S)[0]
        end = time.monotonic() + LIMIT_S
        while any(Path(f"/proc/{rank}").exists() for rank in ranks):
            self.assertLess(time.monotonic(), end, out)
            time.sleep(0.05)
        self.assertFalse((self.folder / json_file).exists())
        return out

    def test_a_rank_that_dies_ends_the_others(self):
        started, ranks = self.start("killed.json")
        os.kill(ranks[1], signal.SIGKILL)
        out = self.expect_end(started, ranks, "killed.json")
        self.assertEqual(started.returncode, 128 + signal.SIGKILL, out)

    def test_an_interrupt_ends_all(self):
        started, ranks = self.start("interrupted.json")
        started.send_signal(signal.SIGINT)
        out = self.expect_end(started, ranks, "interrupted.json")
        self.assertNotEqual(started.returncode, 0, out)  # mpirun's own exit code

    def test_a_signal_to_one_rank_ends_all(self):
        started, ranks = self.start("one_interrupted.json")
        os.kill(ranks[1], signal.SIGTERM)
        out = self.expect_end(started, ranks, "one_interrupted.json")
        self.assertEqual(started.returncode, 130, out)
        self.assertIn("rank 1 of 4: interrupted; all ranks end", out)


if __name__ == "__main__":
    unittest.main()
