"""Crowd campaigns, in which many people sort images: create, share, answer and close them.

Permissions are checked inside the writer's transactions. Two simultaneous requests therefore cannot both take the last
answer of a task, and an answer sent twice is stored once.
"""

import hashlib
import secrets
from collections.abc import Sequence
from typing import Any

import numpy as np
from sqlalchemy import Connection, Row, Select, func, insert, select, update

from benthoscope.engine.problems import BenthoscopeError, Problem, fail, unknown
from benthoscope.engine.workspace.crowd.records import (
    DAYS,
    MOST_GROUPS,
    Answer,
    Assignment,
    Campaign,
    CampaignSettings,
    NewTask,
    Receipt,
    Refusal,
    Standing,
    Worker,
)
from benthoscope.engine.workspace.database.catalogue import Catalogue
from benthoscope.engine.workspace.database.schema import (
    crowd_answer,
    crowd_assignment,
    crowd_campaign,
    crowd_refusal,
    crowd_task,
    crowd_worker,
)
from benthoscope.engine.workspace.records import current_time, inserted_id

STATES = ("draft", "open", "paused", "closed")
GOLD_BEFORE = 4  # known pairs shown before a person is judged by them
NICKNAME_AT_MOST = 40
REFUSALS_KEPT = 10_000  # per campaign, so that invalid requests cannot fill the disk
HOUR = 3600.0


class Refused(BenthoscopeError):
    """A rejected worker request. It is logged, answered with `status` (HTTP), and changes nothing."""

    def __init__(self, text: str, remedy: str = "", status: int = 409, where: str = "answer"):
        super().__init__(Problem(where, text, remedy))
        self.status = status

    def __reduce__(self):
        return type(self), (self.problem.what, self.problem.remedy, self.status, self.problem.where)


