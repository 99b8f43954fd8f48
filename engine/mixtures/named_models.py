"""The mixtures by their names on the command line."""

from benthoscope.engine.mixtures.bayesian import BayesianMixture
from benthoscope.engine.mixtures.models import BGMM, GMC, VDP, SymmetricGMC
from benthoscope.engine.mixtures.two_level.models import MCM, SCM
from benthoscope.engine.problems import unknown

MODELS: dict[str, type[BayesianMixture]] = {"bgmm": BGMM, "gmc": GMC, "sgmc": SymmetricGMC, "vdp": VDP}
TWO_LEVELS: dict[str, type[SCM] | type[MCM]] = {"mcm": MCM, "scm": SCM}


def model_named(word: str) -> type[BayesianMixture]:
    """Return the estimator class with this name on the command line."""
    if word not in MODELS:
        raise unknown("model", word, MODELS)
    return MODELS[word]
