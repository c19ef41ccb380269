"""The notes: one JSON document, read and changed with jq, in versions that can be taken back."""
