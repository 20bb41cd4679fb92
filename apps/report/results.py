"""Result files (docs/result_files.md) as rows that figures and tables select from. Python's standard library alone.

A run may be interrupted, a study may be missing, and a value may be null.
"""

import hashlib
import json
import math
import statistics
import unicodedata
from pathlib import Path

SCHEMA = "lenslet.results/1"
# The words of labels, in reading order.
ORDER = ["global", "shared", "register", "row", "column", "element", "constant", "tiled", "zero", "clamp", "reflect"]


# Beyond the range of a figure's axis; no measurement reaches it.
LARGEST, SMALLEST = 1e24, 1e-24


class BadFile(Exception):
    """A file that is no result file: the message names it and gives the reason."""


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
    """A finite float, or None for null and whatever else is no number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) <= LARGEST:
        return None
    return 0.0 if abs(value) < SMALLEST else float(value)


def natural(text):
    """Sorts "512" before "1024" and known words in their usual order."""
    try:
        return (0, float(text), "")
    except ValueError:
        return (1, float(ORDER.index(text)) if text in ORDER else float(len(ORDER)), text)


def size_of(label):
    """A label that an axis of sizes can show, as a float; None for other words."""
    kind, value, _ = natural(label)
    return value if kind == 0 and SMALLEST < value < LARGEST else None


class Row:
    """One entry of `results`."""

    def __init__(self, entry, file):
        self.entry, self.file = entry, file
        labels = entry.get("labels")
        self.labels = {str(k): str(v) for k, v in labels.items() if v is not None} if isinstance(labels, dict) else {}

    def text(self, key):
        value = self.entry.get(key)
        return value if isinstance(value, str) else ""

    def number(self, key):
        return number(self.entry.get(key))

    def _stat(self, key, which):
        stats = self.entry.get(key)
        return number(stats.get(which)) if isinstance(stats, dict) else None

    size = property(lambda self: size_of(self.labels.get("size", "none")))
    study = property(lambda self: self.text("study"))
    table = property(lambda self: self.labels.get("table", ""))
    backend = property(lambda self: self.text("backend"))
    family = property(lambda self: self.backend.split(".")[0])
    status = property(lambda self: self.text("status") or "no status")
    ns = property(lambda self: self._stat("time_ns", "median"))
    p10 = property(lambda self: self._stat("time_ns", "p10"))
    p90 = property(lambda self: self._stat("time_ns", "p90"))
    end_to_end_ns = property(lambda self: self._stat("end_to_end_ns", "median"))
    flops = property(lambda self: self.number("flops"))
    bytes = property(lambda self: self.number("bytes_ideal"))
    ratio = property(lambda self: self.number("ratio_to_cudnn"))

    @property
    def drawn(self):
        """Whether the row has a time that may be shown as one."""
        return self.status == "PASSED" and (self.ns or 0) > 0

    @property
    def gflops(self):
        return self.flops / self.ns if self.flops and self.ns else None

    @property
    def effective(self):
        """Whether the rate counts more products than are multiplied: Winograd's and FFT's. Old files lack the key."""
        saved = self.number("products_saved")
        return saved > 1 if saved else self.family == "winograd"

    @property
    def end_to_end_gflops(self):
        return self.flops / self.end_to_end_ns if self.flops and self.end_to_end_ns else None

    @property
    def gbytes(self):
        return self.bytes / self.ns if self.bytes and self.ns else None

    @property
    def published_ns(self):
        return self._stat("published", "time_ns")

    @property
    def published_gflops(self):
        printed = self._stat("published", "gflops")
        if printed is None and self.published_ns and self.flops:
            return self.flops / self.published_ns
        return printed

    @property
    def published_source(self):
        published = self.entry.get("published")
        source = published.get("source") if isinstance(published, dict) else None
        return source if isinstance(source, str) else ""

    @property
    def stages(self):
        """[(name, median ns)] of the parts that were timed alone."""
        stages = self.entry.get("stages_ns")
        return [(str(k), number(v)) for k, v in stages.items() if number(v)] if isinstance(stages, dict) else []

    @property
    def launches(self):
        launches = self.entry.get("launches")
        return [launch for launch in launches if isinstance(launch, dict)] if isinstance(launches, list) else []

    @property
    def key(self):
        """What the row measures, as `convbench compare` pairs rows."""
        labels = tuple((k, v) for k, v in self.labels.items() if k != "change")
        return (self.study, labels) + tuple(
            self.text(k) for k in ("name", "problem", "backend", "math", "layout", "cache")
        )

    def what(self):
        """The row's identity for people."""
        labels = [v if k == "table" else f"{k} {v}" for k, v in self.labels.items() if k != "change"]
        rest = [self.text(k) for k in ("name", "problem", "backend", "math", "layout", "cache")]
        return " ".join(([f"study {self.study}"] if self.study else []) + labels + [part for part in rest if part])

    def no_figure(self):
        """Why the row has no time; empty where it has one."""
        if self.drawn:
            return ""
        reason = self.text("reason")
        if self.status == "PASSED":
            return reason or "no time was measured"
        return f"{self.status}: {reason}" if reason else f"{self.status}, no reason given"


