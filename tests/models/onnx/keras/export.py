#!/usr/bin/env python3
"""Writes the ONNX files beside this script with Keras's own exporter, and what Keras computes, for `lenslet diff`.

    export.py MNIST [NETWORK...]      needs tensorflow and tf2onnx
The files here are from TensorFlow 2.21, Keras 3.15 and tf2onnx 1.17.

digits.onnx    reads 28x28x1 pixels / 255; trained for two epochs on the 60,000 training images in the folder MNIST
lenet5.onnx    LeNet-5 with logits as its output, trained likewise: the whole-network backends compute it
colours.onnx   reads 16x16x3, random weights: what Keras's layers become, from SAME padding to PReLU
series.onnx    reads 64x2, random weights: convolutions and pooling in one dimension

Keras keeps channels last; the exporter writes a Transpose or Reshape around the convolutions. FILE.npz has an input and
the output, under the names of the model's tensors.
"""

import os
import pathlib
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"  # with it TensorFlow 2.21's predict() is 0.03 from its own eager values
import keras
import numpy as np
import onnx

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[3] / "weights"))
from lenet5 import read_mnist  # noqa: E402

L = keras.layers


def digits():
    return keras.Sequential(
        [
            keras.Input((28, 28, 1)),
            L.Conv2D(6, 5, activation="relu"),
            L.MaxPooling2D(),
            L.SeparableConv2D(16, 5),
            L.BatchNormalization(),
            L.Activation("silu"),
            L.MaxPooling2D(),
            L.Flatten(),
            L.Dropout(0.2),
            L.Dense(10, activation="softmax"),
        ]
    )


def lenet5():
    return keras.Sequential(
        [
            keras.Input((28, 28, 1)),
            L.Conv2D(6, 5, activation="relu"),
            L.MaxPooling2D(),
            L.Conv2D(16, 5, activation="relu"),
            L.MaxPooling2D(),
            L.Flatten(),
            L.Dense(120, activation="relu"),
            L.Dense(84, activation="relu"),
            L.Dense(10),
        ]
    )


def colours():
    x = source = keras.Input((16, 16, 3))
    x = L.Conv2D(8, 3, padding="same", use_bias=False)(x)
    x = L.ReLU(6.0)(L.BatchNormalization()(x))
    y = L.DepthwiseConv2D(3, strides=2, padding="same", use_bias=False)(x)
    y = L.Conv2D(12, 1)(L.Activation("hard_swish")(L.BatchNormalization()(y)))
    z = L.Conv2D(12, 1)(L.AveragePooling2D(2)(x))
    x = L.LeakyReLU()(L.Add()([y, z]))
    gate = L.Conv2D(4, 1, activation="relu")(L.GlobalAveragePooling2D(keepdims=True)(x))
    x = L.Multiply()([x, L.Conv2D(12, 1, activation="sigmoid")(gate)])
    x = L.Concatenate()([x, L.Conv2D(8, 3, padding="same", activation="elu")(x)])
    x = L.Conv2D(8, 3, strides=2)(L.ZeroPadding2D(1)(x))
    x = L.Flatten()(L.PReLU(shared_axes=[1, 2])(x))
    return keras.Model(source, L.Dense(7)(L.Dense(12, activation="tanh")(x)))


def series():
    x = source = keras.Input((64, 2))
    x = L.MaxPooling1D()(L.Conv1D(8, 5, padding="same", activation="relu")(x))
    x = L.Conv1D(8, 3, dilation_rate=2, padding="causal", activation="tanh")(x)
    return keras.Model(source, L.Dense(3)(L.GlobalAveragePooling1D()(x)))


def randomise(model):
    """Values that show whether a bias, mean or variance is lost."""
    random = np.random.default_rng(3)
    for weight in model.weights:
        positive = "variance" in weight.path or "gamma" in weight.path
        if len(weight.shape) == 1:
            weight.assign(
                random.uniform(0.5, 1.5, weight.shape) if positive else random.uniform(-0.3, 0.3, weight.shape)
            )


def train(model, folder):
    images, labels = read_mnist(folder, "train")
    from_logits = model.layers[-1].activation is keras.activations.linear
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=from_logits))
    model.fit(images.reshape(-1, 28, 28, 1) / np.float32(255), labels, batch_size=128, epochs=2, verbose=0)
    images, labels = read_mnist(folder, "t10k")
    found = model.predict(images.reshape(-1, 28, 28, 1) / np.float32(255), verbose=0).argmax(1)
    print("right:", int((found == labels).sum()), "of", len(labels), "test images")


def main():
    keras.utils.set_random_seed(5)
    for make in (digits, lenet5, colours, series):
        if len(sys.argv) > 2 and make.__name__ not in sys.argv[2:]:
            continue
        model = make()
        if make in (digits, lenet5):
            train(model, sys.argv[1])
        else:
            randomise(model)
        x = np.random.default_rng(7).uniform(0, 1, (2, *model.input_shape[1:])).astype(np.float32)
        y = model.predict(x, verbose=0)
        path = str(HERE / f"{make.__name__}.onnx")
        model.export(path, format="onnx", verbose=False)
        graph = onnx.load(path).graph
        np.savez_compressed(path[:-4] + "npz", **{graph.input[0].name: x, graph.output[0].name: y})


main()
