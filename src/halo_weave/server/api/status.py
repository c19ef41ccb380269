"""The state of the program: engine, memory, windows, jobs."""

from collections.abc import Sequence

from halo_weave import __version__
from halo_weave.errors import HaloError
from halo_weave.records.windows import WindowOutline
from halo_weave.server.api.shapes import AbilityShape, EngineStatus, MemoryStatus, Status, WindowEntry
from halo_weave.server.runtime.program import Program, SavedSize
from halo_weave.session.window.saved_window import SavedWindow, decoded

_NOT_YET = AbilityShape(False, "The model is not loaded yet.")


def status(program: Program) -> Status:
    return Status(__version__, _engine(program), _memory(program), program.jobs.all())


def windows(program: Program) -> list[WindowEntry]:
    """All windows: private ones, then the others, the most recently saved first."""
    opened = {window.id: window for window in program.open_windows()}
    private, outlines = program.private_windows.outlines(), program.memory.window_store.windows()
    _forget_other_sizes(program, outlines)
    entries = []
    for outline in (*private, *outlines):
        window = opened.get(outline.id)
        is_private = outline in private
        if window is not None:
            size, doing = SavedSize(window.tokens, window.messages), window.doing
        else:
            size, doing = SavedSize() if is_private else _saved_size(program, outline), ""
        entries.append(
            WindowEntry(
                id=outline.id,
                name=outline.name,
                saved_at=outline.saved_at,
                is_open=window is not None,
                doing=doing,
                tokens=size.tokens,
                messages=size.messages,
                problem=size.problem,
                is_private=is_private,
                folder=outline.folder,
                place=outline.place,
            )
        )
    return entries


def _engine(program: Program) -> EngineStatus:
    keeper = program.keeper
    standing, engine = keeper.status, keeper.engine
    settings = keeper.settings or program.settings.engine
    facts = None if engine is None else engine.facts
    attention, editing = _NOT_YET, _NOT_YET
    if facts is not None:
        attention = AbilityShape(facts.abilities.attention.available, facts.abilities.attention.why_not)
        editing = AbilityShape(facts.abilities.editing.available, facts.abilities.editing.why_not)
    return EngineStatus(
        kind=settings.kind,
        model=facts.name if facts else settings.model,
        context=facts.trained_context if facts else 0,
        usable=facts.usable_context if facts else 0,
        attention=attention,
        editing=editing,
        is_bundled=settings.kind == "llamacpp" and not settings.model,
        state=standing.state,
        text=standing.text,
        is_loading=standing.is_loading,
        failure=standing.failure,
    )


def _memory(program: Program) -> MemoryStatus:
    stats = program.memory.stats()
    embedder = program.memory.serving_embedder()
    found = stats.chunks - stats.deleted_chunks
    return MemoryStatus(
        chunks=stats.chunks,
        deleted=stats.deleted_chunks,
        tokens=stats.tokens,
        missing_vectors=max(0, found - stats.vectors.get(embedder or "", 0)),
        bytes=stats.bytes,
        embedder=embedder or program.settings.embedder.kind,
    )


def _saved_size(program: Program, outline: WindowOutline) -> SavedSize:
    """The size of a closed window, cached because reading it takes time."""
    known, sizes = (outline.id, outline.version), program.saved_sizes
    if known in sizes:
        return sizes[known]
    size = _read_size(program, outline.id)
    if not size.problem:
        sizes[known] = size
    return size


def _read_size(program: Program, window_id: str) -> SavedSize:
    try:
        record = program.memory.window_store.window(window_id)
        saved = None if record is None else decoded(record.state, record.name)
    except HaloError as error:
        return SavedSize(problem=str(error))
    return SavedSize() if saved is None else SavedSize(_saved_tokens(saved), saved.messages)


def _saved_tokens(saved: SavedWindow) -> int:
    if saved.tokens is not None:
        return saved.tokens
    # Saved by an earlier version: excludes the frames until the window is saved again.
    return sum(len(chunk.state) // (4 * max(1, chunk.rows)) for chunk in saved.chunks)


def _forget_other_sizes(program: Program, outlines: Sequence[WindowOutline]) -> None:
    """Drop cached sizes of replaced versions and deleted windows."""
    present = {(outline.id, outline.version) for outline in outlines}
    program.saved_sizes = {known: size for known, size in program.saved_sizes.copy().items() if known in present}
