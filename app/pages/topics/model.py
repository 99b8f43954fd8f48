"""The Topics page without its widgets: the run and the part shown, and the search for images by their topics."""

from typing import Any

import numpy as np
import param

from benthoscope.app.data.exemplars import SEGMENT_KINDS
from benthoscope.app.data.topics import Addable, Topics, addable, topics_of
from benthoscope.app.session.cache import RUNS
from benthoscope.app.session.session import Message, Session
from benthoscope.app.session.view_model import ViewModel
from benthoscope.engine.analysis import distance_to_mixture, distance_to_region, distance_to_weights, mixture_named
from benthoscope.engine.jobs.cluster.topic_regions import Region, region_named, topic_shares
from benthoscope.engine.problems import fail

PARTS = {"cards": "Topics", "dives": "Along dives", "find": "Find images", "fit": "Vocabulary"}
ORDERS = {"share": "Largest share", "number": "Number", "name": "Name"}
AT_ONCE = 48  # images of a search that are shown, and how many more a click adds


class TopicsView(ViewModel):
    run = param.Integer(default=None, allow_None=True, doc="Id of the run; None is the newest run of topics.")
    part: param.Selector[str] = param.Selector(default="cards", objects=list(PARTS), doc="What is shown.")
    kind: param.Selector[str] = param.Selector(
        default="typical", objects=list(SEGMENT_KINDS), doc="Which example patches are shown."
    )
    order: param.Selector[str] = param.Selector(default="share", objects=list(ORDERS), doc="The order of the cards.")
    word = param.String(default="", doc="Show only topics with this name or number.")
    dive = param.Integer(default=None, allow_None=True, doc="Id of the dive whose topics are plotted.")
    mixture = param.String(default="", doc="The wanted mixture, like '3: 50 %, 7: 50 %'.")
    like = param.Integer(default=None, allow_None=True, doc="Id of the image whose topics are wanted instead.")
    region = param.String(default="", doc="The region of an image whose topics are wanted, like '17:0.2,0.1,0.5,0.4'.")
    shown = param.Integer(default=AT_ONCE, bounds=(1, None), doc="Number of found images that are shown.")

    def __init__(self, session: Session, **values: Any):
        super().__init__(session=session, **values)
        session.address.bind(self, "run", "part", "kind", "order", "word", "dive", "mixture", "like", "region")

    @property
    def topics(self) -> Topics | None:
        return topics_of(self.app, self.run)

    def required_topics(self) -> Topics:
        topics = self.topics
        if topics is None:
            raise fail("topics", "there are none yet", "find topics first")
        return topics

    def addable(self) -> Addable:
        return addable(self.app, self.required_topics().run)

    def dive_index(self) -> int:
        """The index of the chosen dive, or of the first one with topics."""
        topics = self.required_topics()
        chosen = None if self.dive is None else topics.atlas.index_of_group(self.dive)
        return int(topics.by_dive.any(1).argmax()) if chosen is None else chosen

    # --- the search

    def mixture_shares(self) -> dict[int, float]:
        """{topic: share} of the wanted mixture. Raises if the text cannot be read."""
        topics = self.required_topics()
        names = self.app.workspace.runs.cluster_names(topics.run.id, "segment")
        return mixture_named(self.mixture, len(topics.names), names)

    def nearest_images(self) -> tuple[np.ndarray, np.ndarray]:
        """(rows of the images by topic, nearest first; their distances). Empty if nothing is searched for."""
        topics = self.required_topics()
        if self.like is not None:
            at = topics.atlas.columns.positions(np.array([self.like]))
            row = int(topics.row_of[at[0]]) if len(at) else -1
            if row < 0:
                raise fail(f"image {self.like}", "has no topics in this run", "choose another image")
            distance = distance_to_weights(topics.weights, topics.weights[row])
        elif self.region:
            shares_of_region = topic_shares(self.app.workspace, topics.run, region_named(self.region))
            distance = distance_to_region(topics.weights, shares_of_region.tolist())
        elif shares := self.mixture_shares():
            distance = distance_to_mixture(topics.weights, shares)
        else:
            return np.empty(0, int), np.empty(0)
        order = np.argsort(distance, kind="stable")
        return order, distance[order]

    # --- commands

    def find_mixture(self, text: str) -> None:
        """Search for images with this mixture of topics."""
        with self.session.attempt():
            topics = self.required_topics()
            mixture_named(text, len(topics.names), self.app.workspace.runs.cluster_names(topics.run.id, "segment"))
            if self.session.message.kind == "error":  # it was about an earlier text
                self.session.message = Message()
            self.param.update(part="find", mixture=text.strip(), like=None, region="", shown=AT_ONCE)

    def find_like(self, image: int) -> None:
        """Search for images with the topics of this image."""
        self.param.update(part="find", like=image, mixture="", region="", shown=AT_ONCE)

    def find_region(self, region: Region) -> None:
        """Search for images that contain the topics of a region."""
        self.param.update(part="find", region=str(region), like=None, mixture="", shown=AT_ONCE)

    def show_more(self) -> None:
        self.shown += AT_ONCE

    def name_topic(self, topic: int, name: str) -> None:
        """Name a topic; an empty name removes it. The message line offers to undo this."""
        with self.session.attempt():
            runs, run = self.app.workspace.runs, self.required_topics().run
            earlier = runs.rename_cluster(run.id, topic, name, "segment")
            if earlier == name.strip():
                return
            self.session.changed(RUNS)
            text = f'Topic {topic} is called "{name.strip()}"' if name.strip() else f"Removed the name of topic {topic}"
            self.session.notify(
                text, undo=lambda: runs.rename_cluster(run.id, topic, earlier, "segment"), undo_changes=(RUNS,)
            )
