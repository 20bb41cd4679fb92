"""A backend of the ONNX project's test interface that runs models with Lenslet, through the program onnx_run_models.

A model of the tests states its weights as inputs, Lenslet takes constants. So a run fixes all inputs but one, in every
way that leaves floats to vary, and also packs two inputs of the same samples into one that the model cuts apart.
"""

import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.backend.base import Backend, BackendRep

MAX_WEIGHTS = 150_000_000  # that nodes compute: the light_* networks consist of ConstantOfShape, VGG19 of the most


class Refused(Exception):
    """Lenslet does not run the model; the reason."""


class Runner:
    """The program, kept running; one for a device."""

    def __init__(self, program, device):
        environment = {**os.environ, "LENSLET_MAX_COMPUTED_WEIGHTS": str(MAX_WEIGHTS)}
        self.process = subprocess.Popen(
            [program, device], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        self.folder = tempfile.TemporaryDirectory()

    def run(self, model, x):
        """The output, in the shape that Lenslet states."""
        file = Path(self.folder.name) / "m.onnx"
        file.write_bytes(model.SerializeToString())
        return self.run_file(file, x)

    def run_file(self, file, x, batch=""):
        """The same for a file, in passes of `batch` samples if given."""
        folder = Path(self.folder.name)
        x.astype("<f4").tofile(folder / "x.f32")
        self.process.stdin.write(f"{file}\t{folder}/x.f32\t{folder}/y.f32\t{batch}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().rstrip("\n")
        if not answer:
            raise RuntimeError(f"the program ended with {self.process.wait()}")
        kind, _, text = answer.partition(" ")
        if kind != "ok":
            text = text.replace(f"{file}: ", "")
            raise Refused(text) if kind == "refused" else RuntimeError(text)
        return np.fromfile(folder / "y.f32", "<f4").reshape([int(size) for size in text.split()])

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()
        self.folder.cleanup()


def fixed(model, inputs, data):
    """The model with every input but `data` as a constant."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    graph = copy.graph
    given = {tensor.name for tensor in graph.initializer}
    free = [value.name for value in graph.input if value.name not in given]
    for name, value in zip(free, inputs):
        if name != free[data]:
            graph.initializer.append(numpy_helper.from_array(np.asarray(value), name))
    for i in reversed(range(len(graph.input))):
        if graph.input[i].name != free[data]:
            del graph.input[i]
    return copy


def packed(model, shapes):
    """The model with its first inputs, of these shapes, cut from one that holds a row of all for each sample."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    graph = copy.graph
    samples = shapes[0][0]
    nodes, begin = [], 0
    version = next((entry.version for entry in copy.opset_import if entry.domain in ("", "ai.onnx")), 1)
    for i, shape in enumerate(shapes):
        name, end = graph.input[i].name, begin + int(np.prod(shape[1:]))
        part = f"part_of_{name}"
        if version < 10:
            nodes.append(helper.make_node("Slice", ["packed"], [part], axes=[1], starts=[begin], ends=[end]))
        else:
            for what, value in (("start", begin), ("end", end), ("axis", 1)):
                graph.initializer.append(numpy_helper.from_array(np.array([value], np.int64), f"{what}_of_{name}"))
            bounds = [f"{what}_of_{name}" for what in ("start", "end", "axis")]
            nodes.append(helper.make_node("Slice", ["packed", *bounds], [part]))
        graph.initializer.append(numpy_helper.from_array(np.array([-1, *shape[1:]], np.int64), f"shape_of_{name}"))
        nodes.append(helper.make_node("Reshape", [part, f"shape_of_{name}"], [name]))
        begin = end
    for _ in shapes:
        del graph.input[0]
    old = list(graph.node)
    del graph.node[:]
    graph.node.extend(nodes + old)
    graph.input.insert(0, helper.make_tensor_value_info("packed", TensorProto.FLOAT, [samples, begin]))
    return copy


class LensletRep(BackendRep):
    def __init__(self, model, runner):
        self.model = model
        self.runner = runner

    def runs(self, inputs):
        """Yields (what varies, output or None, why it is refused) for every way to state the inputs."""
        given = {tensor.name for tensor in self.model.graph.initializer}
        names = [value.name for value in self.model.graph.input if value.name not in given]
        count = len(inputs)
        floats = [i for i in range(count) if inputs[i].dtype == np.float32 and inputs[i].ndim > 0]
        for i in floats:
            yield names[i], *self.attempt(lambda: fixed(self.model, inputs, i), inputs[i])
        rows = [x for x in inputs if x.ndim > 0]
        all_vary = len(names) == len(self.model.graph.input) and floats == list(range(count))
        alike = len({x.shape[0] for x in rows}) == 1 == len({x.ndim for x in rows})
        if count > 1 and all_vary and alike:
            x = np.concatenate([x.reshape(x.shape[0], -1) for x in inputs], axis=1)
            yield "all", *self.attempt(lambda: packed(self.model, [x.shape for x in inputs]), x)
        if not floats:
            yield "nothing", None, "no input of float with a batch"

    def attempt(self, make, x):
        try:
            return self.runner.run(make(), x), None
        except Refused as reason:
            return None, str(reason)

    def run(self, inputs, **kwargs):
        reasons = []
        for _, output, reason in self.runs(inputs):
            if output is not None:
                return (output,)
            reasons.append(reason)
        raise Refused(reasons[0])


class LensletBackend(Backend):
    program = None  # of onnx_run_models
    runners = {}  # by device

    @classmethod
    def prepare(cls, model, device="CPU", **kwargs):
        name = {"CPU": "cpu", "CUDA": "cuda"}[device.split(":")[0]]
        if name not in cls.runners:
            cls.runners[name] = Runner(cls.program, name)
        return LensletRep(model, cls.runners[name])

    @classmethod
    def supports_device(cls, device):
        return device.split(":")[0] in ("CPU", "CUDA")

    @classmethod
    def close(cls):
        for runner in cls.runners.values():
            runner.close()
        cls.runners.clear()
