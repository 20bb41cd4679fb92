#!/usr/bin/env python3
"""Exports the networks of networks.py with one of PyTorch's two exporters, to the folder of this script or FOLDER.

    export.py traced [FOLDER]      the tracing exporter, operator sets 11 to 16; the files here are from torch 1.13
    export.py exported [FOLDER]    the one based on torch.export, operator set 18; the files here are from torch 2.15

The batch is free, except that of `fire`, which is frozen to 1. The weights of exported_dense.onnx are in a file beside
it.
"""

import pathlib
import sys

import torch

import networks

FROZEN = "fire"
EXTERNAL = "dense"
TRACED_SETS = (11, 13, 16)


def export_traced(model, shape, path, frozen, opset):
    axes = {} if frozen else {"input": {0: "batch"}, "output": {0: "batch"}}
    torch.onnx.export(
        model,
        (torch.zeros(1, *shape),),
        str(path),
        opset_version=opset,
        input_names=["input"],
        output_names=["output"],
        dynamic_axes=axes,
    )


def export_exported(model, shape, path, frozen, external):
    free = None if frozen else ({0: torch.export.Dim("batch", min=1, max=65536)},)
    program = torch.onnx.export(
        model,
        (torch.zeros(1 if frozen else 2, *shape),),
        dynamo=True,
        dynamic_shapes=free,
        opset_version=18,
        input_names=["input"],
        output_names=["output"],
    )
    for node in program.model.graph:  # where in PyTorch's source each node is from: ten times the size of the weights
        node.metadata_props.clear()
        node.doc_string = None
    program.save(str(path), external_data=external)


def main():
    kind = sys.argv[1]
    folder = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else __file__).resolve()
    folder = folder if folder.is_dir() else folder.parent
    for i, name in enumerate(networks.NETWORKS):
        model, shape = networks.network(name)
        path = folder / f"{kind}_{name}.onnx"
        if kind == "traced":
            export_traced(model, shape, path, name == FROZEN, TRACED_SETS[i % len(TRACED_SETS)])
        else:
            export_exported(model, shape, path, name == FROZEN, name == EXTERNAL)
        print(path.name, path.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
