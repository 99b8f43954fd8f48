"""Campaigns in which many people sort images: created, shared, answered, closed.

Who may do what is decided here, inside the writer's transactions, so that two requests at once cannot both take the
last answer a task wants, and an answer that was sent twice is stored once.
"""

import hashlib
import secrets
from collections.abc import Sequence
from typing import Any

import numpy as np
from sqlalchemy import Connection, Row, Select, func, insert, select, update

from engine.problems import BenthoscopeError, Problem, fail, unknown
from engine.workspace.catalogue import Catalogue
from engine.workspace.crowd_records import (
    DAYS,
    MOST_GROUPS,
    Answer,
    Assignment,
    Campaign,
    NewTask,
    Receipt,
    Refusal,
    Settings,
    Standing,
    Worker,
)
from engine.workspace.records import now
from engine.workspace.schema import (
    crowd_answer,
    crowd_assignment,
    crowd_campaign,
    crowd_refusal,
    crowd_task,
    crowd_worker,
)

STATES = ("draft", "open", "paused", "closed")
GOLD_BEFORE = 4        # known pairs somebody is shown before being judged by them
NICKNAME_AT_MOST = 40
REFUSALS_KEPT = 10_000  # a campaign: who sends rubbish without end shall not fill the disk
HOUR = 3600.0


class Refused(BenthoscopeError):
    """Something a worker's browser sent that cannot be: told, noted, and without effect. `status` is HTTP's."""

    def __init__(self, what: str, remedy: str = "", status: int = 409, where: str = "answer"):
        super().__init__(Problem(where, what, remedy))
        self.status = status

    def __reduce__(self):
        return type(self), (self.problem.what, self.problem.remedy, self.status, self.problem.where)


