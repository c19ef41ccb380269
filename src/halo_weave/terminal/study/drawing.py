"""Draws the page of a study: one file that contains its script and style and loads nothing else.

Text by people and models is never markup: it is either JSON without angle brackets or escaped. The content security
policy allows only the page's own script and style.
"""

import base64
import hashlib
import html
from collections.abc import Iterator
from importlib.resources import files
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from halo_weave.terminal.study.collecting import MOST_COLUMNS, Studied, StudiedChunk

_FINEST = 100_000
"""Shares of attention are stored as whole multiples of 1 / _FINEST."""


def draw(studied: Studied) -> str:
    style, script = (_own(name) for name in ("page.css", "page.js"))
    title = html.escape(f"{studied.header.name}: a study of attention and brightness")
    policy = f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<header>
<h1>{html.escape(studied.header.name)}</h1>
<p>{_summary(studied)}</p>
</header>
<main>
<section aria-labelledby="map-title">
<h2 id="map-title">Chunks in context over time</h2>
<fieldset id="shown"><legend>Shown</legend>
<label><input type="radio" name="shown" value="brightness" checked> peak brightness</label>
<label><input type="radio" name="shown" value="attention"> attention received</label>
<label><input type="radio" name="shown" value="per-token"> attention per token</label>
</fieldset>
<p class="hint">Each row is a chunk, in order of position. Time runs to the right, in steps of the model. Pale cells
mean that the chunk was not in context. <span class="key buried"></span> archived
<span class="key returned"></span> returned. Point at a cell for details; click to keep a chunk in view.</p>
<div class="scroll"><canvas id="map" role="img" aria-label="Chunks over time"></canvas></div>
</section>
<section aria-labelledby="looks-title">
<h2 id="looks-title">Attention between chunks</h2>
<p class="hint">Each row is a chunk that the model wrote, each column a chunk of its context. Darker cells received a
larger share of its attention. The rest went to the system prompt and the chat template.</p>
<div class="scroll"><canvas id="looks" role="img" aria-label="Attention between chunks"></canvas></div>
</section>
<aside id="card" aria-live="polite"><p class="hint">Point at a chunk to read it.</p></aside>
<details><summary>All chunks as a table</summary>
<div class="scroll"><table>
<thead><tr><th>chunk</th><th>text</th><th>in context (steps)</th><th>first and last peak</th><th>attention received</th>
<th>events</th></tr></thead>
<tbody>{"".join(_rows(studied))}</tbody>
</table></div></details>
</main>
<script type="application/json" id="data">{_json(_data(studied))}</script>
<script>{script}</script>
</body>
</html>
"""


def _own(name: str) -> str:
    return (files("halo_weave.terminal.study") / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _json(data: Any) -> str:
    return msgspec.json.encode(data).decode().replace("<", "\\u003c").replace("\u2028", "\\u2028")


def _summary(studied: Studied) -> str:
    header = studied.header
    kinds = [mark.kind for chunk in studied.chunks for mark in chunk.marks]
    figures = (
        f"{len(studied.replies)} replies, {len(studied.steps)} steps, {len(studied.chunks)} chunks, "
        f"{kinds.count('buried')} archived, {kinds.count('returned')} returned"
    )
    return html.escape(f"{header.model}, scorer {header.scorer}, {header.started_at:%Y-%m-%d %H:%M} UTC. {figures}.")


def _rows(studied: Studied) -> Iterator[str]:
    totals = studied.attention.sum(axis=0, dtype=np.float64)
    for chunk, total in zip(studied.chunks, totals, strict=True):
        lives = ", ".join(f"{start}–{'' if end is None else end}" for start, end in chunk.lives)
        peaks = [peak for _, peak in sorted(chunk.peaks.items())]
        shown = f"{peaks[0]:.0f} → {peaks[-1]:.0f}" if peaks else ""
        marks = "; ".join(f"{mark.kind} at {mark.step}{f': {mark.why}' if mark.why else ''}" for mark in chunk.marks)
        cells = (chunk.name, chunk.text, lives, shown, f"{total:.2f}", marks)
        yield f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in cells)}</tr>\n"


def _data(studied: Studied) -> dict[str, Any]:
    """Return the page's data. Steps are grouped into columns so that a long capture can be drawn too."""
    bounds = _bounds(studied)
    return {
        "columns": bounds,
        "texts": ["".join(studied.steps[start:end]) for start, end in pairwise(bounds)],
        "replies": [[reply.first, reply.end] for reply in studied.replies],
        "chunks": [
            {
                "name": chunk.name,
                "role": chunk.role,
                "text": chunk.text,
                "tokens": chunk.tokens,
                "lives": chunk.lives,
                "marks": [[mark.step, mark.kind, mark.why] for mark in chunk.marks],
                "brightness": _brightness(chunk, bounds),
                "attention": _whole(_means(studied.attention[:, place], bounds)),
            }
            for place, chunk in enumerate(studied.chunks)
        ],
        "looks": _looks(studied),
        "finest": _FINEST,
    }


def _bounds(studied: Studied) -> list[int]:
    """Return the first step of each column, then the end of the last. No column spans two replies."""
    width = max(1, -(-len(studied.steps) // MOST_COLUMNS))
    starts = {start for reply in studied.replies for start in range(reply.first, reply.end, width)}
    return sorted({0, *starts, len(studied.steps)})


def _brightness(chunk: StudiedChunk, bounds: list[int]) -> list[int | None]:
    """Return the latest peak by the start of each column (or else the first one); None where it did not live."""
    noted = sorted(chunk.peaks.items())
    found: list[int | None] = []
    for start, end in pairwise(bounds):
        lives = any(begin < end and (until is None or until > start) for begin, until in chunk.lives)
        known = [peak for step, peak in noted if step <= start] or [peak for _, peak in noted[:1]]
        found.append(round(known[-1]) if lives and known else None)
    return found


def _means(shares: NDArray[np.float32], bounds: list[int]) -> NDArray[np.float64]:
    return np.array([shares[start:end].mean(dtype=np.float64) for start, end in pairwise(bounds)])


def _whole(shares: NDArray[np.float64]) -> list[int]:
    return [round(share * _FINEST) for share in shares.tolist()]


def _looks(studied: Studied) -> list[dict[str, Any]]:
    """Return, for each chunk that the model wrote, the mean attention that its steps gave to every chunk."""
    writers = np.array(studied.writers, dtype=np.int64)
    return [
        {"by": int(writer), "at": _whole(studied.attention[writers == writer].mean(axis=0, dtype=np.float64))}
        for writer in sorted({one for one in studied.writers if one >= 0})
    ]
