"""Times that a text mentions, and how near a moment is to them."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_weave.text.languages.dates import AFTERWARDS, TimeSpan, named_times, nearness

NOW = datetime(2026, 11, 16, 15, 30, tzinfo=UTC)
moments = st.integers(0, 2**31).map(lambda second: datetime.fromtimestamp(second, UTC))


def spans(text: str, now: datetime = NOW) -> list[TimeSpan]:
    return [span for time in named_times(text, now) if (span := time.latest(now)) is not None]


def day(year: int, month: int, number: int, days: int = 1) -> TimeSpan:
    start = datetime(year, month, number, tzinfo=UTC)
    return TimeSpan(start, start + timedelta(days=days))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What did I say on 2023-05-25?", day(2023, 5, 25)),
        ("and in 2023-05, too", day(2023, 5, 1, 31)),
        ("am 25. 5. 2023", day(2023, 5, 25)),
        ("It was 2023-05-25.", day(2023, 5, 25)),
        ("on 25 May, 2023", day(2023, 5, 25)),
        ("on the 3rd of June 2023", day(2023, 6, 3)),
        ("May 25th, 2023", day(2023, 5, 25)),
        ("sept 2, 2023", None),
        ("Sep 2 2023", day(2023, 9, 2)),
        ("in february 2024", day(2024, 2, 1, 29)),
        ("in February", day(2026, 2, 1, 28)),
        ("in December", day(2025, 12, 1, 31)),
        ("on 17 November", day(2025, 11, 17)),
        ("on 29 February", day(2024, 2, 29)),
        ("what was said yesterday", day(2026, 11, 15)),
        ("and today?", None),
        ("3 days ago", day(2026, 11, 13)),
        ("two things last week", day(2026, 11, 2, 14)),
        ("a week ago", day(2026, 11, 6, 7)),
        ("May I ask something?", None),
        ("how may that be", None),
        ("they march on", None),
        ("30 February 2023", None),
        ("2023-13-45", None),
        ("version 1.2.2023-4, 3.2023-05-06 and 2023-04-05-06", None),
        ("in June 2099", None),
        ("two weeks ago", day(2026, 10, 30, 7)),
        ("the day before yesterday", day(2026, 11, 14)),
        ("on 2023/5/25", day(2023, 5, 25)),
        ("the path v2023/5/25/1", None),
        ("they sat there and may march, says the sun", None),
        ("mars bars, mai tai and my mayo", None),
        ("Was haben wir am 25. Mai 2023 besprochen?", day(2023, 5, 25)),
        ("im März", day(2026, 3, 1, 31)),
        ("Was war vorgestern?", day(2026, 11, 14)),
        ("vor drei Tagen", day(2026, 11, 13)),
        ("letzte Woche", day(2026, 11, 2, 14)),
        ("Wer ist hier? Was machst du hier?", None),
        ("¿Qué dije el 25 de mayo de 2023?", day(2023, 5, 25)),
        ("Hablamos en febrero.", day(2026, 2, 1, 28)),
        ("hace dos semanas", day(2026, 10, 30, 7)),
        ("la semana pasada", day(2026, 11, 2, 14)),
        ("mucha mayonesa, y marzo no dice nada", None),
        ("le 1er février 2023", day(2023, 2, 1)),
        ("Qu'avons-nous dit hier ?", day(2026, 11, 15)),
        ("il y a trois jours", day(2026, 11, 13)),
        ("em 25 de maio de 2023", day(2023, 5, 25)),
        ("dois dias atrás", day(2026, 11, 14)),
        ("il 25 maggio 2023", day(2023, 5, 25)),
        ("tre giorni fa", day(2026, 11, 13)),
        ("Что я сказал 25 мая 2023 года?", day(2023, 5, 25)),
        ("в феврале", day(2026, 2, 1, 28)),
        ("две недели назад", day(2026, 10, 30, 7)),
        ("на прошлой неделе", day(2026, 11, 2, 14)),
        ("Моя майка и мартышка", None),
        ("ماذا قلت في ٢٥ مايو ٢٠٢٣؟", day(2023, 5, 25)),
        ("في شهر شباط", day(2026, 2, 1, 28)),
        ("قبل يومين", day(2026, 11, 14)),
        ("الأسبوع الماضي", day(2026, 11, 2, 14)),
        ("मैंने 25 मई 2023 को क्या कहा?", day(2023, 5, 25)),
        ("फ़रवरी में", day(2026, 2, 1, 28)),
        ("तीन दिन पहले", day(2026, 11, 13)),
        ("पिछले हफ़्ते", day(2026, 11, 2, 14)),
        ("我2023年5月25日说了什么?", day(2023, 5, 25)),
        ("二〇二三年五月二十五日", day(2023, 5, 25)),
        ("我们二月去了哪里?", day(2026, 2, 1, 28)),
        ("三天前", day(2026, 11, 13)),
        ("两个星期前", day(2026, 10, 30, 7)),
        ("上周", day(2026, 11, 2, 14)),
        ("三个月后看月亮", None),
        ("2023年5月25日に何と言った?", day(2023, 5, 25)),
        ("一昨日", day(2026, 11, 14)),
        ("2週間前", day(2026, 10, 30, 7)),
        ("先週", day(2026, 11, 2, 14)),
        ("2023년 5월 25일에 뭐라고 했지?", day(2023, 5, 25)),
        ("3일 전", day(2026, 11, 13)),
        ("지난주", day(2026, 11, 2, 14)),
        ("วันที่ 25 พฤษภาคม 2566", day(2023, 5, 25)),
        ("3 วันก่อน", day(2026, 11, 13)),
        ("เมื่อวานซืน", day(2026, 11, 14)),
        ("", None),
    ],
)
def test_a_text_names_a_time_or_none(text: str, expected: TimeSpan | None) -> None:
    """Without a year the latest one is meant; the future is not remembered."""
    assert spans(text) == ([] if expected is None else [expected])


def test_a_text_may_name_several_times_and_each_counts_once() -> None:
    assert spans("from 2 June 2023 to 2023-06-04, and 2 June 2023 again") == [day(2023, 6, 4), day(2023, 6, 2)]


def test_a_list_of_times_names_none() -> None:
    assert spans(" ".join(f"2023-05-{number:02}" for number in range(1, 7)))
    assert not spans(" ".join(f"2023-05-{number:02}" for number in range(1, 8)))


def test_a_leap_day_is_a_day_like_others() -> None:
    assert spans("2 years ago, and 2027 years ago", datetime(2028, 2, 29, tzinfo=UTC)) == [day(2025, 8, 28, 367)]


def test_days_are_those_of_the_place_where_the_question_is_asked() -> None:
    east = timezone(timedelta(hours=9))
    (span,) = spans("on 2023-05-25", NOW.astimezone(east))
    assert span.start == datetime(2023, 5, 24, 15, tzinfo=UTC)


def test_a_month_without_a_year_is_near_in_every_year() -> None:
    named = named_times("in May", NOW)
    assert [nearness(named, datetime(year, 5, 9, tzinfo=UTC)) for year in (2010, 2023, 2026)] == [1, 1, 1]
    assert nearness(named, datetime(2023, 4, 30, tzinfo=UTC)) < 1e-6


@given(moments)
def test_what_was_said_before_a_time_is_not_near_and_afterwards_less_and_less(moment: datetime) -> None:
    span = day(2023, 5, 25)
    near, later = (span.nearness(one) for one in (moment, moment + AFTERWARDS))
    assert 0 <= near <= 1
    assert (near == 1) == (span.start <= moment <= span.end)
    if moment < span.start:
        assert near == 0
    elif moment >= span.end and near > 0:
        assert later < near


@given(st.text(max_size=60), moments)
def test_any_text_at_any_time_names_times_that_have_begun(text: str, now: datetime) -> None:
    assert all(span.start <= now for span in spans(text, now))


@given(st.integers(0, 99999), st.sampled_from(["day", "week", "month", "year"]), moments)
def test_any_number_of_days_ago_is_no_error(count: int, unit: str, now: datetime) -> None:
    assert all(span.start < span.end for span in spans(f"{count} {unit}s ago", now))
