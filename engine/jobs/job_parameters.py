"""What the parameters of jobs mean, for programs that build forms or send jobs over REST.

The parameters of a model are in `engine.jobs.cluster.model_catalog`.
"""

from collections.abc import Mapping

from benthoscope.engine.jobs.cluster.model_catalog import PARAMETERS
from benthoscope.engine.parameters import ParameterHelp

COLLECTION = ParameterHelp("Name of the campaign or set of albums to use; all images by default.")
SEED = ParameterHelp("The seed of the random numbers. The same value gives the same result on the same computer.", 0)
RUN = ParameterHelp("Id of the run; the current run by default.", 1)
RUN_NAME = ParameterHelp("Name of the new run; made from the model and the features by default.")
SCHEDULER = ParameterHelp("Address of a Dask cluster, tcp://HOST:PORT; this computer by default.")
WORKERS = ParameterHelp("Number of processes or threads; one per core by default.", 1)

IMPORT = {
    "folder": ParameterHelp("Folder of the images; its subfolders are included."),
    "collection": ParameterHelp(
        "Name of the campaign or set of albums; from the metadata, else the name of the folder, by default."
    ),
    "kind": ParameterHelp(
        "Whether the groups are dives of a campaign or albums; guessed from the metadata by default.",
        choices=("campaign", "albums"),
    ),
    "group_level": ParameterHelp(
        "Which folders are dives or albums: 1 for those in the folder, 2 for those below them; guessed by default.", 0
    ),
    "mapping": ParameterHelp("The meaning of columns of metadata files, as {column: field}; guessed by default."),
    "metadata": ParameterHelp("Paths of metadata files outside of the folder: CSV, TSV or iFDO."),
    "workers": WORKERS,
    "follow_links": ParameterHelp("Whether symbolic links that lead out of the folder are followed; no by default."),
    "navigation": ParameterHelp("Paths of files with positions or depths by time: CSV, GPX or NetCDF."),
    "clock_offset": ParameterHelp("Seconds to add to the times of the camera to get UTC; no change by default."),
    "max_gap": ParameterHelp(
        "Navigation is used if the fixes before and after an image are at most this many seconds apart.", 0
    ),
    "check_content": ParameterHelp(
        "Whether known files are read again to find changed content; by default files with the same size and time are "
        "not."
    ),
}
EXPORT = {
    "format": ParameterHelp("Name of the format; `benthoscope labels export --help` lists them."),
    "output": ParameterHelp("Folder to write to; created if it does not exist."),
    "collection": COLLECTION,
    "dive": ParameterHelp("Name of the dive or album to use; all by default."),
    "selection": ParameterHelp("Name of the saved selection to use; none by default."),
    "images": ParameterHelp("Ids of the images to use, instead of a collection, dive or selection."),
    "labelled": ParameterHelp("Whether only images with a label are written; no by default."),
    "until": ParameterHelp("Number of an event of the label log: writes the labels as they were after it.", 0),
    "run": ParameterHelp("Name or id of the run whose clusters are written; the current run by default."),
    "segments": ParameterHelp("For coco: the feature set whose segments get the labels of the points inside them."),
    "fields": ParameterHelp("Fields of the iFDO header, as {name: value}."),
    "vocabulary": ParameterHelp("Name of the vocabulary to translate labels to, where terms are linked."),
    "level": ParameterHelp("Level of the tree to which terms are rolled up; 1 is the top. No change by default.", 1),
}
OF_KIND: Mapping[str, Mapping[str, ParameterHelp]] = {
    "import": IMPORT,
    "start": IMPORT | {"name": RUN_NAME, "seed": SEED},
    "features": {
        "kinds": ParameterHelp("Names of the descriptors, see /descriptors; deep by default."),
        "collection": COLLECTION,
        "name": ParameterHelp("Name of the feature set; the name of its descriptor by default."),
        "dimension": ParameterHelp("Length of the feature vectors; the default depends on the descriptor.", 1),
        "raw": ParameterHelp("Whether the long vectors are stored without a reduction; no by default."),
        "dictionary": ParameterHelp(
            "How scspm and rp learn their patterns; by k-means by default. With stream, a mixture reads the patches "
            "once, and they decide the number of patterns.",
            choices=("kmeans", "random", "lasso", "ksvd", "stream"),
        ),
        "onnx": ParameterHelp("Path of your own network, for the descriptor onnx."),
        "input_size": ParameterHelp("Side of the input of that network in pixels, if its file does not fix it.", 1),
        "mean": ParameterHelp("Means of red, green and blue (0 to 1) in the training of that network."),
        "deviation": ParameterHelp("Standard deviations of red, green and blue in the training of that network."),
        "water": ParameterHelp("Whether lighting and water colour of each dive are corrected first; no by default."),
        "again": ParameterHelp("Whether the set is computed from scratch, instead of adding missing images."),
        "repair": ParameterHelp("Whether all sets are updated: changed images and damaged rows are described again."),
        "seed": SEED,
        "learn_from": ParameterHelp(
            "Number of random images to which a new descriptor is fitted; 2,000 by default.", 2
        ),
        "like": ParameterHelp("Folder of a trained descriptor to reuse, so that two sets can be compared."),
        "cache": ParameterHelp("Folder for downloaded networks; the cache folder of the user by default."),
        "scheduler": SCHEDULER,
        "workers": WORKERS,
    },
    "cluster": {
        "model": ParameterHelp("Name of the model, see /models; gmc suits most surveys."),
        "features": ParameterHelp("Name of the feature set of whole images."),
        "collection": COLLECTION,
        "name": RUN_NAME,
        "hold_out": ParameterHelp(
            "Fraction of the images that are not fitted but only used to score the model; 0 by default. Use 0.1 to "
            "compare widths.",
            0,
            1,
        ),
        "seed": SEED,
        "dimensions": ParameterHelp(
            "Number of dimensions with the largest variance to use; as many as the number of images supports by "
            "default.",
            1,
        ),
        "scheduler": SCHEDULER,
        "parameters": ParameterHelp("Further parameters of the model, as {name: value}; see /models."),
        "crowd": ParameterHelp("Name or id of the run of a crowd's answers to use as constraints; none by default."),
        "segments": ParameterHelp("Name of the feature set of segments, for models that use segments."),
        "levels": ParameterHelp("Whether a finer and a coarser level are computed as well; yes by default."),
    },
    "extend topics": {
        "run": ParameterHelp("Id of the run of topics; the newest one by default.", 1),
        "collection": ParameterHelp("Name of the campaign or set of albums to add; all by default."),
        "name": ParameterHelp("Name of the new run; made from the name of the old one by default."),
        "scheduler": SCHEDULER,
    },
    "crowd": {
        "campaign": ParameterHelp("Name or number of the campaign."),
        "method": ParameterHelp(
            "bayes, the default, finds the number of clusters and the criteria of each person. nmf (matrix "
            "factorisation) is a baseline that needs the number of clusters.",
            choices=("bayes", "nmf"),
        ),
        "clusters": ParameterHelp("The number of clusters, if you know it.", 1),
        "name": ParameterHelp("Name of the new run; made from the name of the campaign by default."),
        "seed": SEED,
        "more": ParameterHelp("Number of tasks to add about the images whose clusters are least certain.", 0),
    },
    "split cluster": {
        "run": ParameterHelp("Id of the run.", 1),
        "cluster": ParameterHelp("Number of the cluster to split.", 0),
        "person": ParameterHelp("Name of the person who splits it; stored with the change."),
        "seed": SEED,
    },
    "steer": {"run": RUN, "name": RUN_NAME, "seed": SEED},
    "relink": {
        "folder": ParameterHelp("Folder in which the images are now."),
        "root": ParameterHelp("Number of the folder that moved; needed if several folders were imported.", 1),
    },
    "projection": {
        "features": ParameterHelp("Name of the feature set."),
        "neighbours": ParameterHelp(
            "Number of neighbours of each image that the layout preserves; few show detail, many the overall "
            "structure.",
            2,
        ),
        "distance": ParameterHelp(
            "Smallest distance between points: 0 packs similar images tightly, 1 spreads them.", 0, 1
        ),
        "seed": SEED,
    },
    "learn": {
        "features": ParameterHelp("Name of the feature set; that of the run by default."),
        "run": ParameterHelp("Id of the run whose clusters the model uses; the current run by default.", 1),
        "seed": SEED,
    },
    "typical images": {"seed": SEED},
    "export": EXPORT,
    "import labels": {
        "files": ParameterHelp("Paths of the label files, of any format that `benthoscope labels import` lists."),
        "person": ParameterHelp("Name of the person who imports them; stored with the labels."),
        "vocabulary": ParameterHelp("Name of the only vocabulary to look up labels in; all by default."),
        "add_terms": ParameterHelp(
            "Whether unknown labels are added to the vocabulary; listed as problems by default."
        ),
        "collection": ParameterHelp("Only match images of this campaign or set of albums; all by default."),
        "dive": ParameterHelp("Only match images of this dive or album; all by default."),
        "mapping": ParameterHelp("Columns of a table: {image: column, label: column}; guessed by default."),
        "replace": ParameterHelp("Whether labels replace other labels of the images; the history keeps the old ones."),
        "dry_run": ParameterHelp("Whether the job only reports what it would import; no by default."),
    },
    "chain": {
        "steps": ParameterHelp(
            "The jobs to run in order: {kind, title, parameters, share of the progress bar} of each."
        )
    },
    "exemplars": {"run": RUN},
    "levels": {"run": RUN},
}


def parameter_help(kind: str) -> Mapping[str, ParameterHelp]:
    """Return the help of the parameters of a kind of job, by name."""
    return {**PARAMETERS, **OF_KIND.get(kind, {})}
