"""Train WordPiece by several scores: `train_wordpiece.py CORPUS FOLDER VOCAB_SIZE SCORE...`."""

import sys

import subwords

corpus, folder, size, *scores = sys.argv[1:]
for score in scores:
    tok = subwords.train(corpus, algorithm="wordpiece", vocab_size=int(size), score=score, threads=2)
    tok.save(f"{folder}/{score}.json")
