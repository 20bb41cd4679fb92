"""Files of `lenslet tune` as rows: the ways to compute each part of a network, and the plans."""

SCHEMA = "lenslet.tune/1"
MAX_WAYS = 64  # of a part; a network of Lenslet's has at most about twenty


def _parts(candidates):
    """The candidates of each part of the network: of layers that some candidate computes together."""
    order = {}
    for candidate in candidates:
        order.setdefault(candidate["layers"][0], len(order))
    parts, last = [], -1
    for candidate in candidates:
        if order[candidate["layers"][0]] > last:
            parts.append([])
        parts[-1].append(candidate)
        last = max([last, *(order.get(layer, 0) for layer in candidate["layers"])])
    return parts


def _layers_of(part):
    return list(dict.fromkeys(layer for candidate in part for layer in candidate["layers"]))


def _ways(part):
    """Lists of candidates that compute each layer of a part once, in the order of the file."""
    found = []

    def extend(left, taken):
        if len(found) >= MAX_WAYS:
            return
        if not left:
            found.append(taken)
            return
        for candidate in part:
            layers = candidate["layers"]
            if candidate.get("status") == "PASSED" and layers[0] == left[0] and set(layers) <= set(left):
                extend([layer for layer in left if layer not in layers], [*taken, candidate])

    extend(_layers_of(part), [])
    return found


def _row(name, backend, table, batch, entry, **labels):
    return {
        "name": name,
        "backend": backend,
        "cache": "hot",
        **entry,
        "labels": {"table": table, "batch": str(batch), **labels},
    }


def _way_row(part, way, batch):
    times = [candidate.get("time_ns") if isinstance(candidate.get("time_ns"), dict) else {} for candidate in way]
    sums = {}
    for which in ("p10", "median", "p90"):
        values = [time.get(which) for time in times]
        known = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)
        sums[which] = sum(values) if known else None
    backends = list(dict.fromkeys(str(candidate.get("backend")) for candidate in way))
    entry = {
        "math": str(way[0].get("math") or ""),
        "status": "PASSED",
        "reason": next((candidate["reason"] for candidate in way if candidate.get("reason")), None),
        "time_ns": sums,
        "chosen": all(candidate.get("chosen") is True for candidate in way),
    }
    what = ", ".join("+".join(candidate["layers"]) for candidate in way)
    return _row(", ".join(_layers_of(part)), ", ".join(backends), "tune", batch, entry, way=what)


def rows_of(document):
    """The `results` that a result file would have: a row a way, a candidate without a time, and a plan."""

    def listed(key):
        value = document.get(key)
        return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []

    def named(candidate):
        layers = candidate.get("layers")
        return isinstance(layers, list) and layers and all(isinstance(layer, str) for layer in layers)

    batch = document.get("layer_batch") or document.get("batch") or 1
    rows = []
    for part in _parts([candidate for candidate in listed("candidates") if named(candidate)]):
        rows += [_way_row(part, way, batch) for way in _ways(part)]
        rows += [
            _row("+".join(candidate["layers"]), candidate.get("backend"), "tune", batch, candidate)
            for candidate in part
            if candidate.get("status") != "PASSED"
        ]
    plan_batch = document.get("batch") or 1
    return rows + [_row("plan", plan.get("name"), "plans", plan_batch, plan) for plan in listed("plans")]
