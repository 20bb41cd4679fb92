"""Options, errors, profile and plan of a model; it works on after every error."""

import copy
import json
import os
import pickle

import numpy as np
import pytest

import lenslet
from lenet5 import load_safetensors, save_safetensors


def test_exceptions_are_also_the_ones_of_python():
    for name, base in [
        ("UsageError", ValueError),
        ("DataError", ValueError),
        ("UnavailableError", RuntimeError),
        ("DeviceError", RuntimeError),
        ("OutOfMemoryError", MemoryError),
    ]:
        kind = getattr(lenslet, name)
        assert issubclass(kind, lenslet.Error) and issubclass(kind, base)
        assert kind.__module__ == "lenslet"
        assert pickle.loads(pickle.dumps(kind("words"))).args == ("words",)


BAD_OPTIONS = {
    "device unknown": (dict(device="tpu"), lenslet.UsageError, "tpu"),
    "device not there": (dict(device="cuda:99"), lenslet.UnavailableError, "cuda:99"),
    "device negative": (dict(device="cuda:-1"), lenslet.UsageError, "cuda:-1"),
    "device empty": (dict(device=""), lenslet.UsageError, "device"),
    "plan unknown": (dict(plan="fast"), lenslet.UsageError, "plan expects auto, layered, fused"),
    "plan not there": (dict(plan="none/plan.json"), lenslet.DataError, "none/plan.json"),
    "backend unknown": (dict(device="cpu", backend="fancy"), lenslet.UsageError, "fancy"),
    "backend misspelt": (dict(device="cpu", backend="conv1=dirct"), lenslet.UsageError, "direct"),
    "backend of no layer": (dict(device="cpu", backend="conv9=direct"), lenslet.UsageError, "conv9"),
    "backend of GPUs": (dict(device="cpu", backend="conv1=winograd"), lenslet.UnavailableError, "winograd"),
    "variant unknown": (
        dict(device="cpu", plan="fused", backend="direct"),
        lenslet.UsageError,
        "no backend 'direct' for layer lenet5",
    ),
    "math unknown": (dict(math="fp64"), lenslet.UsageError, "fp64"),
    "no pass": (dict(max_batch=0), lenslet.UsageError, "max_batch"),
    "negative pass": (dict(max_batch=-5), lenslet.UsageError, "max_batch"),
    "huge pass": (dict(max_batch=2**40), lenslet.UsageError, "max_batch"),
    "negative workspace": (dict(workspace_limit=-1), lenslet.UsageError, "workspace_limit"),
    "graph unknown": (dict(graph="maybe"), lenslet.UsageError, "graph expects auto, on or off, found 'maybe'"),
    "graph on a CPU": (dict(device="cpu", graph="on"), lenslet.UsageError, "graph on needs a CUDA device"),
}


@pytest.mark.parametrize("name", BAD_OPTIONS)
def test_bad_options_are_refused(name, weights_file):
    options, kind, words = BAD_OPTIONS[name]
    for make in (lenslet.Model.built_in, lambda **rest: lenslet.Model.load(weights_file, **rest)):
        with pytest.raises(kind, match=words) as caught:
            make(**options)
        assert "\n" not in str(caught.value)
        assert kind is lenslet.UnavailableError or "--" not in str(caught.value)  # no flags: this is no command line


@pytest.mark.parametrize("graph", ["auto", "off"])
def test_a_graph_is_no_matter_on_the_cpu(graph, cpu_model, images):
    model = lenslet.Model.built_in(device="cpu", graph=graph)
    assert np.array_equal(model.logits(images), cpu_model.logits(images))


@pytest.mark.parametrize(
    "value", [dict(device=3), dict(max_batch="7"), dict(max_batch=2**70), dict(graph=True), dict(color="red")]
)
def test_options_of_another_type_are_refused(value):
    with pytest.raises(TypeError):
        lenslet.Model.built_in(**value)


def test_calls_can_override_and_a_model_works_on_after_errors(cpu_model, images):
    expected = cpu_model.logits(images)
    for options, kind in [
        (dict(plan="fast"), lenslet.UsageError),
        (dict(plan="none.json"), lenslet.DataError),
        (dict(backend="fancy"), lenslet.UsageError),
        (dict(plan="fused", backend="direct"), lenslet.UsageError),
        (dict(math="fp64"), lenslet.UsageError),
        (dict(math="tf32"), lenslet.UnavailableError),
    ]:
        for call in (cpu_model.predict, cpu_model.logits):
            with pytest.raises(kind):
                call(images, **options)
            with pytest.raises(kind):  # an error is not remembered as a success
                call(images, **options)
        with pytest.raises(kind):
            cpu_model.profile(1, min_time_ms=1, **options)
        with pytest.raises(kind):
            cpu_model.plan(1, **options)
        assert np.array_equal(cpu_model.logits(images), expected)


def test_a_plan_named_in_a_call_comes_with_its_own_backends(images):
    model = lenslet.Model.built_in(device="cpu", plan="layered", backend="conv1=direct")
    assert model.plan()["layers"][0]["backend"] == "direct"
    assert model.plan(plan="fused")["execution"] == "fused"
    assert len(model.predict(images, plan="fused").labels) == len(images)


