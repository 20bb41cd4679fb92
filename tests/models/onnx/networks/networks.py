"""Fifteen small classifiers of ten classes, one for each family of convolutional networks (export.py writes them).

NETWORKS names each with the shape of a sample that it reads. Their weights are random, and their answers vary with
random inputs: see settle().
"""

import torch
import torch.nn.functional as F
from torch import nn

CLASSES = 10


def conv_bn(inputs, outputs, kernel, **options):
    return nn.Sequential(nn.Conv2d(inputs, outputs, kernel, bias=False, **options), nn.BatchNorm2d(outputs))


class Plain(nn.Module):
    """VGG: convolutions and poolings one after another, then linear layers."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(8, 8, 3),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 12, 3),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.hidden = nn.Linear(48, 32)
        self.dropout = nn.Dropout(0.5)
        self.head = nn.Linear(32, CLASSES)

    def forward(self, x):
        x = self.features(x)
        x = x.view(x.size(0), -1)
        return self.head(self.dropout(torch.relu(self.hidden(x))))


class Residual(nn.Module):
    """ResNet: sums of a branch and a shortcut, which a convolution of 1x1 computes where the sizes change."""

    class Block(nn.Module):
        def __init__(self, inputs, outputs, stride):
            super().__init__()
            self.first = conv_bn(inputs, outputs, 3, stride=stride, padding=1)
            self.second = conv_bn(outputs, outputs, 3, padding=1)
            self.shortcut = nn.Identity() if stride == 1 else conv_bn(inputs, outputs, 1, stride=stride)

        def forward(self, x):
            return torch.relu(self.second(torch.relu(self.first(x))) + self.shortcut(x))

    def __init__(self):
        super().__init__()
        self.stem = conv_bn(3, 8, 3, padding=1)
        self.blocks = nn.Sequential(self.Block(8, 8, 1), self.Block(8, 12, 2))
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(12, CLASSES)

    def forward(self, x):
        return self.head(torch.flatten(self.pool(self.blocks(torch.relu(self.stem(x)))), 1))


class Depthwise(nn.Module):
    """MobileNet: a convolution for each channel alone, then one of 1x1; ReLU6; softmax."""

    def __init__(self):
        super().__init__()
        layers = [conv_bn(3, 8, 3, stride=2, padding=1), nn.ReLU6()]
        for inputs, outputs, stride in ((8, 16, 1), (16, 24, 2)):
            layers += [
                conv_bn(inputs, inputs, 3, stride=stride, padding=1, groups=inputs),
                nn.ReLU6(),
                conv_bn(inputs, outputs, 1),
                nn.ReLU6(),
            ]
        self.features = nn.Sequential(*layers)
        self.head = nn.Linear(24, CLASSES)

    def forward(self, x):
        return torch.softmax(self.head(self.features(x).mean((2, 3))), 1)


class SqueezeExcite(nn.Module):
    """MobileNetV3: HardSwish, and channels scaled by a function of their means."""

    class Block(nn.Module):
        def __init__(self, channels, expanded):
            super().__init__()
            self.expand = conv_bn(channels, expanded, 1)
            self.depthwise = conv_bn(expanded, expanded, 5, padding=2, groups=expanded)
            self.squeeze = nn.Conv2d(expanded, 4, 1)
            self.excite = nn.Conv2d(4, expanded, 1)
            self.project = conv_bn(expanded, channels, 1)

        def forward(self, x):
            y = F.hardswish(self.depthwise(F.hardswish(self.expand(x))))
            scale = F.hardsigmoid(self.excite(torch.relu(self.squeeze(F.adaptive_avg_pool2d(y, 1)))))
            return x + self.project(y * scale)

    def __init__(self):
        super().__init__()
        self.stem = conv_bn(3, 8, 3, stride=2, padding=1)
        self.blocks = nn.Sequential(self.Block(8, 16), self.Block(8, 20))
        self.head = nn.Linear(8, CLASSES)

    def forward(self, x):
        x = self.blocks(F.hardswish(self.stem(x)))
        return self.head(F.adaptive_avg_pool2d(x, 1).flatten(1))


class Inception(nn.Module):
    """GoogLeNet: branches of several kernels, one after another in the channels."""

    class Block(nn.Module):
        def __init__(self, inputs):
            super().__init__()
            self.one = nn.Conv2d(inputs, 4, 1)
            self.three = nn.Sequential(nn.Conv2d(inputs, 4, 1), nn.ReLU(), nn.Conv2d(4, 6, 3, padding=1))
            self.wide = nn.Sequential(
                nn.Conv2d(inputs, 3, (1, 5), padding=(0, 2)), nn.Conv2d(3, 4, (5, 1), padding=(2, 0))
            )
            self.pooled = nn.Sequential(nn.MaxPool2d(3, stride=1, padding=1), nn.Conv2d(inputs, 4, 1))

        def forward(self, x):
            return torch.relu(torch.cat([self.one(x), self.three(x), self.wide(x), self.pooled(x)], 1))

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, stride=2)
        self.blocks = nn.Sequential(self.Block(8), nn.MaxPool2d(3, stride=2, ceil_mode=True), self.Block(18))
        self.head = nn.Linear(18, CLASSES)

    def forward(self, x):
        x = self.blocks(torch.relu(self.stem(x)))
        return self.head(torch.amax(x, (2, 3)))


class Dense(nn.Module):
    """DenseNet: each layer reads all outputs before it, and normalises before it convolves."""

    class Layer(nn.Module):
        def __init__(self, inputs, grown):
            super().__init__()
            self.norm = nn.BatchNorm2d(inputs)
            self.conv = nn.Conv2d(inputs, grown, 3, padding=1, bias=False)

        def forward(self, x):
            return torch.cat([x, self.conv(torch.relu(self.norm(x)))], 1)

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 6, 3, padding=1)
        self.first = nn.Sequential(*[self.Layer(6 + 4 * i, 4) for i in range(3)])
        self.between = nn.Sequential(nn.BatchNorm2d(18), nn.ReLU(), nn.Conv2d(18, 8, 1), nn.AvgPool2d(2))
        self.second = nn.Sequential(*[self.Layer(8 + 4 * i, 4) for i in range(2)])
        self.norm = nn.BatchNorm2d(16)
        self.head = nn.Linear(16, CLASSES)

    def forward(self, x):
        x = torch.relu(self.norm(self.second(self.between(self.first(self.stem(x))))))
        return self.head(torch.flatten(F.avg_pool2d(x, 6), 1))


class Fire(nn.Module):
    """SqueezeNet: poolings that round up, a convolution as the last layer, log-softmax. Its batch is frozen to 1."""

    class Block(nn.Module):
        def __init__(self, inputs, squeezed, expanded):
            super().__init__()
            self.squeeze = nn.Conv2d(inputs, squeezed, 1)
            self.one = nn.Conv2d(squeezed, expanded, 1)
            self.three = nn.Conv2d(squeezed, expanded, 3, padding=1)

        def forward(self, x):
            x = torch.relu(self.squeeze(x))
            return torch.cat([torch.relu(self.one(x)), torch.relu(self.three(x))], 1)

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, stride=2),
            nn.ReLU(),
            nn.MaxPool2d(3, 2, ceil_mode=True),
            self.Block(8, 4, 8),
            nn.AvgPool2d(3, 2, padding=1, ceil_mode=True, count_include_pad=False),
            self.Block(16, 4, 8),
        )
        self.head = nn.Conv2d(16, CLASSES, 1)

    def forward(self, x):
        x = F.adaptive_avg_pool2d(self.head(self.features(x)), (1, 1))
        return F.log_softmax(torch.flatten(x, 1), dim=1)


class Dilated(nn.Module):
    """Convolutions with gaps, padding that differs from side to side, ELU, a cut border."""

    def __init__(self):
        super().__init__()
        self.pad = nn.ZeroPad2d((1, 2, 0, 1))
        self.first = nn.Conv2d(3, 8, 3, stride=2)
        self.second = nn.Conv2d(8, 8, 3, padding=2, dilation=2)
        self.third = nn.Conv2d(8, 12, (3, 2), padding=(3, 1), dilation=(3, 2))
        self.edge = nn.ConstantPad2d((2, 0, 1, 1), 0.5)
        self.head = nn.Linear(12, CLASSES)

    def forward(self, x):
        x = F.elu(self.first(self.pad(x)))
        x = F.elu(self.third(F.elu(self.second(x))), alpha=0.5)
        x = F.max_pool2d(self.edge(x), 2)[:, :, 1:, :-1]
        return self.head(x.mean([-1, -2]))


class Shuffle(nn.Module):
    """ShuffleNetV2: half of the channels pass, and the channels of both halves change places."""

    class Block(nn.Module):
        def __init__(self, half):
            super().__init__()
            self.branch = nn.Sequential(
                conv_bn(half, half, 1),
                nn.ReLU(),
                conv_bn(half, half, 3, padding=1, groups=half),
                conv_bn(half, half, 1, groups=2),
                nn.ReLU(),
            )

        def forward(self, x):
            kept, changed = x.chunk(2, dim=1)
            x = torch.cat((kept, self.branch(changed)), 1)
            n, c, h, w = x.shape
            return x.view(n, 2, c // 2, h, w).transpose(1, 2).reshape(n, c, h, w)

    def __init__(self):
        super().__init__()
        self.stem = conv_bn(3, 16, 3, stride=2, padding=1)
        self.blocks = nn.Sequential(self.Block(8), self.Block(8))
        self.head = nn.Linear(16, CLASSES)

    def forward(self, x):
        return self.head(self.blocks(torch.relu(self.stem(x))).mean([2, 3]))


class Signal(nn.Module):
    """One dimension: a signal of four channels; PReLU, LeakyReLU, pooling in both ways."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv1d(4, 12, 7, stride=2, padding=3)
        self.norm = nn.BatchNorm1d(12)
        self.slopes = nn.PReLU(12)
        self.second = nn.Conv1d(12, 16, 3, dilation=2, groups=4)
        self.third = nn.Conv1d(16, 16, 5, padding=2)
        self.head = nn.Linear(32, CLASSES)

    def forward(self, x):
        x = F.max_pool1d(self.slopes(self.norm(self.first(x))), 3, stride=2, ceil_mode=True)
        x = F.leaky_relu(self.second(x), 0.1)
        x = F.avg_pool1d(x + torch.tanh(self.third(x)), 4, stride=4, padding=1)
        return self.head(x.flatten(1))