class CrowdStore:
    def __init__(self, catalogue: Catalogue):
        self._catalogue = catalogue

    # --- owner of the campaign

    def create(
        self,
        name: str,
        images: Sequence[int] | np.ndarray,
        settings: CampaignSettings | None = None,
        *,
        days: float = DAYS,
    ) -> Campaign:
        """Create a draft, which nobody can join before it is opened."""
        name, settings = " ".join(name.split()), settings or CampaignSettings()
        ids = np.asarray(images, np.int64)
        if not name:
            raise fail("crowd campaign", "has no name", "give it a name")
        if len(np.unique(ids)) != len(ids) or len(ids) < settings.size:
            raise fail(
                "crowd campaign",
                f"there are {len(np.unique(ids))} different images for tasks of {settings.size}",
                "choose more images, each once, or show fewer per task",
            )
        at = current_time()
        values = {
            "name": name,
            "state": "draft",
            "link": secrets.token_urlsafe(24),
            "settings": settings.plain(),
            "images": ids.astype("<i8").tobytes(),
            "count": len(ids),
            "created_at": at,
            "expires_at": at + days * 24 * HOUR,
        }

        def store(connection: Connection) -> int:
            if connection.execute(select(crowd_campaign.c.id).where(crowd_campaign.c.name == name)).first():
                raise fail("crowd campaign", f"there is already one called '{name}'", "choose another name")
            return inserted_id(connection.execute(insert(crowd_campaign).values(**values)))

        return self.get(self._catalogue.write(store))

    def all(self) -> list[Campaign]:
        return [_campaign(row) for row in self._catalogue.all(select(crowd_campaign).order_by(crowd_campaign.c.id))]

    def get(self, campaign_id: int) -> Campaign:
        row = self._catalogue.first(select(crowd_campaign).where(crowd_campaign.c.id == campaign_id))
        if row is None:
            raise fail("crowd campaigns", f"there is no campaign {campaign_id}", "list them with `benthoscope crowd`")
        return _campaign(row)

    def named(self, word: str) -> Campaign:
        """Return the campaign with this number or name."""
        if word.isdecimal():
            return self.get(int(word))
        row = self._catalogue.first(select(crowd_campaign).where(crowd_campaign.c.name == word))
        if row is None:
            raise unknown("crowd campaigns", word, [campaign.name for campaign in self.all()])
        return _campaign(row)

    def change(self, campaign_id: int, state: str) -> Campaign:
        """Open, pause or close a campaign. A closed campaign stays closed, because its results may have been used."""
        if state not in STATES[1:]:
            raise unknown("state of a campaign", state, STATES[1:])
        if self.get(campaign_id).state == "closed" and state != "closed":
            raise fail("crowd campaign", "is closed", "create a new one")
        return self._set(campaign_id, state=state)

    def renew_link(self, campaign_id: int, days: float = DAYS) -> Campaign:
        """Create a new link and revoke the old one."""
        return self._set(campaign_id, link=secrets.token_urlsafe(24), expires_at=current_time() + days * 24 * HOUR)

    def stop(self, campaign_id: int, numbers: Sequence[int]) -> None:
        """Exclude these workers from further tasks. An answer in progress is still accepted."""
        self._catalogue.execute(
            update(crowd_worker)
            .where(
                crowd_worker.c.crowd_campaign_id == campaign_id,
                crowd_worker.c.number.in_([int(number) for number in numbers]),
            )
            .values(state="stopped")
        )

    def add_tasks(self, campaign_id: int, tasks: Sequence[NewTask]) -> None:
        """Add tasks, with numbers that follow the existing ones."""
        count = len(self.get(campaign_id).images)
        for task in tasks:
            if len(set(task.items)) < max(len(task.items), 2) or not all(0 <= item < count for item in task.items):
                raise fail("task", "shows an item twice, fewer than two, or one that is not in the campaign")

        def store(connection: Connection) -> None:
            query = select(func.max(crowd_task.c.number)).where(crowd_task.c.crowd_campaign_id == campaign_id)
            first = (connection.execute(query).scalar() or 0) + 1
            rows = [
                {
                    "crowd_campaign_id": campaign_id,
                    "number": first + at,
                    "kind": task.kind,
                    "given": 0,
                    "items": [int(item) for item in task.items],
                    "wanted": task.wanted,
                    "round": task.round,
                }
                for at, task in enumerate(tasks)
            ]
            if rows:
                connection.execute(insert(crowd_task), rows)

        self._catalogue.write(store)

    def tasks(self, campaign_id: int, kind: str = "task") -> list[tuple[int, tuple[int, ...]]]:
        """Return (number, items) of each task."""
        query = (
            select(crowd_task.c.number, crowd_task.c["items"])
            .where(crowd_task.c.crowd_campaign_id == campaign_id, crowd_task.c.kind == kind)
            .order_by(crowd_task.c.number)
        )
        return [(number, tuple(items)) for number, items in self._catalogue.all(query)]

    def workers(self, campaign_id: int) -> list[Worker]:
        query = select(crowd_worker).where(crowd_worker.c.crowd_campaign_id == campaign_id)
        return [_worker(row) for row in self._catalogue.all(query.order_by(crowd_worker.c.number))]

    def answers(self, campaign_id: int, kind: str = "task", *, newest: int | None = None) -> list[Answer]:
        """Return all answers in the order of their arrival, or the newest ones."""
        query = _answers().where(crowd_task.c.crowd_campaign_id == campaign_id, crowd_task.c.kind == kind)
        rows = self._catalogue.all(query.order_by(crowd_answer.c.id.desc()).limit(newest))
        return [_answer(row) for row in reversed(rows)]

    def answers_by_worker(self, campaign_id: int) -> dict[int, int]:
        """Return {number of the worker: number of answers}, without workers who have not answered."""
        query = _answers(crowd_worker.c.number, func.count()).where(
            crowd_task.c.crowd_campaign_id == campaign_id, crowd_task.c.kind == "task"
        )
        return dict(tuple(row) for row in self._catalogue.all(query.group_by(crowd_worker.c.number)))

    def refusals(self, campaign_id: int, *, newest: int | None = None) -> list[Refusal]:
        """Return the rejected requests, newest first."""
        query = select(crowd_refusal).where(crowd_refusal.c.crowd_campaign_id == campaign_id)
        return [
            Refusal(row.worker, row.what, row.at)
            for row in self._catalogue.all(query.order_by(crowd_refusal.c.id.desc()).limit(newest))
        ]

    def standing(self, campaign_id: int) -> Standing:
        of_campaign, real = crowd_task.c.crowd_campaign_id == campaign_id, crowd_task.c.kind == "task"
        with self._catalogue.reading() as connection:
            tasks, answers_needed, handed_out = connection.execute(
                select(
                    func.count(),
                    func.coalesce(func.sum(crowd_task.c.wanted), 0),
                    func.coalesce(func.sum(crowd_task.c.given), 0),
                ).where(of_campaign, real)
            ).one()
            seconds = connection.execute(
                _answers(crowd_answer.c.seconds, crowd_answer.c.at).where(of_campaign, real)
            ).all()
            states = (
                connection.execute(select(crowd_worker.c.state).where(crowd_worker.c.crowd_campaign_id == campaign_id))
                .scalars()
                .all()
            )
            refused = connection.execute(
                select(func.count()).select_from(crowd_refusal).where(crowd_refusal.c.crowd_campaign_id == campaign_id)
            ).scalar_one()
        recent = sum(row.at > current_time() - HOUR for row in seconds)
        median = float(np.median([row.seconds for row in seconds])) if seconds else None
        return Standing(
            tasks,
            int(answers_needed),
            len(seconds),
            max(int(handed_out) - len(seconds), 0),
            len(states),
            states.count("stopped"),
            refused,
            float(recent),
            median,
        )

    # --- workers

    def by_link(self, link: str) -> Campaign:
        """Return the campaign of a link. Raises Refused if the link does not exist or is no longer valid."""
        row = self._catalogue.first(select(crowd_campaign).where(crowd_campaign.c.link == link))
        if row is None or row.state == "draft":
            raise Refused("leads nowhere", "ask for a new link whoever invited you", 404, "link")
        if row.expires_at < current_time():
            raise Refused("has expired", "ask for a new link whoever invited you", 410, "link")
        return _campaign(row)

    def join(self, campaign: Campaign, nickname: str = "") -> tuple[Worker, str]:
        """Add a new worker. Returns the worker and the secret that the browser sends from now on."""
        if campaign.state != "open":
            raise Refused(f"is {campaign.state}", "come back later", 409, "campaign")
        secret, nickname = secrets.token_urlsafe(24), " ".join(nickname.split())[:NICKNAME_AT_MOST]

        def store(connection: Connection) -> int:
            of_campaign = crowd_worker.c.crowd_campaign_id == campaign.id
            number = connection.execute(select(func.count()).select_from(crowd_worker).where(of_campaign)).scalar_one()
            practice = (
                select(crowd_task.c.id)
                .where(crowd_task.c.crowd_campaign_id == campaign.id, crowd_task.c.kind == "practice")
                .limit(1)
            )
            state = "practice" if connection.execute(practice).first() else "working"
            return inserted_id(
                connection.execute(
                    insert(crowd_worker).values(
                        crowd_campaign_id=campaign.id,
                        number=number,
                        secret=_hashed(secret),
                        nickname=nickname,
                        state=state,
                        joined_at=current_time(),
                    )
                )
            )

        return self._worker(self._catalogue.write(store)), secret

    def worker(self, campaign: Campaign, secret: str) -> Worker:
        """Return the worker with this secret. Raises Refused if no worker of this campaign has it."""
        of_campaign = crowd_worker.c.crowd_campaign_id == campaign.id
        row = self._catalogue.first(select(crowd_worker).where(of_campaign, crowd_worker.c.secret == _hashed(secret)))
        if row is None:
            raise Refused("is not known here", "reload the page and join again", 401, "worker")
        return _worker(row)

    def next_task(self, campaign: Campaign, worker: Worker) -> Assignment | None:
        """Return the worker's assigned task, or else the next one; None if none is left."""
        if campaign.state != "open":
            raise Refused(f"is {campaign.state}", "come back later", 409, "campaign")
        return self._catalogue.write(lambda connection: _next(connection, campaign, worker))

    def submit(
        self, campaign: Campaign, worker: Worker, task: int, submission: str, groups: Sequence[int | None]
    ) -> Receipt:
        """Store an answer once. If the same answer is sent again, it is confirmed again."""
        if campaign.state in ("draft", "closed"):
            raise Refused("came after the campaign was closed", "nothing more is needed; thank you", 409)
        return self._catalogue.write(
            lambda connection: _submitted(connection, campaign, worker, task, submission, groups)
        )

    def shown_image(self, campaign: Campaign, key: str, position: int) -> int:
        """The id of the image at this place of the task the key opens."""
        query = _assignments().where(crowd_assignment.c.key == key, crowd_task.c.crowd_campaign_id == campaign.id)
        row = self._catalogue.first(query)
        if row is None or not 0 <= position < len(row.shown):
            raise Refused("is not one you were given", "go back to the task", 404, "image")
        return int(campaign.images[row.shown[position]])

    def refuse(self, campaign_id: int | None, worker: int | None, text: str) -> None:
        """Notes what was refused, for the one who asks to see."""

        def store(connection: Connection) -> None:
            query = (
                select(func.count()).select_from(crowd_refusal).where(crowd_refusal.c.crowd_campaign_id == campaign_id)
            )
            if connection.execute(query).scalar_one() < REFUSALS_KEPT:
                connection.execute(
                    insert(crowd_refusal).values(
                        crowd_campaign_id=campaign_id, worker=worker, what=text[:500], at=current_time()
                    )
                )

        self._catalogue.submit(store, durable=False)

    def _set(self, campaign_id: int, **values: Any) -> Campaign:
        self.get(campaign_id)
        self._catalogue.execute(update(crowd_campaign).where(crowd_campaign.c.id == campaign_id).values(**values))
        return self.get(campaign_id)

    def _worker(self, worker_id: int) -> Worker:
        with self._catalogue.reading() as connection:
            return _worker(connection.execute(select(crowd_worker).where(crowd_worker.c.id == worker_id)).one())


