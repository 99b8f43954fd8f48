"""Asking a crowd, from the side of the one who asks: campaigns, how they go, who answers how, and what came out."""

import re
from dataclasses import asdict
from typing import Any

import numpy as np
import param
import segno

from app.state.session import Session
from engine.crowd import block_order
from engine.jobs import JobQueue
from engine.problems import fail
from engine.workspace import Run, Workspace
from engine.workspace.crowd_asking import ask, known_pairs
from engine.workspace.crowd_records import Campaign, Settings
from engine.workspace.vocabularies import NewTerm

LOOPBACK = re.compile(r"//(localhost|127\.|\[::1\])")
DRAWN = 4_000      # points of the embedding
EXEMPLARS = 12     # surest images of a cluster
DISPUTED = 40      # images people disagree on most
TABLES = 200       # workers whose tables are sent to the page
REFUSALS = 50
VOCABULARY = "Crowd"  # adopted clusters are terms of it


class CrowdStudio(param.Parameterized):
    session = param.ClassSelector(class_=Session, constant=True)
    campaign = param.Integer(default=None, allow_None=True, doc="The campaign in view; none: the newest.")
    selection = param.Integer(default=None, allow_None=True, doc="The saved selection a new campaign asks about.")
    origin = param.String(default="", doc="Scheme, host and port under which the browser knows the server.")

    def __init__(self, session: Session):
        super().__init__(session=session)
        session.address.bind(self, "campaign", "selection")

    def content(self) -> dict[str, Any]:
        """Everything the page draws, as plain values."""
        campaigns = self.workspace.crowd.all()
        shown = self._shown(campaigns)
        return {"campaigns": [_row(campaign) for campaign in reversed(campaigns)], "chosen": self._chosen(),
                "selections": [{"id": number, "name": name, "count": count}
                               for number, name, count in self.workspace.selections.list()],
                "images": self.workspace.library.count_images(), "defaults": Settings().plain(),
                "shown": self._told(shown) if shown else None}

    @property
    def workspace(self) -> Workspace:
        return self.session.workspace

    # --- what can be done

    def create(self, values: dict[str, Any]) -> None:
        """A campaign of the chosen selection, or of `count` images of all at random; `values` are settings by name,
        and `name`, `selection`, `count`, `known` (pairs taken from the labels there are)."""
        with self.session.attempt():
            chosen, rng = dict(values), np.random.default_rng()
            name, known = str(chosen.pop("name", "")), int(chosen.pop("known", 0))
            images = self._images(chosen.pop("selection", None), int(chosen.pop("count", 0)), rng)
            terms = self._terms_of(images)
            settings = Settings.of({**chosen, "gold": [asdict(pair) for pair in known_pairs(terms, known, rng)]})
            made = ask(self.workspace.crowd, name, images, settings, rng)
            self._changed()
            self.campaign = made.id
            self.session.tell(f"{made.name} is ready; open it and send the link")

    def select(self, number: int) -> None:
        self.campaign = number

    def address(self, origin: str) -> None:
        """Told by the browser: only it knows by which name the server is reached."""
        self.origin = origin if re.fullmatch(r"https?://[\w.:\[\]-]{1,255}", origin) else ""

    def open(self) -> None:
        self._change("open")

    def pause(self) -> None:
        self._change("paused")

    def close(self) -> None:
        self._change("closed")

    def renew(self) -> None:
        """Another link; whoever has the old one is asked no further."""
        with self.session.attempt():
            self.workspace.crowd.renew_link(self._current().id)
            self._changed()

    def aggregate(self, method: str = "bayes", clusters: int | None = None, more: int = 0) -> None:
        """Clusters what was said so far, as a job; with `more`, adds tasks on what is least sure."""
        with self.session.attempt():
            asked = self._current()
            JobQueue(self.workspace).add("crowd", {"campaign": str(asked.id), "method": method, "clusters": clusters,
                                                   "more": more}, title=f"Cluster answers of {asked.name}")
            self.session.tell("The answers are being clustered; see Jobs")

    def refine(self, cluster: int) -> None:
        """A campaign among the images of one cluster: people make finer groups of what is alike."""
        with self.session.attempt():
            run, asked = self._run_needed(), self._current()
            ids = run.array("image_ids")[run.array("labels") == cluster]
            name = f"{asked.name}, cluster {cluster + 1}"
            made = ask(self.workspace.crowd, name, ids, asked.settings, np.random.default_rng(cluster))
            self._changed()
            self.campaign = made.id

    def adopt(self, names: dict[int, str]) -> None:
        """Labels the images of clusters by the names given to them; events in the label log like any others."""
        with self.session.attempt():
            who, run = self.session.who(), self._run_needed()
            if who is None:
                self.session.tell("say who you are first", kind="error")
                return
            events = [self._label(who.id, run, int(cluster), name.strip())
                      for cluster, name in names.items() if name.strip()]
            self.session.changed(images=False)
            self.session.tell(f"{len(events)} clusters are labels now", undo=lambda: [
                self.workspace.labels.undo(who.id, number) for number in reversed(events)])

    def _images(self, selection: int | None, count: int, rng: np.random.Generator) -> np.ndarray:
        ids = (self.workspace.selections.get(int(selection)).images if selection
               else self.workspace.library.columns("id")["id"])
        return rng.permutation(ids)[: count or None]

    def _terms_of(self, images: np.ndarray) -> np.ndarray:
        """The term each image is labelled with, 0 where none."""
        labelled, terms = self.workspace.labels.current_terms()
        at = np.clip(np.searchsorted(labelled, images), 0, max(len(labelled) - 1, 0))
        return np.where(labelled[at] == images, terms[at], 0) if len(labelled) else np.zeros(len(images), int)

    def _label(self, person_id: int, run: Run, cluster: int, name: str) -> int:
        mine = run.array("labels") == cluster
        images, sure = run.array("image_ids")[mine], run.array("probability")[mine]
        return self.workspace.labels.label(person_id, images, self._term(name), why="crowd", run_id=run.id,
                                           confidence=float(sure.mean()))

    def _term(self, name: str) -> int:
        vocabulary = self.workspace.vocabularies.add(VOCABULARY, [NewTerm((name,))])
        return next(term.id for term in self.workspace.vocabularies.terms(vocabulary.id) if term.name == name)

    def _change(self, state: str) -> None:
        with self.session.attempt():
            self.workspace.crowd.change(self._current().id, state)
            self._changed()

    def _changed(self) -> None:
        self.session.changed(images=False)

    # --- what is shown

    def _shown(self, campaigns: list[Campaign]) -> Campaign | None:
        by_id = {campaign.id: campaign for campaign in campaigns}
        return by_id.get(self.campaign) or (campaigns[-1] if campaigns else None)

    def _chosen(self) -> int | None:
        """The saved selection a new campaign would ask about, where it is still there."""
        return self.selection if self.selection in [number for number, *_ in self.workspace.selections.list()] else None

    def _current(self) -> Campaign:
        found = self._shown(self.workspace.crowd.all())
        if found is None:
            raise fail("crowd campaigns", "there are none", "make one first")
        return found

    def _run_needed(self) -> Run:
        run = newest_run(self.workspace, self._current())
        if run is None:
            raise fail("crowd campaign", "its answers have not been clustered", "cluster them first")
        return run

    def _told(self, campaign: Campaign) -> dict[str, Any]:
        run = newest_run(self.workspace, campaign)
        link = f"{self.origin}/crowd/{campaign.link}"
        return {**_row(campaign), "link": link, "code": segno.make(link).svg_data_uri(scale=4) if self.origin else "",
                "here_only": LOOPBACK.search(self.origin) is not None, "settings": campaign.settings.plain(),
                "standing": vars(self.workspace.crowd.standing(campaign.id)),
                "refusals": [vars(one) for one in self.workspace.crowd.refusals(campaign.id)[:REFUSALS]],
                "workers": worker_rows(self.workspace, campaign),
                "result": self.session.app.kept(("crowd", run.id), lambda: result(self.workspace, run))
                if run else None}


