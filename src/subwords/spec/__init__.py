"""A tokenizer as plain data: the value, its parts, and the names of well-known ones."""
