"""Search by words: the tokenizer, BM25, and an index file with what changed since it was made."""