def newest_run(workspace: Workspace, campaign: Campaign) -> Run | None:
    """The newest clustering of the campaign's answers."""
    return next((run for run in reversed(workspace.runs.all()) if run.summary.get("campaign") == campaign.id), None)


def worker_rows(workspace: Workspace, campaign: Campaign) -> list[dict[str, Any]]:
    """Each person with answers, known pairs, and quality and school as the newest run has them."""
    run = newest_run(workspace, campaign)
    held = run.parts() if run else {}
    quality, schools, looking = (np.asarray(held[name]) if name in held else np.empty(0)
                                 for name in ("quality", "schools", "looking"))
    given = np.bincount([answer.worker for answer in workspace.crowd.answers(campaign.id)], minlength=1)
    rows = []
    for worker in workspace.crowd.workers(campaign.id):
        at = worker.number
        known = at < len(quality) and np.isfinite(quality[at])
        rows.append({"number": at, "nickname": worker.nickname, "state": worker.state,
                     "answers": int(given[at]) if at < len(given) else 0, "gold_asked": worker.gold_asked,
                     "gold_right": worker.gold_right, "quality": float(quality[at]) if known else None,
                     "looking": bool(looking[at]) if known else True,
                     "school": f"{int(schools[at]) + 1}" if known and schools[at] >= 0 else ""})
    return rows


def result(workspace: Workspace, run: Run) -> dict[str, Any]:
    """A run as the page draws it: points, clusters by their surest images, tables of workers, disputed images."""
    parts = run.parts()
    ids, labels, sure = (np.asarray(parts[name]) for name in ("image_ids", "labels", "probability"))
    K = int(run.summary["clusters"])
    tables = np.asarray(parts["confusion"])[:TABLES]
    return {"run": run.id, "name": run.name, "clusters": [
                {"number": k, "size": int((labels == k).sum()), "exemplars": surest(ids, labels, sure, k)}
                for k in range(K)],
            "points": points(np.asarray(parts["positions"]), labels, ids), "gain": run.summary.get("gain"),
            "tables": [table.round(2).tolist() for table in tables],
            "order": block_order(1 - tables.mean(0)).tolist() if K else [],
            "disputed": [[int(ids[at]), float(sure[at])] for at in np.argsort(sure, kind="stable")[:DISPUTED]]}


def surest(ids: np.ndarray, labels: np.ndarray, sure: np.ndarray, cluster: int) -> list[int]:
    members = np.flatnonzero(labels == cluster)
    return [int(ids[at]) for at in members[np.argsort(-sure[members], kind="stable")][:EXEMPLARS]]


def points(positions: np.ndarray, labels: np.ndarray, ids: np.ndarray) -> list[list[float]]:
    """[x, y, cluster, image] in the plane of largest spread."""
    centred = positions - positions.mean(0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    flat = np.zeros((len(centred), 2))
    flat[:, : min(2, len(axes))] = centred @ axes[:2].T
    some = np.linspace(0, len(flat) - 1, min(DRAWN, len(flat))).astype(int)
    return [[round(float(x), 3), round(float(y), 3), int(labels[at]), int(ids[at])]
            for at, (x, y) in zip(some, flat[some], strict=True)]


def _row(campaign: Campaign) -> dict[str, Any]:
    return {"id": campaign.id, "name": campaign.name, "state": campaign.state, "images": len(campaign.images),
            "created_at": campaign.created_at, "expires_at": campaign.expires_at}
