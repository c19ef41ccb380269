"""The contract of every store: words are found in every script, in other forms, and without their accents."""

import numpy as np
import pytest

from halo_weave.memory.store.protocol import Store
from halo_weave.text.languages.words import terms_of
from support.made_up_chunks import written_texts

SAID = {
    "zh": "我上个星期在上海买了一辆红色的自行车。",
    "ja": "先週、上野動物園でパンダの赤ちゃんを見ました。",
    "ko": "지난주에 도서관에서 한국 역사 책을 빌렸어요.",
    "th": "เมื่อวานฉันซื้อมะม่วงที่ตลาดน้ำ",
    "ar": "اشتريت الكِتابَ الجديد من المكتبة القديمة.",
    "ru": "Моя сестра купила зелёную книгу о кошках.",
    "de": "Meine Schwester hat zwei alte Häuser in der Nähe von Köln gekauft.",
    "es": "Mi hermana canta canciones en un pequeño café de Bogotá.",
    "fr": "Ma sœur a vendu les chevaux de la ferme à côté de chez nous.",
    "it": "Mia sorella ha comprato una casa con i gatti e un piccolo giardino.",
    "pt": "Minha irmã comprou os livros de que eu gosto em São Paulo.",
    "hi": "मेरी बहन ने पुरानी दुकान से किताबें खरीदीं।",
    "el": "Η αδελφή μου αγόρασε δύο σπίτια στην Αθήνα.",
    "en": "My sister bought an old café with a piano.",
}


def found(store: Store, question: str) -> list[str]:
    """Return the languages of the chunks that a question's words find, best first."""
    languages = list(SAID)
    return [languages[match.id - 1] for match in store.search_words(terms_of(question), 20)]


@pytest.fixture
def spoken(store: Store) -> Store:
    written_texts(store, *SAID.values())
    return store


@pytest.mark.parametrize(
    ("language", "question"),
    [
        ("zh", "自行车在哪里?"),
        ("zh", "上海"),
        ("ja", "パンダを見た?"),
        ("ja", "動物園"),
        ("ko", "도서관"),
        ("ko", "역사 책은?"),
        ("th", "มะม่วง"),
        ("th", "ตลาด"),
        ("ar", "المكتبة"),
        ("ru", "книгу"),
        ("de", "Häuser"),
        ("es", "canciones"),
        ("hi", "किताबें"),
    ],
)
def test_a_word_is_found_wherever_it_stands(spoken: Store, language: str, question: str) -> None:
    """Also in the middle of a run of characters without spaces; others may share a character."""
    assert found(spoken, question)[0] == language


@pytest.mark.parametrize(
    ("language", "question"),
    [
        ("ko", "도서관을"),
        ("ar", "كتاب"),
        ("ru", "книги"),
        ("ru", "сёстры кошка"),
        ("de", "Haus"),
        ("de", "Hauses"),
        ("es", "canción"),
        ("fr", "cheval"),
        ("it", "gatto"),
        ("pt", "livro"),
        ("hi", "किताब"),
        ("el", "σπίτι"),
        ("en", "pianos"),
    ],
)
def test_a_word_is_found_in_another_form(spoken: Store, language: str, question: str) -> None:
    assert found(spoken, question)[0] == language


@pytest.mark.parametrize(
    ("language", "question"),
    [
        ("de", "hauser koln"),
        ("de", "HÄUSER KÖLN"),
        ("es", "Bogota"),
        ("es", "pequeno"),
        ("pt", "Sao"),
        ("fr", "soeur"),
        ("ru", "зеленую"),
        ("ar", "الكتاب"),
        ("ja", "ﾊﾟﾝﾀﾞ"),
        ("el", "αθηνα"),
        ("de", "Ha\u0308user"),
    ],
)
def test_accents_points_and_widths_may_be_left_out(spoken: Store, language: str, question: str) -> None:
    assert found(spoken, question) == [language]


def test_a_word_that_two_languages_share_is_found_in_both(spoken: Store) -> None:
    assert sorted(found(spoken, "cafe")) == ["en", "es"]


def test_a_single_chinese_character_is_found(spoken: Store) -> None:
    assert found(spoken, "红") == ["zh"]
    assert spoken.count_words(["红", "红色", "红色的自行车", "红车"]) == (len(SAID), [1, 1, 1, 0])


def test_names_are_found_in_a_text_of_another_language(store: Store) -> None:
    """The name is stemmed in German where it was said, and in English where it is asked for."""
    written_texts(store, "Meine Freundin Agathe und ich haben das Buch von Thomas.", "Her boat sank.")
    assert [match.id for match in store.search_words(terms_of("Where does Agathe live?"), 5)] == [1]
    assert [match.id for match in store.search_words(["Thomas"], 5)] == [1]


def test_counts_and_places_add_up_the_languages(store: Store) -> None:
    ids = written_texts(store, "the piano", "das Piano und ich", "un piano de la casa que", "nothing")
    assert store.count_words(["piano", "Piano piano"]).having == [3, 0]
    places = store.word_places(["piano"], np.array(ids))
    assert places.frequencies.tolist() == [[1, 1, 1, 0]]
    assert places.having.tolist() == [1]


def test_what_is_deleted_is_found_in_no_language(spoken: Store) -> None:
    keys = [one.chunk.key for one in spoken.chunks_by_ids(range(1, len(SAID) + 1))]
    spoken.delete(keys, "test")
    for text in SAID.values():
        assert found(spoken, text) == []
    spoken.undelete(keys, "test")
    for language, text in SAID.items():
        assert found(spoken, text)[0] == language
    assert spoken.verify() == []
