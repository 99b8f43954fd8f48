"""Asking a crowd, from the side of the one who asks: what can be done with campaigns and what came of them."""

import re
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import param

from app.state.crowd_views import campaign_row, campaign_told, newest_run
from app.state.session import Session
from engine.problems import fail
from engine.workspace import Run, Workspace
from engine.workspace.crowd_asking import among, ask, known_pairs
from engine.workspace.crowd_records import Campaign, GoldPair, Settings
from engine.workspace.vocabularies import NewTerm

ORIGIN = re.compile(r"https?://[\w.:\[\]-]{1,255}")
LOOPBACK = re.compile(r"//(localhost|127\.|\[::1\])")
VOCABULARY = "Crowd"  # adopted clusters are terms of it
AGREED = 0.5          # probability of its cluster from which an image gets the cluster's name


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
        campaigns, saved = self.workspace.crowd.all(), self.workspace.selections.list()
        shown, here_only = self._shown(campaigns), LOOPBACK.search(self.origin) is not None
        return {"campaigns": [campaign_row(campaign) for campaign in reversed(campaigns)],
                "chosen": self.selection if self.selection in [number for number, *_ in saved] else None,
                "selections": [{"id": number, "name": name, "count": count} for number, name, count in saved],
                "images": self.workspace.library.count_images(), "defaults": Settings().plain(),
                "shown": campaign_told(self.session.app, shown, self.origin, here_only) if shown else None}

    @property
    def workspace(self) -> Workspace:
        return self.session.workspace

    # --- campaigns

    def create(self, values: Mapping[str, Any]) -> None:
        """A campaign of the chosen selection, or of `count` images of all at random; `values` are settings by name,
        and `name`, `selection`, `count`, `known` (pairs taken from the labels there are)."""
        with self.session.attempt():
            chosen, rng = dict(values), np.random.default_rng()
            name, known = str(chosen.pop("name", "")), int(chosen.pop("known", 0))
            images = self._images(chosen.pop("selection", None), int(chosen.pop("count", 0)), rng)
            gold = [asdict(pair) for pair in self._known_pairs(images, known, rng)]
            made = ask(self.workspace.crowd, name, images, Settings.of({**chosen, "gold": gold}), rng)
            self._show(made)
            self.session.tell(f"{made.name} is ready; open it and send the link")

    def select(self, number: int) -> None:
        self.campaign = number

    def address(self, origin: str) -> None:
        """Told by the browser: only it knows by which name the server is reached."""
        self.origin = origin if ORIGIN.fullmatch(origin) else ""

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
            self.session.tell("The link is new; the old one leads nowhere")

    # --- what came of them

    def aggregate(self, method: str = "bayes", clusters: int | None = None, more: int = 0) -> None:
        """Clusters what was said so far, as a job; with `more`, adds tasks on what is least sure."""
        with self.session.attempt():
            asked = self._current()
            self._queue("crowd", {"campaign": str(asked.id), "method": method, "clusters": clusters, "more": more},
                        f"Cluster answers of {asked.name}")
            self.session.tell(f"The answers of {asked.name} are being clustered")

    def refine(self, cluster: int) -> None:
        """A campaign among the images of one cluster: people make finer groups of what is alike."""
        with self.session.attempt():
            run, asked = self._run_needed(), self._current()
            mine = run.array("image_ids")[run.array("labels") == cluster]
            places = np.flatnonzero(np.isin(asked.images, mine))
            name = self._free_name(f"{asked.name}, cluster {cluster + 1}")
            made = ask(self.workspace.crowd, name, asked.images[places], among(asked.settings, places),
                       np.random.default_rng([asked.id, run.id, cluster]))
            self._show(made)
            self.session.tell(f"{made.name} asks about its {len(places)} images among themselves; open it")

    def adopt(self, names: Mapping[int | str, str]) -> None:
        """Labels the images of clusters by the names given to them, events in the label log like any others. Images
        people disagree on stay as they are."""
        with self.session.attempt():
            who, run = self.session.who(), self._run_needed()
            chosen = {int(cluster): " ".join(name.split()) for cluster, name in names.items() if name.strip()}
            if who is None:
                raise fail("labels", "nobody said who gives them", "say who you are at the top")
            if not chosen:
                raise fail("clusters", "none has a name", "type names under the clusters")
            numbers = [self._label(who.id, run, cluster, name) for cluster, name in chosen.items()]
            self.session.changed(images=False)
            self.session.tell(f"{len(numbers)} {'cluster is a label' if len(numbers) == 1 else 'clusters are labels'} "
                              "now", undo=lambda: [self.workspace.labels.undo(who.id, number)
                                                   for number in reversed(numbers)])

    def make_current(self) -> None:
        """The clusters people made become the run that Explore and Review open with."""
        with self.session.attempt():
            run = self._run_needed()
            self.workspace.runs.choose(run.id)
            self.session.changed(images=False)
            self.session.tell(f"{run.name} is the current run now")

    def steer(self) -> None:
        """Clusters all images again as in the current run, along what people tell apart; as a job."""
        with self.session.attempt():
            run, like = self._run_needed(), self._like()
            self._queue("cluster", {**like, "crowd": str(run.id)}, f"Cluster by what {run.name} says")
            self.session.tell(f"Images are being clustered by {like['features']}, steered by {run.name}")

    def _like(self) -> dict[str, Any]:
        """How the newest ordinary run was made; without one, by the first description there is."""
        runs = [run for run in self.workspace.runs.all() if run.summary.get("campaign") is None]
        names = self.workspace.features.names()
        if runs and runs[-1].features in names:
            return {"model": runs[-1].model, "features": runs[-1].features, "parameters": dict(runs[-1].parameters)}
        if not names:
            raise fail("features", "there are none", "describe the images first, in Library")
        return {"features": names[0]}

    def _queue(self, kind: str, parameters: Mapping[str, Any], title: str) -> None:
        self.session.app.queue.add(kind, parameters, title=title)
        self.session.app.jobs.look()

    def _images(self, selection: int | None, count: int, rng: np.random.Generator) -> np.ndarray:
        ids = (self.workspace.selections.get(int(selection)).images if selection
               else self.workspace.library.columns("id")["id"])
        return rng.permutation(ids)[: count or None]

    def _known_pairs(self, images: np.ndarray, count: int, rng: np.random.Generator) -> list[GoldPair]:
        labelled, terms = self.workspace.labels.current_terms()
        at = np.clip(np.searchsorted(labelled, images), 0, max(len(labelled) - 1, 0))
        mine = np.where(labelled[at] == images, terms[at], 0) if len(labelled) else np.zeros(len(images), int)
        pairs = known_pairs(mine, count, rng)
        if len(pairs) < count:
            raise fail("known pairs", f"{len(pairs)} of {count} can be drawn from the labels of these images",
                       "label more of them, or ask for fewer pairs")
        return pairs

    def _label(self, person_id: int, run: Run, cluster: int, name: str) -> int:
        sure = run.array("probability")
        mine = (run.array("labels") == cluster) & (sure >= AGREED)
        if not mine.any():
            raise fail(f"cluster {cluster + 1}", "holds no image people agree on", "ask more of them first")
        return self.workspace.labels.label(person_id, run.array("image_ids")[mine], self._term(name), why="crowd",
                                           run_id=run.id, confidence=float(sure[mine].mean()))

    def _term(self, name: str) -> int:
        vocabulary = self.workspace.vocabularies.add(VOCABULARY, [NewTerm((name,))])
        return next(term.id for term in self.workspace.vocabularies.terms(vocabulary.id) if term.name == name)

    def _free_name(self, name: str) -> str:
        taken = {campaign.name for campaign in self.workspace.crowd.all()}
        others = (f"{name}, round {number}" for number in range(2, len(taken) + 3))
        return next(word for word in (name, *others) if word not in taken)

    def _change(self, state: str) -> None:
        with self.session.attempt():
            self.workspace.crowd.change(self._current().id, state)
            self._changed()

    def _show(self, campaign: Campaign) -> None:
        self._changed()
        self.param.update(campaign=campaign.id, selection=None)

    def _changed(self) -> None:
        self.session.changed(images=False)

    def _shown(self, campaigns: list[Campaign]) -> Campaign | None:
        by_id = {campaign.id: campaign for campaign in campaigns}
        return by_id.get(self.campaign) or (campaigns[-1] if campaigns else None)

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
