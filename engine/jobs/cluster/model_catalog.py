"""The catalogue of the models that can make a run. Forms, the command line, REST and the help page read it.

A new model needs an entry in CATALOG, and an entry in PARAMETERS for each parameter that no other model has.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any

from benthoscope.engine.parameters import Parameter, ParameterHelp, parameters_of
from benthoscope.engine.problems import unknown


@dataclass(frozen=True)
class ModelEntry:
    """A model as people choose it. In texts, {group} stands for the word for a group of images.

    `estimator_path` is "module:class"; it is imported when the estimator is needed, because scikit-learn is slow to
    import.
    """

    name: str
    estimator_path: str
    title: str
    question: str
    uses_images: bool = True
    uses_segments: bool = False
    advanced: bool = False  # forms list it under the alternatives
    is_stream: bool = False  # whether it reads the images once, in epochs, with a memory of constant size
    two_levels: bool = False  # whether there are clusters of images and clusters of segments
    has_search: bool = True  # whether it chooses the number of clusters by a search, and its clusters have a shape
    compares_pairs: bool = False  # whether its time grows with the square of the number of images
    has_topics: bool = False  # whether an image has proportions of topics, and only segments have clusters
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # where they differ from those in PARAMETERS
    observation: str | None = None  # the shape of clusters that jobs use; None is the estimator's default
    usual_values: Mapping[str, Any] = field(default_factory=dict)  # where jobs differ from the estimator's defaults
    limit: str = "max_clusters"  # the parameter that limits or sets the number of clusters; empty if there is none

    @property
    def estimator(self) -> type:
        module, _, name = self.estimator_path.partition(":")
        estimator: type = getattr(import_module(module), name)
        return estimator

    def question_for(self, group: str = "dive") -> str:
        return self.question.replace("{group}", group)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters of the estimator with their defaults, bounds and help."""
        parameters = parameters_of(self.estimator, PARAMETERS)
        return tuple(replace(each, choices=self.choices.get(each.name, each.choices)) for each in parameters)

    def to_dict(self, group: str = "dive") -> dict[str, Any]:
        return {
            "name": self.name,
            "title": self.title,
            "question": self.question_for(group),
            "uses_images": self.uses_images,
            "uses_segments": self.uses_segments,
            "advanced": self.advanced,
            "parameters": [parameter.to_dict() for parameter in self.parameters],
        }


# Diagonal covariances give better results than full ones for whole images: V-measure .906 against .864 on the sample
# workspace; on three sets of real images, an equal or better measure with two to four times as many, purer clusters.
SHAPE_OF_IMAGES = "diagonal"

