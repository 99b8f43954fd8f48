"""What asking a crowd is made of: a campaign, its tasks, the people, what they were shown and answered."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from engine.problems import fail

DAYS = 30          # a link is good for, unless said otherwise
MOST_SHOWN = 60    # images in one task: beyond, nobody keeps an overview
MOST_GROUPS = 20   # groups in one answer
TEXT_AT_MOST = 4_000

INSTRUCTIONS = "Put pictures that belong together into one group. There is no right number of groups."
CONSENT = ("Your answers are stored together with the time they took and a nickname if you give one, and are used to "
           "group the pictures. Nothing else about you is stored. You can stop at any time.")


@dataclass(frozen=True)
class GoldPair:
    """Two items of which the one who asks knows whether they belong together."""

    first: int
    second: int
    same: bool


@dataclass(frozen=True)
class Settings:
    """What the one who asks decides."""

    title: str = ""
    instructions: str = INSTRUCTIONS
    consent: str = CONSENT
    size: int = 12                     # images in a task
    views: int = 6                     # tasks each image is in
    repeats: int = 3                   # people each task is done by
    minutes: float = 20                # until a task that was not answered is given to somebody else
    most_tasks: int = 0                # one person does at most so many; 0: as many as they like
    gold: tuple[GoldPair, ...] = ()
    gold_least: float = 0.6            # share of known pairs to get right, from the fourth on, to be asked further

    def __post_init__(self):
        for name, low, high in (("size", 2, MOST_SHOWN), ("views", 1, 1000), ("repeats", 1, 1000),
                                ("minutes", 1, 1440), ("most_tasks", 0, 10**6), ("gold_least", 0, 1)):
            if not low <= getattr(self, name) <= high:
                raise fail(name.replace("_", " "), f"is {getattr(self, name):g}", f"give {low:g} to {high:g}")
        for name in ("title", "instructions", "consent"):
            if len(getattr(self, name)) > TEXT_AT_MOST:
                raise fail(name, f"is {len(getattr(self, name)):,} characters long", f"write {TEXT_AT_MOST:,} at most")

    def plain(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> "Settings":
        return cls(**{**plain, "gold": tuple(GoldPair(**pair) for pair in plain.get("gold", ()))})


@dataclass(frozen=True, eq=False)
class Campaign:
    """`images` are the ids of what is asked about; an item is a place among them."""

    id: int
    name: str
    state: str
    link: str
    settings: Settings
    images: np.ndarray
    created_at: float
    expires_at: float


@dataclass(frozen=True)
class Worker:
    """`number` counts the people of one campaign from 0."""

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
    """A task in one person's hands: `shown` are items in the order of display, `key` opens their images."""

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
    """One person's groups for the items of one task, None where an item was left out."""

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
    """What an answer is acknowledged with; `again` where this very answer had come before."""

    done: int
    again: bool
    stopped: bool


@dataclass(frozen=True)
class Standing:
    """How far a campaign has come."""

    tasks: int
    wanted: int            # answers in all
    answered: int
    under_way: int
    workers: int
    stopped: int
    refused: int
    per_hour: float        # answers over the last hour
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
