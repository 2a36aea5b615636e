"""From text to ids and back: what a tokenizer builds when it is first used."""
