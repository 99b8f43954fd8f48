"""One LDA of another program, in its own environment: python topic_peers.py FILE METHOD TOPICS PASSES SEED.

FILE has `counts` (N, V), the word counts of images. Prints CPU seconds of the fit, without the start of the program.
"""

import json
import resource
import sys
from pathlib import Path

import numpy as np


def gensim(counts, topics, passes, seed):
    from gensim.models import LdaMulticore

    bags = [[(int(word), int(row[word])) for word in np.flatnonzero(row)] for row in counts]
    names = {word: str(word) for word in range(counts.shape[1])}
    LdaMulticore(bags, topics, id2word=names, passes=passes, workers=1, random_state=seed)


def scikit_learn(counts, topics, passes, seed):
    from sklearn.decomposition import LatentDirichletAllocation

    LatentDirichletAllocation(topics, max_iter=passes, learning_method="online", random_state=seed).fit(counts)


def tomotopy(counts, topics, passes, seed, kind="LDAModel"):
    import tomotopy

    model = getattr(tomotopy, kind)(**{"k" if kind == "LDAModel" else "initial_k": topics}, seed=seed)
    for row in counts:
        model.add_doc([str(word) for word in np.repeat(np.arange(len(row)), row)])
    model.train(passes, workers=1)


def hdp(counts, topics, passes, seed):
    tomotopy(counts, topics, passes, seed, "HDPModel")


METHODS = {"gensim": gensim, "scikit-learn": scikit_learn, "tomotopy": tomotopy, "tomotopy-hdp": hdp}


def cpu() -> float:
    usages = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def main(path: Path, method: str, topics: int, passes: int, seed: int) -> None:
    counts = np.load(path)["counts"]
    before = cpu()
    METHODS[method](counts, topics, passes, seed)
    print(json.dumps({"cpu": cpu() - before}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], *(int(word) for word in sys.argv[3:6]))
