"""A memory the size of a lifetime, made up once and cached for later runs.

It is written through the store like any other: turns of user and assistant, over years. Texts and vectors each resemble
real ones (see `made_up_words` and `made_up_vectors`), but a text and its vector are unrelated.
"""

import re
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from pydoc_data.topics import topics

import msgspec
import numpy as np

from halo_weave.bench.progress import Progress
from halo_weave.bench.scale.made_up_vectors import MadeUpVectors
from halo_weave.bench.scale.made_up_words import MadeUpWords, words_by_frequency
from halo_weave.engine.llamacpp.library import load_library
from halo_weave.engine.llamacpp.model import Model
from halo_weave.memory.embedders.embedder import Embedder
from halo_weave.memory.memory import index_folder
from halo_weave.memory.sqlite.schema import MIGRATIONS
from halo_weave.memory.sqlite.store import SqliteStore
from halo_weave.memory.store.protocol import FIRST_POSITION, FIRST_TURN
from halo_weave.memory.vectors.index import VectorIndex
from halo_weave.memory.vectors.unit import Vectors
from halo_weave.paths import bundled_minilm_folder, bundled_model_path
from halo_weave.records.chunks import Chunk, ChunkKey
from halo_weave.records.roles import Role

DATABASE = "halo.db"
QUESTIONS = 250
_VERSION = 1
_ABOUT = "about.json"
_WRITTEN_AT_ONCE = 5000
_FEWEST_REAL_TEXTS, _MOST_REAL_TEXTS, _CHUNKS_PER_REAL_TEXT = 100, 2000, 50
_CHARACTERS_EMBEDDED = 300
_WORDS_OF_CHUNK = (45, 150)
_WORDS_OF_QUESTION = (5, 20)
_CHUNKS_OF_USER, _CHUNKS_OF_ASSISTANT = (1, 3), (1, 5)
_PAIRS_OF_CONVERSATION = 12
_FIRST_DAY = datetime(2012, 1, 1, tzinfo=UTC)
_YEARS = timedelta(days=14 * 365)


class About(msgspec.Struct, frozen=True):
    """How the memory was made; it is made again if `form` no longer matches."""

    form: str
    embedder: str
    questions: list[str]
    tokens: int


class MadeUpMemory:
    """`questions` are excerpts of its texts; `question_vectors` are of real sentences that no chunk comes from."""

    def __init__(self, folder: Path, about: About) -> None:
        self.folder = folder
        self.database = folder / DATABASE
        self.questions = about.questions
        self.tokens = about.tokens
        self.question_vectors: Vectors = np.load(folder / "questions.npy")


def made_up_memory(parent: Path, chunks: int, embedder: Embedder, on_progress: Progress) -> MadeUpMemory:
    """Return the cached memory in the folder `parent`, or make one, with all index files that search uses."""
    folder = parent / str(chunks)
    about = _about(folder)
    if about is None or (about.form, about.embedder) != (_form(), embedder.name):
        parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{chunks}-", dir=parent))
        try:
            about = _make(temporary, chunks, embedder, on_progress)
            shutil.rmtree(folder, ignore_errors=True)
            temporary.rename(folder)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    memory = MadeUpMemory(folder, about)
    _build_indexes(memory, embedder, on_progress)
    return memory


def _form() -> str:
    """Return the form, which includes the store's tables, because an outdated made-up memory is not migrated."""
    return f"{_VERSION}-{zlib.crc32(''.join(MIGRATIONS).encode()):08x}"


def _about(folder: Path) -> About | None:
    try:
        return msgspec.json.decode((folder / _ABOUT).read_bytes(), type=About)
    except (OSError, msgspec.MsgspecError):
        return None


