"""Result files, and the page generated from them, so that no figure is copied by hand.

`bench NAME --save FOLDER` writes a result file. The output of `bench NAME --json` also counts as one if its file name
starts with the benchmark's name, as in `recall-locomo.json`. It records no date, machine or versions, and the page says
so.
"""

import os
import platform
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from halo_weave import __version__
from halo_weave.bench.results.sections import with_sections
from halo_weave.bench.results.tables import in_words, summary_of, tables_of
from halo_weave.errors import InputError

BENCHES = (
    "recall",
    "peers",
    "restraint",
    "need",
    "keep",
    "policies",
    "nextturn",
    "repetition",
    "engine",
    "embedding",
    "heads",
    "brightness",
    "turn",
    "scale",
    "page",
)
BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"
_VERSIONS = ("xllamacpp", "numpy", "usearch")


class Origin(msgspec.Struct, frozen=True):
    """Where and how figures were measured."""

    command: str
    date: str
    machine: str
    versions: dict[str, str]


class ResultFile(msgspec.Struct, frozen=True):
    figures: dict[str, Any]
    origin: Origin | None = None


class Result(NamedTuple):
    """`about` tells apart several results of one benchmark, for example by the name of the data."""

    bench: str
    about: str
    file: ResultFile
    pictures: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        return f"{self.bench}, {self.about}" if self.about else self.bench

    @property
    def name(self) -> str:
        """The name of the file, without `.json`."""
        return f"{self.bench}-{self.about}" if self.about else self.bench


def save(folder: Path, bench: str, words: Sequence[str], figures: Mapping[str, Any], data: Path | None) -> Path:
    """Write a result file; `words` are the arguments of the command line."""
    path = folder / (f"{bench}-{_name_of(data)}.json" if data else f"{bench}.json")
    origin = Origin(_command(words), datetime.now(UTC).date().isoformat(), _machine(), _versions())
    content = msgspec.json.format(msgspec.json.encode(ResultFile(dict(figures), origin)))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content + b"\n")
    except OSError as error:
        raise InputError(f"Cannot save the result to {path}: {error.strerror}.") from error
    return path


def load(folder: Path) -> list[Result]:
    """Load all results of a folder, in the order of `BENCHES`."""
    found = []
    for path in sorted(folder.glob("*.json")):
        bench, _, about = path.stem.partition("-")
        if bench not in BENCHES:
            raise InputError(f"{path} does not start with the name of a benchmark: {', '.join(BENCHES)}.")
        pictures = sorted(one.name for one in folder.glob(f"{path.stem}.*") if one.suffix in (".png", ".svg"))
        # A plot may exist as both PNG and SVG; one is enough.
        found.append(Result(bench, about, _read(path), tuple(pictures[:1])))
    return sorted(found, key=lambda result: (BENCHES.index(result.bench), result.about))


def page(results: Sequence[Result], pictures_from: str = "results") -> str:
    """Return the whole page in Markdown."""
    return "\n".join(_page(results, pictures_from)).rstrip() + "\n"


def headline(results: Sequence[Result]) -> str:
    """Return the table of the main figures in Markdown."""
    measured: dict[str, list[str]] = {}
    for result in results:
        for what, value in _headlines(result):
            measured.setdefault(what, []).append(f"{value} ({result.about})" if result.about else value)
    if not measured:
        return "There are no result files yet; `halo-weave bench` measures on your own machine."
    rows = (f"| {what} | {', '.join(values)} |" for what, values in measured.items())
    return "\n".join(["| measure | result |", "| --- | --- |", *rows])