def test_bad_files_are_refused(tmp_path, weights_file):
    good = weights_file.read_bytes()
    arrays, _ = load_safetensors(weights_file)
    files = {
        "missing.safetensors": None,
        "empty.safetensors": b"",
        "cut.safetensors": good[:-1],
        "longer.safetensors": good + b"\0",
        "text.safetensors": b"these are no weights, as anybody can see",
    }
    for name, content in files.items():
        if content is not None:
            (tmp_path / name).write_bytes(content)
    save_safetensors(tmp_path / "shape.safetensors", {**arrays, "fc3.bias": np.zeros(11)}, {})
    save_safetensors(tmp_path / "nan.safetensors", {**arrays, "fc3.bias": np.full(10, np.nan)}, {})
    (tmp_path / "folder").mkdir()
    for name in [*files, "shape.safetensors", "nan.safetensors", "folder"]:
        with pytest.raises(lenslet.DataError, match=name.split(".")[0]) as caught:
            lenslet.Model.load(tmp_path / name)
        assert "\n" not in str(caught.value)
    with pytest.raises(lenslet.Error):
        lenslet.Model.load("")


def test_names_of_files_may_be_anything(tmp_path, weights_file, golden):
    for name in (b"blanks in it", "läßt.safetensors".encode(), b"\xff\xfe.safetensors"):
        path = tmp_path / os.fsdecode(name)
        path.write_bytes(weights_file.read_bytes())
        for given in (path, str(path)):
            assert lenslet.Model.load(given, device="cpu").predict(golden["input_u8"]).labels[0] == 0
        path.write_bytes(b"")
        with pytest.raises(lenslet.DataError, match="the file is empty"):
            lenslet.Model.load(path)


def test_a_model_is_not_pickled_or_copied(cpu_model):
    for action in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="cannot be pickled or copied: load it in each process"):
            action(cpu_model)
    with pytest.raises(TypeError):
        lenslet.Model()


def test_a_model_reports_its_properties(cpu_model):
    assert cpu_model.device == "cpu"
    assert repr(cpu_model) == "<lenslet.Model on cpu, plan auto, math fp32>"
    with pytest.raises(AttributeError):
        cpu_model.device = "cuda"


@pytest.mark.parametrize("plan", ["auto", "layered", "fused"])
@pytest.mark.parametrize("batch", [1, 64])
def test_profile_times_every_layer(model, plan, batch):
    profile = model.profile(batch, min_time_ms=20, plan=plan)
    assert profile["device"].split(":")[0] == model.device.split(":")[0]
    assert profile["plan"] == ("fused" if plan == "fused" else "layered") and profile["batch"] == batch
    layers = profile["layers"]
    if plan == "fused":
        assert list(layers) == ["lenet5"]
    else:
        assert [name for name in layers if name[:2] in ("co", "fc")] == ["conv1", "conv2", "fc1", "fc2", "fc3"]
    for row in layers.values():
        assert 0 < row["p10_ns"] <= row["median_ns"] <= row["p90_ns"] < 1e9
        assert row["backend"] and row["math"] in ("", "fp32")
    total = sum(row["median_ns"] for row in layers.values())
    assert 0.1 * total < profile["total_ns"] < 10 * total  # measured separately, on a machine that may be busy
    assert json.loads(json.dumps(profile)) == profile


@pytest.mark.parametrize("options", [dict(batch=0), dict(batch=-1), dict(batch=2**21), dict(min_time_ms=float("nan"))])
def test_profiles_that_cannot_be_are_refused(model, options):
    with pytest.raises(lenslet.UsageError):
        model.profile(**options)


def test_a_saved_plan_is_replayed(model, tmp_path, images):
    for plan in ("layered", "fused"):
        saved = model.plan(len(images), plan=plan)
        assert saved["execution"] == plan and saved["batch"] == len(images)
        file = tmp_path / f"{plan}.json"
        file.write_text(json.dumps(saved))
        again = lenslet.Model.built_in(device=model.device, plan=file)
        assert again.plan(len(images))["layers"] == saved["layers"]
        assert np.array_equal(again.predict(images).labels, model.predict(images, plan=plan).labels)
        assert np.array_equal(model.predict(images, plan=file).labels, again.predict(images).labels)


def test_backends_name_what_is_supported_and_why_not(device):
    table = lenslet.backends(device)
    assert list(table)[0] == "conv1" and list(table)[-1] == "lenet5"
    for names in table.values():
        assert any(entry["supported"] for entry in names.values())
        for entry in names.values():
            assert entry["supported"] == (entry["reason"] == "")
            assert entry["determinism"] in (("bounded", "bitwise", "position") if entry["supported"] else ("",))
    assert table["conv1"]["direct"]["supported"]
    with pytest.raises(lenslet.UsageError):
        lenslet.backends(device, math="fp8")
    with pytest.raises(lenslet.UnavailableError):
        lenslet.backends("cuda:99")
    assert lenslet.devices()[0] == "cpu"
