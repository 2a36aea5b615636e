"""Token files: the ids of documents, written in shards, opened in place."""
