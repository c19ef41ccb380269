"""Word search: the tokenizer, BM25, and an index file with the changes since it was built."""
