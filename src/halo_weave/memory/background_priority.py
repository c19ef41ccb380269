"""Lower the priority of background threads, so that they do not slow down a request that a user waits for."""

import os
import sys
import threading
from contextlib import suppress

_NICENESS = 10


def give_way() -> None:
    """Lower the priority of the calling thread and of all threads that it starts from now on."""
    if sys.platform == "linux":  # on other systems, niceness applies to the whole process
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
