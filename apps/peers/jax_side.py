"""LeNet-5 in JAX, compiled by XLA."""

import os

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # the card is shared with the other sides

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
from side import Side, host_windows, summarise  # noqa: E402

PRECISION = {"fp32": "highest", "tf32": "tensorfloat32"}
DIMENSIONS = ("NCHW", "OIHW", "NCHW")


def forward(weights, x):
    """x [N, 1, 28, 28] normalised -> logits [N, 10]."""
    for name in ("conv1", "conv2"):
        x = jax.lax.conv_general_dilated(x, weights[f"{name}.weight"], (1, 1), "VALID", dimension_numbers=DIMENSIONS)
        x = jax.nn.relu(x + weights[f"{name}.bias"][None, :, None, None])
        x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
    x = x.reshape(x.shape[0], -1)
    for name in ("fc1", "fc2", "fc3"):
        x = x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]
        x = x if name == "fc3" else jax.nn.relu(x)
    return x


class _Compiled:
    # Passes in one window are enqueued without waiting; the host's clock stops when the last is done.
    PASSES_NS = 5e6

    def __init__(self, step, batch):
        self.x = jax.random.normal(jax.random.key(1), (batch, 1, 28, 28), dtype=jnp.float32)
        self.step = step
        self.step(self.x).block_until_ready()
        once = host_windows(lambda: self.step(self.x).block_until_ready(), 1, 2)[0]
        self.passes = max(1, int(self.PASSES_NS / once))

    def run(self):
        for _ in range(self.passes):
            y = self.step(self.x)
        y.block_until_ready()

    def warm_up(self, min_ms):
        host_windows(self.run, 1, min_ms)

    def turn(self, count, min_ms):
        return summarise([ns / self.passes for ns in host_windows(self.run, count, min_ms)])

    def close(self):
        del self.x, self.step


class JaxSide(Side):
    def __init__(self, weights, math):
        self.name, self.math = "JAX", math
        self.weights = {k: jnp.asarray(v) for k, v in weights.items()}
        self.step = jax.jit(lambda x: forward(self.weights, x))

    def prepare(self, batch):
        with jax.default_matmul_precision(PRECISION[self.math]):
            return _Compiled(self.step.lower(jnp.zeros((batch, 1, 28, 28), jnp.float32)).compile(), batch)

    def correct(self, normalised, labels):
        with jax.default_matmul_precision(PRECISION[self.math]):
            return int((jnp.asarray(self.step(normalised)).argmax(1) == labels).sum())