class CrowdStore:
    def __init__(self, catalogue: Catalogue):
        self._catalogue = catalogue

    # --- the one who asks

    def create(self, name: str, images: Sequence[int] | np.ndarray, settings: Settings | None = None, *,
               days: float = DAYS) -> Campaign:
        """A draft: nobody can join before it is opened."""
        name, settings = " ".join(name.split()), settings or Settings()
        ids = np.asarray(images, np.int64)
        if not name:
            raise fail("crowd campaign", "has no name", "give it one")
        if len(np.unique(ids)) != len(ids) or len(ids) < settings.size:
            raise fail("crowd campaign", f"{len(np.unique(ids))} different images for tasks of {settings.size}",
                       "choose more images, each once, or show fewer in a task")
        at = now()
        values = {"name": name, "state": "draft", "link": secrets.token_urlsafe(24), "settings": settings.plain(),
                  "images": ids.astype("<i8").tobytes(), "count": len(ids), "created_at": at,
                  "expires_at": at + days * 24 * HOUR}

        def store(connection: Connection) -> int:
            if connection.execute(select(crowd_campaign.c.id).where(crowd_campaign.c.name == name)).first():
                raise fail("crowd campaign", f"there is one called '{name}' already", "choose another name")
            return connection.execute(insert(crowd_campaign).values(**values)).inserted_primary_key[0]

        return self.get(self._catalogue.write(store))

    def all(self) -> list[Campaign]:
        return [_campaign(row) for row in self._catalogue.all(select(crowd_campaign).order_by(crowd_campaign.c.id))]

    def get(self, campaign_id: int) -> Campaign:
        row = self._catalogue.first(select(crowd_campaign).where(crowd_campaign.c.id == campaign_id))
        if row is None:
            raise fail("crowd campaigns", f"no campaign {campaign_id}", "list them with `benthoscope crowd`")
        return _campaign(row)

    def named(self, word: str) -> Campaign:
        """The campaign with this number or name."""
        if word.isdecimal():
            return self.get(int(word))
        row = self._catalogue.first(select(crowd_campaign).where(crowd_campaign.c.name == word))
        if row is None:
            raise unknown("crowd campaigns", word, [campaign.name for campaign in self.all()])
        return _campaign(row)

    def change(self, campaign_id: int, state: str) -> Campaign:
        """Opens, pauses or closes. A closed campaign stays closed: its results may have been used."""
        if state not in STATES[1:]:
            raise unknown("state of a campaign", state, STATES[1:])
        if self.get(campaign_id).state == "closed" and state != "closed":
            raise fail("crowd campaign", "is closed", "make a new one")
        return self._set(campaign_id, state=state)

    def renew_link(self, campaign_id: int, days: float = DAYS) -> Campaign:
        """A new link; the old one leads nowhere from now on."""
        return self._set(campaign_id, link=secrets.token_urlsafe(24), expires_at=now() + days * 24 * HOUR)

    def stop(self, campaign_id: int, numbers: Sequence[int]) -> None:
        """These people are asked no further; an answer under way is still taken."""
        self._catalogue.execute(update(crowd_worker).where(
            crowd_worker.c.crowd_campaign_id == campaign_id, crowd_worker.c.number.in_([int(one) for one in numbers]),
        ).values(state="stopped"))

    def add_tasks(self, campaign_id: int, tasks: Sequence[NewTask]) -> None:
        """More tasks, numbered on from those there are."""
        count = len(self.get(campaign_id).images)
        for task in tasks:
            if len(set(task.items)) < max(len(task.items), 2) or not all(0 <= item < count for item in task.items):
                raise fail("task", "shows an item twice, fewer than two, or one that is not in the campaign")

        def store(connection: Connection) -> None:
            wanted = select(func.max(crowd_task.c.number)).where(crowd_task.c.crowd_campaign_id == campaign_id)
            first = (connection.execute(wanted).scalar() or 0) + 1
            rows = [{"crowd_campaign_id": campaign_id, "number": first + at, "kind": task.kind, "given": 0,
                     "items": [int(item) for item in task.items], "wanted": task.wanted, "round": task.round}
                    for at, task in enumerate(tasks)]
            if rows:
                connection.execute(insert(crowd_task), rows)

        self._catalogue.write(store)

    def tasks(self, campaign_id: int, kind: str = "task") -> list[tuple[int, tuple[int, ...]]]:
        """(number, items) of each task."""
        wanted = select(crowd_task.c.number, crowd_task.c["items"]).where(
            crowd_task.c.crowd_campaign_id == campaign_id, crowd_task.c.kind == kind).order_by(crowd_task.c.number)
        return [(number, tuple(items)) for number, items in self._catalogue.all(wanted)]

    def workers(self, campaign_id: int) -> list[Worker]:
        wanted = select(crowd_worker).where(crowd_worker.c.crowd_campaign_id == campaign_id)
        return [_worker(row) for row in self._catalogue.all(wanted.order_by(crowd_worker.c.number))]

    def answers(self, campaign_id: int, kind: str = "task", *, newest: int | None = None) -> list[Answer]:
        """All answers in the order they came, or the newest of them."""
        wanted = _answers().where(crowd_task.c.crowd_campaign_id == campaign_id, crowd_task.c.kind == kind)
        rows = self._catalogue.all(wanted.order_by(crowd_answer.c.id.desc()).limit(newest))
        return [_answer(row) for row in reversed(rows)]

    def answers_by_worker(self, campaign_id: int) -> dict[int, int]:
        """{number of the worker: answers}, without those who have not answered yet."""
        wanted = _answers(crowd_worker.c.number, func.count()).where(
            crowd_task.c.crowd_campaign_id == campaign_id, crowd_task.c.kind == "task")
        return dict(tuple(row) for row in self._catalogue.all(wanted.group_by(crowd_worker.c.number)))

    def refusals(self, campaign_id: int, *, newest: int | None = None) -> list[Refusal]:
        """What was refused, newest first."""
        wanted = select(crowd_refusal).where(crowd_refusal.c.crowd_campaign_id == campaign_id)
        return [Refusal(row.worker, row.what, row.at)
                for row in self._catalogue.all(wanted.order_by(crowd_refusal.c.id.desc()).limit(newest))]

    def standing(self, campaign_id: int) -> Standing:
        mine, real = crowd_task.c.crowd_campaign_id == campaign_id, crowd_task.c.kind == "task"
        with self._catalogue.reading() as connection:
            tasks, wanted, given = connection.execute(select(
                func.count(), func.coalesce(func.sum(crowd_task.c.wanted), 0),
                func.coalesce(func.sum(crowd_task.c.given), 0)).where(mine, real)).one()
            seconds = connection.execute(_answers(crowd_answer.c.seconds, crowd_answer.c.at).where(mine, real)).all()
            states = connection.execute(select(crowd_worker.c.state).where(
                crowd_worker.c.crowd_campaign_id == campaign_id)).scalars().all()
            refused = connection.execute(select(func.count()).select_from(crowd_refusal).where(
                crowd_refusal.c.crowd_campaign_id == campaign_id)).scalar_one()
        recent = sum(row.at > now() - HOUR for row in seconds)
        median = float(np.median([row.seconds for row in seconds])) if seconds else None
        return Standing(tasks, int(wanted), len(seconds), max(int(given) - len(seconds), 0), len(states),
                        states.count("stopped"), refused, float(recent), median)

    # --- people who answer

    def by_link(self, link: str) -> Campaign:
        """The campaign people were invited to; refused where there is none, or none any more."""
        row = self._catalogue.first(select(crowd_campaign).where(crowd_campaign.c.link == link))
        if row is None or row.state == "draft":
            raise Refused("leads nowhere", "ask for a new link whoever invited you", 404, "link")
        if row.expires_at < now():
            raise Refused("has expired", "ask for a new link whoever invited you", 410, "link")
        return _campaign(row)

    def join(self, campaign: Campaign, nickname: str = "") -> tuple[Worker, str]:
        """A new person, and the secret their browser shows from now on."""
        if campaign.state != "open":
            raise Refused(f"is {campaign.state}", "come back later", 409, "campaign")
        secret, nickname = secrets.token_urlsafe(24), " ".join(nickname.split())[:NICKNAME_AT_MOST]

        def store(connection: Connection) -> int:
            mine = crowd_worker.c.crowd_campaign_id == campaign.id
            number = connection.execute(select(func.count()).select_from(crowd_worker).where(mine)).scalar_one()
            practice = select(crowd_task.c.id).where(crowd_task.c.crowd_campaign_id == campaign.id,
                                                     crowd_task.c.kind == "practice").limit(1)
            state = "practice" if connection.execute(practice).first() else "working"
            return connection.execute(insert(crowd_worker).values(
                crowd_campaign_id=campaign.id, number=number, secret=_hashed(secret), nickname=nickname, state=state,
                joined_at=now())).inserted_primary_key[0]

        return self._worker(self._catalogue.write(store)), secret

    def worker(self, campaign: Campaign, secret: str) -> Worker:
        """Who shows this secret; refused where it belongs to nobody of this campaign."""
        mine = crowd_worker.c.crowd_campaign_id == campaign.id
        row = self._catalogue.first(select(crowd_worker).where(mine, crowd_worker.c.secret == _hashed(secret)))
        if row is None:
            raise Refused("is not known here", "reload the page and join again", 401, "worker")
        return _worker(row)

    def next_task(self, campaign: Campaign, worker: Worker) -> Assignment | None:
        """The task in this person's hands, or else the next one they may do; None when there is none left."""
        if campaign.state != "open":
            raise Refused(f"is {campaign.state}", "come back later", 409, "campaign")
        return self._catalogue.write(lambda connection: _next(connection, campaign, worker))

    def submit(self, campaign: Campaign, worker: Worker, task: int, submission: str,
               groups: Sequence[int | None]) -> Receipt:
        """Stores an answer once; the same one again is acknowledged again."""
        if campaign.state in ("draft", "closed"):
            raise Refused("came after the campaign was closed", "nothing more is needed; thank you", 409)
        return self._catalogue.write(lambda connection: _submitted(connection, campaign, worker, task, submission,
                                                                   groups))

    def shown_image(self, campaign: Campaign, key: str, place: int) -> int:
        """The id of the image at this place of the task the key opens."""
        wanted = _assignments().where(crowd_assignment.c.key == key, crowd_task.c.crowd_campaign_id == campaign.id)
        row = self._catalogue.first(wanted)
        if row is None or not 0 <= place < len(row.shown):
            raise Refused("is not one you were given", "go back to the task", 404, "image")
        return int(campaign.images[row.shown[place]])

    def refuse(self, campaign_id: int | None, worker: int | None, what: str) -> None:
        """Notes what was refused, for the one who asks to see."""
        def store(connection: Connection) -> None:
            held = select(func.count()).select_from(crowd_refusal).where(
                crowd_refusal.c.crowd_campaign_id == campaign_id)
            if connection.execute(held).scalar_one() < REFUSALS_KEPT:
                connection.execute(insert(crowd_refusal).values(
                    crowd_campaign_id=campaign_id, worker=worker, what=what[:500], at=now()))

        self._catalogue.submit(store, durable=False)

    def _set(self, campaign_id: int, **values: Any) -> Campaign:
        self.get(campaign_id)
        self._catalogue.execute(update(crowd_campaign).where(crowd_campaign.c.id == campaign_id).values(**values))
        return self.get(campaign_id)

    def _worker(self, worker_id: int) -> Worker:
        return _worker(self._catalogue.first(select(crowd_worker).where(crowd_worker.c.id == worker_id)))


