"""Create the tasks of a campaign from a selection of images: the image groups, known pairs and a practice task."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from benthoscope.engine.crowd import sample_tasks
from benthoscope.engine.workspace.crowd.records import DAYS, Campaign, CampaignSettings, GoldPair, NewTask
from benthoscope.engine.workspace.crowd.store import CrowdStore

GOLD_EVERY = 4  # one task in this many shows a known pair
PRACTICE_SIZE = 6  # number of images in the practice task


def ask(
    store: CrowdStore,
    name: str,
    images: Sequence[int] | np.ndarray,
    settings: CampaignSettings,
    rng: np.random.Generator,
    *,
    days: float = DAYS,
    practice: bool = True,
) -> Campaign:
    """Create a campaign with its tasks as a draft."""
    campaign = store.create(name, images, settings, days=days)
    store.add_tasks(campaign.id, new_tasks(len(campaign.images), settings, rng, practice=practice))
    return campaign


def new_tasks(
    n_items: int, settings: CampaignSettings, rng: np.random.Generator, *, practice: bool = True
) -> list[NewTask]:
    tasks = sample_tasks(n_items, settings.size, settings.views, rng)
    tasks = with_gold(tasks, settings.gold, rng)
    new_tasks = [NewTask(tuple(map(int, task)), settings.repeats) for task in tasks]
    if practice:
        first = rng.choice(n_items, min(PRACTICE_SIZE, n_items), replace=False)
        new_tasks.insert(0, NewTask(tuple(map(int, first)), 0, "practice"))
    return new_tasks


def with_gold(tasks: Sequence[np.ndarray], gold: Sequence[GoldPair], rng: np.random.Generator) -> list[np.ndarray]:
    """Insert known pairs in place of two other images in some tasks. No task shows an image twice."""
    planted = [np.array(task) for task in tasks]
    if not gold:
        return planted
    for number in range(0, len(planted), GOLD_EVERY):
        pair = gold[int(rng.integers(len(gold)))]
        pair_items = np.array([pair.first, pair.second])
        other_items = planted[number][~np.isin(planted[number], pair_items)]
        planted[number] = np.concatenate([pair_items, other_items[: len(planted[number]) - 2]])
    return planted


def known_pairs(terms: np.ndarray, count: int, rng: np.random.Generator) -> list[GoldPair]:
    """Return pairs of labelled items: about half of them with the same term, the others with different terms. `terms`
    (N,) are 0 for items without a label."""
    labelled = np.flatnonzero(terms)
    pairs: dict[tuple[int, int], GoldPair] = {}
    for number in range(20 * count if len(labelled) > 1 else 0):
        first = int(rng.choice(labelled))
        candidates = labelled[(terms[labelled] == terms[first]) == (number % 2 == 0)]
        candidates = candidates[candidates != first]
        if len(candidates):
            second = int(rng.choice(candidates))
            low, high = sorted((first, second))
            pairs.setdefault((low, high), GoldPair(low, high, bool(terms[low] == terms[high])))
        if len(pairs) == count:
            break
    return list(pairs.values())


def among(settings: CampaignSettings, positions: np.ndarray) -> CampaignSettings:
    """Return the settings for a campaign on a part of the items, with tasks no larger than the part, and the known
    pairs inside it by their new positions."""
    at = {int(position): number for number, position in enumerate(positions)}
    gold = tuple(
        replace(pair, first=at[pair.first], second=at[pair.second])
        for pair in settings.gold
        if pair.first in at and pair.second in at
    )
    return replace(settings, size=max(2, min(settings.size, len(positions))), gold=gold)


def further(store: CrowdStore, campaign: Campaign, tasks: Sequence[np.ndarray], *, repeats: int = 1) -> None:
    """Add a round of tasks chosen from the results so far."""
    rounds = [answer.round for answer in store.answers(campaign.id)]
    store.add_tasks(
        campaign.id, [NewTask(tuple(map(int, task)), repeats, round=max(rounds, default=0) + 1) for task in tasks]
    )