def _make(folder: Path, count: int, embedder: Embedder, on_progress: Progress) -> About:
    paragraphs, questions = _real_texts(min(_MOST_REAL_TEXTS, _FEWEST_REAL_TEXTS + count // _CHUNKS_PER_REAL_TEXT))
    on_progress(
        f"{count} chunks: embedding {len(paragraphs) + len(questions)} real texts as a basis for synthetic vectors"
    )
    vectors = MadeUpVectors(embedder.embed(paragraphs))
    np.save(folder / "questions.npy", embedder.embed(questions))
    model = Model(load_library(), bundled_model_path(), vocabulary_only=True)
    store = SqliteStore(folder / DATABASE)
    random = np.random.default_rng(count)
    spans: list[str] = []
    tokens = 0
    try:
        words = MadeUpWords(words_by_frequency(bundled_minilm_folder() / "vocab.txt"), model.vocabulary)
        waiting: list[Chunk] = []
        for number, chunk in enumerate(_chunks(count, words, random), start=1):
            waiting.append(chunk)
            if len(waiting) == _WRITTEN_AT_ONCE or number == count:
                _write(store, embedder.name, waiting, vectors)
                spans += [_span(chunk.text, random) for chunk in waiting]
                waiting, tokens = [], chunk.end_position
                on_progress(f"{count} chunks: {number} made up")
    finally:
        store.close()
        model.close()
    chosen = random.choice(len(spans), QUESTIONS, replace=len(spans) < QUESTIONS).tolist()
    about = About(_form(), embedder.name, [spans[place] for place in chosen], tokens)
    (folder / _ABOUT).write_bytes(msgspec.json.encode(about))
    return about


def _real_texts(count: int) -> tuple[list[str], list[str]]:
    """Return paragraphs and sentences of Python's own reference, and other sentences as long as questions."""
    paragraphs = [" ".join(part.split()) for text in topics.values() for part in text.split("\n\n")]
    paragraphs = list(dict.fromkeys(part for part in paragraphs if len(part) > _CHARACTERS_EMBEDDED // 3))
    sentences = [sentence for part in paragraphs for sentence in re.split(r"(?<=[.!?]) ", part)]
    shortest, longest = _WORDS_OF_QUESTION
    sentences = list(dict.fromkeys(text for text in sentences if shortest <= len(text.split()) <= longest))
    random = np.random.default_rng(1)
    random.shuffle(sentences)
    questions, others = sentences[:QUESTIONS], sentences[QUESTIONS:]
    texts = [*(part[:_CHARACTERS_EMBEDDED] for part in paragraphs), *others]
    random.shuffle(texts)
    return texts[:count], questions


def _chunks(count: int, words: MadeUpWords, random: np.random.Generator) -> Iterator[Chunk]:
    pair, position, made = 0, FIRST_POSITION, 0
    topic = words.topic(random)
    while made < count:
        if pair % _PAIRS_OF_CONVERSATION == 0:
            topic = words.topic(random)
        roles: tuple[tuple[Role, tuple[int, int]], ...] = (
            ("user", _CHUNKS_OF_USER),
            ("assistant", _CHUNKS_OF_ASSISTANT),
        )
        for offset, (role, how_many) in enumerate(roles):
            for index in range(min(int(random.integers(*how_many)), count - made)):
                tokens = words.tokens(int(random.integers(*_WORDS_OF_CHUNK)), topic, random)
                key = ChunkKey(FIRST_TURN + 2 * pair + offset, index, role)
                time = _FIRST_DAY + _YEARS * (made / count)
                yield Chunk.of_tokens(key, tokens, first_position=position, time=time)
                position += len(tokens)
                made += 1
        pair += 1


def _write(store: SqliteStore, embedder: str, chunks: list[Chunk], vectors: MadeUpVectors) -> None:
    last = chunks[-1]
    store.advance(next_turn=last.key.turn + 1, next_position=last.end_position)
    ids = store.write_chunks(chunks)
    store.put_vectors(embedder, dict(zip(ids, vectors.take(len(ids)), strict=True)))


def _span(text: str, random: np.random.Generator) -> str:
    words = text.split()
    length = int(random.integers(*_WORDS_OF_QUESTION, endpoint=True))
    start = int(random.integers(max(1, len(words) - length)))
    return " ".join(words[start : start + length])


def _build_indexes(memory: MadeUpMemory, embedder: Embedder, on_progress: Progress) -> None:
    store = SqliteStore(memory.database)
    index = VectorIndex(store, embedder.name, embedder.dimensions, index_folder(memory.database))
    try:
        on_progress(f"{memory.folder.name} chunks: waiting for the index files")
        index.wait_until_built()
        store.search_words(memory.questions[0].split(), 1)  # the first search builds the word index
        store.wait_until_indexed()
    finally:
        index.close()
        store.close()