def _next(connection: Connection, campaign: Campaign, worker: Worker) -> Assignment | None:
    state = connection.execute(select(crowd_worker.c.state).where(crowd_worker.c.id == worker.id)).scalar_one()
    if state == "stopped":
        return None
    _let_lapse(connection, campaign)
    held = connection.execute(_assignments().where(
        crowd_assignment.c.crowd_worker_id == worker.id, crowd_assignment.c.state == "given")).first()
    if held is not None:
        return _assignment(held)
    chosen = _free_task(connection, campaign, worker, "practice" if state == "practice" else "task")
    return None if chosen is None else _given(connection, campaign, worker, chosen)


def _free_task(connection: Connection, campaign: Campaign, worker: Worker, kind: str) -> Row | None:
    """The least answered task that wants another answer and that this person has not had."""
    had = select(crowd_assignment.c.crowd_task_id).where(crowd_assignment.c.crowd_worker_id == worker.id)
    if kind == "task" and _has_done_enough(connection, campaign, worker):
        return None
    wanted = select(crowd_task).where(crowd_task.c.crowd_campaign_id == campaign.id, crowd_task.c.kind == kind,
                                      crowd_task.c.id.not_in(had))
    if kind == "task":
        wanted = wanted.where(crowd_task.c.given < crowd_task.c.wanted)
    return connection.execute(wanted.order_by(crowd_task.c.given, crowd_task.c.number).limit(1)).first()