CATALOG = (
    ModelEntry(
        "gmc",
        "benthoscope.engine.mixtures:GMC",
        "Kinds of images",
        "Which kinds of images are there, and what share of each does every {group} have? Right for most surveys.",
        observation=SHAPE_OF_IMAGES,
    ),
    ModelEntry(
        "mcm",
        "benthoscope.engine.mixtures:MCM",
        "Objects and scenes",
        "Which kinds of scenes are there, and which objects are in them? Uses whole images and about fifty segments "
        "of each.",
        uses_segments=True,
        two_levels=True,
    ),
    ModelEntry(
        "gmc-segments",
        "benthoscope.engine.mixtures:GMC",
        "Objects alone",
        "Which kinds of objects are there? Clusters segments only; every image has its own proportions of them. For "
        "images that do not fall into kinds.",
        uses_images=False,
        uses_segments=True,
    ),
    ModelEntry(
        "scm",
        "benthoscope.engine.mixtures:SCM",
        "Scenes by their objects",
        "Like objects and scenes, but uses segments only. A scene has the same objects in the same proportions, "
        "whatever the whole image looks like.",
        uses_images=False,
        uses_segments=True,
        two_levels=True,
    ),
    ModelEntry(
        "iwtm",
        "benthoscope.engine.topics:InfiniteWordTopicModel",
        "Topics",
        "What are the images made of? Describes every image by its proportions of a few topics; a topic is a set of "
        "kinds of segments or patches that occur together. The label of an image is its largest topic.",
        uses_images=False,
        uses_segments=True,
        advanced=True,
        has_search=False,
        has_topics=True,
        # Random batches find topics as good as coordinate ascent does, in a fraction of the time.
        usual_values={"inference": "svi", "n_init": 1},
        limit="n_clusters",
    ),
    ModelEntry(
        "lda",
        "benthoscope.engine.topics:VisualLDA",
        "Topics of a fixed vocabulary",
        "The question of iwtm, with a fixed number of kinds of segments or patches instead of an inferred one.",
        uses_images=False,
        uses_segments=True,
        advanced=True,
        has_search=False,
        has_topics=True,
        limit="n_words",
    ),
    ModelEntry(
        "sgmc",
        "benthoscope.engine.mixtures:SymmetricGMC",
        "Kinds of images, equally common",
        "The question of gmc, if all kinds are expected to be equally common in a {group}.",
        advanced=True,
        observation=SHAPE_OF_IMAGES,
    ),
    ModelEntry(
        "vdp",
        "benthoscope.engine.mixtures:VDP",
        "Kinds of images, without groups",
        "Which kinds of images are there, whatever {group} they are from?",
        advanced=True,
        observation=SHAPE_OF_IMAGES,
    ),
    ModelEntry(
        "bgmm",
        "benthoscope.engine.mixtures:BGMM",
        "Kinds of images, equally common, without groups",
        "The question of vdp, if all kinds are expected to be equally common.",
        advanced=True,
        observation=SHAPE_OF_IMAGES,
    ),
    ModelEntry(
        "mbvdp",
        "benthoscope.engine.streaming:MemoryBoundedVDP",
        "Kinds of images, in bounded memory",
        "Which kinds of images are there, if there are more images than fit in memory? Reads them once and remembers "
        "summaries only. Ignores the {group}.",
        advanced=True,
        is_stream=True,
        choices={"observation": ("full", "diagonal", "discrete")},
        observation=SHAPE_OF_IMAGES,
    ),
    ModelEntry(
        "mbtm",
        "benthoscope.engine.streaming:MemoryBoundedTopicModel",
        "Kinds of images by group, in bounded memory",
        "The question of gmc, if there are more images than fit in memory: every {group} has its own proportions. "
        "Reads the images once and remembers summaries only.",
        advanced=True,
        is_stream=True,
        choices={"observation": ("full", "diagonal", "discrete")},
        observation=SHAPE_OF_IMAGES,
    ),
    ModelEntry(
        "mbtm-segments",
        "benthoscope.engine.streaming:MemoryBoundedTopicModel",
        "Joint segmentation",
        "Which regions do the images share? Divides all images together: the same colour means the same kind of "
        "region in every image. Reads the segments once, in bounded memory.",
        uses_images=False,
        uses_segments=True,
        has_topics=True,
        is_stream=True,
        choices={"observation": ("full", "diagonal", "discrete")},
        usual_values={"width": 0.5, "max_clumps": 1000, "max_groups": 200, "tol": 1e-5},
    ),
    ModelEntry(
        "rim",
        "benthoscope.engine.discriminative:RIM",
        "Straight borders",
        "Which straight borders separate the images most clearly?",
        advanced=True,
        has_search=False,
        limit="n_clusters",
    ),
    ModelEntry(
        "krim",
        "benthoscope.engine.discriminative:KernelRIM",
        "Borders of any shape",
        "Which borders of any shape separate the images most clearly?",
        advanced=True,
        has_search=False,
        limit="n_clusters",
    ),
    ModelEntry(
        "kmeans",
        "benthoscope.engine.distance_models:KMeans",
        "A given number of kinds",
        "Which kinds of images are there, if you set their number? k-means, for comparison. Ignores the {group}.",
        advanced=True,
        has_search=False,
        limit="n_clusters",
    ),
    ModelEntry(
        "hdbscan",
        "benthoscope.engine.distance_models:HDBSCAN",
        "Dense groups of images",
        "Which images are in dense groups, and which are between them? HDBSCAN, for comparison. Ignores the {group}; "
        "images in no cluster are together in one named Without cluster. At most 100,000 images.",
        advanced=True,
        has_search=False,
        compares_pairs=True,
        limit="",
    ),
)
ENTRIES = {entry.name: entry for entry in CATALOG}
SEGMENT_MODELS = frozenset(entry.name for entry in CATALOG if entry.uses_segments)
STREAM_MODELS = frozenset(entry.name for entry in CATALOG if entry.is_stream and entry.uses_images)
TOPIC_MODELS = frozenset(entry.name for entry in CATALOG if entry.has_topics)

