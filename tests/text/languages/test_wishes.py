"""Standing wishes are told apart from statements about what always happens."""

import pytest

from halo_weave.text.languages.wishes import is_wish


@pytest.mark.parametrize(
    "text",
    [
        "Always name the source when I ask about figures.",
        "Thanks! Please never use emojis.",
        "Ada: Always answer in German",
        "Always bring tea and always feed the cat.",
        "  Always answer in French.",
        "From now on call me Ada.",
        "I would like short answers from now on, please.",
        "Whenever I ask for code, use Rust.",
        "If I mention Miso, that is my cat.",
        "Remember that my sister is allergic to nuts.",
        "Don’t forget I am colour-blind.",
        "Fine. Make sure you check the dates.",
        "Do not ever write to my boss.",
        "I'd really much prefer the train.",
        "It is late and I prefer tea.",
        "I’d like you to be brief.",
    ],
)
def test_wishes_are_recognized(text: str) -> None:
    assert is_wish(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Always happy to help!",
        "Never been there, but it must be great.",
        "They are always running around.",
        "I will never forget the sea. Always loved it.",
        "Remember that epic game?",
        "Don't forget to take pictures!",
        "When I was young, the harbour was full of ships.",
        "Which of them do you prefer?",
        "The future is here and now.",
    ],
)
def test_what_happens_is_no_wish(text: str) -> None:
    assert not is_wish(text)
