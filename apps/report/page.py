"""One self-contained HTML page: figures, tables, environment, the files themselves. It loads nothing from elsewhere."""

import base64
import gzip
from pathlib import Path

import style
from sections import environment, section, sections
from summary import ceilings_line, overview
from tables import esc
from words import bytes_text


def embedded(files):
    """Embeds the files in the page; a button saves each unchanged."""
    parts = []
    for i, file in enumerate(files):
        # Compressed, because pages are stored and sent; in base64, so that no byte can end the element.
        data = base64.b64encode(gzip.compress(file.raw.encode("utf-8"), mtime=0)).decode("ascii")
        parts.append(
            f'<p><a class="button" download="{esc(file.name)}" data-file="raw-{i}" href="#raw">Save'
            f' {esc(file.name)}</a> <span class="soft">{bytes_text(len(file.raw.encode("utf-8")))}, sha256 <span'
            f' class="code">{file.sha256}</span></span></p><script type="application/gzip+base64" id="raw-{i}"'
            f' data-name="{esc(file.name)}">{data}</script>'
        )
    return "\n".join(parts)


SCRIPT = """
document.querySelectorAll('a[data-file]').forEach(async function (link) {
  var text = atob(document.getElementById(link.dataset.file).textContent), bytes = new Uint8Array(text.length);
  for (var i = 0; i < text.length; ++i) bytes[i] = text.charCodeAt(i);
  var blob = new Blob([bytes], {type: 'application/gzip'});
  if (window.DecompressionStream)
    blob = await new Response(blob.stream().pipeThrough(new DecompressionStream('gzip'))).blob();
  else
    link.download += '.gz';
  link.href = URL.createObjectURL(blob);
});
"""


def stylesheet():
    css = (Path(__file__).with_name("page.css")).read_text(encoding="utf-8")
    return (
        f":root {{ {style.css_variables(1)} }}\n@media (prefers-color-scheme: dark) {{ :root {{"
        f" {style.css_variables(2)} }} }}\n{css}"
    )


def render(groups, problems=()):
    """The page; `problems` are notes about files that could not be read."""
    files = [file for group in groups for file in group.files]
    files += [file for group in groups if group.beside for file in group.beside.files]
    traces = [trace for group in groups for trace in group.traces]
    title = f"Lenslet: {', '.join(group.device for group in groups)}"
    incomplete = [f"{file.name} ({file.status})" for file in files if file.status != "COMPLETE"]
    modified = [file.name for file in files if file.meta.get("dirty")]
    warnings = [f"Not complete, so only what is there is shown: {', '.join(incomplete)}."] if incomplete else []
    warnings += [f"Measured with a modified tree: {', '.join(modified)}."] if modified else []
    warnings += list(problems)
    runs = dict.fromkeys(f"{file.tool}, {file.meta.get('time_utc') or 'time unknown'}" for file in files)
    body, contents = [], []
    for i, group in enumerate(groups):
        prefix = f"device-{i}-" if len(groups) > 1 else ""
        title_of = "In short" if len(groups) == 1 else group.device
        short = section("overview", title_of, overview(group), ceilings_line(group))
        for name, heading, markup in [short, *sections(group)]:
            if prefix:
                markup = (
                    markup.replace(' id="', f' id="{prefix}')
                    .replace("url(#", f"url(#{prefix}")
                    .replace('href="#', f'href="#{prefix}')
                )
            body.append(markup)
            contents.append(f'<a href="#{prefix}{name}">{esc(heading)}</a>')
    contents += ['<a href="#environment">Environment</a>', '<a href="#raw">Files</a>']
    notes = "".join(f"<li>{esc(warning)}</li>" for warning in warnings)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{esc(title)}</title>
<style>
{stylesheet()}
</style>
</head>
<body>
<header><h1>{esc(title)}</h1>
<p class="soft">{esc("; ".join(runs))}. Medians of verified runs on random data; what each number means and how it is
taken is in docs/measuring.md of the tree. Hover over a number for the exact value.</p>
{f'<ul class="notes">{notes}</ul>' if notes else ""}
<nav aria-label="Contents">{" ".join(contents)}</nav></header>
<main>
{chr(10).join(body)}
<section id="environment"><h2>Environment</h2>
{environment(files)}
</section>
<section id="raw"><h2>Files</h2>
<p>The result files that every figure and table of this page was made from.</p>
{embedded(files + traces)}
</section>
</main>
<script>{SCRIPT}</script>
</body>
</html>
"""