def _next(connection: Connection, campaign: Campaign, worker: Worker) -> Assignment | None:
    state = connection.execute(select(crowd_worker.c.state).where(crowd_worker.c.id == worker.id)).scalar_one()
    if state == "stopped":
        return None
    _let_lapse(connection, campaign)
    assigned = connection.execute(
        _assignments().where(crowd_assignment.c.crowd_worker_id == worker.id, crowd_assignment.c.state == "given")
    ).first()
    if assigned is not None:
        return _assignment(assigned)
    chosen = _free_task(connection, campaign, worker, "practice" if state == "practice" else "task")
    return None if chosen is None else _assign(connection, campaign, worker, chosen)


def _free_task(connection: Connection, campaign: Campaign, worker: Worker, kind: str) -> Row | None:
    """Return the task with the fewest answers that needs another one and that this person has not had."""
    had = select(crowd_assignment.c.crowd_task_id).where(crowd_assignment.c.crowd_worker_id == worker.id)
    if kind == "task" and _has_done_enough(connection, campaign, worker):
        return None
    query = select(crowd_task).where(
        crowd_task.c.crowd_campaign_id == campaign.id, crowd_task.c.kind == kind, crowd_task.c.id.not_in(had)
    )
    if kind == "task":
        query = query.where(crowd_task.c.given < crowd_task.c.wanted)
    return connection.execute(query.order_by(crowd_task.c.given, crowd_task.c.number).limit(1)).first()