class Normalised(nn.Module):
    """AlexNet: local response normalisation, poolings that overlap.

    Behind nn.LocalResponseNorm the tracing exporter loses the shape and writes an If. This is the same formula.
    """

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 12, 5, stride=2, padding=2)
        self.second = nn.Conv2d(12, 16, 3, padding=1, groups=2)
        self.hidden = nn.Linear(64, 24)
        self.head = nn.Linear(24, CLASSES)

    @staticmethod
    def norm(x):
        squares = F.pad((x * x).unsqueeze(1), (0, 0, 0, 0, 2, 2))
        return x / (0.05 * F.avg_pool3d(squares, (5, 1, 1), stride=1)[:, 0] + 2).pow(0.75)

    def forward(self, x):
        x = F.max_pool2d(self.norm(torch.relu(self.first(x))), 3, 2)
        x = F.max_pool2d(torch.relu(self.second(x)), 2, 1)
        return self.head(torch.relu(self.hidden(torch.flatten(x, 1))))


class Focus(nn.Module):
    """YOLO: every second pixel as a channel of its own, LeakyReLU, a branch across the stage."""

    def __init__(self):
        super().__init__()
        self.stem = conv_bn(12, 12, 3, padding=1)
        self.across = nn.Conv2d(12, 8, 1, bias=False)
        self.along = nn.Sequential(conv_bn(12, 8, 1), nn.LeakyReLU(0.1), conv_bn(8, 8, 3, padding=1))
        self.norm = nn.BatchNorm2d(16)
        self.head = nn.Linear(16, CLASSES)

    def forward(self, x):
        x = torch.cat([x[..., ::2, ::2], x[..., 1::2, ::2], x[..., ::2, 1::2], x[..., 1::2, 1::2]], 1)
        x = F.leaky_relu(self.stem(x), 0.1)
        x = F.leaky_relu(self.norm(torch.cat((self.across(x), self.along(x)), 1)), 0.1)
        return self.head(F.adaptive_max_pool2d(x, 1).flatten(1))


