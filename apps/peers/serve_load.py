"""Load on `lenslet serve`, by wrk, in one run with a bare server of Boost.Beast that answers the same bytes.

    python3 apps/peers/serve_load.py --build build/release --json serve.json
        [--device cuda] [--threads 8] [--client-threads 6] [--batches 1,4096] [--wrk PROGRAM] [--echo PROGRAM]

Needs wrk (Debian: wrk) and beast_echo of BUILD (`cmake --build BUILD --target beast_echo`). Without one of them its
rows are SKIPPED with the reason. Requests are binary tensors of pixels. The two servers take turns; a turn of each is a
round, and the shares are medians over the rounds. Full load: every connection sends its next request at once. Half
load, of single images: half of Lenslet's full rate, by connections that wait between requests. The processor time of a
request is the server process's, all threads and the system included.

A row is FAILED if an answer is an error, is lost, or has another length than the first answer. The first answer's
logits, of every image of the batch, are compared with those that the server writes as JSON for the image alone. A part
that fails gives rows with the reason, FAILED or ERROR, and the others continue; the file has the rows so far. Exit
code 1: a row is FAILED; 5: none is, but a row is an ERROR.
"""

import argparse
import contextlib
import http.client
import json
import os
import random
import re
import resource
import shutil
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from side import NotMeasured, device_that_ran, exit_code_of, numbers, one_line, profile, save

SCHEMA = "lenslet.serve/1"
HERE = Path(__file__).resolve().parent
LENSLET, ECHO = "Lenslet", "Beast echo"
PIXELS = 28 * 28
# Of a logit of a whole batch from that of the image alone, which another backend may compute. Those of fp32 err by less
# than 1e-5, at logits of up to 10 (`error` of peers.json). Chosen by hand: far above that, far below a wrong answer.
MAX_LOGIT_DIFFERENCE = 1e-3
HALF_DELAY_MS = 8  # between the requests of a connection at half load; wrk waits whole milliseconds
MAX_CONNECTIONS = 4096  # of half load
MAX_BYTES = 64 << 20  # of the bodies that are in flight together
PATIENCE_S = 60
ERROR_CODE = 5  # of the programs, for an error at run time
TICK_S = 1 / os.sysconf("SC_CLK_TCK")


class Server:
    """A process that prints "serving at http://127.0.0.1:PORT"."""

    def __init__(self, *command):
        self.process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True)
        for line in self.process.stdout:
            found = re.fullmatch(r"serving at (http://127\.0\.0\.1:(\d+))", line.strip())
            if found:
                self.url, self.port = found.group(1), int(found.group(2))
                return
        raise RuntimeError(f"{command[0]} ended with {self.process.wait()}")

    def cpu_s(self):
        """Processor time so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * TICK_S

    def ask(self, method, path, body=None, fields=None):
        """(Status, body) on a connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        try:
            connection.request(method, path, body, fields or {})
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def metric(self, name):
        return float(re.search(rf"^{name} (\S+)$", self.ask("GET", "/metrics")[1].decode(), re.M).group(1))

    def end(self):
        self.process.terminate()
        try:
            self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise
        finally:
            self.process.stdout.close()


