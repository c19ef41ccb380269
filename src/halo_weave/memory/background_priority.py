"""Work in the background gives way to whoever waits for an answer."""

import os
import sys
import threading
from contextlib import suppress

_NICENESS = 10


def give_way() -> None:
    """This thread from now on, and those that it starts."""
    if sys.platform == "linux":  # elsewhere niceness is the whole process's
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
