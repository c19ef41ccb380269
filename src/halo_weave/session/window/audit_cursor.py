"""A cursor over the memory's audit log: deletions, undeletions, merges and other changes, whoever made them."""

from halo_weave.memory.memory import Memory
from halo_weave.records.chunks import AuditEntry


class AuditCursor:
    """Returns the entries after number `seen`, each only once."""

    def __init__(self, memory: Memory, seen: int = 0) -> None:
        self._memory = memory
        self.seen = seen

    def entries(self) -> list[AuditEntry]:
        news: list[AuditEntry] = []
        while more := self._memory.audit(self.seen):
            news += more
            self.seen = more[-1].number
        return news