def _has_done_enough(connection: Connection, campaign: Campaign, worker: Worker) -> bool:
    if not campaign.settings.most_tasks:
        return False
    had = (
        select(func.count())
        .select_from(crowd_assignment)
        .join(crowd_task, crowd_task.c.id == crowd_assignment.c.crowd_task_id)
        .where(crowd_assignment.c.crowd_worker_id == worker.id, crowd_task.c.kind == "task")
    )
    return connection.execute(had).scalar_one() >= campaign.settings.most_tasks


def _assign(connection: Connection, campaign: Campaign, worker: Worker, task: Row) -> Assignment:
    at, order = current_time(), np.random.default_rng([worker.id, task.id]).permutation(len(task.items))
    values = {
        "crowd_task_id": task.id,
        "crowd_worker_id": worker.id,
        "key": secrets.token_urlsafe(18),
        "shown": [task.items[position] for position in order],
        "state": "given",
        "given_at": at,
        "due_at": at + 60 * campaign.settings.minutes,
    }
    number = inserted_id(connection.execute(insert(crowd_assignment).values(**values)))
    _count(connection, task.id, 1)
    return _assignment(connection.execute(_assignments().where(crowd_assignment.c.id == number)).one())


def _let_lapse(connection: Connection, campaign: Campaign) -> None:
    """Tasks that were due are free for others. An answer that still comes is taken all the same."""
    late = connection.execute(
        _assignments().where(
            crowd_task.c.crowd_campaign_id == campaign.id,
            crowd_assignment.c.state == "given",
            crowd_assignment.c.due_at < current_time(),
        )
    ).all()
    for row in late:
        _mark(connection, row.id, "lapsed")
        _count(connection, row.task_id, -1)


