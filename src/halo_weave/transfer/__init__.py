"""Export and import of the memory as a file, including import of exports from the browser Halo Weave."""

from halo_weave.transfer.importing import import_file
from halo_weave.transfer.outcome import Exported, Imported, Progress, ProgressCallback
from halo_weave.transfer.own.exporting import export_memory

__all__ = ["Exported", "Imported", "Progress", "ProgressCallback", "export_memory", "import_file"]
