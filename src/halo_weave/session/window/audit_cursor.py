"""What was deleted, undeleted and merged in the memory, by whomever."""

from halo_weave.memory.memory import Memory
from halo_weave.records.chunks import AuditEntry


class AuditCursor:
    """Entries of the record of changes that came after the one numbered `seen`, or since this was last asked."""

    def __init__(self, memory: Memory, seen: int = 0) -> None:
        self._memory = memory
        self.seen = seen

    def entries(self) -> list[AuditEntry]:
        news: list[AuditEntry] = []
        while more := self._memory.audit(self.seen):
            news += more
            self.seen = more[-1].number
        return news
