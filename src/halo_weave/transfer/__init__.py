"""The memory in a file: export of everything, and import of such a file or of a browser Halo Weave's export."""

from halo_weave.transfer.importing import import_file
from halo_weave.transfer.outcome import Exported, Imported, Progress, ProgressCallback
from halo_weave.transfer.own.exporting import export_memory

__all__ = ["Exported", "Imported", "Progress", "ProgressCallback", "export_memory", "import_file"]
