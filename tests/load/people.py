"""Simulated people on a crowd link: each joins, gets tasks, loads images, waits, and answers, as the page does."""

import asyncio
import hashlib
import io
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from PIL import Image

from benthoscope.engine.workspace import NewImage, Workspace
from benthoscope.engine.workspace.crowd.records import Campaign, CampaignSettings, NewTask
from tests.browser.conftest import Server, start_server

SHOWN, IMAGES, TASKS, REPEATS = 6, 60, 30, 25  # more answers are needed than people come, so each request gets a task
EACH = 3  # answers of one person
PAUSE = 4.0  # seconds people look before they answer, on average; real ones take ten times as long
RAMP = 10.0  # seconds within which all of them arrive
TWICE = 0.1  # share of answers that the browser sends two times at once
CONNECTIONS = 2  # one person sends the same answer twice, over both
AGAIN = 0.2  # seconds until a request is repeated that found nobody or was put off


@dataclass
class Seen:
    """What the people's browsers saw: seconds of every request, and answers acknowledged."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    acknowledged: set[tuple[int, int]] = field(default_factory=set)
    troubles: list[str] = field(default_factory=list)

    def quantiles(self, name: str | None = None) -> tuple[float, float]:
        """Return the median and the 99th percentile of one kind of request, or of all."""
        some = [second for kind, durations in self.seconds.items() if name in (None, kind) for second in durations]
        return tuple(np.quantile(some, [0.5, 0.99]))

    def __str__(self) -> str:
        count = sum(len(some) for some in self.seconds.values())
        text = ", ".join(f"{name} {self.quantiles(name)[1]:.3f}" for name in self.seconds)
        return f"99th percentile {self.quantiles()[1]:.3f} s of {count:,} requests ({text})"


@contextmanager
def asked(folder: Path) -> Iterator[tuple[Workspace, Campaign, Server]]:
    """Yield a campaign, and a separate server that has it open."""
    with Workspace.create(folder / "reef") as workspace:
        group = workspace.library.group(workspace.library.collection("dives").id, "one")
        root = workspace.library.register_root(folder)
        ids = workspace.library.store_images([_picture(folder, root.id, group.id, at) for at in range(IMAGES)])
        made = workspace.crowd.create("all at once", np.array(ids), CampaignSettings(size=SHOWN, repeats=REPEATS))
        shown = [(np.arange(SHOWN) + 2 * at) % IMAGES for at in range(TASKS)]
        workspace.crowd.add_tasks(made.id, [NewTask(tuple(map(int, task)), REPEATS) for task in shown])
        server = start_server(folder / "reef.benthos")
        try:
            yield workspace, workspace.crowd.change(made.id, "open"), server
        finally:
            server.stop()


async def everybody(count: int, campaign: Campaign, server: Server) -> Seen:
    """`count` people at once; done when each has answered `EACH` tasks or met what the page does not get over."""
    viewed = Seen()
    await asyncio.gather(*(_person(campaign, server, number, viewed) for number in range(count)))
    return viewed


@dataclass(frozen=True)
class Browser:
    """Return a client for one person with separate connections. A shared pool would become the bottleneck."""

    client: httpx.AsyncClient
    server: Server
    load: Seen

    async def ask(self, name: str, method: str, path: str, **remaining: Any) -> httpx.Response:
        """The answer, and in `seen` how long it took."""
        began = time.perf_counter()
        response = await self._insisting(method, path, remaining)
        self.load.seconds.setdefault(name, []).append(time.perf_counter() - began)
        if response.status_code != 200:
            raise RuntimeError(f"{name}: {response.status_code} {response.text[:200]}")
        return response

    async def _insisting(self, method: str, path: str, remaining: Mapping[str, Any]) -> httpx.Response:
        """As the page does: where the connection breaks or the server asks to wait, the same request again."""
        while self.server.process.poll() is None:
            with suppress(httpx.TransportError):  # kept-alive connections end, and a busy machine drops some
                response = await self.client.request(method, path, **remaining)
                if response.status_code != 429:
                    return response
            await asyncio.sleep(AGAIN)
        raise RuntimeError("the server has ended")


async def _person(campaign: Campaign, server: Server, number: int, viewed: Seen) -> None:
    rng, text = np.random.default_rng(number), f"/api/v1/crowd/work/{campaign.link}"
    await asyncio.sleep(rng.uniform(0, RAMP))
    transport = httpx.AsyncHTTPTransport(verify=False, limits=httpx.Limits(max_connections=CONNECTIONS))
    try:
        async with httpx.AsyncClient(base_url=server.base, transport=transport, timeout=None) as client:
            browser = Browser(client, server, viewed)  # without a time-out: slow is not lost
            content = (await browser.ask("join", "POST", f"{text}/join", json={"consent": True})).json()
            client.headers["authorization"] = f"Bearer {content['secret']}"
            for _ in range(EACH):
                await _one_task(browser, text, content["number"], rng)
    except (RuntimeError, KeyError, TypeError) as error:
        viewed.troubles.append(f"person {number}: {type(error).__name__} {error}")


async def _one_task(browser: Browser, campaign_url: str, number: int, rng: np.random.Generator) -> None:
    task = (await browser.ask("task", "POST", f"{campaign_url}/tasks", json={})).json()["task"]
    for image in task["images"]:
        await browser.ask("image", "GET", image["small"])
    await asyncio.sleep(rng.exponential(PAUSE))
    answer = {
        "task": task["task"],
        "submission": f"word-{number}-{task['task']}",
        "groups": rng.integers(0, 3, SHOWN).tolist(),
    }
    await asyncio.gather(
        *(
            browser.ask("answer", "POST", f"{campaign_url}/answers", json=answer)
            for _ in range(2 if rng.random() < TWICE else 1)
        )
    )
    browser.load.acknowledged.add((number, task["task"]))


def _picture(folder: Path, root: int, group: int, number: int) -> NewImage:
    buffer = io.BytesIO()
    Image.fromarray(np.random.default_rng(number).integers(0, 255, (120, 160, 3), np.uint8)).save(buffer, "JPEG")
    (folder / f"{number}.jpg").write_bytes(buffer.getvalue())
    sha = hashlib.sha256(buffer.getvalue()).hexdigest()
    return NewImage(root, f"{number}.jpg", group, len(buffer.getvalue()), 1, sha, 160, 120)
