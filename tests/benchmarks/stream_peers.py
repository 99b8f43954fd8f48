"""One streaming algorithm of River, in its own environment: python stream_peers.py FILE METHOD.

FILE has `X` (N, D), the rows of the stream, and `held_out` (n, D). Prints the clusters of the held-out rows, and CPU
seconds of learning and naming them, without the start of the program.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
from river import cluster


def dbstream(X):
    return cluster.DBSTREAM(clustering_threshold=4.0, fading_factor=0.001)  # the best clusters of 3,000 rows


def clustream(X):
    """With its default radius, most rows fit no cluster in 10 dimensions, and each of them compares all pairs of
    clusters; with its default window, it forgets most rows."""
    return cluster.CluStream(n_macro_clusters=20, micro_cluster_r_factor=4, time_window=len(X), time_gap=1000, seed=0)


METHODS = {"DBSTREAM": dbstream, "CluStream": clustream}


def main(path: Path, method: str) -> None:
    arrays = np.load(path)
    before = time.process_time()
    model = METHODS[method](arrays["X"])
    for row in arrays["X"]:
        model.learn_one(dict(enumerate(row)))
    labels = [model.predict_one(dict(enumerate(row))) for row in arrays["held_out"]]
    print(json.dumps({"labels": labels, "cpu": time.process_time() - before}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