class Request:
    """An inference of `batch` random images in binary form, and the whole response to it."""

    def __init__(self, model, batch):
        self.path, self.batch = f"/v2/models/{model['name']}/infer", batch
        self.tensor = {
            "name": model["inputs"][0]["name"],
            "shape": [batch, *model["inputs"][0]["shape"][1:]],
            "datatype": "UINT8",
        }
        self.pixels = random.Random(1).randbytes(batch * PIXELS)
        self.json = json.dumps(
            {
                "inputs": [{**self.tensor, "parameters": {"binary_data_size": len(self.pixels)}}],
                "parameters": {"binary_data_output": True},
            }
        ).encode()
        self.body = self.json + self.pixels

    def response(self, server):
        """All bytes of the response. Raises NotMeasured unless its values are those of each image alone, in JSON."""
        head = (
            f"POST {self.path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(self.body)}\r\n"
            f"Inference-Header-Content-Length: {len(self.json)}\r\n\r\n"
        )
        with socket.create_connection(("127.0.0.1", server.port), PATIENCE_S) as client:
            client.sendall(head.encode() + self.body)
            got = b""
            while not (found := re.search(rb"\r\nContent-Length: (\d+)\r\n(?:.*\r\n)*?\r\n", got)) or len(
                got
            ) < found.end() + int(found.group(1)):
                part = client.recv(65536)
                if not part:
                    raise RuntimeError(f"the server closed the connection after {got[:200]!r}")
                got += part
        if not got.startswith(b"HTTP/1.1 200"):
            raise NotMeasured("FAILED", f"the server answers {got[:200]!r}")
        body = got[found.end() :]
        for image in range(self.batch):
            logits = self.logits_alone(server, image)
            first = len(body) - 4 * len(logits) * (self.batch - image)
            if first < 0:
                raise NotMeasured("FAILED", f"the answer has {len(body):,} bytes, too few for {self.batch:,} images")
            # "If all are near", so that a NaN fails too.
            of_bytes = struct.unpack_from(f"<{len(logits)}f", body, first)
            if not all(abs(a - b) <= MAX_LOGIT_DIFFERENCE for a, b in zip(of_bytes, logits)):
                why = f"image {image:,} of {self.batch:,}: the answer in bytes has other values than the answer in JSON"
                raise NotMeasured("FAILED", why)
        return got

    def logits_alone(self, server, image):
        """Of that image in a request of its own, in JSON."""
        pixels = self.pixels[image * PIXELS :][:PIXELS]
        tensor = {**self.tensor, "shape": [1, *self.tensor["shape"][1:]], "data": list(pixels)}
        status, text = server.ask("POST", self.path, json.dumps({"inputs": [tensor]}))
        if status != 200:
            raise NotMeasured("FAILED", f"the server answers {text[:200]!r} in JSON")
        return json.loads(text)["outputs"][0]["data"]


class Load:
    """Turns of wrk with one request."""

    def __init__(self, wrk, request, folder, threads):
        self.wrk, self.request, self.threads = wrk, request, threads
        self.file = Path(folder) / "body"
        self.file.write_bytes(request.body)

    def turn(self, server, connections, seconds, delay_ms=0):
        """The figures of one turn."""
        threads = max(1, min(self.threads, connections))
        command = [self.wrk, "-t", threads, "-c", connections, "-d", f"{seconds}s", "--timeout", "30s"]
        command += ["-s", HERE / "wrk_infer.lua", server.url + self.request.path, "--"]
        command += [self.file, len(self.request.json), delay_ms]
        before, own = server.cpu_s(), resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        after, now = server.cpu_s(), resource.getrusage(resource.RUSAGE_CHILDREN)
        lines = done.stdout.strip().splitlines()
        if done.returncode or not lines:
            raise RuntimeError(f"wrk gave {done.returncode}: {(done.stderr or done.stdout).strip()}")
        found = json.loads(lines[-1])
        count = max(1, found["requests"])
        found["per_s"] = found["requests"] / found["duration_us"] * 1e6
        found["server_cpu_ns"] = (after - before) / count * 1e9
        found["client_cpu_ns"] = (now.ru_utime + now.ru_stime - own.ru_utime - own.ru_stime) / count * 1e9
        return found


def row_of(turns, answer_bytes, **known):
    """The row of a side's turns, whose answers have so many bytes."""
    middle = lambda key: statistics.median(turn[key] for turn in turns)  # noqa: E731
    requests, errors = sum(turn["requests"] for turn in turns), sum(turn["errors"] + turn["refused"] for turn in turns)
    got = sum(turn["bytes"] for turn in turns)
    row = {
        **known,
        "status": "PASSED",
        "reason": None,
        "requests": requests,
        "errors": errors,
        "answer_bytes": answer_bytes,
        "requests_per_s": middle("per_s"),
        "images_per_s": middle("per_s") * known["batch"],
        "turns_per_s": [turn["per_s"] for turn in turns],
        "latency_ns": {
            **{key: 1e3 * middle(f"{key}_us") for key in ("median", "p90", "p99")},
            "max": 1e3 * max(turn["max_us"] for turn in turns),
        },
        "server_cpu_ns": middle("server_cpu_ns"),
        "client_cpu_ns": middle("client_cpu_ns"),
    }
    if not all(turn["requests"] for turn in turns):
        row.update(status="FAILED", reason="in a turn no answer came: take longer turns or fewer connections")
    elif errors:
        row.update(status="FAILED", reason=f"{errors:,} of {requests + errors:,} requests have no answer or an error")
    # wrk counts complete answers only, but also the bytes of answers cut off at the end of a turn.
    elif got < requests * answer_bytes:
        row.update(status="FAILED", reason=f"{requests:,} answers of {answer_bytes:,} bytes came as {got:,} bytes")
    return row


