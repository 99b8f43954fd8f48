"""200 people at once on one laptop: answers are quick, none is lost, none is stored twice."""

import asyncio
import hashlib
import io
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import httpx
import numpy as np
import pytest
from PIL import Image

from engine.workspace import NewImage, Workspace
from engine.workspace.crowd_records import NewTask, Settings
from tests.browser.conftest import start_server
from tests.loops import outcome

PEOPLE, EACH, SHOWN = 200, 3, 6
PAUSE = 4.0     # seconds people look before they answer, on average; real ones take ten times as long
TARGET = 0.250  # seconds, 99th percentile
RAMP = 10.0     # seconds within which all of them arrive

pytestmark = pytest.mark.slow


@dataclass
class Seen:
    """What the people's browsers saw: seconds of every request, and answers acknowledged."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    acknowledged: set[tuple[int, int]] = field(default_factory=set)
    troubles: list[str] = field(default_factory=list)

    def all(self) -> np.ndarray:
        return np.array([second for some in self.seconds.values() for second in some])


@pytest.fixture
def asked(tmp_path) -> Iterator[tuple]:
    with Workspace.create(tmp_path / "reef") as workspace:
        group = workspace.library.group(workspace.library.collection("dives").id, "one")
        root = workspace.library.register_root(tmp_path)
        ids = workspace.library.store_images([_picture(tmp_path, root.id, group.id, number) for number in range(60)])
        campaign = workspace.crowd.create("all at once", np.array(ids), Settings(size=SHOWN, repeats=20))
        tasks = [NewTask(tuple((np.arange(SHOWN) + 2 * at) % 60), 20) for at in range(30)]
        workspace.crowd.add_tasks(campaign.id, [NewTask(tuple(map(int, task.items)), task.wanted) for task in tasks])
        campaign = workspace.crowd.change(campaign.id, "open")
        server = start_server(tmp_path / "reef.benthos")
        yield workspace, campaign, server
        server.stop()


def _picture(folder, root, group, number):
    held = io.BytesIO()
    Image.fromarray(np.random.default_rng(number).integers(0, 255, (120, 160, 3), np.uint8)).save(held, "JPEG")
    (folder / f"{number}.jpg").write_bytes(held.getvalue())
    sha = hashlib.sha256(held.getvalue()).hexdigest()
    return NewImage(root, f"{number}.jpg", group, len(held.getvalue()), 1, sha, 160, 120)


def test_two_hundred_people_answer_at_once_quickly_and_none_is_lost(asked, record_property):
    workspace, campaign, server = asked
    seen = outcome(_everybody(f"{server.base}/api/v1/crowd/work/{campaign.link}", server.base))
    assert not seen.troubles, seen.troubles[:5]
    stored = {(answer.worker, answer.task) for answer in workspace.crowd.answers(campaign.id)}
    assert stored == seen.acknowledged and len(stored) == PEOPLE * EACH
    assert len(workspace.crowd.answers(campaign.id)) == len(stored), "one was stored twice"
    quantiles = {name: np.quantile(some, [0.5, 0.99]).round(3).tolist() for name, some in seen.seconds.items()}
    told = f"99th percentile {np.quantile(seen.all(), 0.99):.3f} s of {len(seen.all()):,} requests; {quantiles}"
    record_property("latency", told)
    print(told)  # the figure is for a quiet machine: the suite asserts what must hold on a busy one
    assert np.quantile(seen.all(), 0.99) < 20 * TARGET


async def _everybody(work: str, base: str) -> Seen:
    seen = Seen()
    limits = httpx.Limits(max_connections=PEOPLE, max_keepalive_connections=PEOPLE, keepalive_expiry=2)
    async with httpx.AsyncClient(limits=limits, timeout=60) as client:
        await asyncio.gather(*(_person(client, work, base, number, seen) for number in range(PEOPLE)))
    return seen


async def _person(client: httpx.AsyncClient, work: str, base: str, number: int, seen: Seen) -> None:
    rng = np.random.default_rng(number)
    await asyncio.sleep(rng.uniform(0, RAMP))
    try:
        joined = (await _timed(client, seen, "join", "POST", f"{work}/join", json={"consent": True})).json()
        me = {"authorization": f"Bearer {joined['secret']}"}
        for _ in range(EACH):
            await _one_task(client, work, base, joined["number"], me, rng, seen)
    except Exception as error:
        seen.troubles.append(f"person {number}: {type(error).__name__} {error}")


async def _one_task(client, work, base, number, me, rng, seen) -> None:
    task = (await _timed(client, seen, "task", "POST", f"{work}/tasks", json={}, headers=me)).json()["task"]
    await asyncio.gather(*(_timed(client, seen, "image", "GET", base + image["small"]) for image in task["images"]))
    await asyncio.sleep(rng.exponential(PAUSE))
    answer = {"task": task["task"], "submission": f"word-{number}-{task['task']}",
              "groups": rng.integers(0, 3, SHOWN).tolist()}
    sent = [_timed(client, seen, "answer", "POST", f"{work}/answers", json=answer, headers=me)
            for _ in range(2 if rng.random() < 0.1 else 1)]  # some browsers send twice
    await asyncio.gather(*sent)
    seen.acknowledged.add((number, task["task"]))


async def _insisting(client, method, address, rest) -> httpx.Response:
    """As the page does: where the connection breaks, the same request again. The time counts on."""
    for _ in range(4):
        try:
            return await client.request(method, address, **rest)
        except httpx.TransportError:
            await asyncio.sleep(0.1)
    return await client.request(method, address, **rest)


async def _timed(client, seen, name, method, address, **rest) -> httpx.Response:
    began = time.perf_counter()
    found = await _insisting(client, method, address, rest)
    seen.seconds.setdefault(name, []).append(time.perf_counter() - began)
    if found.status_code != 200:
        raise RuntimeError(f"{name}: {found.status_code} {found.text[:200]}")
    return found
