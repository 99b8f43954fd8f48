"""The queues of Learn: titles, hints, and which four are always visible."""

from dataclasses import dataclass


@dataclass(frozen=True)
class QueueName:
    """Texts of a queue. Queues with `first` are visible, the others under More."""

    title: str
    hint: str
    first: bool = False
    href: str = ""  # address of a queue that has a separate page


CHECK, FINAL, SURE, TOPICS, TYPICAL, SORT = "check", "final", "sure", "topics", "typical", "sort"
LAID_OUT = (SORT, TYPICAL)  # queues with large pages, on which similar images are side by side
QUEUE_NAMES = {
    TYPICAL: QueueName(
        "Typical",
        "Images that stand for many others, similar ones side by side: point at an image and press a label's key, or "
        "hold it and sweep",
        True,
    ),
    SURE: QueueName(
        "Confident",
        "Accept suggestions with the highest confidence, one label at a time. Click what is wrong, then press Enter",
        True,
    ),
    SORT: QueueName(
        "Sort",
        "Label images the model is uncertain about: point at an image and press a label's key, or hold it and sweep",
        True,
    ),
    "groups": QueueName(
        "New groups",
        "Find new kinds: similar images unlike any label. Click what does not belong; Enter labels the rest",
        True,
    ),
    "varied": QueueName("Diverse", "Uncertain images that differ from each other: they teach the model most"),
    "margin": QueueName("Uncertain", "Images the model cannot decide between two labels"),
    TOPICS: QueueName("Topics", "Images whose topics fit two labels equally well, by the newest run of topics"),
    "outliers": QueueName("Outliers", "Images least like all others: new kinds may be among them"),
    "doubted": QueueName(
        "Suspicious labels",
        "Labels that people disagree about, then labels the model does not believe: click what is wrong; Enter "
        "confirms the rest",
    ),
    CHECK: QueueName(
        "Random check",
        "Random images without a label: click what is wrong, then press Enter. They measure "
        "how often suggestions are right",
    ),
    FINAL: QueueName(
        "Final check",
        "Check the frozen labels, doubtful ones more often: click what is wrong, then press Enter",
    ),
    "disputed": QueueName(
        "Disagreements",
        "Images that people labelled differently, then those where the model and "
        "the cluster differ: your label decides",
    ),
}
DOUBLE = QueueName(
    "Second labels",
    "Label images that others labelled, without seeing their labels. This shows how well people agree",
    False,
    "/learn?queue=double",
)
RANDOM = QueueName(
    "Random",
    "Label images drawn at random, without suggestions. Cover is estimated from them",
    True,
    "/learn?queue=random",
)
