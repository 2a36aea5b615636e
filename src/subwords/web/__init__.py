"""Tokenizers for JavaScript: a WebAssembly module, an image of memory, and the ES module that runs them."""