def _has_done_enough(connection: Connection, campaign: Campaign, worker: Worker) -> bool:
    if not campaign.settings.most_tasks:
        return False
    had = select(func.count()).select_from(crowd_assignment).join(
        crowd_task, crowd_task.c.id == crowd_assignment.c.crowd_task_id).where(
        crowd_assignment.c.crowd_worker_id == worker.id, crowd_task.c.kind == "task")
    return connection.execute(had).scalar_one() >= campaign.settings.most_tasks


def _given(connection: Connection, campaign: Campaign, worker: Worker, task: Row) -> Assignment:
    at, order = now(), np.random.default_rng([worker.id, task.id]).permutation(len(task.items))
    values = {"crowd_task_id": task.id, "crowd_worker_id": worker.id, "key": secrets.token_urlsafe(18),
              "shown": [task.items[place] for place in order], "state": "given", "given_at": at,
              "due_at": at + 60 * campaign.settings.minutes}
    number = connection.execute(insert(crowd_assignment).values(**values)).inserted_primary_key[0]
    _count(connection, task.id, 1)
    return _assignment(connection.execute(_assignments().where(crowd_assignment.c.id == number)).one())


def _let_lapse(connection: Connection, campaign: Campaign) -> None:
    """Tasks that were due are free for others. An answer that still comes is taken all the same."""
    late = connection.execute(_assignments().where(
        crowd_task.c.crowd_campaign_id == campaign.id, crowd_assignment.c.state == "given",
        crowd_assignment.c.due_at < now())).all()
    for row in late:
        _mark(connection, row.id, "lapsed")
        _count(connection, row.task_id, -1)


def _submitted(connection: Connection, campaign: Campaign, worker: Worker, task: int, submission: str,
               groups: Sequence[int | None]) -> Receipt:
    held = connection.execute(_assignments().where(
        crowd_assignment.c.crowd_worker_id == worker.id, crowd_task.c.crowd_campaign_id == campaign.id,
        crowd_task.c.number == task)).first()
    if held is None:
        raise Refused("is for a task you were not given", "ask for a task first")
    before = connection.execute(select(crowd_answer).where(crowd_answer.c.assignment_id == held.id)).first()
    if before is not None:
        if before.submission == submission and before.groups == list(groups):
            return _receipt(connection, worker, again=True)
        raise Refused("is the second one for this task", "the first one counts")
    _check_groups(groups, len(held.shown))
    at = now()
    connection.execute(insert(crowd_answer).values(
        assignment_id=held.id, submission=submission, groups=list(groups), seconds=at - held.given_at, at=at))
    if held.state == "lapsed":
        _count(connection, held.task_id, 1)
    _mark(connection, held.id, "answered")
    _judge(connection, campaign, worker, held, groups)
    return _receipt(connection, worker, again=False)


