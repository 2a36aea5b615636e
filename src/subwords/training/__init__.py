"""Training: corpus and settings in, tokenizer out."""