def shares(ours, theirs):
    """Lenslet's rate as a share of the echo's, and the same by processor time of the server: medians over rounds."""
    pairs = list(zip(ours, theirs))
    return {
        "share_of_echo": statistics.median(a["per_s"] / b["per_s"] for a, b in pairs),
        "cpu_share_of_echo": statistics.median(b["server_cpu_ns"] / max(1, a["server_cpu_ns"]) for a, b in pairs),
    }


def in_rounds(sides, rounds, turn):
    """{name: its turns}. Every second round goes the other way."""
    turns = {name: [] for name in sides}
    for number in range(rounds):
        for name in list(sides)[:: 1 if number % 2 == 0 else -1]:
            turns[name].append(turn(sides[name]))
    return turns


def connections_for(rate, delay_ms):
    """So many send `rate` requests/s if each waits that long, and a little for its answer."""
    return max(2, min(MAX_CONNECTIONS, round(rate * (delay_ms + 0.5) / 1e3)))


def serve(arguments, batch):
    queue = max(1024, 2 * batch * arguments.connections)
    limits = ["--max-batch", max(batch, arguments.max_batch), "--max-queue", queue]
    limits += ["--max-body", max(16 << 20, 2 * batch * PIXELS)]
    where = ["--port", 0, "--device", arguments.device, "--threads", arguments.threads]
    return Server(arguments.lenslet, "serve", *where, *limits, *arguments.serve_options)


def rows_of_load(sides, arguments, known, turn):
    """A row a side. `turn` measures a server once."""
    counted = {what: sides[LENSLET].metric(f"lenslet_{what}_total") for what in ("samples", "passes")}
    turns = in_rounds(sides, arguments.rounds, turn)
    samples, passes = (sides[LENSLET].metric(f"lenslet_{what}_total") - before for what, before in counted.items())
    rows = {side: row_of(turns[side], **known, side=side) for side in sides}
    rows[LENSLET]["samples_per_pass"] = samples / max(1, passes)
    if ECHO in sides and known["load"] == "full" and all(row["status"] == "PASSED" for row in rows.values()):
        rows[LENSLET].update(shares(turns[LENSLET], turns[ECHO]))
    return list(rows.values())


