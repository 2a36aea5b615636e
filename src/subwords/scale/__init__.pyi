from subwords.scale.job import Run as Run
