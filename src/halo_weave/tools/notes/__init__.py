"""The notes: one JSON document, read and changed with jq, with undo."""
