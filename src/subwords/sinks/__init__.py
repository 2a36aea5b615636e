"""Token files: the ids of many documents on disk, written a batch at a time, read in place."""
