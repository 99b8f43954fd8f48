"""View model of the Crowd page: manage campaigns and use their results."""

import re
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import param

from benthoscope.app.pages.crowd.content import campaign_row, campaign_told
from benthoscope.app.session.cache import LABELS, OTHER, RUNS
from benthoscope.app.session.required import required
from benthoscope.app.session.session import Session
from benthoscope.engine.labelling.crowd_adoption import adopt_clusters, newest_crowd_run
from benthoscope.engine.problems import fail
from benthoscope.engine.workspace import Run, Workspace
from benthoscope.engine.workspace.crowd.campaigns import among, ask, known_pairs
from benthoscope.engine.workspace.crowd.records import Campaign, CampaignSettings, GoldPair

ORIGIN = re.compile(r"https?://[\w.:\[\]-]{1,255}")
LOOPBACK = re.compile(r"//(localhost|127\.|\[::1\])")


class CrowdStudio(param.Parameterized):
    session = required(Session)
    campaign = param.Integer(default=None, allow_None=True, doc="Id of the shown campaign; None is the newest.")
    selection = param.Integer(default=None, allow_None=True, doc="Id of the saved selection for a new campaign.")
    origin = param.String(default="", doc="Scheme, host and port of the server as the browser sees it.")

    def __init__(self, session: Session):
        super().__init__(session=session)
        session.address.bind(self, "campaign", "selection")

    def content(self) -> dict[str, Any]:
        """Content of the page as plain values."""
        campaigns, saved = self.workspace.crowd.all(), self.workspace.selections.list()
        shown, here_only = self._shown(campaigns), LOOPBACK.search(self.origin) is not None
        return {
            "campaigns": [campaign_row(campaign) for campaign in reversed(campaigns)],
            "chosen": self.selection if self.selection in [number for number, *_ in saved] else None,
            "selections": [{"id": number, "name": name, "count": count} for number, name, count in saved],
            "images": self.workspace.library.count_images(),
            "defaults": CampaignSettings().plain(),
            "shown": campaign_told(self.session.app, shown, self.origin, here_only) if shown else None,
        }

    @property
    def workspace(self) -> Workspace:
        return self.session.workspace

    # --- campaigns

    def create(self, values: Mapping[str, Any]) -> None:
        """Create a campaign from the selection, or from `count` random images. `values` are the settings by name, with
        `name`, `selection`, `count` and `known` (number of known pairs, drawn from labels)."""
        with self.session.attempt():
            chosen, rng = dict(values), np.random.default_rng()
            name, known = str(chosen.pop("name", "")), int(chosen.pop("known", 0))
            images = self._images(chosen.pop("selection", None), int(chosen.pop("count", 0)), rng)
            gold = [asdict(pair) for pair in self._known_pairs(images, known, rng)]
            made = ask(self.workspace.crowd, name, images, CampaignSettings.of({**chosen, "gold": gold}), rng)
            self._show(made)
            self.session.notify(f"Created {made.name}. Open it and send the link")

    def select(self, number: int) -> None:
        self.campaign = number

    def address(self, origin: str) -> None:
        """Store the address of the server; only the browser knows by which name it reached the server."""
        self.origin = origin if ORIGIN.fullmatch(origin) else ""

    def open(self) -> None:
        self._change("open")

    def pause(self) -> None:
        self._change("paused")

    def close(self) -> None:
        self._change("closed")

    def renew(self) -> None:
        """Replace the campaign link and revoke the old one."""
        with self.session.attempt():
            self.workspace.crowd.renew_link(self._current().id)
            self._changed()
            self.session.notify("Created a new link and revoked the old one")

    # --- results

    def aggregate(self, method: str = "bayes", clusters: int | None = None, extra_tasks: int = 0) -> None:
        """Queue a job that clusters the answers so far and adds `extra_tasks` tasks about the least certain images."""
        with self.session.attempt():
            asked = self._current()
            self._queue(
                "crowd",
                {"campaign": str(asked.id), "method": method, "clusters": clusters, "more": extra_tasks},
                f"Cluster answers of {asked.name}",
            )
            self.session.notify(f"The answers of {asked.name} are being clustered")

    def refine(self, cluster: int) -> None:
        """Create a campaign within one cluster: people make finer groups of similar images."""
        with self.session.attempt():
            run, asked = self._run_needed(), self._current()
            cluster_images = run.array("image_ids")[run.array("labels") == cluster]
            positions = np.flatnonzero(np.isin(asked.images, cluster_images))
            name = self._free_name(f"{asked.name}, cluster {cluster + 1}")
            made = ask(
                self.workspace.crowd,
                name,
                asked.images[positions],
                among(asked.settings, positions),
                np.random.default_rng([asked.id, run.id, cluster]),
            )
            self._show(made)
            self.session.notify(f"Created {made.name} with the {len(positions)} images of this cluster. Open it")

    def adopt(self, names: Mapping[int | str, str]) -> None:
        """Label the images of clusters with the given names. Images that people disagree on are not labelled."""
        self.session.perform(lambda: self._adopt(names))

    def _adopt(self, names: Mapping[int | str, str]) -> None:
        run = self._run_needed()
        labels = {int(cluster): name for cluster, name in names.items() if name.strip()}
        if not labels:
            raise fail("clusters", "no cluster has a name", "type names under the clusters")
        person = self.session.require_person()
        numbers = adopt_clusters(self.workspace, person.id, run, labels)
        self.session.changed(LABELS)
        self.session.notify(
            f"Labelled the images of {len(numbers)} {'cluster' if len(numbers) == 1 else 'clusters'}",
            undo=lambda: [self.workspace.labels.undo(person.id, number) for number in reversed(numbers)],
        )

    def make_current(self) -> None:
        """Make these clusters the run that Explore and Review open with."""
        with self.session.attempt():
            run = self._run_needed()
            self.workspace.runs.choose(run.id)
            self.session.changed(RUNS)
            self.session.notify(f"{run.name} is now the current run")

    def steer(self) -> None:
        """Queue a job that clusters all images again, with the answers as constraints."""
        with self.session.attempt():
            run, like = self._run_needed(), self._like()
            self._queue("cluster", {**like, "crowd": str(run.id)}, f"Cluster with constraints from {run.name}")
            self.session.notify(f"Clustering by {like['features']} features with constraints from {run.name}")

    def _like(self) -> dict[str, Any]:
        """Model, features and parameters of the newest run that is not from a crowd, or else the first feature set."""
        runs = [run for run in self.workspace.runs.all() if run.summary.get("campaign") is None]
        names = self.workspace.features.names()
        if runs and runs[-1].features in names:
            return {"model": runs[-1].model, "features": runs[-1].features, "parameters": dict(runs[-1].parameters)}
        if not names:
            raise fail("features", "there are no image features", "describe the images first, in Library")
        return {"features": names[0]}

    def _queue(self, kind: str, parameters: Mapping[str, Any], title: str) -> None:
        self.session.app.queue.add(kind, parameters, title=title)
        self.session.app.jobs.refresh()

    def _images(self, selection: int | None, count: int, rng: np.random.Generator) -> np.ndarray:
        ids = (
            self.workspace.selections.get(int(selection)).images
            if selection
            else self.workspace.library.columns("id")["id"]
        )
        return rng.permutation(ids)[: count or None]

    def _known_pairs(self, images: np.ndarray, count: int, rng: np.random.Generator) -> list[GoldPair]:
        labelled, terms = self.workspace.labels.current_terms()
        at = np.clip(np.searchsorted(labelled, images), 0, max(len(labelled) - 1, 0))
        terms_of_images = (
            np.where(labelled[at] == images, terms[at], 0) if len(labelled) else np.zeros(len(images), int)
        )
        pairs = known_pairs(terms_of_images, count, rng)
        if len(pairs) < count:
            raise fail(
                "known pairs",
                f"the labels of these images give only {len(pairs)} of {count}",
                "label more of these images, or choose fewer pairs",
            )
        return pairs

    def _free_name(self, name: str) -> str:
        used_names = {campaign.name for campaign in self.workspace.crowd.all()}
        alternatives = (f"{name}, round {number}" for number in range(2, len(used_names) + 3))
        return next(word for word in (name, *alternatives) if word not in used_names)

    def _change(self, state: str) -> None:
        with self.session.attempt():
            self.workspace.crowd.change(self._current().id, state)
            self._changed()

    def _show(self, campaign: Campaign) -> None:
        self._changed()
        self.param.update(campaign=campaign.id, selection=None)

    def _changed(self) -> None:
        self.session.changed(OTHER)

    def _shown(self, campaigns: list[Campaign]) -> Campaign | None:
        by_id = {campaign.id: campaign for campaign in campaigns}
        chosen = None if self.campaign is None else by_id.get(self.campaign)
        return chosen or (campaigns[-1] if campaigns else None)

    def _current(self) -> Campaign:
        campaign = self._shown(self.workspace.crowd.all())
        if campaign is None:
            raise fail("crowd campaigns", "there is no campaign", "create one first")
        return campaign

    def _run_needed(self) -> Run:
        run = newest_crowd_run(self.workspace, self._current())
        if run is None:
            raise fail("crowd campaign", "its answers are not clustered yet", "cluster the answers first")
        return run
