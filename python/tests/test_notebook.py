"""Model.show and the table of Model.profile, and the example notebook that shows them."""

import ast
import html
import json
import os
import re

import numpy as np
import pytest

import lenslet
from support import strokes

CELLS = "python/examples/look_inside.ipynb"


def data_of(page):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page.html, re.S).group(1))


def check_page(page):
    """A document that needs nothing else, in a frame that keeps it from the notebook."""
    assert page.html.startswith("<!doctype html>") and len(page.html.encode()) <= 1_000_000
    assert not re.search(r"https?://|\bsrc=|@import|url\(", page.html)
    frame = page._repr_html_()
    (source,) = re.findall(r'srcdoc="([^"]*)"', frame)
    assert html.unescape(source) == page.html
    assert re.fullmatch(r'<iframe title="[^"]*" srcdoc="[^"]*" sandbox="allow-scripts" style="[^"]*"></iframe>', frame)
    return data_of(page)


class Pillow:
    """What Lenslet takes of a picture of Pillow."""

    def __init__(self, mode, pixels):
        self.mode, self.pixels = mode, pixels
        self.__array_interface__ = pixels.__array_interface__

    def convert(self, mode):
        assert mode == "RGBA" and self.mode == "P"
        colours = np.array([[255, 255, 255, 255], [0, 0, 0, 255]], np.uint8)
        return Pillow("RGBA", np.ascontiguousarray(colours[self.pixels]))


def test_a_page_of_a_file_has_the_answer_and_every_layer(root, robust):
    file = root / "samples" / "digit_3_a.png"
    page = robust.show(file, batch=4)
    data = check_page(page)
    assert data["look"]["answer"]["number"] == "3" and data["look"]["answer"]["file"] == str(file)
    assert data["look"]["answer"]["probability"] == pytest.approx(robust.read(file).probability, rel=1e-6)
    assert [node["name"] for node in data["network"]["nodes"][1:]] == [layer.name for layer in robust.layers]
    assert all(data["look"]["values"]) and data["profile"]["batch"] == 4 and not data["live"]
    assert repr(page).startswith(f"<lenslet.Page of {file}: 3, LeNet-5 on cpu")


def test_what_read_takes_is_shown(root, robust):
    file = root / "samples" / "digit_4_a.png"
    seen = [check_page(robust.show(picture))["look"] for picture in (file, str(file), file.read_bytes())]
    assert [look["answer"]["number"] for look in seen] == ["4"] * 3
    assert seen[0]["values"] == seen[1]["values"] == seen[2]["values"]
    grey = strokes(2)
    pictures = (
        grey,
        np.dstack([grey] * 3),
        Pillow("L", grey),
        Pillow("RGB", np.dstack([grey] * 3)),
        Pillow("P", (grey == 0).astype(np.uint8)),
    )
    for picture in pictures:
        assert check_page(robust.show(picture))["look"]["answer"]["number"] == "11"
        assert robust.read(picture).number == "11"


def test_pictures_of_pillow(root, robust):
    pillow = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    with pillow.open(root / "samples" / "digit_3_a.png") as picture:
        for mode in ("L", "RGB", "RGBA", "P", "1", "CMYK"):
            assert robust.read(picture.convert(mode)).number == "3", mode


def test_choices_of_a_call_are_shown(robust):
    data = data_of(robust.show(strokes(2), plan="layered", backend="conv1=direct,conv2=im2col_gemm"))
    assert [data["look"]["ran"][name].split()[0] for name in ("conv1", "conv2")] == ["direct", "im2col_gemm"]
    assert data["look"]["difference_to_model"] == 0


def test_a_page_is_saved_as_it_is(robust, tmp_path):
    page = robust.show(strokes(2))
    page.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_bytes() == page.html.encode()
    with pytest.raises(OSError):
        page.save(tmp_path / "none" / "page.html")


def test_names_cannot_leave_their_place(robust, root, tmp_path):
    name = tmp_path / 'a"<script>b.png'
    name.write_bytes((root / "samples" / "digit_3_a.png").read_bytes())
    page = robust.show(name)
    assert check_page(page)["look"]["answer"]["file"] == str(name)
    assert "<script>b" not in page.html and "<script>b" not in page._repr_html_()


def test_what_cannot_be_shown_is_refused_as_by_the_command(root, robust):
    network = lenslet.Model.load(root / "tests/models/onnx/keras/series.onnx", device="cpu")
    with pytest.raises(lenslet.DataError, match="reads 64x2, no picture of 1 or 3 channels; a page shows"):
        network.show(strokes(2))
    for batch in (0, 1025):
        with pytest.raises(lenslet.UsageError, match=f"1 to 1024, found {batch}"):
            robust.show(strokes(2), batch=batch)
    with pytest.raises(TypeError, match="found float64"):
        robust.show(strokes(2) / 255)
    with pytest.raises(TypeError, match=r"mode I;16 has other values than bytes"):
        robust.show(Pillow("I;16", strokes(2)))
    with pytest.raises(lenslet.UsageError, match="nonsense"):
        robust.show(strokes(2), backend="nonsense")
    assert robust.read(strokes(2)).number == "11"


def test_a_profile_is_a_dict_and_a_table(robust):
    profile = robust.profile(2, min_time_ms=1)
    assert isinstance(profile, dict) and json.loads(json.dumps(profile)) == profile
    table = profile._repr_html_()
    assert "<script" not in table and "color:" not in table
    rows = re.findall(r"<tr><td.*?</tr>", table)
    assert len(rows) == len(profile["layers"])
    shares = []
    for row, (name, layer) in zip(rows, profile["layers"].items()):
        cells = re.findall(r"<td[^>]*>(.*?)</td>", row)
        assert cells[:3] == [name, layer["backend"], layer["math"]]
        shares.append(float(cells[4].removesuffix(" %")))
    assert sum(shares) == pytest.approx(100, abs=0.5)
    profile["layers"]["<b>"] = profile["layers"].pop("conv1") | {"median_ns": 1234567.0}
    assert "&lt;b&gt;" in profile._repr_html_() and "1.23 ms" in profile._repr_html_()


def run_cells(notebook):
    """Executes a notebook's cells in order; returns the value of each whose last line is an expression."""
    names, shown = {}, []
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, CELLS, "exec"), names)
        if last is not None:
            shown.append(eval(compile(ast.Expression(last.value), CELLS, "eval"), names))
    return shown


def test_the_example_notebook_runs(root, monkeypatch, tmp_path):
    notebook = json.loads((root / CELLS).read_text(encoding="utf-8"))
    assert notebook["nbformat"] == 4 and not any(cell.get("outputs") for cell in notebook["cells"])
    monkeypatch.chdir((root / CELLS).parent)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    shown = run_cells(notebook)
    pages = [check_page(value) for value in shown if isinstance(value, lenslet.Page)]
    assert [page["look"]["answer"]["number"] for page in pages[:2]] == ["3", "11"]
    assert pages[2]["network"]["title"] == "mean_pool" and len(pages) == 3
    assert shown[1][0] == "3" and (tmp_path / "lenslet_digit_3.html").stat().st_size == shown[3]
    assert "conv1" in shown[5]._repr_html_() and os.path.basename(os.getcwd()) == "examples"
