# Corpora: sources, reading, counts.
from subwords.corpus.blocks import Block as Block  # consecutive text: a part of a document, or several
from subwords.corpus.blocks import CorpusPart as CorpusPart  # texts of a block, and their place in the corpus
from subwords.corpus.columns import is_table as is_table  # whether a source is a table, stream or column of Arrow
from subwords.corpus.counts import COUNTS_MAGIC as COUNTS_MAGIC  # the first bytes of a file of counts
from subwords.corpus.counts import MOST_COUNTED as MOST_COUNTED  # the largest count, 2**63 - 1
from subwords.corpus.counts import Provenance as Provenance  # what a WordCounts was counted from
from subwords.corpus.counts import place_of_counts as place_of_counts  # where counts are written; refuses Parquet
from subwords.corpus.files import TextStream as TextStream  # an open file of text, decompressed
from subwords.corpus.files import open_text as open_text  # opens one, "-" for standard input
from subwords.corpus.groups import grouped_blocks as grouped_blocks  # blocks of text by column or file
from subwords.corpus.groups import read_gold as read_gold  # words with their morphemes, from a file
from subwords.corpus.mix import mix_factors as mix_factors  # the factors for shares of a mixture
from subwords.corpus.progress import progress as progress  # a line of progress while something runs
from subwords.corpus.read import read_blocks as read_blocks  # a source as blocks of text
from subwords.corpus.reading import Tally as Tally  # how many documents were read and skipped
from subwords.corpus.reading import reading_of as reading_of  # a Reading from what users pass
from subwords.corpus.source import Source as Source  # the type of a corpus: paths, texts, rows, tables, streams
from subwords.corpus.source import check_there as check_there  # raises for files of a source that are missing
from subwords.corpus.source import files_and_texts as files_and_texts  # the files of a source, or its texts
from subwords.corpus.source import is_stream as is_stream  # whether a source is an open binary file
from subwords.corpus.source import source_size as source_size  # the bytes of its files

# Text to ids and back.
from subwords.engine.added_tokens import AddedTokenFinder as AddedTokenFinder  # finds added tokens in a text
from subwords.engine.added_tokens import alternation as alternation  # a regex of strings, of which the longest matches
from subwords.engine.decode.decoding import decode_bytes as decode_bytes  # ids to bytes
from subwords.engine.decode.decoding import decode_tokens as decode_tokens  # tokens, as a file spells them, to text
from subwords.engine.documents import PartEncoder as PartEncoder  # encodes parts of a corpus
from subwords.engine.documents import encode_documents as encode_documents  # a source's blocks to blocks of ids
from subwords.engine.documents import in_parts as in_parts  # runs a function for parts of a corpus, on several threads
from subwords.engine.encoder import word_ids as word_ids  # the ids of each word of a WordCounts
from subwords.engine.encoding import columns_of as columns_of  # the columns of an EncodingBatch
from subwords.engine.encoding import extent as extent  # the least and the most ids of a row
from subwords.engine.growing import DECODED_BEFORE as DECODED_BEFORE  # how many ids before others are decoded with them
from subwords.engine.growing import first_difference as first_difference  # where two arrays of ids first differ
from subwords.engine.text_parts import TextSegment as TextSegment  # a part of a text between added tokens
from subwords.engine.web_image import web_image as web_image  # a tokenizer as memory of a WebAssembly module

# Files of tokenizers.
from subwords.formats.hf.folder import write_folder_files as write_folder_files  # a spec to files of transformers
from subwords.formats.hf.tokenizer_json import read_tokenizer_json as read_tokenizer_json  # a tokenizer.json to a spec
from subwords.formats.json_node import Node as Node  # a value of a JSON file that knows its place, for messages
from subwords.formats.json_node import parse_json as parse_json  # bytes to one
from subwords.formats.read import kind_at as kind_at  # the format of a tokenizer file
from subwords.formats.sentencepiece.read import PieceType as PieceType  # the types of SentencePiece's pieces
from subwords.formats.sentencepiece.read import model_class as model_class  # SentencePiece's message for a .model file
from subwords.formats.sentencepiece.read import spec_of as spec_of  # such a message to a spec
from subwords.formats.sentencepiece.write import revised as revised  # the .model file of a spec with other pieces
from subwords.formats.sentencepiece.write import with_pieces as with_pieces  # the same with pieces at its end
from subwords.formats.sentencepiece.write import write_model_file as write_model_file  # a spec to a .model file
from subwords.formats.tiktoken import read_ranks as read_ranks  # a file of ranks to a dict
from subwords.formats.tiktoken import write_rank_file as write_rank_file  # a spec to a file of ranks
from subwords.formats.write import files_of as files_of  # the files that a save writes
from subwords.formats.write import json_of as json_of  # a spec as a tokenizer.json
from subwords.formats.write import target_of as target_of  # the format that a path asks for
from subwords.formats.write import write_file as write_file  # a spec to a file

