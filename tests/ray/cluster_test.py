"""lenslet.ray.Predictor on a local Ray cluster of four actors: actors are killed at random while it runs, and the run
of python/examples/ray_parquet.py is killed and started again. No answer may be lost, come twice or differ.

    cluster_test.py [--images N] [--kills N] [--batch-size N] [--measure]

--measure takes the rate without kills, that of actors that do nothing, and that of the model alone, in turns.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_DATA_DISABLE_PROGRESS_BARS="1", RAY_DEDUP_LOGS="0")

try:
    import numpy as np
    import pyarrow.parquet
    import ray
    import ray.data

    import lenslet
    import lenslet.ray
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

ACTORS = 4
SEED = 1
PICTURES = 4096
LIMIT_S = 300  # of a start of the example, a few seconds on an idle machine


def pictures():
    """Strokes at many places: bright ink on 0, as the model expects."""
    rng = np.random.default_rng(SEED)
    images = np.zeros((PICTURES, 28, 28), np.uint8)
    for i, image in enumerate(images):
        column, row = 6 + i % 12, 3 + i // 12 % 10
        image[4:24, column : column + 3] = 255
        image[row : row + 3, 6:22] = rng.integers(100, 255)
    return images


class AddPictures:
    """The picture of each id."""

    def __init__(self):
        self.pictures = pictures()

    def __call__(self, batch):
        return {"id": batch["id"], "image": self.pictures[batch["id"] % PICTURES]}


class Recorded(lenslet.ray.Predictor):
    """Writes where the test can see them: the process of each actor, and a byte a call."""

    def __init__(self, folder, pause=0.0, idle=False, **arguments):
        self.folder, self.pause, self.idle = Path(folder), pause, idle
        super().__init__(**arguments)
        (self.folder / f"{os.getpid()}.actor").touch()

    def __call__(self, batch):
        with open(self.folder / "calls", "ab") as calls:
            calls.write(b".")
        time.sleep(self.pause)
        if not self.idle:
            return super().__call__(batch)
        count = len(batch["id"])
        return {"id": batch["id"], "label": np.zeros(count, np.int32), "probability": np.zeros(count, np.float32)}


class Killer(threading.Thread):
    """Kills actors at random moments of a run of so many calls."""

    def __init__(self, folder, kills, calls):
        super().__init__(daemon=True)
        self.folder, self.killed, self.ended = folder, [], threading.Event()
        self.chance = random.Random(SEED)
        self.moments = sorted(self.chance.uniform(0.05, 0.75) * calls for _ in range(kills))

    def run(self):
        log = self.folder / "calls"
        for moment in self.moments:
            while not log.exists() or log.stat().st_size < moment or not self.kill_one():
                if self.ended.wait(0.005):
                    return

    def kill_one(self):
        alive = [int(file.stem) for file in self.folder.glob("*.actor") if is_actor(int(file.stem))]
        if alive:
            self.killed.append(self.chance.choice(sorted(alive)))
            os.kill(self.killed[-1], signal.SIGKILL)
        return alive


def is_actor(process):
    try:
        return b"ray::" in Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return False


def run(options, kills=0, **arguments):
    """The columns of the answers in the order of ids, and the seconds from start to end."""
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        killer = Killer(folder, kills, options.images // options.batch_size)
        killer.start()
        begin = time.monotonic()
        blocks = max(8, options.images // options.batch_size // 4)
        parts = list(
            ray.data.range(options.images, override_num_blocks=blocks)
            .map_batches(
                AddPictures,
                compute=ray.data.ActorPoolStrategy(size=1),
                num_cpus=0.5,
                batch_format="numpy",
                batch_size=options.batch_size,
            )
            .map_batches(
                Recorded,
                fn_constructor_kwargs={"folder": name, "threads": 1, **arguments},
                compute=ray.data.ActorPoolStrategy(size=ACTORS),
                num_cpus=0.5,
                batch_format="numpy",
                batch_size=options.batch_size,
            )
            .iter_batches(batch_format="numpy", batch_size=None)
        )
        seconds = time.monotonic() - begin
        killer.ended.set()
        killer.join()
        started = len(list(folder.glob("*.actor")))
        assert len(killer.killed) == kills, f"only {len(killer.killed)} of {kills} actors were killed"
        assert started >= ACTORS + kills, f"{started} actors were started, {kills} were killed"
    columns = {column: np.concatenate([part[column] for part in parts]) for column in parts[0]}
    order = np.argsort(columns["id"], kind="stable")
    return {column: values[order] for column, values in columns.items()}, seconds


def check_equal(found, count, expected, what):
    """Every id once, with the bits that the model gives."""
    rows, different = len(found["id"]), len(np.unique(found["id"]))
    assert rows == different == count, f"{what}: {rows} rows, {different} different ids, {count} expected"
    assert (found["id"] == np.arange(count)).all(), f"{what}: other ids than expected"
    for name, values in zip(("label", "probability"), expected):
        assert found[name].tobytes() == values[np.arange(count) % PICTURES].tobytes(), f"{what}: {name} differs"


def tail(options):
    return (options.folder / "example.log").read_text()[-4000:]


def committed(checkpoint):
    return [file for file in checkpoint.glob("*.parquet") if not file.stem.endswith(".pending")]


def check_example(options, expected):
    """The example killed once some of its files are written, then started again, and once more."""
    count, files = 8192, 32
    source, output, done = (options.folder / name for name in ("source", "output", "done"))
    source.mkdir()
    for i, ids in enumerate(np.array_split(np.arange(count), files)):
        images = [picture.tobytes() for picture in pictures()[ids % PICTURES]]
        pyarrow.parquet.write_table(pyarrow.table({"id": ids, "image": images}), source / f"{i}.parquet")
    script = ROOT / "python" / "examples" / "ray_parquet.py"
    command = [sys.executable, str(script), str(source), str(output), "--checkpoint", str(done), "--actors", "1"]
    command += ["--cpus", "0.5", "--batch-size", "16", "--block-bytes", "200000"]
    environment = {**os.environ, "RAY_ADDRESS": ray.get_runtime_context().gcs_address}

    def start():
        log = open(options.folder / "example.log", "ab")
        return subprocess.Popen(command, env=environment, stdout=log, stderr=log)

    def finish(what):
        status = start().wait(timeout=LIMIT_S)
        assert status == 0, f"{what}: exit code {status}\n{tail(options)}"
        found = pyarrow.parquet.read_table(output).to_pydict()
        order = np.argsort(found["id"], kind="stable")
        check_equal(
            {
                "id": np.array(found["id"])[order],
                "label": np.array(found["label"], np.int32)[order],
                "probability": np.array(found["probability"], np.float32)[order],
            },
            count,
            expected,
            what,
        )

    killed = start()
    deadline = time.monotonic() + LIMIT_S
    while not committed(done):
        assert killed.poll() is None and time.monotonic() < deadline, tail(options)
        time.sleep(0.002)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    before = sum(pyarrow.parquet.read_metadata(file).num_rows for file in committed(done))
    print(f"example: killed with {before:,} of {count:,} rows done")
    finish("the example, killed and started again")
    written = sorted(output.iterdir())
    finish("the example, started when all is done")
    assert sorted(output.iterdir()) == written, "the third start wrote files"


def check_errors(options):
    """What is wrong with a column reaches the caller's terminal."""
    try:
        ray.data.range(8).map_batches(
            lenslet.ray.Predictor, compute=ray.data.ActorPoolStrategy(size=1), num_cpus=0.5, batch_format="numpy"
        ).materialize()
    except Exception as error:  # Ray has classes of its own around ours
        assert "the batch has no column 'image', it has id" in str(error), error
    else:
        raise AssertionError("a batch without images was accepted")


