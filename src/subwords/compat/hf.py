"""A tokenizer in the shape of HF's Tokenizer."""