class Source:
    """A file as it is."""

    def __init__(self, path, text):
        self.path, self.raw = shown(str(path)), text

    name = property(lambda self: Path(self.path).name)
    sha256 = property(lambda self: hashlib.sha256(self.raw.encode("utf-8")).hexdigest())


class Trace(Source):
    """A timeline of `convbench streams --trace` or `lenslet profile --trace` (Chrome's trace format)."""

    def __init__(self, path, text, document):
        super().__init__(path, text)
        events = [event for event in document["traceEvents"] if isinstance(event, dict)]
        names = {
            (event.get("pid"), event.get("tid")): str((event.get("args") or {}).get("name"))
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
    """One result file with its environment."""

    def __init__(self, path, text, document=None):
        super().__init__(path, text)
        if document is None:
            document = parse(self.path, text)
        if not isinstance(document, dict) or document.get("schema") != SCHEMA:
            found = document.get("schema") if isinstance(document, dict) else None
            raise BadFile(
                f"{self.path}: schema is {found if found is None else str(found)[:80]!r}, expected {SCHEMA!r}: a file"
                " that --json of convbench or lenslet profile wrote"
            )
        if not isinstance(document.get("results"), list):
            raise BadFile(f'{self.path}: lacks the array "results"')
        self.document = document
        self.rows = [Row(entry, self) for entry in document["results"] if isinstance(entry, dict)]

    def member(self, name):
        value = self.document.get(name)
        return value if isinstance(value, dict) else {}

    meta = property(lambda self: self.member("meta"))
    host = property(lambda self: self.member("host"))
    ceilings = property(lambda self: self.member("ceilings"))
    tool = property(lambda self: str(self.document.get("tool") or "?"))
    status = property(lambda self: str(self.document.get("status") or "no status"))

    def ceiling(self, name):
        return number(self.ceilings.get(name))

    def peak(self, math):
        """Operations a second of a math mode's fastest instruction, and its name; or of the library's product."""
        peaks = self.ceilings.get("peaks")
        found = [
            (number(peak.get("flops_per_s")), str(peak.get("instruction")))
            for peak in (peaks if isinstance(peaks, list) else [])
            if isinstance(peak, dict) and peak.get("math") == math and number(peak.get("flops_per_s"))
        ]
        library = self.ceiling(f"{math}_flops_per_s")
        return max(found + ([(library, "matrix product")] if library else []), default=None)

    @property
    def devices(self):
        devices = self.document.get("devices")
        return [d for d in devices if isinstance(d, dict)] if isinstance(devices, list) else []

    @property
    def libs(self):
        libs = self.document.get("libs")
        return [d for d in libs if isinstance(d, dict)] if isinstance(libs, list) else []

    @property
    def device(self):
        """The name of what was measured."""
        which = self.ceilings.get("device")
        for device in self.devices:
            if device.get("device") == which or (which is None and device is self.devices[0]):
                return str(device.get("name") or which)
        return str(self.host.get("cpu") or "unknown device").replace("(R)", "")


def cleaned(value):
    """`value` as parsed, with shown() text and numbers that can be drawn. Throws ValueError for others."""
    if isinstance(value, str):
        return shown(value)
    if isinstance(value, dict):
        return {shown(key): cleaned(member) for key, member in value.items()}
    if isinstance(value, list):
        return [cleaned(member) for member in value]
    if isinstance(value, (int, float)) and not abs(value) <= LARGEST:
        raise ValueError(f"a number beyond {LARGEST:g}, which no measurement is")
    return value


def integer(digits):
    """An int of any length would take time with its square."""
    return int(digits) if len(digits) < 30 else float(digits)


def parse(path, text):
    try:
        return cleaned(json.loads(text, parse_int=integer))
    except ValueError as error:
        raise BadFile(f"{path}: not JSON, truncated, or not written by Lenslet: {error}") from None
    except RecursionError:
        raise BadFile(f"{path}: nested too deep for a result file") from None


def load(path):
    """A File, or a Trace."""
    name = shown(str(path))
    try:
        text = Path(path).read_bytes().decode("utf-8")
    except OSError as error:
        raise BadFile(f"{name}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadFile(f"{name}: not UTF-8 text") from None
    document = parse(name, text)
    if isinstance(document, dict) and isinstance(document.get("traceEvents"), list):
        return Trace(path, text, document)
    return File(path, text, document)


class Rows(list):
    """Rows that can be narrowed: rows.where(study="a", table="rgb", cache="hot")."""

    def where(self, **wanted):
        def fits(row):
            for key, value in wanted.items():
                if key in ("study", "table", "backend", "family", "status"):
                    found = getattr(row, key)
                elif key in ("math", "layout", "cache", "problem", "name"):
                    found = row.text(key)
                else:
                    found = row.labels.get(key)
                if found != value:
                    return False
            return True

        return Rows(row for row in self if fits(row))

    @property
    def drawn(self):
        return Rows(row for row in self if row.drawn)

    def values(self, label):
        """The different values of a label, in natural order."""
        return sorted({row.labels[label] for row in self if label in row.labels}, key=natural)

    def sizes(self):
        """The values of the label "size" that are numbers, as texts in their order."""
        return [label for label in self.values("size") if size_of(label)]

    def backends(self):
        """Backends in order of appearance."""
        return list(dict.fromkeys(row.backend for row in self if row.backend))

    def problems(self):
        return list(dict.fromkeys(row.text("problem") for row in self if row.text("problem")))

    def prefer(self, cache="hot"):
        """The rows of one cache state, or of the other where there are none."""
        return self.where(cache=cache) or self

    def best(self):
        """The fastest row with a time, or None."""
        return min(self.drawn, key=lambda row: row.ns, default=None)


class Group:
    """The rows of one device, from one file or several; a row that two files have counts as the later file has it."""

    def __init__(self, device, files, traces=()):
        self.device, self.files, self.traces = device, files, traces
        self.pictures = None  # filled by the page
        rows = {}
        copies = {}
        for file in files:
            for row in file.rows:
                key = (row.key, copies.setdefault((id(file), row.key), 0))
                copies[(id(file), row.key)] += 1
                rows.pop(key, None)
                rows[key] = row
        self.rows = Rows(rows.values())

    def ceiling(self, name):
        """The first of the files' figures, or None."""
        return next((value for value in (file.ceiling(name) for file in self.files) if value), None)

    def peak(self, math):
        """As of the first file that has one."""
        return next((peak for peak in (file.peak(math) for file in self.files) if peak), None)


def groups(sources):
    """The result files by device; traces, which name none, go with the first."""
    files = [source for source in sources if isinstance(source, File)]
    traces = [source for source in sources if isinstance(source, Trace)]
    devices = list(dict.fromkeys(file.device for file in files))
    return [
        Group(device, [file for file in files if file.device == device], traces if device == devices[0] else ())
        for device in devices
    ]


def geometric_mean(values):
    values = [value for value in values if value and value > 0]
    return math.exp(statistics.fmean(math.log(value) for value in values)) if values else None
