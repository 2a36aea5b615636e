from subwords.scale.runners import Run as Run