# Compiled functions, and the layout of their arrays.
from subwords.kernels.layout import APART as APART  # a class of pairs that never merge
from subwords.kernels.layout import IN_WORD as IN_WORD  # a bit of characters: within a word
from subwords.kernels.layout import MEASURED as MEASURED  # the columns of `measure_texts`
from subwords.kernels.layout import SPACELESS as SPACELESS  # a bit of characters: of scripts without spaces
from subwords.kernels.layout import MergeRules as MergeRules  # which symbols may merge
from subwords.kernels.layout import SymbolWords as SymbolWords  # words as symbols, with their counts
from subwords.kernels.machine_code import processor_kind as processor_kind  # what kernels are compiled for
from subwords.kernels.machine_code import sources_digest as sources_digest  # of the source of every kernel
from subwords.kernels.machine_code import web_module as web_module  # the WebAssembly module of the kernels
from subwords.kernels.modes import NOTICES as NOTICES  # what kernels tell while they compile or load
from subwords.kernels.named import count_ids as count_ids  # kernel: how often each id occurs
from subwords.kernels.named import fill_ids as fill_ids  # kernel: words of ids as symbols
from subwords.kernels.named import measure_texts as measure_texts  # kernel: characters and words of texts
from subwords.kernels.named import place_ends as place_ends  # kernel: ids before and after each document

# The families: models, how they segment and how they learn.
from subwords.models.bpe.merges import has_ties as has_ties  # whether merges of equal priority have different results
from subwords.models.bpe.model import BPE as BPE  # the model of BPE
from subwords.models.bpe.plain import DROPOUT as DROPOUT  # the usual rate of BPE-dropout
from subwords.models.bpe.plain import MergeOf as MergeOf  # the type of a function from a pair to its merge
from subwords.models.bpe.plain import Pairs as Pairs  # the type of a table from pairs to merges
from subwords.models.bpe.plain import Symbol as Symbol  # a token of a word and how many bytes it covers
from subwords.models.bpe.plain import draw_word as draw_word  # a word to ids by BPE-dropout
from subwords.models.bpe.plain import merge_plainly as merge_plainly  # BPE of the symbols of a word, step by step
from subwords.models.bpe.plain import merged as merged  # BPE of ids
from subwords.models.bpe.plain import pairs_of as pairs_of  # the merges of a model as `Pairs`
from subwords.models.bpe.plain import word_symbols as word_symbols  # the symbols of a word before any merge
from subwords.models.bpe.segmenter import BPESegmenter as BPESegmenter  # a BPE model in the layout of its kernels
from subwords.models.families import ALGORITHMS as ALGORITHMS  # the names of the families
from subwords.models.families import family_of as family_of  # the family of a model, and its functions
from subwords.models.families import need as need  # the model itself if it is of the only family that can do something
from subwords.models.families import segmenter_of as segmenter_of  # the segmenter of a model
from subwords.models.learning import TIES as TIES  # how pairs of equal count can be ordered
from subwords.models.learning import CountLoop as CountLoop  # merges the most frequent pair, again and again
from subwords.models.learning import Step as Step  # the type of a function that hears of progress
from subwords.models.learning import character_rules as character_rules  # merges only of whole characters
from subwords.models.learning import merge_symbols as merge_symbols  # learns merges from words of symbols
from subwords.models.learning import order_of as order_of  # the order of words: frequent ones first
from subwords.models.unigram.model import GRAINS as GRAINS  # scores are multiples of 1 / GRAINS
from subwords.models.unigram.model import Unigram as Unigram  # the model of Unigram
from subwords.models.unigram.segmenter import best_path as best_path  # the best segmentation of a word
from subwords.models.unigram.train import logarithms as logarithms  # natural logarithms, the same bits on every machine
from subwords.models.wordlevel.model import WordLevel as WordLevel  # the model of WordLevel
from subwords.models.wordpiece.model import WordPiece as WordPiece  # the model of WordPiece
from subwords.models.wordpiece.segmenter import longest_match as longest_match  # the longest matches in a token
from subwords.models.wordpiece.segmenter import matches as matches  # each longest match and its end

