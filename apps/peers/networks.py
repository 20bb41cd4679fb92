"""The networks that networks_peers.py compares, as PyTorch modules: ResNet-20 and a network of MobileNetV2's kind.

Both read [N, 3, 32, 32] and write 10 logits. Their weights are random, from a seed: NumPy's bit generator gives the
same ones everywhere. They are rounded to fp16, so that tests/models/onnx/export.py can keep them in half the space.
BatchNormalization is folded into the convolutions, as PyTorch's exporter does.
"""

import numpy as np
import torch
import torch.nn.functional as F

SHAPE = (3, 32, 32)


class _Network(torch.nn.Module):
    """Counts the layers that it makes, so that each has weights of its own."""

    def __init__(self, seed):
        super().__init__()
        self.random = np.random.default_rng(seed)

    def values(self, shape, limit):
        drawn = limit * (2 * self.random.random(shape) - 1)
        return torch.nn.Parameter(torch.from_numpy(drawn.astype(np.float16).astype(np.float32)), requires_grad=False)

    def conv(self, inputs, outputs, kernel=3, stride=1, groups=1, gain=2.0):
        """He's uniform distribution for gain 2; the last convolution of a residual branch has less."""
        layer = torch.nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups)
        layer.weight = self.values(
            (outputs, inputs // groups, kernel, kernel), (3 * gain * groups / (inputs * kernel * kernel)) ** 0.5
        )
        layer.bias = self.values((outputs,), 0.1)
        return layer

    def linear(self, inputs, outputs):
        layer = torch.nn.Linear(inputs, outputs)
        layer.weight = self.values((outputs, inputs), (3 / inputs) ** 0.5)
        layer.bias = self.values((outputs,), 0.1)
        return layer


class ResNet20(_Network):
    """He et al. 2015, section 4.2, for CIFAR-10: 0.27 M parameters; 1x1 convolutions where the shape changes."""

    def __init__(self, seed=20):
        super().__init__(seed)
        self.stem = self.conv(3, 16)
        self.first, self.second, self.shortcut = (torch.nn.ModuleList() for _ in range(3))
        inputs = 16
        for outputs, stride in ((16, 1), (32, 2), (64, 2)):
            for block in range(3):
                step = stride if block == 0 else 1
                self.first.append(self.conv(inputs, outputs, stride=step))
                self.second.append(self.conv(outputs, outputs, gain=0.5))
                same = step == 1 and inputs == outputs
                self.shortcut.append(torch.nn.Identity() if same else self.conv(inputs, outputs, 1, step, gain=1))
                inputs = outputs
        self.classes = self.linear(64, 10)

    def forward(self, x):
        x = F.relu(self.stem(x))
        for first, second, shortcut in zip(self.first, self.second, self.shortcut):
            x = F.relu(second(F.relu(first(x))) + shortcut(x))
        return self.classes(x.mean((2, 3)))


class MobileNet(_Network):
    """Inverted residuals with ReLU6 (Sandler et al. 2018), for 32x32: 7 blocks, expansion 4; 0.09 M parameters."""

    BLOCKS = ((16, 1), (24, 2), (24, 1), (32, 2), (32, 1), (64, 1), (64, 1))  # outputs, stride

    def __init__(self, seed=2):
        super().__init__(seed)
        self.stem = self.conv(3, 16)
        self.wider, self.depthwise, self.narrower = (torch.nn.ModuleList() for _ in range(3))
        self.joined = []
        inputs = 16
        for outputs, stride in self.BLOCKS:
            self.wider.append(self.conv(inputs, 4 * inputs, 1))
            self.depthwise.append(self.conv(4 * inputs, 4 * inputs, stride=stride, groups=4 * inputs))
            self.narrower.append(self.conv(4 * inputs, outputs, 1, gain=1))
            self.joined.append(stride == 1 and inputs == outputs)
            inputs = outputs
        self.head = self.conv(inputs, 128, 1)
        self.classes = self.linear(128, 10)

    def forward(self, x):
        x = F.relu6(self.stem(x))
        for wider, depthwise, narrower, joined in zip(self.wider, self.depthwise, self.narrower, self.joined):
            y = narrower(F.relu6(depthwise(F.relu6(wider(x)))))
            x = x + y if joined else y
        x = F.relu6(self.head(x))
        return self.classes(x.mean((2, 3)))


NETWORKS = {"resnet20": ResNet20, "mobilenet": MobileNet}