class Swish(nn.Module):
    """EfficientNet: SiLU, and channels scaled by a sigmoid."""

    class Block(nn.Module):
        def __init__(self, channels, expanded):
            super().__init__()
            self.expand = conv_bn(channels, expanded, 1)
            self.depthwise = conv_bn(expanded, expanded, 3, padding=1, groups=expanded)
            self.squeeze = nn.Linear(expanded, 4)
            self.excite = nn.Linear(4, expanded)
            self.project = conv_bn(expanded, channels, 1)

        def forward(self, x):
            y = F.silu(self.depthwise(F.silu(self.expand(x))))
            scale = torch.sigmoid(self.excite(F.silu(self.squeeze(y.mean((2, 3))))))
            return x + self.project(y * scale[:, :, None, None])

    def __init__(self):
        super().__init__()
        self.stem = conv_bn(3, 8, 3, stride=2, padding=1)
        self.blocks = nn.Sequential(self.Block(8, 16), self.Block(8, 12))
        self.head = nn.Linear(8, CLASSES)

    def forward(self, x):
        return self.head(self.blocks(F.silu(self.stem(x))).mean((2, 3)))


class Attention(nn.Module):
    """CBAM: places scaled by a function of the mean and the maximum over the channels there."""

    def __init__(self):
        super().__init__()
        self.first = conv_bn(3, 12, 3, padding=1)
        self.places = nn.Conv2d(2, 1, 5, padding=2)
        self.second = nn.Conv2d(12, 16, 3, stride=2)
        self.head = nn.Linear(16, CLASSES)

    def forward(self, x):
        x = torch.relu(self.first(x))
        seen = torch.cat([x.mean(1, keepdim=True), x.amax(1, keepdim=True)], 1)
        x = torch.relu(self.second(x * torch.sigmoid(self.places(seen))))
        return self.head(x.mean((2, 3)))