# Text before it is split.
from subwords.normalize.normalizer import NormalizerEngine as NormalizerEngine  # runs the steps of a normalizer
from subwords.normalize.resolve import SplitterLike as SplitterLike  # the type of what names or is a splitter

# Plain data of a tokenizer.
from subwords.spec.added_token import FLAGS as FLAGS  # the names of an added token's flags
from subwords.spec.added_token import Input as Input  # the type of a text to encode: str, or parts
from subwords.spec.added_token import input_bytes as input_bytes  # the bytes of one
from subwords.spec.model import NO_MERGES as NO_MERGES  # an empty array of merges
from subwords.spec.model import Model as Model  # the base of all models
from subwords.spec.model import new_ids as new_ids  # old ids to new ones, from where each new id was before
from subwords.spec.oniguruma import pattern_tokens as pattern_tokens  # a pattern in its tokens
from subwords.spec.padding import LONGEST_LENGTH as LONGEST_LENGTH  # the largest length
from subwords.spec.splitter import ENCODINGS as ENCODINGS  # tiktoken's encodings by name
from subwords.spec.splitter import MODELS as MODELS  # OpenAI's models and their encodings
from subwords.spec.splitter import SPACE as SPACE  # U+2581, SentencePiece's space
from subwords.spec.splitter import ByteChars as ByteChars  # a step of a rule: bytes as characters
from subwords.spec.splitter import Prefix as Prefix  # a step of a rule: a space before the text
from subwords.spec.splitter import Replace as Replace  # a step of a rule: a string instead of another
from subwords.spec.splitter import Rule as Rule  # the type of a tuple of steps
from subwords.spec.splitter import SpelledBytes as SpelledBytes  # a step of a rule: bytes spelled as <0x41>
from subwords.spec.splitter import Split as Split  # a step of a rule: a pattern
from subwords.spec.splitter import not_kept_whole as not_kept_whole  # rules without user-defined symbols
from subwords.spec.template import Inserted as Inserted  # special tokens of a template
from subwords.spec.template import Slot as Slot  # the place of a text in a template
from subwords.spec.template import Template as Template  # what stands around one text or two
from subwords.spec.token_batch import TokenBlock as TokenBlock  # ids of documents, and where each ends
from subwords.spec.token_batch import as_ids as as_ids  # ids as an array of int64
from subwords.spec.token_batch import batch_of as batch_of  # a TokenBatch of arrays, neither checked nor copied
from subwords.spec.token_batch import lists_of as lists_of  # flat ids and offsets to lists
from subwords.spec.tokenizer import chat_templates_of as chat_templates_of  # the chat templates of a spec by name
from subwords.spec.unicode import property_members as property_members  # the code points of a property, such as Greek
from subwords.spec.vocab import CHARACTERS as CHARACTERS  # the characters that stand for bytes
from subwords.spec.vocab import Vocab as Vocab  # tokens by id
from subwords.spec.vocab import tokens_from_text as tokens_from_text  # characters that stand for bytes, to bytes

# Words of a text.
from subwords.split.routes import SplitBuffers as SplitBuffers  # buffers for the ends of words, for one thread
from subwords.split.splitter import SplitterEngine as SplitterEngine  # runs a splitter
from subwords.split.word_spans import WordSpans as WordSpans  # consecutive words of texts

# Tokenizers themselves.
from subwords.tokenizer import SpecialPolicy as SpecialPolicy  # the type of the option `special`
from subwords.tokenizer import TokenizerLike as TokenizerLike  # the type of a Tokenizer, a path or a name
from subwords.tokenizer import chatter_of as chatter_of  # what renders the chats of a tokenizer
from subwords.tokenizer import engine_of as engine_of  # the engine of a tokenizer
from subwords.tokenizer import tokenizer_of as tokenizer_of  # a TokenizerLike to a Tokenizer

# Training and counting.
from subwords.training.count import check_counts as check_counts  # raises for counts of other rules
from subwords.training.count import counted as counted  # counts a source by rules
from subwords.training.count import counts_of as counts_of  # WordCounts themselves, or a source counted
from subwords.training.count import rules_like as rules_like  # what makes the words that a tokenizer encodes
from subwords.training.train import check_memory as check_memory  # raises if training takes more memory
from subwords.training.train import dry_run as dry_run  # an untrained tokenizer of these settings, to try saving
from subwords.training.train import family_settings as family_settings  # the settings of a family from options
from subwords.training.train import special_tokens_of as special_tokens_of  # special tokens: given, or the family's
from subwords.training.train import splitting_rules as splitting_rules  # the splitter and the normalizer of a training