def with_headline(text: str, table: str, where: str) -> str:
    """Return the text with the table between its two marks."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise InputError(f"{where} has no section for the figures between {BEGIN} and {END}.")
    return f"{before}{BEGIN}\n{table}\n{END}{after}"


def sections(results: Sequence[Result]) -> dict[str, str]:
    """Return what other pages show of each result, by the names of the files."""
    return {result.name: summary_of(result.bench, result.file.figures) for result in results}


def make(folder: Path, page_path: Path, readme: Path) -> list[Result]:
    """Write the page, the table into the README, and the sections of the pages beside it. Return the results that were
    used."""
    results = load(folder)
    try:
        texts = {readme: with_headline(readme.read_text(encoding="utf-8"), headline(results), str(readme))}
        for beside in sorted(page_path.parent.glob("*.md")):
            before = texts.get(beside) or beside.read_text(encoding="utf-8")
            if (text := with_sections(before, sections(results), str(beside))) != before:
                texts[beside] = text
        texts[page_path] = page(results, Path(os.path.relpath(folder, page_path.parent)).as_posix())
        for path, text in texts.items():
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"Cannot write the results: {error}.") from error
    return results


def _page(results: Sequence[Result], pictures_from: str) -> Iterator[str]:
    yield from (
        "# Results",
        "",
        "`halo-weave bench results` generates this page from the files in `docs/results`; do not edit it by hand. "
        "`halo-weave bench NAME --save docs/results` writes such a file.",
        "",
    )
    yield (
        "Evidence and recall are percentages. Brackets hold a mean's 95 % confidence interval (bootstrap over "
        "questions). Times depend on the machine, which is named; ratios were measured within one run."
    )
    measured = {result.bench for result in results}
    if missing := [name for name in BENCHES if name not in measured]:
        yield from ("", f"Not measured for this page: {', '.join(f'`bench {name}`' for name in missing)}.")
    for result in results:
        yield from ("", f"## {result.title}", "")
        yield _origin_in_words(result.file.origin)
        for picture in result.pictures:
            yield from ("", f"![{result.title}]({pictures_from}/{picture})")
        yield from tables_of(result.bench, result.file.figures)


def _origin_in_words(origin: Origin | None) -> str:
    if origin is None:
        return "Date, machine and versions were not recorded."
    versions = ", ".join(f"{name} {version}" for name, version in origin.versions.items())
    return f"`{origin.command}` · {origin.date} · {origin.machine} · {versions}"


class _Headline(NamedTuple):
    """`path` leads to the figure in the results; `unit` follows it."""

    what: str
    path: tuple[str, ...]
    unit: str = ""


_HEADLINES: dict[str, tuple[_Headline, ...]] = {
    "recall": (
        _Headline("Evidence retrieved within 1,024 tokens", ("evidence_at_1024",), " %"),
        _Headline("Evidence retrieved within 2,048 tokens", ("evidence_at_2048",), " %"),
        _Headline("Evidence among the ten best turns (recall@10)", ("recall_at_10",), " %"),
    ),
    "keep": (
        _Headline("Evidence kept when a context is pruned to a quarter", ("default", "kept_at_25"), " %"),
        _Headline("Same, pruned at random", ("controls", "random", "kept_at_25"), " %"),
        _Headline("Evidence kept when a context is pruned to half", ("default", "kept_at_50"), " %"),
    ),
    "policies": (
        _Headline("Evidence in a 1,024-token context, mid-chat", ("budgets", "1024", "halo_weave", "evidence"), " %"),
        _Headline("Same, newest text only", ("budgets", "1024", "fifo", "evidence"), " %"),
        _Headline("Same, retrieval only", ("budgets", "1024", "rag_time", "evidence"), " %"),
    ),
    "engine": (
        _Headline("Step time with attention capture, relative to without", ("capture_overhead",), " ×"),
        _Headline("Burying: speed-up over reading the rest again", ("bury_speedup",), " ×"),
        _Headline("Resurrecting by decoding: speed-up over reading everything again", ("resurrect_speedup",), " ×"),
        _Headline("Resurrecting from kept state: speed-up", ("resurrect_kept_speedup",), " ×"),
        _Headline("KL divergence from a clean read after 50 bury-and-resurrect cycles", ("edit_kl",)),
        _Headline("Next-token agreement with a clean read", ("edit_top1_agreement",)),
    ),
    "brightness": (_Headline("Time to score a step, 32,768 tokens in context", ("step_ms_32k",), " ms"),),
    "turn": (_Headline("Halo Weave's own share of a turn's time", ("overhead_share",)),),
    "scale": (_Headline("Search latency with a million chunks, p95", ("1000000", "search_ms_p95"), " ms"),),
    "page": (_Headline("First paint with 20,000 tokens in context", ("first_paint_s",), " s"),),
}


def _headlines(result: Result) -> Iterator[tuple[str, str]]:
    """Yield a label and a value for each main figure that the result contains."""
    for one in _HEADLINES.get(result.bench, ()):
        value: Any = result.file.figures
        for name in one.path:
            value = value.get(name) if isinstance(value, Mapping) else None
        if value is not None:
            yield one.what, f"{in_words(value)}{one.unit}"


def _read(path: Path) -> ResultFile:
    readers: tuple[Callable[[bytes], ResultFile], ...] = (
        lambda content: msgspec.json.decode(content, type=ResultFile),
        lambda content: ResultFile(msgspec.json.decode(content, type=dict[str, Any])),
    )
    content = path.read_bytes()
    for read in readers:
        try:
            return read(content)
        except msgspec.MsgspecError as error:
            problem = error
    raise InputError(f"{path} is not a result: {problem}.")


def _name_of(data: Path) -> str:
    return data.name.partition(".")[0]


def _command(words: Sequence[str]) -> str:
    """Return the command to repeat the run, with file names but no folders."""
    left = list(words)
    if "--save" in left:
        place = left.index("--save")
        del left[place : place + 2]
    return shlex.join(["halo-weave", *(word.rsplit("/", 1)[-1] for word in left)])


def _machine() -> str:
    return f"{platform.system()} {platform.machine()}, {_processor()}, {os.cpu_count()} cores"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or "unknown processor")


def _versions() -> dict[str, str]:
    return {
        "halo-weave": __version__,
        "Python": platform.python_version(),
        **{name: metadata.version(name) for name in _VERSIONS},
    }