def measure(options):
    """Seconds of the best of three rounds, in turns: with the model, with idle actors, and of the model alone."""
    model = lenslet.Model.built_in(device="cpu")
    lenslet.set_num_threads(1)
    images = pictures()[np.arange(options.batch_size) % PICTURES]
    best = {}
    for _ in range(3):
        best["model"] = min(best.get("model", 1e9), run(options)[1])
        best["idle"] = min(best.get("idle", 1e9), run(options, idle=True)[1])
        begin = time.process_time()
        for _ in range(20):
            model.predict(images)
        alone = (time.process_time() - begin) / 20 * options.images / options.batch_size
        best["predict"] = min(best.get("predict", 1e9), alone)
    cores = len(os.sched_getaffinity(0))
    bound = best["idle"] + best["predict"] / cores
    print(
        f"{options.images:,} images: {best['model']:.2f} s, idle actors {best['idle']:.2f} s, predict alone "
        f"{best['predict']:.2f} s of CPU time on {cores} cores; idle + predict / cores = {bound:.2f} s, "
        f"{best['model'] / bound:.3f} of it"
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--images", type=int, default=32768)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=512)
    parser.add_argument("--measure", action="store_true")
    options = parser.parse_args()
    # Short: the names of Ray's sockets have 107 characters at most.
    options.folder = Path(tempfile.mkdtemp(prefix="lr", dir="/tmp"))
    try:
        # The objects lie in the folder, not in /dev/shm, which is small in a container. No dashboard, no network.
        ray.init(
            num_cpus=6,
            object_store_memory=100 << 20,
            _plasma_directory=str(options.folder),
            _memory=4 << 30,
            include_dashboard=False,
            _node_ip_address="127.0.0.1",
            _temp_dir=str(options.folder / "r"),
            log_to_driver=False,
            logging_level="ERROR",
        )
        expected = lenslet.Model.built_in(device="cpu").predict(pictures())
        assert len(set(expected.labels)) > 2
        if options.measure:
            measure(options)
        # Calls of the small run take long enough that it does not end before the last kill.
        pause = 0.05 if options.images < 1 << 20 else 0
        answers, seconds = run(options, kills=options.kills, pause=pause)
        check_equal(answers, options.images, expected, f"with {options.kills} actors killed")
        print(f"{options.images:,} images with {options.kills} of the actors killed: {seconds:.1f} s")
        check_errors(options)
        check_example(options, expected)
    finally:
        ray.shutdown()
        shutil.rmtree(options.folder, ignore_errors=True)


if __name__ == "__main__":
    main()
