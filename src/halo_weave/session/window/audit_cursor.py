"""What was deleted, undeleted and merged in the memory, by whomever."""

from halo_weave.memory.store.protocol import Store
from halo_weave.records.chunks import AuditEntry


class AuditCursor:
    """Entries of the record of changes that came after the one numbered `seen`, or since this was last asked."""

    def __init__(self, store: Store, seen: int = 0) -> None:
        self._store = store
        self.seen = seen

    def entries(self) -> list[AuditEntry]:
        news: list[AuditEntry] = []
        while more := self._store.audit(self.seen):
            news += more
            self.seen = more[-1].number
        return news