def _submitted(
    connection: Connection, campaign: Campaign, worker: Worker, task: int, submission: str, groups: Sequence[int | None]
) -> Receipt:
    assigned = connection.execute(
        _assignments().where(
            crowd_assignment.c.crowd_worker_id == worker.id,
            crowd_task.c.crowd_campaign_id == campaign.id,
            crowd_task.c.number == task,
        )
    ).first()
    if assigned is None:
        raise Refused("is for a task you were not given", "ask for a task first")
    before = connection.execute(select(crowd_answer).where(crowd_answer.c.assignment_id == assigned.id)).first()
    if before is not None:
        if before.submission == submission and before.groups == list(groups):
            return _receipt(connection, worker, again=True)
        raise Refused("is the second one for this task", "the first one counts")
    _check_groups(groups, len(assigned.shown))
    at = current_time()
    connection.execute(
        insert(crowd_answer).values(
            assignment_id=assigned.id, submission=submission, groups=list(groups), seconds=at - assigned.given_at, at=at
        )
    )
    if assigned.state == "lapsed":
        _count(connection, assigned.task_id, 1)
    _mark(connection, assigned.id, "answered")
    _judge(connection, campaign, worker, assigned, groups)
    return _receipt(connection, worker, again=False)


def _check_groups(groups: Sequence[int | None], shown: int) -> None:
    if len(groups) != shown:
        raise Refused(f"has {len(groups)} groups for {shown} pictures", "send one for each", 422)
    if any(group is not None and not (type(group) is int and 0 <= group < MOST_GROUPS) for group in groups):
        raise Refused("holds what is no group", f"send numbers from 0 to {MOST_GROUPS - 1}, or null", 422)
    if all(group is None for group in groups):
        raise Refused("is empty", "put at least some pictures into groups", 422)


