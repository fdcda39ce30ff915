"""What Python does after fusion: signals, sessions, a reranker, the choice of hits."""
