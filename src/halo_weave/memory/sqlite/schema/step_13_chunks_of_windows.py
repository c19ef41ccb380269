"""An index of the chunks that each window wrote, in the order of its conversation.

The expression must not fail: a damaged row may hold metadata that is no longer JSON.
"""

from halo_weave.records.windows import WINDOW

WRITER = (
    f"CASE WHEN json_valid(metadata) THEN CASE json_type(metadata, '$.{WINDOW}')"
    f" WHEN 'text' THEN json_extract(metadata, '$.{WINDOW}') END END"
)

SQL = f"""
CREATE INDEX chunks_by_window ON chunks ({WRITER}, turn, number, role) WHERE merged_into IS NULL AND deleted = 0;
"""