def measure_batch(arguments, wrk, folder, known, rows):
    """Appends the rows of full load, and of half load of single images."""
    batch, answer, sides = known["batch"], Path(folder) / "answer", {}
    program = Path(arguments.echo or Path(arguments.build) / "peers" / "beast_echo")
    try:
        sides[LENSLET] = serve(arguments, batch)
        request = Request(json.loads(sides[LENSLET].ask("GET", "/v2/models/lenet5")[1]), batch)
        answer.write_bytes(request.response(sides[LENSLET]))
        if program.exists():
            sides[ECHO] = Server(program, arguments.threads, answer)
        else:
            rows.append(
                {
                    **known,
                    "side": ECHO,
                    "load": "full",
                    "status": "SKIPPED",
                    "reason": f"there is no {program}: build the target beast_echo",
                }
            )
        load = Load(wrk, request, folder, arguments.client_threads)
        known = {**known, "answer_bytes": answer.stat().st_size, "request_bytes": len(request.body)}

        def rows_at(name, connections, delay_ms):
            return rows_of_load(
                sides,
                arguments,
                {**known, "load": name, "connections": connections},
                lambda side: load.turn(side, connections, arguments.seconds, delay_ms),
            )

        connections = max(2, min(arguments.connections, MAX_BYTES // len(request.body)))
        for side in sides.values():
            load.turn(side, connections, 1)  # warm-up
        full = rows_at("full", connections, 0)
        rows += full
        if batch == 1 and full[0]["requests_per_s"]:
            half = connections_for(full[0]["requests_per_s"] / 2, HALF_DELAY_MS)
            rows += rows_at("half", half, HALF_DELAY_MS)
    finally:
        with contextlib.ExitStack() as every:  # so that each ends, though another fails to
            for side in sides.values():
                every.callback(side.end)


def rows_of_batch(arguments, wrk, folder, known):
    """The rows of a batch. What ends it early stands in the row of the load that it was at, after those measured."""
    rows, unmeasured = [], ()
    try:
        measure_batch(arguments, wrk, folder, known, rows)
    except NotMeasured as why:
        unmeasured, status, reason = (LENSLET,), why.status, str(why)
    except Exception as error:  # of a server, of wrk or of a connection: the other batches continue
        unmeasured, status, reason = (LENSLET, ECHO), "ERROR", one_line(error)
    load = "half" if any(row["side"] == LENSLET for row in rows) else "full"
    named = {(row["side"], row["load"]) for row in rows}
    for side in unmeasured:
        if (side, load) not in named:
            rows.append({**known, "side": side, "load": load, "status": status, "reason": reason})
    return rows


def measure(arguments, folder, keep=lambda rows: None):
    """The rows. keep() gets those so far after each batch."""
    known = {"device": arguments.device, "threads": arguments.threads, "client_threads": arguments.client_threads}
    wrk = shutil.which(arguments.wrk)
    if wrk is None:
        why = {**known, "load": "full", "status": "SKIPPED", "reason": f"{arguments.wrk} is not installed"}
        return [{**why, "batch": batch, "side": side} for batch in arguments.batches for side in (LENSLET, ECHO)]
    rows = []
    for batch in arguments.batches:
        rows += rows_of_batch(arguments, wrk, folder, {**known, "batch": batch})
        keep(rows)
    return rows


def print_row(row):
    head = f"{row['side']:<11} {row['load']:<5} batch {row['batch']:>5,}"
    if "requests_per_s" not in row:
        print(f"{head} {row['status']}: {row['reason']}")
        return
    words = [
        f"{row['requests_per_s']:>9,.0f} requests/s",
        f"{row['images_per_s']:>11,.0f} images/s",
        f"median {row['latency_ns']['median'] / 1e6:.2f} ms",
        f"p99 {row['latency_ns']['p99'] / 1e6:.2f} ms",
        f"processor time of the server {row['server_cpu_ns'] / 1e3:.1f} us a request",
    ]
    if "share_of_echo" in row:
        words.append(f"{row['share_of_echo']:.0%} of the echo's rate, {row['cpu_share_of_echo']:.0%} by processor time")
    if row["status"] != "PASSED":
        words.append(f"{row['status']}: {row['reason']}")
    print(head, ", ".join(words))


def main():
    cores = os.cpu_count() or 1
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release", help="a build folder with bin/lenslet and peers/beast_echo")
    parser.add_argument("--lenslet", help="the program, instead of BUILD's")
    parser.add_argument("--echo", help="beast_echo, instead of BUILD's")
    parser.add_argument("--wrk", default="wrk")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=max(1, cores // 2), help="of each server [half of the cores]")
    parser.add_argument("--client-threads", type=int, default=max(1, cores // 2), help="of wrk [half of the cores]")
    parser.add_argument("--connections", type=int, default=64, help="of full load, fewer for large bodies")
    parser.add_argument("--batches", type=numbers, default=[1, 4096], help="images in a request")
    parser.add_argument("--max-batch", type=int, default=64, help="of the server; at least the images in a request")
    parser.add_argument("--serve-options", type=str.split, default=[], help="further ones of the server, in one word")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=3, help="of each turn")
    parser.add_argument("--json", required=True, help="output file")
    arguments = parser.parse_args()
    arguments.lenslet = arguments.lenslet or str(Path(arguments.build) / "bin" / "lenslet")
    begun, busy = time.time(), os.getloadavg()[0]
    # Before the load: a program that cannot run at all ends the script here, and never after an hour of measuring.
    about = profile(arguments.lenslet, arguments.device)
    if arguments.device == "auto":
        arguments.device = device_that_ran(about)
    document = {"schema": SCHEMA, "argv": sys.argv}
    document.update({key: about[key] for key in ("meta", "host", "devices") if key in about})
    document["load_average_before"] = busy

    def keep(rows, status="INTERRUPTED"):
        document.update(seconds=round(time.time() - begun), rows=rows)
        save(document, arguments.json, status)

    with tempfile.TemporaryDirectory() as folder:
        rows = measure(arguments, folder, keep)
    keep(rows, "COMPLETE")
    for row in rows:
        print_row(row)
    return exit_code_of(rows) or (ERROR_CODE if any(row["status"] == "ERROR" for row in rows) else 0)


if __name__ == "__main__":
    sys.exit(main())
