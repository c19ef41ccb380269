"""Shows a window's events: the reply on stdout, everything else on stderr and never in the middle of the reply."""

from typing import Any

from halo_weave.session.window.events import Event
from halo_weave.session.window.window import Window
from halo_weave.terminal import output
from halo_weave.terminal.chat.event_lines import ending_in_words, event_in_words
from halo_weave.terminal.chat.pending_notices import PendingNotices
from halo_weave.terminal.chat.status_line import status_line


class Showing:
    """Follows one window's events. The caller polls `show_new` while the window works."""

    def __init__(self, window: Window, notices: PendingNotices, *, is_typed: bool) -> None:
        self._window = window
        self._notices = notices
        self._is_typed = is_typed
        self._seen = 0
        self._has_missed = False
        self._written = ""
        self._has_words = False
        self._is_reading_shown = False
        self._buried = self._resurrected = 0
        self.told: set[str] = set()
        """The kinds of events shown since this set was last cleared."""
        self.latest_stats: dict[str, Any] | None = None

    def show_new(self, timeout_s: float) -> None:
        """Show new events; wait up to `timeout_s` for the first."""
        for event in self._new_events(timeout_s):
            self._show(event)

    def show_aside(self) -> None:
        """Report events that nobody was watching. A reply among them is mentioned but not printed."""
        for event in self._new_events(0):
            for line in event_in_words(event, is_typed=self._is_typed):
                self._notices.tell(line)
            if event.kind == "reply" and self._is_typed:
                self._notices.tell("(the model has summarised the conversation; /heat to see it)")
        self.finish()

    def finish(self) -> None:
        """End the line of an interrupted reply, and show pending notices."""
        self._clear_reading()
        if self._written and not self._written.endswith("\n"):
            output.write_line()
        self._written = ""
        self._has_missed = False
        self._buried = self._resurrected = 0
        self._notices.show()

    def _new_events(self, timeout_s: float) -> list[Event]:
        log = self._window.log
        events = log.wait(self._seen, timeout_s)
        if events is None:  # our output is read slowly and events were dropped; the end of the reply fills the gap
            self._has_missed = True
            events = log.remembered()
        if events:
            self._seen = events[-1].number
        return events

    def _show(self, event: Event) -> None:
        self.told.add(event.kind)
        if event.kind != "status":
            self._clear_reading()
        match event.kind:
            case "token":
                if not self._has_missed:
                    self._write(event.data["text"])
                return
            case "written":
                self._catch_up(event)
                return
            case "tool":
                self._show_tool(event)
                return
            case "reply":
                self._end_reply(event)
                return
            case "status":
                self._show_reading(event.data)
                return
            case "buried":
                self._buried += len(event.data["chunks"])
            case "resurrected":
                self._resurrected += len(event.data["chunks"])
        for line in event_in_words(event, is_typed=self._is_typed):
            self._notices.tell(line)
        if not self._written:
            self._notices.show()
        if event.kind == "stats":
            self._end_turn(event.data)

    def _show_reading(self, status: dict[str, Any]) -> None:
        """Show how far a long reading is, on a line that the next output replaces."""
        if self._is_typed and "total" in status:
            output.write_transient(f"{status['text']} (Ctrl-C stops)")
            self._is_reading_shown = True
        else:
            self._clear_reading()

    def _clear_reading(self) -> None:
        if self._is_reading_shown:
            output.write_transient("")
            self._is_reading_shown = False

    def _write(self, text: str) -> None:
        output.write(text)
        self._written += text

    def _catch_up(self, event: Event) -> None:
        """Write the part of the saved reply that was not shown yet."""
        text = "".join(piece for chunk in event.data["chunks"] for piece in chunk["pieces"])
        self._write(text[len(self._written) :])
        if text and not text.endswith("\n"):
            output.write_line()
        self._written = ""
        self._has_words = self._has_words or bool(text)

    def _show_tool(self, event: Event) -> None:
        """Write a tool result on lines of its own, coloured if the terminal supports it."""
        text = "".join(piece for chunk in event.data["chunks"] for piece in chunk["pieces"])
        output.write_marked(text.strip("\n"))

    def _end_reply(self, event: Event) -> None:
        self._catch_up(event)
        has_words, self._has_words = self._has_words, False
        if line := ending_in_words(event.data["ending"], has_words=has_words):
            self._notices.tell(line)
        self._notices.show()

    def _end_turn(self, stats: dict[str, Any]) -> None:
        self.latest_stats = stats
        if self._is_typed:
            output.notice(status_line(stats, buried=self._buried, resurrected=self._resurrected))
