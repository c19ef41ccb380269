"""Windows: their state and saved form, the turn, and the actions of a person.

`Hub` opens windows and is the entry point for other packages; `turn` sends a message, `actions` does the rest.
"""

from typing import TYPE_CHECKING

from halo_weave.system.exports import exported_from

if TYPE_CHECKING:
    from halo_weave.session.hub import Hub as Hub
    from halo_weave.session.settings import WindowSettings as WindowSettings
    from halo_weave.session.turn.turn import continue_reply as continue_reply
    from halo_weave.session.turn.turn import send as send
    from halo_weave.session.turn.turn_state import Reply as Reply
    from halo_weave.session.window.window import Window as Window
else:
    __getattr__ = exported_from(
        {
            "Hub": "halo_weave.session.hub",
            "WindowSettings": "halo_weave.session.settings",
            "Reply": "halo_weave.session.turn.turn_state",
            "continue_reply": "halo_weave.session.turn.turn",
            "send": "halo_weave.session.turn.turn",
            "Window": "halo_weave.session.window.window",
        }
    )
