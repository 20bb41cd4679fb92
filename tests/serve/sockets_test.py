"""`lenslet serve` on a socket, as clients of every kind find it. Python's standard library alone.

python3 tests/serve/sockets_test.py LENSLET SAMPLES [TESTS…]
"""

import http.client
import json
import random
import resource
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.dont_write_bytecode = True  # keeps the source tree unchanged
sys.path.insert(0, str(Path(__file__).resolve().parent))
from running_server import INFER, PATIENCE_S, Server, binary_request, random_pixels, whole_request  # noqa: E402

PROGRAM, SAMPLES = Path(sys.argv[1]), Path(sys.argv[2])


class ServeTest(unittest.TestCase):
    def serve(self, *options, **variables):
        server = Server(PROGRAM, *options, **variables)
        self.addCleanup(server.kill)
        return server

    def connect(self, server):
        client = server.connect()
        self.addCleanup(client.close)
        return client

    def check_alive(self, server):
        self.assertEqual(server.ask("GET", "/v2/health/live")[0], 200)
        self.assertEqual(len(server.infer(random_pixels(1))), 40)
        self.assertEqual(server.end(), (0, "SIGTERM: every request was answered", ""))


class Answers(ServeTest):
    def test_pictures_as_classify_reads_them(self):
        server = self.serve()
        names = sorted(SAMPLES.glob("digit_*_a.png"))
        self.assertEqual(len(names), 10)
        with tempfile.TemporaryDirectory() as folder:
            listed = Path(folder) / "answers.json"
            command = [PROGRAM, "classify", "--device", "cpu", "--json", listed, *names]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            expected = json.loads(listed.read_text())["results"]
        for name, row in zip(names, expected):
            status, fields, body = server.ask("POST", "/classify", name.read_bytes())
            self.assertEqual(status, 200)
            self.assertEqual(fields["Content-Type"], "application/json")
            answer = json.loads(body)
            self.assertEqual(answer.pop("file"), "picture")
            row.pop("file")
            self.assertEqual(answer, row)
            self.assertEqual(answer["digit"], int(name.name[6]))
        status, _, body = server.ask("POST", "/classify", b"GIF89a")
        self.assertEqual(status, 400)
        self.assertIn("GIF", json.loads(body)["error"])
        self.check_alive(server)

    def test_the_same_bits_in_every_batch_and_form(self):
        server = self.serve("--max-batch", "16", "--max-delay-us", "100000")
        pixels = [random_pixels(1, seed) for seed in range(24)]
        with ThreadPoolExecutor(len(pixels)) as pool:
            results = list(pool.map(server.infer, pixels))
        samples, passes = server.metric("lenslet_samples_total"), server.metric("lenslet_passes_total")
        self.assertEqual(samples, len(pixels))
        self.assertLess(passes, samples)  # some were computed together
        together = server.infer(b"".join(pixels))
        for index, logits in enumerate(results):
            self.assertEqual(logits, server.infer(pixels[index]), index)
            self.assertEqual(logits, together[40 * index : 40 * index + 40], index)
            rows = [[list(pixels[index][y * 28 : y * 28 + 28]) for y in range(28)]]
            text = {"inputs": [{"name": "input", "shape": [1, 1, 28, 28], "datatype": "UINT8", "data": [rows]}]}
            if index < 3:
                answer = json.loads(server.ask("POST", INFER, json.dumps(text))[2])["outputs"][0]["data"]
                self.assertEqual(struct.pack("<10f", *answer), logits)
        self.check_alive(server)

    def test_single_samples_beside_batches_have_the_same_bits(self):
        # Without a delay the thread that received a single sample computes it; more clients than threads.
        for plan in ("fused", "layered"):
            server = self.serve("--plan", plan, "--threads", "3")
            pixels = [random_pixels(1, seed) for seed in range(12)]
            together = server.infer(b"".join(pixels))
            wrong = []

            def ask(first):
                for index in range(first, first + 40):
                    at = index % len(pixels)
                    if server.infer(pixels[at]) != together[40 * at : 40 * at + 40]:
                        wrong.append(index)

            def ask_for_all():
                for _ in range(20):
                    if server.infer(b"".join(pixels)) != together:
                        wrong.append("all")

            with ThreadPoolExecutor(7) as pool:
                for asked in [*(pool.submit(ask, first) for first in range(6)), pool.submit(ask_for_all)]:
                    asked.result()
            self.assertEqual(wrong, [], plan)
            self.check_alive(server)

    def test_requests_on_one_connection(self):
        server = self.serve()
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)
        for _ in range(50):
            connection.request("GET", "/v2")
            response = connection.getresponse()
            self.assertEqual(json.loads(response.read())["name"], "lenslet")
        connection.request("HEAD", "/v2")
        response = connection.getresponse()
        self.assertEqual((response.status, response.read()), (200, b""))
        self.assertGreater(int(response.headers["Content-Length"]), 10)
        for name, value in (("X-Content-Type-Options", "nosniff"), ("Cache-Control", "no-store")):
            self.assertEqual(response.headers[name], value)
        self.assertIn("default-src 'none'", response.headers["Content-Security-Policy"])
        connection.close()
        # Pipelined: the answers come in order.
        both = server.raw(
            b"GET /v2/health/live HTTP/1.1\r\nHost: localhost\r\n\r\n"
            b"GET /v2/models/lenet5 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        )
        self.assertEqual(both.count(b"HTTP/1.1 200 OK"), 2)
        self.assertLess(both.index(b"live"), both.index(b"versions"))
        # A client that asks before it sends its body.
        body, fields = binary_request(random_pixels(1))
        with server.connect() as client:
            client.sendall(
                f"POST {INFER} HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nConnection: close\r\n"
                f"Inference-Header-Content-Length: {fields['Inference-Header-Content-Length']}\r\n"
                f"Content-Length: {len(body)}\r\n\r\n".encode()
            )
            self.assertTrue(client.recv(100).startswith(b"HTTP/1.1 100 Continue"))
            client.sendall(body)
            self.assertIn(b"HTTP/1.1 200 OK", b"".join(iter(lambda: client.recv(65536), b"")))
        self.check_alive(server)

    def test_another_network(self):
        model = SAMPLES.parent / "tests" / "models" / "onnx" / "mean_pool.onnx"
        server = self.serve("--model", str(model))
        described = json.loads(server.ask("GET", "/v2/models/mean_pool")[2])
        shape = described["inputs"][0]["shape"]
        self.assertEqual(shape[0], -1)
        values = 1
        for dim in shape[1:]:
            values *= dim
        request = {
            "inputs": [
                {
                    "name": described["inputs"][0]["name"],
                    "shape": [2, *shape[1:]],
                    "datatype": "FP32",
                    "data": [0.5] * (2 * values),
                }
            ]
        }
        status, _, body = server.ask("POST", "/v2/models/mean_pool/infer", json.dumps(request))
        self.assertEqual(status, 200, body)
        output = json.loads(body)["outputs"][0]
        self.assertEqual(output["shape"], [2, *described["outputs"][0]["shape"][1:]])
        half = len(output["data"]) // 2
        self.assertEqual(output["data"][:half], output["data"][half:])
        self.assertEqual(server.end()[0], 0)

    def test_backends_that_add_in_the_same_order(self):
        """Without oneDNN im2col_gemm multiplies by the project's own loop, which adds in the order of direct."""
        with tempfile.TemporaryDirectory() as no_modules:
            server = self.serve(LENSLET_MODULE_PATH=no_modules)
        picture = (SAMPLES / "digit_3_a.png").read_bytes()
        looks = [
            json.loads(server.ask("POST", f"/page/look?backends=conv2%3D{backend}", picture)[2])
            for backend in ("direct", "im2col_gemm")
        ]
        self.assertEqual([look["ran"]["conv2"].split(" ")[0] for look in looks], ["direct", "im2col_gemm"])
        self.assertEqual(looks[0]["values"], looks[1]["values"])
        self.check_alive(server)

    def test_the_page_measures_as_tune_does(self):
        server = self.serve()
        status, _, body = server.ask("POST", "/page/compare?layer=conv2&batch=2", b"")
        self.assertEqual(status, 200, body)
        rows = json.loads(body)["rows"]
        timed = [row for row in rows if "median_ns" in row]
        self.assertIn("direct", [row["backend"] for row in timed])
        self.assertEqual(rows[: len(timed)], sorted(timed, key=lambda row: row["median_ns"]))
        for row in timed:
            self.assertTrue(0 <= row["error"] <= row["bound"] < 1, row)
        self.assertTrue(all(row["reason"] for row in rows[len(timed) :]))
        status, _, body = server.ask("POST", "/page/tune?batch=2", b"")
        self.assertEqual(status, 200, body)
        found = json.loads(body)
        plan = json.loads(found["plan"])
        self.assertEqual((plan["schema"], plan["batch"]), ("lenslet.plan/1", 2))
        self.assertEqual(plan["execution"], {"layered": "layered", "own": "fused"}[found["fastest"]])
        self.assertTrue(found["layered"]["name"].startswith("conv1 "))
        self.assertTrue(found["own"]["name"].startswith("fused "))
        own, layered = found["own"], found["layered"]
        tied = own["p10_ns"] <= layered["p90_ns"] and layered["p10_ns"] <= own["p90_ns"]
        faster = "own" if own["median_ns"] < layered["median_ns"] else "layered"
        self.assertIn(found["fastest"], ("own", faster) if tied else (faster,))
        for path in ("compare?layer=input", "compare?layer=conv9", "compare?layer=conv2&batch=100000", "tune?batch=0"):
            self.assertEqual(server.ask("POST", "/page/" + path, b"")[0], 400, path)
        self.check_alive(server)


class Limits(ServeTest):
    def test_malformed_requests(self):
        server = self.serve()
        host = b"Host: localhost\r\n"
        for data, status in (
            (b"\x16\x03\x01\x02\x00\x01\x00", 400),
            (b"nonsense\r\n\r\n", 400),
            (b"GET /v2 HTTP/9.9\r\n" + host + b"\r\n", 400),
            (b"GET /v2 HTTP/1.1\r\n\r\n", 400),
            (b"GET /v2 HTTP/1.1\r\nHost: a\r\nHost: localhost\r\n\r\n", 403),
            (b"GET /v2 HTTP/1.1\r\nHost: evil.example\r\n\r\n", 403),
            (b"GET /v2 HTTP/1.1\r\n" + host + b"Origin: http://evil.example\r\n\r\n", 403),
            (b"GET /../../etc/passwd HTTP/1.1\r\n" + host + b"\r\n", 404),
            (b"GET /%2e%2e/etc/passwd HTTP/1.1\r\n" + host + b"\r\n", 404),
            (b"PUT /v2 HTTP/1.1\r\n" + host + b"Content-Length: 5\r\n\r\nhello", 405),
            (b"POST /classify HTTP/1.1\r\n" + host + b"\r\n", 411),
            (b"POST /classify HTTP/1.1\r\n" + host + b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n", 411),
            (b"POST /classify HTTP/1.1\r\n" + host + b"Content-Length: -1\r\n\r\n", 400),
            (b"POST /classify HTTP/1.1\r\n" + host + b"Content-Length: 99999999999999999999999\r\n\r\n", 400),
            (b"POST /classify HTTP/1.1\r\n" + host + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nx", 400),
            (b"POST /classify HTTP/1.1\r\n" + host + b"Content-Length: 17000000\r\n\r\n", 413),
            (b"POST /classify HTTP/1.1\r\n" + host + b"Content-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx", 415),
            (b"GET /v2 HTTP/1.1\r\n" + host + b"X: " + b"x" * 20000 + b"\r\n\r\n", 431),
            (b"GET /" + b"x" * 20000, 431),
        ):
            answer = server.raw(data)
            self.assertTrue(answer.startswith(b"HTTP/1.1 %d " % status), (data[:80], answer[:200]))
            self.assertIn("error", json.loads(answer.partition(b"\r\n\r\n")[2]))
        for data in (
            b"",
            b"GET",
            b"GET /v2 HTTP/1.1\r\nHost: localhost\r\n",
            b"POST /classify HTTP/1.1\r\n" + host + b"Content-Length: 100\r\n\r\nhalf of it",
        ):
            self.assertEqual(server.raw(data), b"")
        generator = random.Random(7)
        for _ in range(200):
            server.raw(generator.randbytes(generator.randint(1, 300)))
        self.assertEqual(server.metric("lenslet_body_bytes"), 0)
        self.check_alive(server)

    def test_a_body_beyond_the_limit_gets_its_answer(self):
        server = self.serve("--max-body", "100K")
        self.assertEqual(server.ask("POST", "/classify", bytes(100 << 10))[0], 400)
        status, _, body = server.ask("POST", "/classify", bytes((100 << 10) + 1))
        self.assertEqual(status, 413)
        self.assertIn("--max-body", json.loads(body)["error"])
        self.check_alive(server)

    def test_a_full_queue_is_503(self):
        server = self.serve("--max-batch", "4", "--max-queue", "4", "--max-delay-us", "1000000")
        for _ in range(20):  # until the one request still waits when the other comes
            first = threading.Thread(target=server.infer, args=(random_pixels(2),))
            first.start()
            status, fields, body = server.ask("POST", INFER, *binary_request(random_pixels(3)))
            first.join()
            if status == 503:
                break
        self.assertEqual(status, 503, body)
        self.assertEqual(fields["Retry-After"], "1")
        self.assertGreater(server.metric("lenslet_queue_refused_total"), 0)
        self.check_alive(server)

    def test_slow_clients_are_closed(self):
        server = self.serve("--timeout", "1")
        idle, loris, half = (self.connect(server) for _ in range(3))
        half.sendall(b"POST /classify HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nhalf")
        for client in (loris, half):
            client.settimeout(0.1)
        # One byte every 100 ms does not extend the time.
        closed, end = set(), time.monotonic() + PATIENCE_S
        while len(closed) < 2:
            self.assertLess(time.monotonic(), end)
            for name, client in (("header", loris), ("body", half)):
                try:
                    if name not in closed:
                        client.sendall(b"G" if name == "header" else b"x")
                        if client.recv(100) == b"":
                            closed.add(name)
                except TimeoutError:
                    pass
                except (ConnectionResetError, BrokenPipeError):
                    closed.add(name)
        self.assertEqual(idle.recv(100), b"")
        server.wait_for("lenslet_connections_timed_out_total", 3, 1000)
        server.wait_for("lenslet_body_bytes", 0)
        self.check_alive(server)

    def test_a_client_that_takes_no_answers_is_closed(self):
        server = self.serve("--timeout", "1", "--max-batch", "256")
        with socket.socket() as deaf:
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            deaf.connect(("127.0.0.1", server.port))
            request = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
            deaf.settimeout(PATIENCE_S)
            try:
                for _ in range(100000):  # until no byte more fits between the two, and the server gives up
                    deaf.sendall(request)
            except (ConnectionResetError, BrokenPipeError):
                pass
            else:
                self.fail("the server took every request")
        self.check_alive(server)

    def test_many_idle_connections_and_the_limit_of_connections(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        max_files = 4000 if hard == resource.RLIM_INFINITY else min(hard, 4000)
        resource.setrlimit(
            resource.RLIMIT_NOFILE, (max(soft, max_files) if soft != resource.RLIM_INFINITY else soft, hard)
        )
        count = min(1500, max_files - 300)
        server = self.serve("--max-connections", str(count + 10))
        idle = [server.connect() for _ in range(count)]
        self.assertEqual(len(server.infer(random_pixels(1))), 40)
        self.assertGreaterEqual(server.metric("lenslet_connections"), count)
        more = [server.connect() for _ in range(20)]
        closed, end = set(), time.monotonic() + PATIENCE_S
        while len(closed) < 9:  # of the ten beyond the limit; the last of those before may still be counted
            self.assertLess(time.monotonic(), end)
            for client in more:
                client.settimeout(0.01)
                try:
                    if client not in closed and client.recv(1) == b"":
                        closed.add(client)
                except ConnectionResetError:
                    closed.add(client)
                except TimeoutError:
                    pass
        for client in idle + more:
            client.close()
        server.wait_for("lenslet_connections", 1)
        self.check_alive(server)


class Clients(ServeTest):
    SCRIPT = """
import socket, sys, time
client = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
client.sendall(sys.stdin.buffer.read())
print("sent", flush=True)
time.sleep(1000)
"""

    def test_killed_clients_harm_no_other(self):
        server = self.serve("--max-batch", "64", "--max-delay-us", "2000")
        whole = whole_request(random_pixels(100))
        expected = server.infer(random_pixels(1))
        stop, failures = threading.Event(), []

        def keep_asking():
            while not stop.is_set():
                if server.infer(random_pixels(1)) != expected:
                    failures.append("other bits")

        threads = [threading.Thread(target=keep_asking) for _ in range(2)]
        for thread in threads:
            thread.start()
        for data in (whole, whole[:-1000], whole[:50], whole * 5):
            client = subprocess.Popen(
                [sys.executable, "-c", self.SCRIPT, str(server.port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
            client.stdin.write(data)
            client.stdin.close()
            self.assertEqual(client.stdout.readline(), b"sent\n")
            client.kill()
            client.wait()
            client.stdout.close()
        stop.set()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])
        server.wait_for("lenslet_connections", 1)
        self.assertEqual(server.metric("lenslet_body_bytes"), 0)
        self.check_alive(server)

    def test_a_signal_drains(self):
        server = self.serve("--max-batch", "4", "--max-delay-us", "1000000")
        idle = self.connect(server)
        results = []
        asking = threading.Thread(target=lambda: results.append(server.infer(random_pixels(3))))
        asking.start()
        while not results and server.metric("lenslet_queue_samples") == 0:
            time.sleep(0.01)
        self.assertEqual(server.end(), (0, "SIGTERM: every request was answered", ""))
        asking.join()
        self.assertEqual([len(result) for result in results], [120])
        self.assertEqual(idle.recv(100), b"")
        with self.assertRaises(ConnectionRefusedError):
            server.connect()

    def fail_to_serve(self, *options):
        return subprocess.run([PROGRAM, "serve", "--device", "cpu", *options], capture_output=True, text=True)

    def start(self, limit, value):
        """(Exit code, standard error) of a server under that limit of the system, or None if it serves."""
        process = subprocess.Popen(
            [PROGRAM, "serve", "--port", "0", "--device", "cpu", "--threads", "1"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: resource.setrlimit(limit, (value, value)),
        )
        serves = any(line.startswith("serving at ") for line in process.stdout)
        if serves:
            process.kill()
        _, err = process.communicate(timeout=PATIENCE_S)
        return None if serves else (process.returncode, err)

    def test_threads_and_files_that_the_system_refuses(self):
        """Exit code 6 and one line, whichever thread or file it is; with less the loader ends the program."""
        if b"__asan_init" in PROGRAM.read_bytes() or b"__tsan_init" in PROGRAM.read_bytes():
            self.skipTest("a sanitizer needs the address space that is limited here")
        for limit, values, words in (
            (resource.RLIMIT_AS, range(32 << 20, 1 << 30, 4 << 20), "could not be started"),
            (resource.RLIMIT_NOFILE, range(4, 200), "raise the limit (ulimit -n)"),
        ):
            refusals = []
            for value in values:
                ended = self.start(limit, value)
                if ended is None:
                    break
                code, err = ended
                if code in (127, -signal.SIGSEGV):
                    continue
                self.assertEqual((code, len(err.splitlines())), (6, 1), f"{value}: {err}")
                refusals.append(err)
            self.assertIsNone(ended, "never served")
            self.assertTrue(any(words in refusal for refusal in refusals), refusals)

    def test_a_request_without_a_length_learns_how_to_send_one(self):
        server = self.serve()
        self.assertIn(b"curl -d ''", server.raw(b"POST /page/tune HTTP/1.1\r\nHost: localhost\r\n\r\n"))

    def test_the_port_is_taken(self):
        server = self.serve()
        second = self.fail_to_serve("--port", str(server.port))
        self.assertEqual(second.returncode, 2)
        self.assertIn("cannot listen at 127.0.0.1", second.stderr)
        self.check_alive(server)
        other = self.fail_to_serve("--host", "nowhere.example")
        self.assertEqual(other.returncode, 2)
        self.assertIn("--host expects an IP address or localhost", other.stderr)
        far = self.fail_to_serve("--host", "192.0.2.1")  # for documents alone (RFC 5737)
        self.assertEqual(far.returncode, 2)
        self.assertIn("; --host expects an address of this machine", far.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
