"""What the reader puts around texts follows the model's chat template."""

from halo_weave.engine.reader.reading_frame import BUNDLED_FRAME, frame_of
from halo_weave.text.chat_template import ChatTemplate, TurnMarks, chatml


def test_a_model_without_a_template_reads_plain_lines() -> None:
    assert frame_of(chatml()).opening == "\n"
    assert frame_of(chatml("<s>")).opening == "<s>"
    assert "im_start" not in frame_of(chatml("<s>")).ending


def test_a_question_stands_in_a_users_turn_and_is_followed_by_the_opening_of_the_reply() -> None:
    user, assistant = TurnMarks("[u]", "[/u]"), TurnMarks("[a]", "[/a]")
    frame = frame_of(ChatTemplate("model", "<s>", user, user, assistant))
    assert (frame.opening, frame.ending) == ("<s>[u]", "[/u][a]")


def test_the_frame_of_the_bundled_reader_is_chatml() -> None:
    template = ChatTemplate("model", "", chatml().system, chatml().user, chatml().assistant)
    assert frame_of(template) == BUNDLED_FRAME
