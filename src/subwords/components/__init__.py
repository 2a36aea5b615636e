"""The parts of a tokenizer as plain data: frozen, comparable, without files and kernels."""
