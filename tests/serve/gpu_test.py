"""`lenslet serve` on a GPU: pixels and values, alone and in batches.

python3 tests/serve/gpu_test.py LENSLET
Exit code 77: there is no GPU.
"""

import json
import sys
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.dont_write_bytecode = True  # keeps the source tree unchanged
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
from running_server import INFER, Server, random_pixels, server_or_skip  # noqa: E402

from floats import floats  # noqa: E402
from tolerances import LOGIT_TOLERANCE  # noqa: E402

PROGRAM = Path(sys.argv[1])
MEAN, STD = 0.1307, 0.3081


class Gpu(unittest.TestCase):
    def serve(self, *options):
        server = Server(PROGRAM, *options, device="cuda")
        self.addCleanup(server.kill)
        return server

    def check_close(self, found, expected):
        self.assertEqual(len(found), len(expected))
        self.assertLess(max(abs(a - b) for a, b in zip(found, expected)), LOGIT_TOLERANCE)

    def values(self, server, pixels):
        """The logits of the same pictures sent as normalised values."""
        numbers = [(pixel / 255 - MEAN) / STD for pixel in pixels]
        tensor = {"name": "input", "shape": [len(pixels) // 784, 1, 28, 28], "datatype": "FP32", "data": numbers}
        status, _, body = server.ask("POST", INFER, json.dumps({"inputs": [tensor]}))
        self.assertEqual(status, 200, body[:200])
        return json.loads(body)["outputs"][0]["data"]

    def test_pixels_are_read_as_bytes_and_give_the_answers_of_values(self):
        server, cpu = self.serve("--max-batch", "256"), Server(PROGRAM)
        self.addCleanup(cpu.kill)
        self.assertIn("; pixels: fused ", " ".join(server.lines))
        for count in (1, 3, 64, 300):
            pixels = random_pixels(count, count)
            logits = floats(server.infer(pixels))
            self.check_close(logits, floats(cpu.infer(pixels)))
            self.check_close(logits, self.values(server, pixels))
        self.assertEqual(server.end()[0], 0)

    def test_a_graph_changes_no_answer(self):
        pixels = random_pixels(3, 3)
        answers = []
        for graph in ("off", "auto", "on"):
            server = self.serve("--plan", "layered", "--graph", graph)
            answers.append([server.infer(pixels) for _ in range(3)])
            self.assertEqual(server.end()[0], 0)
        for found in answers:
            self.assertEqual(found, [found[0]] * 3)
            self.check_close(floats(found[0]), floats(answers[0][0]))

    def test_pixels_beside_values(self):
        server = self.serve("--max-batch", "64", "--max-delay-us", "1000")
        pixels = [random_pixels(1, seed) for seed in range(8)]
        expected = [floats(server.infer(one)) for one in pixels]
        failures = []

        def ask(first):
            for turn in range(20):
                at = (first + turn) % len(pixels)
                found = self.values(server, pixels[at]) if turn % 2 else floats(server.infer(pixels[at]))
                if max(abs(a - b) for a, b in zip(found, expected[at])) >= LOGIT_TOLERANCE:
                    failures.append((first, turn))

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(ask, range(8)))
        self.assertEqual(failures, [])
        self.assertLess(server.metric("lenslet_passes_total"), server.metric("lenslet_samples_total"))
        self.assertEqual(server.end()[0], 0)

    def test_the_same_bits_in_every_batch_where_the_plan_promises_them(self):
        server = self.serve("--max-batch", "64")
        if any("its last bits may depend on the batch" in line for line in server.lines):
            self.skipTest("the plan promises less")
        pixels = [random_pixels(1, seed) for seed in range(70)]
        together = server.infer(b"".join(pixels))
        for index, one in enumerate(pixels):
            self.assertEqual(server.infer(one), together[40 * index : 40 * index + 40], index)
        self.assertEqual(server.end()[0], 0)


if __name__ == "__main__":
    server_or_skip(PROGRAM, device="cuda").kill()
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)