DISTANCE_MODELS = frozenset({"kmeans", "hdbscan"})  # for comparisons: without densities and proportions of dives
USUAL_MODEL = "gmc"  # measures better than mcm on the sample campaign: V-measure .868 against .726
USUAL_WIDTH = 0.05  # of image clusters
SEGMENT_WIDTH = 1.0  # default for segment clusters
JOINT_SEGMENTATION = "mbtm-segments"
EXTENDABLE_MODELS = ("iwtm", JOINT_SEGMENTATION)  # topics to which images can be added without fitting them again

PARAMETERS: dict[str, ParameterHelp] = {
    # --- mixtures
    "width": ParameterHelp(
        "The expected variance of a cluster, as a fraction of the variance along the longest axis of the data. Larger "
        "values usually give fewer clusters. Image clusters: 0.05 by default, 0.02 to 0.2 are usual. Segments: 1 by "
        "default.",
        0.0001,
        10,
    ),
    "segment_width": ParameterHelp(
        "The width of the clusters of segments, for models that use segments; 1 by default. Use a smaller value to "
        "distinguish more kinds of objects.",
        0.0001,
        10,
    ),
    "image_width": ParameterHelp(
        "The width of the image clusters of models that use segments, as a fraction of the variance of the images; "
        "0.05 by default.",
        0.0001,
        10,
    ),
    "max_clusters": ParameterHelp(
        "The search stops at this number of clusters (of objects, for models of segments). No limit by default.", 1
    ),
    "max_image_clusters": ParameterHelp(
        "The number of image clusters at the start of models that use segments; empty ones are removed. 100 by "
        "default. Increase it if a fit ends with this number.",
        1,
    ),
    "search": ParameterHelp(
        "How the number of clusters is found. best, the default, runs several searches and keeps the best result. It "
        "also finds overlapping clusters, because it starts with too many and merges or deletes the surplus. "
        "greedy and exhaustive split one cluster at a time: the first or the best split that improves the fit. "
        "together splits many clusters at once, then merges. overcomplete starts with many small clusters and removes "
        "those that are not needed. random starts with too many random clusters. none keeps the clusters of the start.",
        choices=("best", "exhaustive", "greedy", "none", "overcomplete", "random", "together"),
    ),
    "search_rows": ParameterHelp(
        "The search begins on a random sample of this size, 10,000 by default, and continues on larger ones. Increase "
        "it if rare kinds are missed; the search then takes longer. It takes more rows by itself if there are many "
        "clusters.",
        1,
    ),
    "observation": ParameterHelp(
        "The distribution of the rows of a cluster: a Gaussian with correlated columns (full), a Gaussian with "
        "independent columns (diagonal), or independent exponential columns for values of zero or more. diagonal by "
        "default for whole images, full for segments. Models in bounded memory have discrete clusters, for counts of "
        "words, instead of exponential ones.",
        choices=("full", "diagonal", "exponential"),
    ),
    "scaled_prior": ParameterHelp(
        "Whether widths are fractions of the variance of the data (the default) or squared units of the features. "
        "Switch it off for whitened features."
    ),
    "concentration": ParameterHelp(
        "1 by default. bgmm and sgmc: the number of rows that each cluster gets in advance in each group; larger "
        "values expect clusters that are equally common. vdp: larger values expect more clusters.",
        0,
    ),
    "sticks": ParameterHelp(
        "The two parameters of the Beta distribution from which the shares of the clusters in each dive or album "
        "follow; 1 and 1 by default. A larger second value expects more clusters in each."
    ),
    "sparse": ParameterHelp(
        "Whether clusters with almost no rows in a group are no longer computed for that group. Off by default; saves "
        "time with many groups and many clusters."
    ),
    "sparse_cutoff": ParameterHelp(
        "With sparse, a cluster is no longer computed in groups where it is expected to own fewer rows than this; 1 by "
        "default. 0 computes everything.",
        0,
    ),
    "truncation": ParameterHelp(
        "How vdp treats the infinitely many clusters beyond those it computes. nested, the default: no row belongs to "
        "them. tied: rows may belong to them. truncated: the last cluster gets their share.",
        choices=("nested", "tied", "truncated"),
    ),
    "warm_start": ParameterHelp(
        "Whether a further fit of the same object starts with its clusters. For programs; a job always fits anew."
    ),
    # --- two levels
    "priors": ParameterHelp(
        "The priors of the shares of image clusters in a dive or album, and of objects in an image cluster: "
        "generalised Dirichlet and Dirichlet (gd, the default), Dirichlet for both (dd), or generalised Dirichlet for "
        "both (gg). The generalised Dirichlet expects a few common and many rare ones; the Dirichlet treats all alike.",
        choices=("gd", "dd", "gg"),
    ),
    "diversity": ParameterHelp(
        "The number of segments of each kind that every image cluster gets in advance; 1 by default. Larger values "
        "expect more kinds of objects in an image cluster and give fewer image clusters.",
        0,
    ),
    "by_dive": ParameterHelp(
        "Whether every dive or album has its own shares of the image clusters. By default yes for mcm, no for scm."
    ),
    "restarts": ParameterHelp(
        "The number of random starts of the image clusters; the best result is kept. 10 by default. More starts take "
        "longer and give more stable image clusters.",
        1,
    ),
    "image_start": ParameterHelp(
        "Whether an image starts with random probabilities of all image clusters (soft, the default) or in one random "
        "image cluster (hard).",
        choices=("soft", "hard"),
    ),
    "frozen_start": ParameterHelp(
        "Whether the image clusters stay as they start until the first split of a segment cluster; off by default."
    ),
    # --- kmeans and hdbscan
    "min_cluster_size": ParameterHelp(
        "hdbscan: the smallest number of images of a cluster; 5 by default. Larger values give fewer clusters.", 2
    ),
    "min_samples": ParameterHelp(
        "hdbscan: the density at an image is measured by the distance to this many neighbours; as many as the smallest "
        "cluster by default. Larger values leave more images without a cluster.",
        1,
    ),
    "cluster_selection_method": ParameterHelp(
        "hdbscan: whether the clusters are those that last longest while the density rises (eom, the default), or the "
        "smallest ones (leaf).",
        choices=("eom", "leaf"),
    ),
    "cluster_selection_epsilon": ParameterHelp(
        "hdbscan: clusters at a smaller distance from each other are joined; 0, the default, joins none.", 0
    ),
    # --- rim and krim
    "n_clusters": ParameterHelp(
        "The largest number of clusters; superfluous ones become empty. 20 by default for rim and krim. Increase it if "
        "none becomes empty. kmeans: the number of clusters, 40 by default. iwtm: the largest number of visual words.",
        1,
    ),
    "strength": ParameterHelp(
        "The strength of the penalty on the coefficients: larger values give simpler borders and fewer clusters. 2 by "
        "default for rim, 1 for krim; auto tries many values and takes the middle of the widest range with the same "
        "number of clusters.",
        0,
    ),
    "scale": ParameterHelp(
        "How the features are scaled before the fit. overall, the default, keeps the relative spread of the columns. "
        "standard divides each column by its standard deviation, variance by its variance. none changes nothing.",
        choices=("overall", "standard", "variance", "none"),
    ),
    "balance": ParameterHelp(
        "Whether clusters of similar size are preferred; on by default. Without it, all rows can end in few clusters."
    ),
    "sizes": ParameterHelp(
        "The expected sizes of the clusters: equal (the default), a list of shares, or power for a few large and many "
        "small ones. Give shares if you know them."
    ),
    "n_init": ParameterHelp(
        "The number of random starts; the best result is kept. 10 by default. More take proportionally longer.", 1
    ),
    "kernel": ParameterHelp(
        "How krim compares two images: by their distance (rbf, the default) or by the angle between their features "
        "(cosine).",
        choices=("rbf", "cosine"),
    ),
    "gamma": ParameterHelp(
        "The width of the rbf kernel: larger values compare near neighbours only and give more curved borders. By "
        "default one over the median squared distance.",
        0,
    ),
    "n_components": ParameterHelp(
        "The number of leading directions of the kernel that are used; 150 by default. Fewer give simpler borders.", 1
    ),
    "landmarks": ParameterHelp(
        "The kernel is computed from this many random rows at most; 2,000 by default. More are more exact and need "
        "more time and memory.",
        1,
    ),
    "init": ParameterHelp(
        "The method for the starts: k-means in the space of the kernel (kernel_kmeans, the default) or of the features "
        "(kmeans), or spectral clustering, which needs at least as many landmarks as rows.",
        choices=("kernel_kmeans", "kmeans", "spectral"),
    ),
    # --- all models
    "tol": ParameterHelp(
        "The fit stops when an iteration improves its objective by less than this. Mixtures: 1e-7 nats per row by "
        "default. rim and krim: 1e-9 of its value. kmeans: when centres move by less than 1e-4 of the variance.",
        0,
    ),
    "max_iter": ParameterHelp(
        "The largest number of iterations in a row; 1,000 by default. Increase it if Runs shows that a run has not "
        "converged.",
        1,
    ),
    "random_state": ParameterHelp(
        "The seed of the random numbers. The same value gives the same clusters on the same computer.", 0
    ),
    # --- topic models
    "n_topics": ParameterHelp("The number of topics.", 1),
    "inference": ParameterHelp(
        "How topics are fitted: vi uses all images in each iteration, svi random batches (faster), incremental random "
        "batches that can be continued with new images, gibbs random draws (slow; the only one besides vi for lda)."
    ),
    "n_atoms": ParameterHelp("The largest number of parts of a topic; twice the number of clusters by default.", 1),
    "alpha": ParameterHelp("The prior of topics in an image; small values expect few. 1 / topics by default.", 0),
    "topic_concentration": ParameterHelp("Larger values expect topics with more clusters.", 0),
    "mean_strength": ParameterHelp("The weight of the prior of cluster means, in observations.", 0),
    "precision_strength": ParameterHelp("The weight of the prior of cluster sizes, in half observations.", 0),
    "tied_mapping": ParameterHelp("Whether all topics share the clusters of their parts."),
    "last_stick": ParameterHelp("How the weights beyond the limits are treated.", choices=("free", "fixed")),
    "start": ParameterHelp(
        "How topics start: spread, the default, from descriptors that lie far apart and groups of similar images; "
        "random from random ones, which needs several starts.",
        choices=("spread", "random"),
    ),
    "document_start": ParameterHelp("Whether each iteration starts images anew (cold).", choices=("cold", "warm")),
    "learning_rate": ParameterHelp("The share of the images in a random batch.", 0, 1),
    "schedule": ParameterHelp("Whether the learning rate decreases.", choices=("constant", "decreasing")),
    "delay": ParameterHelp("Slows down the first iterations of a decreasing rate.", 0),
    "forgetting": ParameterHelp("How fast a decreasing rate falls; above 0.5.", 0, 1),
    "iterations_alone": ParameterHelp("Iterations on new images alone, when images are added.", 1),
    "iterations_together": ParameterHelp("Iterations on all images, when images are added.", 1),
    "n_nearest": ParameterHelp("The number of parts considered for each segment; all by default.", 1),
    "freeze_clusters_after": ParameterHelp("Passes after which clusters stay fixed; never by default.", 0),
    "prune": ParameterHelp("Whether unused clusters are dropped during the fit."),
    "sweeps": ParameterHelp("The number of passes of gibbs.", 1),
    "burn_in": ParameterHelp("Passes of gibbs before the priors are first updated.", 0),
    "sample_concentrations": ParameterHelp("Whether gibbs draws the concentrations instead of maximising them."),
    "start_clusters": ParameterHelp("The number of clusters at the start of gibbs.", 0),
    "words": ParameterHelp("Where the vocabulary comes from: kmeans, or dp, which infers its size."),
    "n_words": ParameterHelp("The size of the vocabulary.", 1),
    "word_prior": ParameterHelp("The prior of words in a topic; 1 / topics by default.", 0),
    # --- models in bounded memory
    "memory": ParameterHelp(
        "For models in bounded memory: the room for summaries, as a number of images. Two clumps of each expected "
        "cluster should fit: a clump takes as much as two images, or with full covariances as half the number of "
        "dimensions.",
        1,
    ),
    "epoch": ParameterHelp(
        "For models in bounded memory: the number of images of a round. Larger epochs need more memory and give "
        "slightly better clusters.",
        1,
    ),
    "horizon": ParameterHelp("The number of images that are expected; by default the number there are.", 1),
    "prior_rows": ParameterHelp("The number of first images that set the expected scale of clusters.", 1),
    "restart_every": ParameterHelp("The clusters are built from one again every so many rounds; never by default.", 1),
    "smallest_part": ParameterHelp("The least number of images that a compression splits off.", 0),
    "tries": ParameterHelp("The number of splits that are fitted in full before a round stops.", 1),
    "recent": ParameterHelp("The number of recent images with which the novelty of an image is compared.", 1),
    "gather": ParameterHelp(
        "Up to this many similar new images enter a round as one clump, so that large rounds cost little. By default "
        "32 from 200,000 images on, and 1 below.",
        1,
    ),
    "lineage": ParameterHelp("Whether the clump of each image is stored."),
    "alpha_prior": ParameterHelp("The shape and rate of the prior of the weight of each cluster in a group."),
    "max_groups": ParameterHelp("The largest number of groups of similar documents; no limit by default.", 1),
    "max_clumps": ParameterHelp("A limit of the number of clumps, instead of the memory.", 1),
}


