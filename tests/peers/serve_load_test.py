"""The load on the server judges what came back, and continues where a part is missing.

python3 tests/peers/serve_load_test.py
"""

import contextlib
import io
import json
import sys
import tempfile
import types
import unittest
import unittest.mock
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "apps" / "peers"), str(ROOT / "docs" / "results")]
import tables_serve  # noqa: E402

import serve_load  # noqa: E402

# Answers as lenslet serve does: the logits are ten times the image's first pixel; `wrong` is added to those in bytes,
# of image i. As `lenslet profile` it runs on cuda:0.
SERVER = """#!{python}
import http.server, json, struct, sys
if sys.argv[1] == "profile":
    sys.exit(print(json.dumps({{"meta": {{}}, "host": {{}}, "devices": [], "ceilings": {{"device": "cuda:0"}}}})))
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def answer(self, body):
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def do_GET(self):
        if self.path == "/metrics":
            return self.answer(b"lenslet_passes_total 5\\nlenslet_samples_total 7\\n")
        shape = [-1, 1, 28, 28]
        self.answer(json.dumps({{"name": "lenet5", "inputs": [{{"name": "input", "shape": shape}}]}}).encode())
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        length = self.headers["Inference-Header-Content-Length"]
        if length is None:
            first = json.loads(body)["inputs"][0]["data"][0]
            return self.answer(json.dumps({{"outputs": [{{"data": [10.0 * first] * 10}}]}}).encode())
        count = json.loads(body[:int(length)])["inputs"][0]["shape"][0]
        firsts = body[int(length)::784]
        logits = (struct.pack("<10f", *[10.0 * firsts[i] + {wrong}] * 10) for i in range(count))
        self.answer(b"{{}}" + b"".join(logits))
    def log_message(self, *words):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(f"serving at http://127.0.0.1:{{server.server_port}}", flush=True)
server.serve_forever()
"""
WRK = """#!{python}
import json, sys
with open({log!r}, "a") as log:
    print(json.dumps(sys.argv[1:]), file=log)
if {fails}:
    sys.exit("wrk: no more sockets")
print("something")
print(json.dumps({{"requests": 1000, "bytes": 1000000, "duration_us": 2000000, "errors": 0, "refused": {refused},
                  "median_us": 10, "p90_us": 20, "p99_us": 30, "max_us": 40}}))
"""


def turn(**known):
    return {
        "requests": 100,
        "bytes": 5000,
        "errors": 0,
        "refused": 0,
        "per_s": 50.0,
        "median_us": 1,
        "p90_us": 2,
        "p99_us": 3,
        "max_us": 4,
        "server_cpu_ns": 10.0,
        "client_cpu_ns": 5.0,
        **known,
    }


class ServeLoadTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def program(self, name, text, **words):
        path = self.folder / name
        path.write_text(text.format(python=sys.executable, **words))
        path.chmod(0o755)
        return str(path)

    def programs(self, wrong=0, refused=0, fails=False):
        """Paths of the server and of wrk."""
        wrk = {"log": str(self.folder / "log"), "refused": refused, "fails": fails}
        return self.program("lenslet", SERVER, wrong=wrong), self.program("wrk", WRK, **wrk)

    def main(self, *options, **stand_ins):
        """The exit code and the result file of the script."""
        server, wrk = self.programs(**stand_ins)
        file = self.folder / "serve.json"
        command = ["serve_load.py", "--lenslet", server, "--echo", server, "--wrk", wrk, "--batches", "1,4"]
        command += ["--rounds", "1", "--seconds", "1", "--json", str(file), *options]
        with unittest.mock.patch.object(sys, "argv", command), contextlib.redirect_stdout(io.StringIO()):
            code = serve_load.main()
        return code, json.loads(file.read_text())

    def measure(self, wrong=0, refused=0, **changes):
        server, wrk = self.programs(wrong, refused)
        arguments = types.SimpleNamespace(
            lenslet=server,
            echo=server,
            wrk=wrk,
            build="build/none",
            device="cpu",
            threads=2,
            client_threads=3,
            connections=8,
            batches=[1, 4],
            max_batch=64,
            serve_options=[],
            rounds=2,
            seconds=1,
        )
        vars(arguments).update(changes)
        return serve_load.measure(arguments, str(self.folder))

    def test_the_figures_are_medians_over_the_turns(self):
        row = serve_load.row_of([turn(), turn(per_s=70.0, max_us=9), turn(per_s=60.0)], 50, batch=4)
        self.assertEqual(
            (row["status"], row["requests"], row["requests_per_s"], row["images_per_s"]), ("PASSED", 300, 60.0, 240.0)
        )
        self.assertEqual(row["latency_ns"], {"median": 1e3, "p90": 2e3, "p99": 3e3, "max": 9e3})
        self.assertEqual(row["turns_per_s"], [50.0, 70.0, 60.0])

    def test_lost_refused_and_short_answers_fail(self):
        for changes, words in (
            ({"errors": 2}, "2 of 102"),
            ({"refused": 3}, "3 of 103"),
            ({"bytes": 4999}, "came as 4,999"),
            ({"requests": 0}, "in a turn no answer"),
        ):
            row = serve_load.row_of([turn(**changes)], 50, batch=1)
            self.assertEqual(row["status"], "FAILED")
            self.assertIn(words, row["reason"])

    def test_the_shares_are_of_turns_that_stand_beside_each_other(self):
        ours = [turn(per_s=70.0, server_cpu_ns=20.0), turn(per_s=10.0, server_cpu_ns=100.0)]
        theirs = [turn(per_s=100.0, server_cpu_ns=10.0), turn(per_s=20.0, server_cpu_ns=50.0)]
        self.assertEqual(serve_load.shares(ours, theirs), {"share_of_echo": 0.6, "cpu_share_of_echo": 0.5})

    def test_half_load_has_connections_for_its_rate(self):
        self.assertEqual(serve_load.connections_for(10000, 7.5), 80)
        self.assertEqual(serve_load.connections_for(1, 8), 2)
        self.assertEqual(serve_load.connections_for(1e9, 8), serve_load.MAX_CONNECTIONS)

    def test_both_servers_take_turns_at_every_load(self):
        rows = self.measure()
        self.assertEqual(
            [(row["side"], row["batch"], row["load"], row["status"]) for row in rows],
            [
                (side, batch, load, "PASSED")
                for batch, load in ((1, "full"), (1, "half"), (4, "full"))
                for side in ("Lenslet", "Beast echo")
            ],
        )
        self.assertEqual([row["requests_per_s"] for row in rows], [500.0] * 6)
        self.assertEqual(rows[4]["images_per_s"], 2000)
        self.assertEqual(rows[0]["share_of_echo"], 1.0)
        self.assertNotIn("share_of_echo", rows[2])
        calls = [json.loads(line) for line in (self.folder / "log").read_text().splitlines()]
        ports = [call[call.index("--") - 1] for call in calls[2:6]]  # after the warm-up
        self.assertEqual([ports[0], ports[1]], [ports[3], ports[2]])
        delays = [call[-1] for call in calls[:12]]
        self.assertEqual(delays, ["0"] * 6 + [str(serve_load.HALF_DELAY_MS)] * 4 + ["0"] * 2)
        (self.folder / "serve.json").write_text(
            json.dumps({"schema": serve_load.SCHEMA, "host": {"cpu": "A CPU"}, "rows": rows})
        )
        table = tables_serve.server(self.folder)
        self.assertIn("| Lenslet | 1 | full | 8 | 500 | 500 | 0.01 | 0.03 |", table)
        self.assertIn("A CPU", table)
        self.assertIn("beside a bare server", table)
        (self.folder / "alone").mkdir()
        (self.folder / "alone" / "serve.json").write_text(
            json.dumps(
                {
                    "schema": serve_load.SCHEMA,
                    "host": {"cpu": "A CPU"},
                    "rows": [
                        {key: value for key, value in row.items() if not key.endswith("share_of_echo")}
                        for row in rows
                        if row["side"] == "Lenslet"
                    ],
                }
            )
        )
        self.assertNotIn("bare server", tables_serve.server(self.folder / "alone"))

    def test_errors_of_the_server_fail_its_rows(self):
        self.assertEqual({row["status"] for row in self.measure(refused=1)}, {"FAILED"})

    def test_a_wrong_answer_fails_the_batch(self):
        for wrong in ["1", 'float("nan")']:
            rows = self.measure(wrong=wrong)
            self.assertEqual(
                [(row["side"], row["batch"], row["status"]) for row in rows],
                [("Lenslet", batch, "FAILED") for batch in (1, 4)],
            )
            self.assertIn("image 0 of 4: the answer in bytes has other values", rows[1]["reason"])

    def test_every_image_of_a_batch_is_judged(self):
        for image in range(1, 4):
            rows = self.measure(wrong=f"(i == {image})", batches=[4])
            self.assertEqual([row["status"] for row in rows], ["FAILED"])
            self.assertIn(f"image {image} of 4", rows[0]["reason"])

    def test_the_file_has_what_was_measured_before_an_error(self):
        code, document = self.main(fails="int(sys.argv[-2]) and __import__('os').stat(sys.argv[-3]).st_size > 784 * 4")
        self.assertEqual((code, document["status"]), (serve_load.ERROR_CODE, "COMPLETE"))
        kinds = [(row["batch"], row["load"], row["status"]) for row in document["rows"]]
        self.assertEqual(kinds, [(1, "full", "PASSED")] * 2 + [(1, "half", "PASSED")] * 2 + [(4, "full", "ERROR")] * 2)
        self.assertIn("no more sockets", document["rows"][-1]["reason"])
        code, document = self.main(wrong="(i == 3)")
        self.assertEqual((code, document["rows"][-1]["status"]), (1, "FAILED"))

    def test_the_file_of_an_interrupted_run_has_the_batches_before(self):
        whole = serve_load.rows_of_batch

        def until_interrupted(arguments, wrk, folder, known):
            if known["batch"] == 4:
                raise KeyboardInterrupt
            return whole(arguments, wrk, folder, known)

        with unittest.mock.patch.object(serve_load, "rows_of_batch", until_interrupted):
            with self.assertRaises(KeyboardInterrupt):
                self.main()
        document = json.loads((self.folder / "serve.json").read_text())
        self.assertEqual(document["status"], "INTERRUPTED")
        self.assertEqual([row["status"] for row in document["rows"]], ["PASSED"] * 4)

    def test_auto_is_the_device_that_ran(self):
        code, document = self.main("--device", "auto")
        self.assertEqual((code, {row["device"] for row in document["rows"]}), (0, {"cuda:0"}))

    def test_what_is_missing_is_skipped_with_the_reason(self):
        rows = self.measure(echo=str(self.folder / "none"), batches=[1])
        self.assertEqual(
            [(row["side"], row["status"]) for row in rows],
            [("Beast echo", "SKIPPED"), ("Lenslet", "PASSED"), ("Lenslet", "PASSED")],
        )
        self.assertIn("beast_echo", rows[0]["reason"])
        rows = self.measure(wrk=str(self.folder / "none"), batches=[1])
        self.assertEqual([row["status"] for row in rows], ["SKIPPED"] * 2)
        self.assertIn("not installed", rows[0]["reason"])
        with contextlib.redirect_stdout(io.StringIO()) as shown:
            for row in rows:
                serve_load.print_row(row)
        self.assertIn("SKIPPED", shown.getvalue())


if __name__ == "__main__":
    unittest.main()
