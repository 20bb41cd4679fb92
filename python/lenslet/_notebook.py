"""What a notebook shows of a model: pages and tables as HTML."""

import html
import os
import typing

_HEIGHT = 760  # pixels: the picture, the answer and the first layers

_Path = str | os.PathLike[str]


class Page:
    """A page of `Model.show`: one HTML document with its style, script and data, which loads nothing.

    As the last value of a notebook's cell it is shown in a frame of its own, which neither sees the notebook nor takes
    its styles.
    """

    html: str
    """The document, as `lenslet show` writes it."""

    def __init__(self, html: str, text: str) -> None:
        self.html = html
        self._text = text

    def save(self, path: _Path) -> None:
        """Writes the document to a file, which any browser opens without a server.

        Raises:
            OSError: The file cannot be written.
        """
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(self.html)

    def _repr_html_(self) -> str:
        # Scripts run in an origin of their own: they reach neither the notebook's page nor its server.
        return (
            f'<iframe title="{html.escape(self._text)}" srcdoc="{html.escape(self.html)}" sandbox="allow-scripts" '
            f'style="width: 100%; height: {_HEIGHT}px; border: 0"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<lenslet.Page of {self._text}>"


def _time_text(ns: float) -> str:
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.3g} ns"


class ProfileDict(dict[str, typing.Any]):
    """A `Profile`, which a notebook shows as a table."""

    def _repr_html_(self) -> str:
        layers = self["layers"]
        total = sum(layer["median_ns"] for layer in layers.values()) or 1.0
        # No colours but that of the text: the notebook's own, light or dark.
        bar = '<div style="background: currentColor; opacity: 0.4; height: 0.7em; width: {:.1f}%"></div>'
        rows = [
            (
                f'<tr><td style="text-align: left">{html.escape(name)}</td>'
                f'<td style="text-align: left">{html.escape(layer["backend"])}</td>'
                f"<td>{html.escape(layer['math'])}</td>"
                f"<td>{_time_text(layer['median_ns'])}</td><td>{100 * layer['median_ns'] / total:.1f} %</td>"
                f'<td style="min-width: 8em">{bar.format(100 * layer["median_ns"] / total)}</td></tr>'
            )
            for name, layer in layers.items()
        ]
        head = "".join(
            f'<th style="text-align: {side}">{name}</th>'
            for name, side in (
                ("layer", "left"),
                ("backend", "left"),
                ("arithmetic", "right"),
                ("time", "right"),
                ("share", "right"),
                ("", "left"),
            )
        )
        return (
            f'<table><caption style="text-align: left">{_time_text(self["total_ns"])} a pass of {self["batch"]:,}, '
            f"plan {html.escape(self['plan'])}, on {html.escape(self['device'])}</caption>"
            f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
        )
