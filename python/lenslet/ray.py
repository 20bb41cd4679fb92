"""A stage of Ray Data: one model an actor. Ray itself is needed only where it runs: `pip install "lenslet[ray]"`.

>>> import lenslet.ray, numpy
>>> predictor = lenslet.ray.Predictor(device="cpu")
>>> batch = predictor({"id": numpy.arange(2), "image": numpy.zeros((2, 28, 28), numpy.uint8)})
>>> sorted(batch), batch["label"].shape
(['id', 'label', 'probability'], (2,))
"""

import math
import os
import typing

import numpy as np

from ._core import Model, set_num_threads
from ._types import UsageError

Batch = dict[str, np.ndarray]

_ANSWERS = ("prediction", "logits", "output")


def _assigned() -> dict[str, float]:
    """The resources that Ray gave this actor; empty outside Ray."""
    try:
        import ray
    except ImportError:
        return {}
    return dict(ray.get_runtime_context().get_assigned_resources()) if ray.is_initialized() else {}


class Predictor:
    """Runs a model on batches of Ray Data; give the class and its arguments to `map_batches`.

    dataset.map_batches(
        lenslet.ray.Predictor, fn_constructor_kwargs={"model": "/shared/net.onnx", "column": "pixels"},
        compute=ray.data.ActorPoolStrategy(size=4), num_gpus=1, batch_format="numpy", batch_size=65536)

    Every column but `column` is passed on, so that rows keep their names. Batches are not changed and may be read-only.

    Args:
        model: None for the built-in weights, "robust", or a path that every node can read: safetensors or ONNX.
        column: The column with the samples: arrays of the shape that the model reads, flat ones of as many values, or
            their bytes. uint8 pixels, or float32 as for `Model.predict` and `Model.run`.
        dtype: "uint4" for a column of packed pixels, 392 bytes per image (`lenslet.pack`); not for "output".
        answer: "prediction" (class and probability), "logits", or "output" (`Model.run`, any network, float32). None:
            "prediction" for a network that reads 28x28 images and writes ten values, else "output".
        into: Names of the new columns: two for a prediction, one otherwise. None: "label" and "probability", "logits"
            or "output".
        keep: Names of the columns to pass on. None: all but `column`.
        device: None takes "cuda" in an actor with `num_gpus`, else "cpu".
        threads: CPU threads of the process. None takes the actor's `num_cpus`, at least 1; outside Ray the
            number stays unchanged.
        check, invert: As for `Model.predict`.
        **options: plan, backend, math, max_batch, workspace_limit and graph, as for `Model.load`.

    Raises:
        UsageError, DataError, UnavailableError: As for `Model.load`, and UsageError for batches that do not fit.
    """

    def __init__(
        self,
        model: str | os.PathLike[str] | None = None,
        *,
        column: str = "image",
        dtype: str | None = None,
        answer: str | None = None,
        into: str | typing.Sequence[str] | None = None,
        keep: typing.Sequence[str] | None = None,
        device: str | None = None,
        threads: int | None = None,
        check: bool = True,
        invert: bool = False,
        **options: typing.Any,
    ) -> None:
        if isinstance(model, Model):
            raise UsageError(
                "model: a lenslet.Model cannot be sent to an actor: pass its path, or the name of a built-in set"
            )
        if isinstance(keep, str):
            raise UsageError(f"keep: expected a list of columns, found the text '{keep}'")
        if answer is not None and answer not in _ANSWERS:
            raise UsageError(f"answer: expected one of {', '.join(_ANSWERS)}, found '{answer}'")
        assigned = _assigned()
        if device is None:
            device = "cuda" if assigned.get("GPU", 0) > 0 else "cpu"
        if threads is None and assigned:
            threads = max(1, int(assigned.get("CPU", 1)))
        if threads is not None:
            set_num_threads(threads)
        self._model = (
            Model.built_in(device=device, **options) if model is None else Model.load(model, device=device, **options)
        )
        self._shape = tuple(self._model.input_shape)
        digits = self._shape == (1, 28, 28) and tuple(self._model.output_shape) == (10,)
        self._answer = answer or ("prediction" if digits else "output")
        if self._answer != "output" and not digits:
            raise UsageError(
                f"answer: '{self._answer}' is for networks that read 28x28 images and write ten values, "
                f"this one reads {list(self._shape)}: pass 'output'"
            )
        if dtype is not None and (dtype != "uint4" or self._answer == "output"):
            raise UsageError(
                f"dtype: expected 'uint4', for a prediction or logits, or None, found '{dtype}' for '{self._answer}'"
            )
        if dtype is not None:
            self._shape = (28, 14)
        self._column = column
        self._keep = None if keep is None else list(keep)
        default = {"prediction": ("label", "probability"), "logits": ("logits",), "output": ("output",)}[self._answer]
        self._into = default if into is None else (into,) if isinstance(into, str) else tuple(into)
        if len(self._into) != len(default) or len(set(self._into)) != len(default):
            raise UsageError(
                f"into: '{self._answer}' writes {len(default)} column{'s' * (len(default) > 1)}, "
                f"found names {list(self._into)}"
            )
        self._checks = {"check": check, "invert": invert, "dtype": dtype}

    def __call__(self, batch: Batch) -> Batch:
        """The columns passed on, and the answers."""
        if not isinstance(batch, dict):
            raise UsageError(
                f"expected a batch as a dict of arrays, found {type(batch).__name__}: "
                'pass batch_format="numpy" to map_batches'
            )
        missing = [name for name in [self._column, *(self._keep or [])] if name not in batch]
        if missing:
            raise UsageError(f"the batch has no column '{missing[0]}', it has {', '.join(sorted(batch))}")
        names = [name for name in batch if name != self._column] if self._keep is None else self._keep
        taken = [name for name in self._into if name in names]
        if taken:
            raise UsageError(
                f"the batch has a column '{taken[0]}' already: name another with into=, or leave it out with keep="
            )
        return {**{name: batch[name] for name in names}, **self._answers(self._samples(batch[self._column]))}

    def _answers(self, samples: np.ndarray) -> Batch:
        if self._answer == "prediction":
            return dict(zip(self._into, self._model.predict(samples, **self._checks)))
        if self._answer == "logits":
            return {self._into[0]: self._model.logits(samples, **self._checks)}
        return {self._into[0]: self._model.run(samples)}

    def _samples(self, column: np.ndarray) -> np.ndarray:
        """[count, *shape of a sample] of the model's type: a view where the column's memory allows it."""
        if column.dtype == object:
            column = self._stacked(column)
        values = math.prod(self._shape)
        if column.ndim > 1 and math.prod(column.shape[1:]) == values:
            return column.reshape(len(column), *self._shape)
        if len(column) == 0:
            return np.zeros((0, *self._shape), np.uint8 if self._checks["dtype"] else np.float32)
        raise UsageError(
            f"column '{self._column}': a sample of the model has shape {list(self._shape)}, {values} "
            f"values, found {list(column.shape[1:])}"
        )

    def _stacked(self, column: np.ndarray) -> np.ndarray:
        """Copies rows that Ray keeps apart (lists, bytes) into one array."""
        dtype = np.uint8 if self._answer != "output" else np.float32
        rows = []
        for i, row in enumerate(column):
            if row is None:
                raise UsageError(f"column '{self._column}': row {i} of the batch is empty")
            if isinstance(row, bytes):
                if len(row) % np.dtype(dtype).itemsize:
                    raise UsageError(
                        f"column '{self._column}': row {i} of the batch has {len(row)} bytes, which are "
                        f"no {np.dtype(dtype).name} values"
                    )
                row = np.frombuffer(row, dtype)
            rows.append(np.asarray(row))
            if rows[i].shape != rows[0].shape or rows[i].dtype != rows[0].dtype:
                raise UsageError(
                    f"column '{self._column}': row {i} of the batch is {rows[i].dtype} "
                    f"{list(rows[i].shape)}, row 0 {rows[0].dtype} {list(rows[0].shape)}"
                )
        return np.stack(rows) if rows else np.zeros((0, *self._shape), dtype)