def _check_groups(groups: Sequence[int | None], shown: int) -> None:
    if len(groups) != shown:
        raise Refused(f"has {len(groups)} groups for {shown} pictures", "send one for each", 422)
    if any(group is not None and not (type(group) is int and 0 <= group < MOST_GROUPS) for group in groups):
        raise Refused("holds what is no group", f"send numbers from 0 to {MOST_GROUPS - 1}, or null", 422)
    if all(group is None for group in groups):
        raise Refused("is empty", "put at least some pictures into groups", 422)


def _judge(connection: Connection, campaign: Campaign, worker: Worker, held: Row, groups: Sequence[int | None]) -> None:
    """Counts the known pairs; who gets too few of them right is asked no further. Practice counts for nothing."""
    if held.kind == "practice":
        connection.execute(update(crowd_worker).where(crowd_worker.c.id == worker.id).values(state="working"))
        return
    asked, right = _gold(campaign, held.shown, groups)
    row = connection.execute(select(crowd_worker).where(crowd_worker.c.id == worker.id)).one()
    asked, right = row.gold_asked + asked, row.gold_right + right
    failed = asked >= GOLD_BEFORE and right < campaign.settings.gold_least * asked
    connection.execute(update(crowd_worker).where(crowd_worker.c.id == worker.id).values(
        gold_asked=asked, gold_right=right, state="stopped" if failed else row.state))


def _gold(campaign: Campaign, shown: Sequence[int], groups: Sequence[int | None]) -> tuple[int, int]:
    """(known pairs among what was shown, those judged right)."""
    group_of = dict(zip(shown, groups, strict=True))
    pairs = [pair for pair in campaign.settings.gold if pair.first in group_of and pair.second in group_of]
    told = [(group_of[pair.first], group_of[pair.second], pair.same) for pair in pairs]
    return len(told), sum(a is not None and b is not None and (a == b) == same for a, b, same in told)


def _receipt(connection: Connection, worker: Worker, *, again: bool) -> Receipt:
    done = connection.execute(_answers(func.count()).where(
        crowd_assignment.c.crowd_worker_id == worker.id, crowd_task.c.kind == "task")).scalar_one()
    state = connection.execute(select(crowd_worker.c.state).where(crowd_worker.c.id == worker.id)).scalar_one()
    return Receipt(done, again, state == "stopped")


def _mark(connection: Connection, assignment_id: int, state: str) -> None:
    connection.execute(update(crowd_assignment).where(crowd_assignment.c.id == assignment_id).values(state=state))


def _count(connection: Connection, task_id: int, more: int) -> None:
    connection.execute(update(crowd_task).where(crowd_task.c.id == task_id).values(given=crowd_task.c.given + more))


def _assignments() -> Select:
    return select(crowd_assignment, crowd_task.c.id.label("task_id"), crowd_task.c.number, crowd_task.c.kind,
                  crowd_worker.c.number.label("worker")).join(
        crowd_task, crowd_task.c.id == crowd_assignment.c.crowd_task_id).join(
        crowd_worker, crowd_worker.c.id == crowd_assignment.c.crowd_worker_id)


def _answers(*columns: Any) -> Select:
    wanted = columns or (crowd_answer, crowd_assignment.c.shown, crowd_task.c.number, crowd_task.c.kind,
                         crowd_task.c.round, crowd_worker.c.number.label("worker"))
    return select(*wanted).select_from(crowd_answer).join(
        crowd_assignment, crowd_assignment.c.id == crowd_answer.c.assignment_id).join(
        crowd_task, crowd_task.c.id == crowd_assignment.c.crowd_task_id).join(
        crowd_worker, crowd_worker.c.id == crowd_assignment.c.crowd_worker_id)


def _campaign(row: Row) -> Campaign:
    return Campaign(row.id, row.name, row.state, row.link, Settings.of(row.settings),
                    np.frombuffer(row.images, "<i8"), row.created_at, row.expires_at)


def _worker(row: Row) -> Worker:
    return Worker(row.id, row.crowd_campaign_id, row.number, row.nickname, row.state, row.joined_at, row.gold_asked,
                  row.gold_right)


def _assignment(row: Row) -> Assignment:
    return Assignment(row.id, row.number, row.kind, row.key, tuple(row.shown), row.state, row.given_at, row.due_at,
                      row.worker)


def _answer(row: Row) -> Answer:
    return Answer(row.number, row.kind, row.round, row.worker, tuple(row.shown), tuple(row.groups), row.seconds, row.at)


def _hashed(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