def _judge(
    connection: Connection, campaign: Campaign, worker: Worker, assigned: Row, groups: Sequence[int | None]
) -> None:
    """Update the worker's score on known pairs and stop workers below the threshold. Practice tasks are ignored."""
    if assigned.kind == "practice":
        connection.execute(update(crowd_worker).where(crowd_worker.c.id == worker.id).values(state="working"))
        return
    asked, right = _gold(campaign, assigned.shown, groups)
    row = connection.execute(select(crowd_worker).where(crowd_worker.c.id == worker.id)).one()
    asked, right = row.gold_asked + asked, row.gold_right + right
    failed = asked >= GOLD_BEFORE and right < campaign.settings.gold_least * asked
    connection.execute(
        update(crowd_worker)
        .where(crowd_worker.c.id == worker.id)
        .values(gold_asked=asked, gold_right=right, state="stopped" if failed else row.state)
    )


def _gold(campaign: Campaign, shown: Sequence[int], groups: Sequence[int | None]) -> tuple[int, int]:
    """Return (known pairs among the shown items, number judged correctly)."""
    group_of = dict(zip(shown, groups, strict=True))
    pairs = [pair for pair in campaign.settings.gold if pair.first in group_of and pair.second in group_of]
    answers = [(group_of[pair.first], group_of[pair.second], pair.same) for pair in pairs]
    return len(answers), sum(a is not None and b is not None and (a == b) == same for a, b, same in answers)


def _receipt(connection: Connection, worker: Worker, *, again: bool) -> Receipt:
    done = connection.execute(
        _answers(func.count()).where(crowd_assignment.c.crowd_worker_id == worker.id, crowd_task.c.kind == "task")
    ).scalar_one()
    state = connection.execute(select(crowd_worker.c.state).where(crowd_worker.c.id == worker.id)).scalar_one()
    return Receipt(done, again, state == "stopped")


def _mark(connection: Connection, assignment_id: int, state: str) -> None:
    connection.execute(update(crowd_assignment).where(crowd_assignment.c.id == assignment_id).values(state=state))


def _count(connection: Connection, task_id: int, step: int) -> None:
    connection.execute(update(crowd_task).where(crowd_task.c.id == task_id).values(given=crowd_task.c.given + step))


def _assignments() -> Select:
    return (
        select(
            crowd_assignment,
            crowd_task.c.id.label("task_id"),
            crowd_task.c.number,
            crowd_task.c.kind,
            crowd_worker.c.number.label("worker"),
        )
        .join(crowd_task, crowd_task.c.id == crowd_assignment.c.crowd_task_id)
        .join(crowd_worker, crowd_worker.c.id == crowd_assignment.c.crowd_worker_id)
    )


def _answers(*columns: Any) -> Select:
    query = columns or (
        crowd_answer,
        crowd_assignment.c.shown,
        crowd_task.c.number,
        crowd_task.c.kind,
        crowd_task.c.round,
        crowd_worker.c.number.label("worker"),
    )
    return (
        select(*query)
        .select_from(crowd_answer)
        .join(crowd_assignment, crowd_assignment.c.id == crowd_answer.c.assignment_id)
        .join(crowd_task, crowd_task.c.id == crowd_assignment.c.crowd_task_id)
        .join(crowd_worker, crowd_worker.c.id == crowd_assignment.c.crowd_worker_id)
    )


def _campaign(row: Row) -> Campaign:
    return Campaign(
        row.id,
        row.name,
        row.state,
        row.link,
        CampaignSettings.of(row.settings),
        np.frombuffer(row.images, "<i8"),
        row.created_at,
        row.expires_at,
    )


def _worker(row: Row) -> Worker:
    return Worker(
        row.id,
        row.crowd_campaign_id,
        row.number,
        row.nickname,
        row.state,
        row.joined_at,
        row.gold_asked,
        row.gold_right,
    )


def _assignment(row: Row) -> Assignment:
    return Assignment(
        row.id, row.number, row.kind, row.key, tuple(row.shown), row.state, row.given_at, row.due_at, row.worker
    )


def _answer(row: Row) -> Answer:
    return Answer(row.number, row.kind, row.round, row.worker, tuple(row.shown), tuple(row.groups), row.seconds, row.at)


def _hashed(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
