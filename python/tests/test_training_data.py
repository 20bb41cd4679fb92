"""The pictures that the robust weights are trained on (weights/corruptions.py, weights/outliers.py)."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import corruptions  # noqa: E402
import outliers  # noqa: E402


def bars(n):
    """n pictures of a bar, bytes [n, 784]."""
    images = torch.zeros(n, 28, 28, dtype=torch.uint8)
    images[:, 5:24, 12:16] = 255
    return images.view(n, 784)


def check(images, n):
    assert images.shape == (n, 28, 28)
    assert torch.isfinite(images).all() and images.min() >= 0 and images.max() <= 1


@pytest.mark.parametrize("kind", range(len(corruptions.FAMILIES)), ids=lambda k: corruptions.FAMILIES[k].__name__)
def test_a_corruption_changes_a_picture_by_its_own_strength(kind):
    torch.manual_seed(1)
    n = 16
    clean = bars(n).view(n, 28, 28).float() / 255
    spoilt = corruptions.corrupt(clean.clone(), only=torch.full((n,), kind))
    check(spoilt, n)
    changed = (spoilt - clean).abs().amax((1, 2)) > 1e-3
    assert changed.float().mean() > 0.6
    assert len({picture.tobytes() for picture in spoilt.numpy()}) > 2


@pytest.mark.parametrize("kind", range(4), ids=("letters", "doodles", "textures", "pairs"))
def test_outliers_are_pictures(kind):
    torch.manual_seed(1)
    check(outliers.outliers(12, bars(3), bars(5), kind=torch.full((12,), kind)), 12)


def test_ink_is_placed_as_in_mnist():
    torch.manual_seed(1)
    small = torch.zeros(4, 28, 28)
    small[:, 2:10, 20:23] = 1
    placed = outliers.centred(small)
    rows = (placed[0] > 0.5).any(1).nonzero()[:, 0]
    assert 18 <= int(rows[-1] - rows[0]) + 1 <= 22
    y, x = np.mgrid[:28, :28]
    mass = placed[0].numpy()
    for axis in (x, y):
        assert abs(float((axis * mass).sum() / mass.sum()) - 14) < 1.2
