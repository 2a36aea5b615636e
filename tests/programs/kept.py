"""Load a tokenizer and encode lines; print ids and which of some modules were imported: `kept.py PATH TEXT...`."""

import json
import sys

import subwords

tok = subwords.load(sys.argv[1])
ids = [tok.encode(text) for text in sys.argv[2:]]
print(json.dumps([ids, sorted({"numpy", "subwords.engine.engine"} & {*sys.modules})]))