class Functions(nn.Module):
    """One activation after another, and joins of two branches other than a sum."""

    def __init__(self):
        super().__init__()
        self.convs = nn.ModuleList([nn.Conv2d(2 if i == 0 else 6, 6, 3) for i in range(6)])
        self.head = nn.Linear(24, CLASSES)

    def forward(self, x):
        functions = (F.gelu, F.mish, F.celu, F.selu, F.softplus, F.softsign)
        for conv, function in zip(self.convs, functions):
            x = function(conv(x))
        gate, value = torch.sigmoid(x), F.hardtanh(x, -0.5, 0.75)
        x = torch.maximum(gate * value, value - 0.5 * gate) / (1 + torch.exp(-x))
        return self.head(x.flatten(1))


NETWORKS = {  # name: (class, shape of a sample)
    "plain": (Plain, (1, 14, 14)),
    "residual": (Residual, (3, 12, 12)),
    "depthwise": (Depthwise, (3, 16, 16)),
    "squeeze_excite": (SqueezeExcite, (3, 16, 16)),
    "inception": (Inception, (3, 16, 15)),
    "dense": (Dense, (3, 12, 12)),
    "fire": (Fire, (3, 20, 20)),
    "dilated": (Dilated, (3, 16, 14)),
    "shuffle": (Shuffle, (3, 14, 14)),
    "signal": (Signal, (4, 50)),
    "normalised": (Normalised, (3, 16, 16)),
    "focus": (Focus, (3, 16, 16)),
    "swish": (Swish, (3, 14, 14)),
    "attention": (Attention, (3, 13, 13)),
    "functions": (Functions, (2, 14, 14)),
}


def settle(model, shape):
    """Sets what training would set, from random inputs: the statistics of normalisations, and the scale of the last
    layer, so that every class wins for some input. Random weights alone would give the same class for all."""
    x = torch.randn(512, *shape)
    for module in model.modules():
        if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d)):
            module.momentum = None  # the mean over all batches, of which there is one
            nn.init.uniform_(module.weight, 0.7, 1.3)
            nn.init.uniform_(module.bias, -0.3, 0.3)
    seen = []
    hook = model.head.register_forward_hook(lambda module, inputs, output: seen.append(output))
    with torch.no_grad():
        model.train()(x)
        model.eval()(x)
        hook.remove()
        logits = seen[-1].flatten(2).mean(2) if seen[-1].dim() > 2 else seen[-1]
        scale = 2 / logits.std(0)
        model.head.weight *= scale.reshape(-1, *[1] * (model.head.weight.dim() - 1))
        model.head.bias.copy_((model.head.bias - logits.mean(0)) * scale)
    return model


def network(name):
    """The network of that name, always with the same weights, and the shape of a sample."""
    kind, shape = NETWORKS[name]
    torch.manual_seed(list(NETWORKS).index(name) + 1)
    return settle(kind(), shape), shape
