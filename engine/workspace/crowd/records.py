"""Records of crowd campaigns: campaign, tasks, workers, assignments and answers."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from benthoscope.engine.problems import fail

DAYS = 30  # default validity of a link in days
MOST_SHOWN = 60  # images in one task; nobody can keep track of more
MOST_GROUPS = 20  # groups in one answer
TEXT_AT_MOST = 4_000

INSTRUCTIONS = "Put images that belong together into one group. There is no right number of groups."
CONSENT = (
    "Your answers are stored together with the time they took and a nickname if you give one, and are used to "
    "group the images. Nothing else about you is stored. You can stop at any time."
)


@dataclass(frozen=True)
class GoldPair:
    """Two items for which the owner of the campaign knows whether they belong together."""

    first: int
    second: int
    same: bool


@dataclass(frozen=True)
class CampaignSettings:
    """Settings of a campaign."""

    title: str = ""
    instructions: str = INSTRUCTIONS
    consent: str = CONSENT
    size: int = 12  # images per task
    views: int = 6  # tasks per image
    repeats: int = 3  # people per task
    minutes: float = 20  # until an unanswered task is given to somebody else
    most_tasks: int = 0  # limit of tasks per person; 0: no limit
    gold: tuple[GoldPair, ...] = ()
    gold_least: float = 0.6  # fraction of known pairs to get right, from the fourth on, to receive more tasks

    def __post_init__(self):
        for name, low, high in (
            ("size", 2, MOST_SHOWN),
            ("views", 1, 1000),
            ("repeats", 1, 1000),
            ("minutes", 1, 1440),
            ("most_tasks", 0, 10**6),
            ("gold_least", 0, 1),
        ):
            if not low <= getattr(self, name) <= high:
                raise fail(name.replace("_", " "), f"is {getattr(self, name):g}", f"give {low:g} to {high:g}")
        for name in ("title", "instructions", "consent"):
            if len(getattr(self, name)) > TEXT_AT_MOST:
                raise fail(name, f"is {len(getattr(self, name)):,} characters long", f"use at most {TEXT_AT_MOST:,}")

    def plain(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> "CampaignSettings":
        return cls(**{**plain, "gold": tuple(GoldPair(**pair) for pair in plain.get("gold", ()))})


@dataclass(frozen=True, eq=False)
class Campaign:
    """A campaign. `images` are the ids of its images; an item is a position among them."""

    id: int
    name: str
    state: str
    link: str
    settings: CampaignSettings
    images: np.ndarray
    created_at: float
    expires_at: float


@dataclass(frozen=True)
class Worker:
    """A person who answers. `number` counts the workers of one campaign from 0."""

    id: int
    campaign_id: int
    number: int
    nickname: str
    state: str
    joined_at: float
    gold_asked: int = 0
    gold_right: int = 0


@dataclass(frozen=True)
class Assignment:
    """A task assigned to one person. `shown` are items in display order; `key` gives access to their images."""

    id: int
    task: int
    kind: str
    key: str
    shown: tuple[int, ...]
    state: str
    given_at: float
    due_at: float
    worker: int = 0


@dataclass(frozen=True)
class Answer:
    """The groups of one person for the items of one task; None for items left out."""

    task: int
    kind: str
    round: int
    worker: int
    items: tuple[int, ...]
    groups: tuple[int | None, ...]
    seconds: float
    at: float


@dataclass(frozen=True)
class Receipt:
    """The confirmation of an answer. `again` is set if the same answer was received before."""

    done: int
    again: bool
    stopped: bool


@dataclass(frozen=True)
class Standing:
    """The progress of a campaign."""

    tasks: int
    wanted: int  # total number of answers needed
    answered: int
    under_way: int
    workers: int
    stopped: int
    refused: int
    per_hour: float  # answers in the last hour
    median_seconds: float | None


@dataclass(frozen=True)
class Refusal:
    worker: int | None
    what: str
    at: float


@dataclass(frozen=True)
class NewTask:
    items: Sequence[int]
    wanted: int
    kind: str = "task"
    round: int = field(default=1)
