"""The table of `lenslet serve` under load, from serve.json of apps/peers/serve_load.py. A text."""

import common
from common import load, rows_of

from tables import markdown


def server(folder):
    """Lenslet, and the bare server if it was measured too, by batch and load; empty without the file."""
    rows, lines = rows_of(folder, "serve.json").where(status="PASSED"), []
    if not rows:
        return ""
    document, first = load(folder, "serve.json"), rows[0]
    beside = any(row.of("share_of_echo") is not None for row in rows)
    for row in rows:
        share = ""
        if row.of("share_of_echo") is not None:
            share = f"{row['share_of_echo']:.0%} ({row['cpu_share_of_echo']:.0%})"
        milliseconds = [f"{row['latency_ns'][key] / 1e6:.2f}" for key in ("median", "p99")]
        rates = [f"{row[key]:,.0f}" for key in ("connections", "requests_per_s", "images_per_s")]
        cpu_us = f"{row['server_cpu_ns'] / 1e3:.1f}"
        lines.append([row["side"], f"{row['batch']:,}", row["load"], *rates, *milliseconds, cpu_us, *[share] * beside])
    place = common.cpu_name(document) if first["device"] == "cpu" else document.device
    bare = ", beside a bare server of Boost.Beast that answers the same bytes" if beside else ""
    servers, turns = ("each server", ", turn by turn in one run") if beside else ("the server", "")
    ratio = "; in brackets: the bare server's processor time over Lenslet's" if beside else ""
    return markdown(
        f"**`lenslet serve` under load**, {place}: binary tensors of pixels from wrk over loopback{bare};"
        f" threads: {first['threads']} for {servers}, {first['client_threads']} for wrk{turns}; medians."
        f" Half load is half of Lenslet's full rate{ratio} (`apps/peers/serve_load.py`; {folder.name}):",
        [
            "server",
            "images in a request",
            "load",
            "connections",
            "requests/s",
            "images/s",
            "median, ms",
            "p99, ms",
            "processor time a request, µs",
            *["of the bare server's rate"] * beside,
        ],
        lines,
    )
