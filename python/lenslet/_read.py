"""Reading pictures with the weights for pictures."""

import threading

from ._core import Model
from ._types import Picture, Reading

_lock = threading.RLock()  # a signal handler may read while its thread loads the weights
_robust: Model | None = None


def _default() -> Model:
    global _robust
    with _lock:
        if _robust is None:
            _robust = Model.load("robust", device="cpu")
        return _robust


def read(picture: Picture, model: Model | None = None) -> Reading:
    """Reads the number in a picture: one digit, or several in a row.

    Args:
        picture: What `Model.read` takes: a path, the bytes of a file, or pixels.
        model: None: the built-in set "robust" on the CPU, loaded at the first call.

    Returns:
        Reading. A picture without a number is not an error: `number` is empty and `reason` has why.

    Raises:
        TypeError, ValueError, DataError: As for `Model.read`.
    """
    if model is not None and not isinstance(model, Model):
        raise TypeError(f"model: expected a lenslet.Model, found {type(model).__name__}")
    return (model or _default()).read(picture)
