#!/usr/bin/env python3
"""Runs an ONNX model with ONNX Runtime and writes the values of its tensors, for `lenslet diff --against onnxruntime`.

    onnxruntime_values.py MODEL INPUT NxCxHxW INPUTS.f32 NAMES VALUES.npz

INPUTS.f32 holds the input's values, NAMES the tensors to write, each ended by a zero byte. VALUES.npz gets them and the
input. A model whose batch is frozen runs batch by batch. Exit code 4 without onnxruntime.
"""

import pathlib
import sys
import zipfile


def fail(code, text):
    print(f"onnxruntime_values: {text}", file=sys.stderr)
    raise SystemExit(code)


try:
    import numpy
    import onnxruntime
except ImportError as error:
    fail(4, f"{error}: pip install onnxruntime, or set LENSLET_PYTHON to a Python that has it")


def varint(number):
    text = b""
    while number >= 128:
        text += bytes([number & 127 | 128])
        number >>= 7
    return text + bytes([number])


def field(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


def with_outputs(model, names):
    """A message appended to a protobuf file is merged with it: ModelProto.graph.output[].name."""
    return model + field(7, b"".join(field(12, field(1, name.encode())) for name in names))


def open_session(path, names):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(path.parent))
    model = with_outputs(path.read_bytes(), names)
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def main():
    path, input_name, shape, inputs, names, out = sys.argv[1:]
    shape = [int(size) for size in shape.split("x")]
    values = numpy.fromfile(inputs, "<f4").reshape(shape)
    path = pathlib.Path(path)
    wanted = [name for name in pathlib.Path(names).read_bytes().decode().split("\0") if name]
    try:
        own = {output.name for output in open_session(path, []).get_outputs()}
        session = open_session(path, [name for name in wanted if name not in own])
        first = session.get_inputs()[0].shape[0]
        step = first if isinstance(first, int) else len(values)
        if len(values) % step:
            fail(3, f"the model's batch is frozen to {step}: give a multiple of it as --samples")
        parts = [session.run(wanted, {input_name: values[i : i + step]}) for i in range(0, len(values), step)]
    except Exception as error:  # of ONNX Runtime's own classes
        fail(3, f"ONNX Runtime: {' '.join(str(error).split())[:400]}")
    arrays = {name: numpy.concatenate([numpy.atleast_1d(part[i]) for part in parts]) for i, name in enumerate(wanted)}
    # numpy.savez takes names as keyword arguments, of which it keeps some for itself.
    with zipfile.ZipFile(out, "w") as archive:
        for name, array in {input_name: values, **arrays}.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                numpy.lib.format.write_array(file, numpy.ascontiguousarray(array), allow_pickle=False)


if __name__ == "__main__":
    main()
