from subwords.adapt.adapted import Adapted as Adapted
from subwords.adapt.extending import extend as extend
from subwords.adapt.id_maps import IdMap as IdMap
from subwords.adapt.id_maps import id_map as id_map
from subwords.adapt.merging import merge as merge
from subwords.adapt.pruning import prune as prune
from subwords.adapt.replacing import replace as replace