def model_named(word: str) -> type:
    """The estimator of a CLI name."""
    return entry_named(word).estimator


def entry_named(word: str) -> ModelEntry:
    """The catalogue entry of a CLI name."""
    if word not in ENTRIES:
        raise unknown("model", word, ENTRIES)
    return ENTRIES[word]


def questions_markdown(group: str = "dive") -> str:
    """A table of all models for the help page."""
    rows = [f"| `{entry.name}` | {entry.title} | {entry.question_for(group)} |" for entry in CATALOG]
    return "\n".join(["| model | title | the question it answers |", "| --- | --- | --- |", *rows])


def looks_at_segments(word: str) -> bool:
    return word in SEGMENT_MODELS


def compares_pairs(word: str) -> bool:
    """Whether the time of a model grows with the square of the number of images."""
    return entry_named(word).compares_pairs


def learns_from_stream(word: str) -> bool:
    return word in STREAM_MODELS


def with_width(word: str, width: float, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters with the width of clusters, for models that have one."""
    return {"width": width, **parameters} if has_width(word) else parameters


def has_width(word: str) -> bool:
    return "width" in model_named(word)().get_params()


def with_widths(word: str, of_images: float, of_segments: float | None, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of models of segments with both widths. None keeps the model's default for segment
    clusters."""
    known = model_named(word)().get_params()
    entry = entry_named(word)
    if entry.has_topics:
        chosen = {entry.limit if name == "max_clusters" else name: value for name, value in parameters.items()}
        if of_segments is not None and "width" in known:
            chosen = {"width": of_segments, **chosen}
        if "memory" in chosen:  # the memory is given as a number of rows, not of clumps
            chosen = {"max_clumps": None, **chosen}
        return {**entry.usual_values, **chosen}
    widths = {"width": SEGMENT_WIDTH if of_segments is None else of_segments}
    if "image_width" in known:
        widths["image_width"] = of_images
    return widths | parameters
