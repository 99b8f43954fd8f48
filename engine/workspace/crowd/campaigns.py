"""From a selection of images to the tasks of a campaign: which are shown together, known pairs, a practice task."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from engine.crowd import sample_tasks
from engine.workspace.crowd import CrowdStore
from engine.workspace.crowd_records import DAYS, Campaign, GoldPair, NewTask, Settings

GOLD_EVERY = 4      # one task in so many shows a known pair
PRACTICE_SIZE = 6   # images of the practice task


def ask(store: CrowdStore, name: str, images: Sequence[int] | np.ndarray, settings: Settings,
        rng: np.random.Generator, *, days: float = DAYS, practice: bool = True) -> Campaign:
    """A campaign with its tasks, still a draft."""
    campaign = store.create(name, images, settings, days=days)
    store.add_tasks(campaign.id, drawn(len(campaign.images), settings, rng, practice=practice))
    return campaign


def drawn(n_items: int, settings: Settings, rng: np.random.Generator, *, practice: bool = True) -> list[NewTask]:
    tasks = sample_tasks(n_items, settings.size, settings.views, rng)
    tasks = with_gold(tasks, settings.gold, rng)
    found = [NewTask(tuple(map(int, task)), settings.repeats) for task in tasks]
    if practice:
        first = rng.choice(n_items, min(PRACTICE_SIZE, n_items), replace=False)
        found.insert(0, NewTask(tuple(map(int, first)), 0, "practice"))
    return found


def with_gold(tasks: Sequence[np.ndarray], gold: Sequence[GoldPair], rng: np.random.Generator) -> list[np.ndarray]:
    """Known pairs take the places of two other images in some tasks; no task then shows an image twice."""
    planted = [np.array(task) for task in tasks]
    if not gold:
        return planted
    for number in range(0, len(planted), GOLD_EVERY):
        pair = gold[int(rng.integers(len(gold)))]
        wanted = np.array([pair.first, pair.second])
        others = planted[number][~np.isin(planted[number], wanted)]
        planted[number] = np.concatenate([wanted, others[: len(planted[number]) - 2]])
    return planted


def known_pairs(terms: np.ndarray, count: int, rng: np.random.Generator) -> list[GoldPair]:
    """Pairs of labelled items: about half of one term, the others of two. `terms` (N,) are 0 where no label is."""
    labelled = np.flatnonzero(terms)
    pairs: dict[tuple[int, int], GoldPair] = {}
    for number in range(20 * count if len(labelled) > 1 else 0):
        first = int(rng.choice(labelled))
        others = labelled[(terms[labelled] == terms[first]) == (number % 2 == 0)]
        others = others[others != first]
        if len(others):
            second = int(rng.choice(others))
            low, high = sorted((first, second))
            pairs.setdefault((low, high), GoldPair(low, high, bool(terms[low] == terms[high])))
        if len(pairs) == count:
            break
    return list(pairs.values())


def among(settings: Settings, places: np.ndarray) -> Settings:
    """The settings for a campaign on some items of another: tasks no larger than that, and the known pairs that lie
    within, by their new places."""
    at = {int(place): number for number, place in enumerate(places)}
    gold = tuple(replace(pair, first=at[pair.first], second=at[pair.second]) for pair in settings.gold
                 if pair.first in at and pair.second in at)
    return replace(settings, size=max(2, min(settings.size, len(places))), gold=gold)


def further(store: CrowdStore, campaign: Campaign, tasks: Sequence[np.ndarray], *, repeats: int = 1) -> None:
    """A round of tasks chosen by what is known so far."""
    rounds = [answer.round for answer in store.answers(campaign.id)]
    store.add_tasks(campaign.id, [NewTask(tuple(map(int, task)), repeats, round=max(rounds, default=0) + 1)
                                  for task in tasks])
