"""tritonclient, unmodified, against `lenslet serve`.

tritonclient_test.py LENSLET
"""

import sys
import unittest
from pathlib import Path

import numpy
import tritonclient.http as triton
from tritonclient.utils import InferenceServerException

sys.dont_write_bytecode = True  # keeps the source tree unchanged
sys.path.insert(0, str(Path(__file__).resolve().parent))
from running_server import server_or_skip  # noqa: E402

PROGRAM = sys.argv[1]


class TritonClient(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = server_or_skip(PROGRAM)
        cls.client = triton.InferenceServerClient(f"127.0.0.1:{cls.server.port}", concurrency=4)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        code, _, errors = cls.server.end()
        assert code == 0, errors

    def infer(self, values, datatype="FP32", binary=True, **options):
        tensor = triton.InferInput("input", list(values.shape), datatype)
        tensor.set_data_from_numpy(values, binary_data=binary)
        outputs = options.pop("outputs", [triton.InferRequestedOutput("fc3", binary_data=binary)])
        return self.client.infer("lenet5", [tensor], outputs=outputs, **options)

    def test_health_and_metadata(self):
        self.assertTrue(self.client.is_server_live())
        self.assertTrue(self.client.is_server_ready())
        self.assertTrue(self.client.is_model_ready("lenet5"))
        self.assertTrue(self.client.is_model_ready("lenet5", "1"))
        self.assertFalse(self.client.is_model_ready("other"))
        server = self.client.get_server_metadata()
        self.assertEqual(server["name"], "lenslet")
        self.assertIn("binary_tensor_data", server["extensions"])
        model = self.client.get_model_metadata("lenet5")
        self.assertEqual(model["inputs"], [{"name": "input", "datatype": "FP32", "shape": [-1, 1, 28, 28]}])
        self.assertEqual(model["outputs"], [{"name": "fc3", "datatype": "FP32", "shape": [-1, 10]}])

    def test_infers_the_same_in_every_form(self):
        for count in (1, 64):
            pixels = numpy.random.default_rng(count).integers(0, 256, (count, 1, 28, 28), numpy.uint8)
            binary = self.infer(pixels, "UINT8").as_numpy("fc3")
            self.assertEqual(binary.shape, (count, 10))
            self.assertEqual(binary.dtype, numpy.float32)
            numpy.testing.assert_array_equal(binary, self.infer(pixels, "UINT8", binary=False).as_numpy("fc3"))
            # Without a list of outputs the client asks for bytes by the request's parameter.
            numpy.testing.assert_array_equal(binary, self.infer(pixels, "UINT8", outputs=None).as_numpy("fc3"))
            values = numpy.linspace(-1, 1, count * 784, dtype=numpy.float32).reshape(count, 1, 28, 28)
            whole = self.infer(values).as_numpy("fc3")
            numpy.testing.assert_array_equal(whole, self.infer(values, binary=False).as_numpy("fc3"))
            singles = [self.infer(values[i : i + 1]).as_numpy("fc3")[0] for i in range(count)]
            numpy.testing.assert_array_equal(whole, numpy.array(singles))

    def test_identifies_and_overlaps_requests(self):
        values = numpy.zeros((1, 1, 28, 28), numpy.float32)
        self.assertEqual(self.infer(values, request_id="seven").get_response()["id"], "seven")
        expected = self.infer(values).as_numpy("fc3")
        tensor = triton.InferInput("input", [1, 1, 28, 28], "FP32")
        tensor.set_data_from_numpy(values)
        pending = [self.client.async_infer("lenet5", [tensor]) for _ in range(50)]
        for request in pending:
            numpy.testing.assert_array_equal(request.get_result().as_numpy("fc3"), expected)

    def refusal(self, *arguments, **options):
        with self.assertRaises(InferenceServerException) as caught:
            self.infer(*arguments, **options)
        return caught.exception

    def test_errors(self):
        values = numpy.zeros((1, 1, 28, 28), numpy.float32)
        self.assertIn("expects the shape [N,1,28,28], found [1,28,28]", str(self.refusal(values[0])))
        self.assertIn("expects the datatype FP32", str(self.refusal(values.astype(numpy.float64), "FP64")))
        unknown = self.refusal(values, outputs=[triton.InferRequestedOutput("softmax")])
        self.assertIn("unknown output 'softmax', expected 'fc3'", str(unknown))
        self.assertIn(
            "'classification' is unsupported",
            str(self.refusal(values, outputs=[triton.InferRequestedOutput("fc3", class_count=3)])),
        )
        self.assertIn("has only version 1", str(self.refusal(values, model_version="2")))
        with self.assertRaises(InferenceServerException) as caught:
            self.client.get_model_metadata("other")
        self.assertIn("unknown model 'other'", str(caught.exception))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
