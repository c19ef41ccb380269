"""Words of every script, folded, cut and stemmed alike for what is stored and for what is asked."""

from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_weave.memory.words.tokenizer import WordTokenizer
from halo_weave.text.languages.folding import folded
from halo_weave.text.languages.known import LANGUAGES
from halo_weave.text.languages.recognition import latin_language
from halo_weave.text.languages.stems import STEMMED
from halo_weave.text.languages.words import indexed_text, is_mostly_cased, is_piece, names_in, phrases_of, terms_of

SCRIPTS = "aZé ñßøŁ世界日本語カタひら한국어ไทยน้ําहिन्दीкий ёЙالكِتابعَ' ,.。12٣३🇩🇪👩\u200d💻e\u0301\u0e33½ﬁ"
texts = st.text(st.one_of(st.sampled_from(SCRIPTS), st.characters(exclude_categories=["Cs"])), max_size=40)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("Ångström, NAÏVE Straße", "angstrom, naive strasse"),
        ("Ødegård Łódź Ægir", "odegard lodz aegir"),
        ("Ёлка и йод", "елка и йод"),
        ("الكِتَابُ أحمد إلى", "الكتاب احمد الي"),
        ("٢٠٢٣ २०२३ ２０２３", "2023 2023 2023"),
        ("हिन्दी ไทย がく", "हिन्दी ไทย がく"),
        ("ΟΔΟΣ", "οδοσ"),
    ],
)
def test_folding_removes_what_may_be_left_out_and_no_more(text: str, plain: str) -> None:
    assert folded(text) == plain


@given(texts)
def test_folding_again_changes_nothing(text: str) -> None:
    assert folded(folded(text)) == folded(text)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("我的猫", ["我的", "的猫", "我", "的", "猫"]),
        ("東京タワー", ["東京", "京タ", "タワ", "ワー", "東", "京"]),
        ("物を 책", ["物を", "物", "책"]),
        ("학교에서", ["학교", "교에", "에서", "학"]),
        ("น้ำดี", ["น้ํา", "าดี"]),
        ("iPhone13を買う", ["iphone13", "を買", "買う", "買"]),
        ("a猫b", ["a", "猫", "b"]),
    ],
)
def test_scripts_without_spaces_are_cut_into_pairs(text: str, terms: list[str]) -> None:
    assert terms_of(text) == terms


@given(texts)
def test_every_word_of_a_text_finds_it(text: str) -> None:
    """Whatever language is recognised, each term in one of its forms is among the indexed words."""
    with closing(WordTokenizer()) as tokenizer:
        (words,) = tokenizer.words_of([indexed_text(text)])
        for term in terms_of(text):
            forms = tokenizer.words_of(phrases_of(term, STEMMED))
            assert any(set(form) <= set(words) for form in forms), term


@given(st.lists(st.sampled_from(["mein", "hund", "und", "ich", "les", "chats", "de", "la", "que", "perros", "gatti"])))
def test_every_word_of_a_mixed_text_finds_it(words: list[str]) -> None:
    with closing(WordTokenizer()) as tokenizer:
        (indexed,) = tokenizer.words_of([indexed_text(" ".join(words))])
        for word in words:
            assert any(set(form) <= set(indexed) for form in tokenizer.words_of(phrases_of(word, STEMMED)))


def test_english_is_left_to_the_index_itself() -> None:
    assert indexed_text("She was running home.") == "She was running home."
    assert indexed_text("See ya, Mel! “Café” – no, naïve…") == "See ya Mel cafe no naive"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Mein Hund heißt Rex.", "de"),
        ("Ich habe gestern mit der Katze gespielt", "de"),
        ("Mi perro se llama Rex y vive con mi hermana", "es"),
        ("Le chien de ma sœur est très petit", "fr"),
        ("O cachorro da minha irmã não come", "pt"),
        ("Il cane di mia sorella non mangia", "it"),
        ("My dog is called Rex and lives with my sister.", None),
        ("The die was cast in an old war.", None),
        ("Rio de Janeiro", None),
        ("npm ci && la -de", None),
        ("", None),
        ("我的狗", None),
    ],
)
def test_a_language_is_recognised_by_its_commonest_words(text: str, code: str | None) -> None:
    language = latin_language(text)
    assert (language.code if language else None) == code


def test_a_name_is_in_a_question_if_one_of_its_words_is() -> None:
    assert names_in(frozenset(terms_of("What did Mary say?")), "Mary Ann")
    assert names_in(frozenset(terms_of("王芳说了什么?")), "王芳")
    assert not names_in(frozenset(terms_of("王小明说了什么?")), "王芳")
    assert not names_in(frozenset(terms_of("What did Marianne say?")), "Mary Ann")


def test_pieces_are_of_scripts_without_spaces() -> None:
    assert [is_piece(term) for term in ("世界", "学", "학교", "word", "слово", "हिन्दी")] == [True, True, True] + [
        False
    ] * 3


def test_case_is_known_by_the_script() -> None:
    assert [is_mostly_cased(text) for text in ("Ada", "Ада", "爱达说 ok", "आदा", "123")] == [
        True,
        True,
        False,
        False,
        True,
    ]


def test_the_data_of_each_language_is_folded() -> None:
    for language in LANGUAGES:
        dates, wishes = language.dates, language.wishes
        forms = (
            *(dates.months, dates.before_month, dates.after_month, dates.of, *dates.numbers, *dates.days_back),
            *(*dates.units.values(), *dates.pairs.values(), *dates.ago, *dates.last.values()),
            *(*wishes.begins, *wishes.contains, language.function_words),
        )
        for form in forms:
            assert folded(form) == form, (language.code, form)
        assert not dates.months or len(dates.months.split(", ")) == 12


def test_the_index_takes_prepared_text_as_words() -> None:
    """Vowel signs and marked stems are part of a word for SQLite too."""
    with closing(WordTokenizer()) as tokenizer:
        words = tokenizer.words_of([indexed_text("हिन्दी में"), indexed_text("ich habe Häuser")])
    assert [word.decode() for word in words[0]] == phrases_of("हिन्दी में", ())[0].split()
    assert [word.decode() for word in words[1]][:3] == ["ich\ue001", "hab\ue001", "haus\ue001"]
