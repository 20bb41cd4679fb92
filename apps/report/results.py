"""Result files (docs/result_files.md) as rows that figures and tables select from. Python's standard library alone.

A run may be interrupted, a study may be missing, and a value may be null.
"""

import collections
import hashlib
import json
import math
import os
import stat
import statistics
import unicodedata
from pathlib import Path

import tuned

SCHEMA = "lenslet.results/1"
# The words of labels, in reading order.
ORDER = ["global", "shared", "register", "row", "column", "element", "constant", "tiled", "zero", "clamp", "reflect"]
# What each published study is about.
STUDIES = {
    "a": "RGB images and matrix products",
    "b": "implicit GEMM",
    "c": "filtering a picture",
    "d": "beyond LeNet",
    "e": "1D and 2D convolution",
}
# Beyond the range of a figure's axis; no measurement reaches it.
MAX_NUMBER, MIN_NUMBER = 1e24, 1e-24
MAX_TEXT = 1000  # characters of a text
MAX_BYTES = 64 << 20  # of a file, as convbench reads them


class BadFile(Exception):
    """An invalid result file: the message names it and the reason."""


def shown(text):
    """Text of a file, or a file's name, that a page and a terminal may show, on one line.

    Controls, invisible characters, marks of direction and bytes that are not UTF-8 become \\xNN.
    """

    def escaped(c):
        errors = "surrogateescape" if "\udc80" <= c <= "\udcff" else "surrogatepass"
        return "".join(f"\\x{byte:02x}" for byte in c.encode("utf-8", errors))

    if text.isprintable():  # nearly all is
        return text
    return "".join(escaped(c) if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") else c for c in text)


def number(value):
    """A finite float, or None for null and anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) <= MAX_NUMBER:
        return None
    return 0.0 if abs(value) < MIN_NUMBER else float(value)


def natural(text):
    """Sorts "512" before "1024" and known words in their usual order."""
    try:
        return (0, float(text), "")
    except ValueError:
        return (1, float(ORDER.index(text)) if text in ORDER else float(len(ORDER)), text)


def size_of(label):
    """A label that an axis of sizes can show, as a float; None for other words."""
    kind, value, _ = natural(label)
    return value if kind == 0 and MIN_NUMBER < value < MAX_NUMBER else None


def members(value):
    """`value` if it is a dict, else an empty dict."""
    return value if isinstance(value, dict) else {}


def dicts(value):
    """The dicts of a list; empty if `value` is not a list."""
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def over(amount, time):
    return amount / time if amount and time else None


# {backend of a rung in an older file: the rung that has its code today}. Several rungs were divided since, so others
# have new numbers. result_reader.cpp has them too. The rungs 07_rolling_rows and 08_next_row_ahead of direct are not
# here: their code has changed.
RENAMED_RUNGS = {
    "direct.05_vector_loads": "06_filters_in_shared",
    "direct.06_weights_as_operands": "07_weights_as_operands",
    "direct.08_rolling_rows": "09_rolling_rows",
    "direct.09_next_row_ahead": "10_next_row_ahead",
    "direct.10_strips_fill_the_gpu": "11_strips_fill_the_gpu",
    "implicit_gemm.05_offset_table": "08_unchecked",
    "implicit_gemm.06_double_buffer": "09_double_buffer",
    "implicit_gemm.07_async_copy": "10_async_copy",
    "implicit_gemm.08_read_ahead": "11_read_ahead",
    "implicit_gemm.09_thread_16x8": "12_thread_16x8",
    "implicit_gemm.05_tap_offsets": "06_tap_offsets",
    "implicit_gemm.06_packed_filters": "07_packed_filters",
    "implicit_gemm.07_unchecked": "08_unchecked",
    "implicit_gemm.08_double_buffer": "09_double_buffer",
    "implicit_gemm.09_async_copy": "10_async_copy",
    "implicit_gemm.10_read_ahead": "11_read_ahead",
    "implicit_gemm.11_thread_16x8": "12_thread_16x8",
    "tensor_core.01_staged": "02_mma_sync",
    "tensor_core.02_async_copy": "03_async_copy",
    "tensor_core.03_swizzle": "05_ldmatrix",
    "tensor_core.04_warpgroup": "06_warpgroup",
    "tensor_core.05_tensor_copy": "07_tensor_copy",
    "tensor_core.06_copy_warp": "09_products_in_flight",
    "tensor_core.07_multicast": "10_multicast",
    "tensor_core.08_persistent": "11_persistent",
    "tensor_core.09_whole_lines": "12_whole_lines",
    "tensor_core.10_kept_filters": "14_shared_inputs",
}


RENAMED_PASSES = {"unprofiled": "uninstrumented", "profiled": "instrumented"}


def in_words_of_today(entry):
    """A row with today's words: older files name the backend of `lenslet bench` in the label `variant`, for example."""
    labels = members(entry.get("labels"))
    if entry.get("name") in RENAMED_PASSES:
        return {**entry, "name": RENAMED_PASSES[entry["name"]]}
    if entry.get("backend") in RENAMED_RUNGS:
        rung, algorithm = RENAMED_RUNGS[entry["backend"]], entry["backend"].split(".")[0]
        entry = {**entry, "backend": f"{algorithm}.{rung}"}
        return {**entry, "labels": {**labels, "rung": rung}} if "rung" in labels else entry
    if labels.get("rung") == "rival":
        return {**entry, "labels": {**labels, "rung": "beside"}}
    if labels.get("place") == "resident":
        labels = {**labels, "place": "device"}
        entry = {**entry, "labels": labels}
    if "variant" in labels:
        backend = labels["variant"] or entry.get("backend")
        return {**entry, "backend": backend, "labels": {k: v for k, v in labels.items() if k != "variant"}}
    return entry


class Row:
    """One entry of `results`, or of `rows`: row["side"] is its member, row.labels its labels."""

    IDENTITY = ("name", "problem", "backend", "dt", "math", "layout", "cache")  # with study and labels

    def __init__(self, entry):
        entry = in_words_of_today(entry)
        # The type of almost every row's tensors, which older files lack.
        entry = {key: value for key, value in entry.items() if (key, value) != ("dt", "fp32")}
        self.entry, self.get = entry, entry.get
        self.labels = {str(k): str(v) for k, v in members(entry.get("labels")).items() if v is not None}

    def __getitem__(self, key):
        return self.entry[key]

    def of(self, key):
        """A property, a label or a member of that name, a text or a number; None where the row has none."""
        if key in ("study", "table", "family", "status"):
            return getattr(self, key)
        if key in self.IDENTITY:
            return self.text(key)
        value = self.labels.get(key, self.get(key))
        return value if isinstance(value, (str, int, float)) else None

    def text(self, key):
        value = self.get(key)
        return value if isinstance(value, str) else ""

    def number(self, key):
        return number(self.get(key))

    def stat(self, key, which):
        return number(members(self.get(key)).get(which))

    size = property(lambda self: size_of(self.labels.get("size", "none")))
    study = property(lambda self: self.text("study"))
    study_title = property(lambda self: STUDIES.get(self.study, self.study))
    table = property(lambda self: self.labels.get("table", ""))
    backend = property(lambda self: self.text("backend"))
    family = property(lambda self: self.backend.split(".")[0])
    status = property(lambda self: self.text("status") or "no status")
    ns = property(lambda self: self.stat("time_ns", "median"))
    p10 = property(lambda self: self.stat("time_ns", "p10"))
    p90 = property(lambda self: self.stat("time_ns", "p90"))
    end_to_end_ns = property(lambda self: self.stat("end_to_end_ns", "median"))
    flops = property(lambda self: self.number("flops"))
    bytes = property(lambda self: self.number("bytes_ideal"))
    ratio = property(lambda self: self.number("ratio_to_cudnn"))
    ceiling_fraction = property(lambda self: self.number("ceiling_fraction"))
    gflops = property(lambda self: over(self.flops, self.ns))
    end_to_end_gflops = property(lambda self: over(self.flops, self.end_to_end_ns))
    gbytes = property(lambda self: over(self.bytes, self.ns))
    published_ns = property(lambda self: self.stat("published", "time_ns"))
    launches = property(lambda self: dicts(self.get("launches")))

    @property
    def drawn(self):
        """Whether the row has a valid time."""
        return self.status == "PASSED" and (self.ns or 0) > 0

    @property
    def effective(self):
        """Whether the rate is effective: Winograd and FFT multiply fewer products. Old files lack the key."""
        saved = self.number("products_saved")
        return saved > 1 if saved else self.family == "winograd"

    @property
    def published_gflops(self):
        printed = self.stat("published", "gflops")
        return over(self.flops, self.published_ns) if printed is None else printed

    @property
    def published_source(self):
        source = members(self.get("published")).get("source")
        return source if isinstance(source, str) else ""

    @property
    def stages(self):
        """[(name, median ns)] of the parts that were timed separately."""
        return [(str(k), number(v)) for k, v in members(self.get("stages_ns")).items() if number(v)]

    @property
    def key(self):
        """Identifies what the row measures, as `convbench compare` does."""
        labels = tuple((k, v) for k, v in self.labels.items() if k != "change")
        return (self.study, labels, *map(self.text, self.IDENTITY))

    def words(self):
        """The labels for people."""
        return [v if k == "table" else f"{k} {v}" for k, v in self.labels.items() if k != "change"]

    def what(self):
        """The row's identity for people."""
        return " ".join(part for part in (self.study_title, *self.words(), *map(self.text, self.IDENTITY)) if part)

    def no_figure(self):
        """Why the row has no time; empty if it has one."""
        if self.drawn:
            return ""
        reason = self.text("reason")
        if self.status == "PASSED":
            return reason or "no time was measured"
        return f"{self.status}: {reason}" if reason else f"{self.status}, no reason given"


class Source:
    """The content of a file."""

    def __init__(self, path, text):
        self.path, self.raw = shown(str(path)), text

    name = property(lambda self: Path(self.path).name)
    sha256 = property(lambda self: hashlib.sha256(self.raw.encode("utf-8")).hexdigest())


class Trace(Source):
    """A timeline of `convbench streams --trace` or `lenslet profile --trace` (Chrome's trace format)."""

    def __init__(self, path, text, document):
        super().__init__(path, text)
        events = dicts(document["traceEvents"])
        names = {
            (event.get("pid"), event.get("tid")): str(members(event.get("args")).get("name"))
            for event in events
            if event.get("ph") == "M" and event.get("name") == "thread_name"
        }
        self.lanes = {}  # name: [(begin, duration, what)] in µs
        for event in events:
            begin, duration = number(event.get("ts")), number(event.get("dur"))
            if event.get("ph") == "X" and begin is not None and duration is not None:
                key = (event.get("pid"), event.get("tid"))
                self.lanes.setdefault(names.get(key, f"lane {key[1]}"), []).append(
                    (begin, duration, str(event.get("name")))
                )


class File(Source):
    """One result file with its environment; file["digits"] is its member. `schema`: None for a file of any schema."""

    def __init__(self, path, text, document=None, schema=SCHEMA):
        super().__init__(path, text)
        document = parse(self.path, text) if document is None else document
        found = members(document).get("schema")
        if schema and found not in (schema, tuned.SCHEMA):
            raise BadFile(
                f"{self.path}: schema is {found if found is None else str(found)[:80]!r}, expected {schema!r}"
                f" or {tuned.SCHEMA!r}: a file that --json of convbench, lenslet profile, lenslet bench or lenslet tune"
                " wrote"
            )
        if found == tuned.SCHEMA:
            document = {**document, "results": tuned.rows_of(document)}
        if schema and not isinstance(document.get("results"), list):
            raise BadFile(f'{self.path}: lacks the array "results"')
        self.document = members(document)
        if "sums_ns" in self.document:
            sums = {RENAMED_PASSES.get(key, key): ns for key, ns in members(self.document["sums_ns"]).items()}
            self.document = {**self.document, "sums_ns": sums}
        self.rows = Rows(Row(entry) for entry in dicts(self.document.get("results", self.document.get("rows"))))
        batch = number(self.document.get("batch"))
        if batch:  # of a profile, whose rows do not repeat it
            for row in self.rows:
                row.labels.setdefault("batch", f"{batch:.0f}")

    def __getitem__(self, key):
        return self.document[key]

    meta = property(lambda self: members(self.document.get("meta")))
    host = property(lambda self: members(self.document.get("host")))
    ceilings = property(lambda self: members(self.document.get("ceilings")))
    devices = property(lambda self: dicts(self.document.get("devices")))
    libs = property(lambda self: dicts(self.document.get("libs")))
    tool = property(lambda self: str(self.document.get("tool") or "?"))
    status = property(lambda self: str(self.document.get("status") or "no status"))

    def ceiling(self, name):
        return number(self.ceilings.get(name))

    def bandwidths(self):
        """[(name, bytes per second)] of memory, then of each cache: the faster of copying and reading."""

        def faster(of):
            return max(filter(None, (number(of.get(f"{how}_bytes_per_s")) for how in ("copy", "read"))), default=None)

        found = [("memory", faster(self.ceilings))]
        found += [(str(cache.get("name")), faster(cache)) for cache in reversed(dicts(self.ceilings.get("caches")))]
        return [(name, rate) for name, rate in found if rate]

    def peak(self, math):
        """Operations per second of a math mode's fastest instruction, and its name; or of the library's product."""
        found = [
            (number(peak.get("flops_per_s")), str(peak.get("instruction")))
            for peak in dicts(self.ceilings.get("peaks"))
            if peak.get("math") == math and number(peak.get("flops_per_s"))
        ]
        library = self.ceiling(f"{math}_flops_per_s")
        return max(found + ([(library, "matrix product")] if library else []), default=None)

    @property
    def device(self):
        """The name of the measured device."""
        which = self.ceilings.get("device")
        for device in self.devices:
            if device.get("device") == which or (which is None and device is self.devices[0]):
                return str(device.get("name") or which)
        return str(self.host.get("cpu") or "unknown device").replace("(R)", "")


def shortened(text):
    """`text` without its middle if it is longer than any that Lenslet writes; drawing it would take minutes."""
    half = MAX_TEXT // 2
    return text if len(text) <= MAX_TEXT else f"{text[:half]}…{text[-half:]}"


def cleaned(value):
    """`value` with text made printable by shown(), and short. Raises ValueError for numbers that cannot be drawn."""
    if isinstance(value, str):
        return shown(shortened(value))
    if isinstance(value, dict):
        return {shown(shortened(key)): cleaned(member) for key, member in value.items()}
    if isinstance(value, list):
        return [cleaned(member) for member in value]
    if isinstance(value, (int, float)) and not abs(value) <= MAX_NUMBER:
        raise ValueError(f"a number beyond {MAX_NUMBER:g}, which no measurement is")
    return value


def integer(digits):
    """Parsing a very long int takes quadratic time."""
    return int(digits) if len(digits) < 30 else float(digits)


def parse(path, text):
    try:
        return cleaned(json.loads(text, parse_int=integer))
    except ValueError as error:
        raise BadFile(f"{path}: not JSON, truncated, or not written by Lenslet: {error}") from None
    except RecursionError:
        raise BadFile(f"{path}: nested too deep for a result file") from None


def read_bytes(path, name):
    """The bytes of a regular file of at most MAX_BYTES. Waits for no FIFO, and reads no endless device."""
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY), "rb") as stream:
        status = os.fstat(stream.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise BadFile(f"{name}: expected a regular file")
        content = stream.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise BadFile(f"{name}: expected a file of at most {MAX_BYTES} bytes")
    return content


def load(path, schema=SCHEMA):
    """A File, or a Trace; `schema`: None for a file of any schema."""
    name = shown(str(path))
    try:
        text = read_bytes(path, name).decode("utf-8")
    except OSError as error:
        raise BadFile(f"{name}: cannot be opened: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadFile(f"{name}: not UTF-8 text") from None
    document = parse(name, text)
    if isinstance(members(document).get("traceEvents"), list):
        return Trace(path, text, document)
    return File(path, text, document, schema)


class Rows(list):
    """Rows that can be narrowed: rows.where(study="a", table="rgb", cache="hot", math=("fp32", "tf32"))."""

    def where(self, **wanted):
        some = {key: value if isinstance(value, tuple) else (value,) for key, value in wanted.items()}
        return Rows(row for row in self if all(row.of(key) in values for key, values in some.items()))

    def by(self, *keys):
        """{value: its rows} in order of appearance; a key is a name or a function of a row, several make tuples."""
        found = {}
        for row in self:
            values = tuple(key(row) if callable(key) else row.of(key) for key in keys)
            found.setdefault(values if len(keys) > 1 else values[0], Rows()).append(row)
        return found

    @property
    def drawn(self):
        return Rows(row for row in self if row.drawn)

    def values(self, key):
        """The different values of a label or member, in natural order."""
        return sorted({row.of(key) for row in self} - {None}, key=natural)

    def sizes(self):
        """The values of the label "size" that are numbers, as texts in their order."""
        return [label for label in self.values("size") if size_of(label)]

    def backends(self):
        """Backends in order of appearance."""
        return [name for name in self.by("backend") if name]

    def problems(self):
        return [problem for problem in self.by(lambda row: row.text("problem")) if problem]

    def prefer(self, cache="hot"):
        """The rows of one cache state; if there are none, of the other."""
        return self.where(cache=cache) or self

    def best(self, rank=lambda row: row.ns):
        """Of the rows with a time, the one with the least `rank`, a function of a row; None where none has one."""
        return min((row for row in self.drawn if rank(row)), key=rank, default=None)

    def fastest(self):
        """The row of the most images per second, or None."""
        return self.best(lambda row: -row["images_per_s"])


class Group:
    """The rows of one device, from one or several files; of equal rows the one of the last file counts."""

    def __init__(self, device, files, traces=()):
        self.device, self.files, self.traces = device, files, traces
        self.pictures = None  # filled by the page
        self.beside, self.suffix = None, ""  # the group of another run, and what its figures' names end in
        rows = {}
        for file in files:
            copies = collections.Counter()
            for row in file.rows:
                key = (row.key, copies[row.key])
                copies[row.key] += 1
                rows.pop(key, None)
                rows[key] = row
        self.rows = Rows(rows.values())

    def ceiling(self, name):
        """The first of the files' figures, or None."""
        return next(filter(None, (file.ceiling(name) for file in self.files)), None)

    def bandwidths(self):
        """Those of the first file that has some."""
        return next(filter(None, (file.bandwidths() for file in self.files)), [])

    def peak(self, math):
        """The value of the first file that has one."""
        return next(filter(None, (file.peak(math) for file in self.files)), None)


def groups(sources):
    """The result files by device; traces, which name no device, belong to the first."""
    files, traces = ([source for source in sources if isinstance(source, kind)] for kind in (File, Trace))
    devices = list(dict.fromkeys(file.device for file in files))
    return [
        Group(device, [file for file in files if file.device == device], traces if device == devices[0] else ())
        for device in devices
    ]


def geometric_mean(values):
    values = [value for value in values if value and value > 0]
    return math.exp(statistics.fmean(math.log(value) for value in values)) if values else None
