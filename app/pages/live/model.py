"""View model of the Live page: the shown dive, and the commands that start, change and end a watch or edit clusters."""

from typing import Any

import param

from benthoscope.app.components.forms import FormField, JobForm, Recipe, Values
from benthoscope.app.data.live.state import LiveState, live_state, newest_dive
from benthoscope.app.pages.live.content import memory_sentence
from benthoscope.app.session.required import required
from benthoscope.app.session.session import Session
from benthoscope.engine.features import DESCRIPTORS
from benthoscope.engine.jobs.live.clusters import (
    describe_edit,
    merge_clusters,
    name_cluster,
    split_cluster,
    undo_edit,
)
from benthoscope.engine.jobs.live.settings import HELP, LiveSettings, live_settings
from benthoscope.engine.jobs.live.starting import (
    begin_dive,
    change_settings,
    finish_dive,
    learn_now,
    running_watch,
    stop_watch,
    watch_job,
)
from benthoscope.engine.problems import fail
from benthoscope.engine.workspace.live_dives import LiveDive

USUAL = LiveSettings()
NOT_OFFERED = ("segments", "onnx")  # descriptors that need more than a name, or that describe parts of images


class LiveView(param.Parameterized):
    session = required(Session)
    dive = param.Integer(default=None, allow_None=True, doc="Id of the shown dive; None is the newest one.")

    def __init__(self, session: Session):
        super().__init__(session=session)
        self.form = JobForm(session)
        session.address.bind(self, "dive")

    # --- what is shown

    @property
    def shown(self) -> LiveDive | None:
        """The shown dive; an unknown id means the newest one."""
        known = {dive.id: dive for dive in self.session.workspace.live.all()}
        return known.get(self.dive) if self.dive in known else newest_dive(self.session.app)

    @property
    def state(self) -> LiveState | None:
        dive = self.shown
        return None if dive is None else live_state(self.session.app, dive.id)

    def _require(self) -> LiveDive:
        dive = self.shown
        if dive is None:
            raise fail("live dive", "there is none", "start a watch first")
        return dive

    # --- the watch

    def select(self, id_: int) -> None:
        self.dive = id_

    def ask_start(self) -> None:
        """Open the form that starts a watch."""
        self.form.open(
            Recipe(
                title="Start a watch",
                intro="Benthoscope takes in each image as soon as it is complete. The images stay where they are.",
                action="Start",
                fields=_start_fields(self.session),
                cost=_cost,
                run_now=self._start,
            )
        )

    def _start(self, values: Values) -> str:
        settings = {name: values[name] for name in ("features", "memory", "horizon", "epoch", "first_images")}
        folder = str(values["folder"] or "").strip()
        if not folder:
            raise fail("Folder", "is empty", "enter the folder that the images are written to")
        dive = begin_dive(
            self.session.workspace,
            folder,
            str(values["name"] or "").strip() or None,
            collection=str(values["collection"] or "").strip() or None,
            settings=settings,
        )
        self._watch(dive)
        self.dive = dive.id
        return f"Watching {dive.folder}"

    def resume(self) -> None:
        dive = self._require()
        self._watch(dive)
        self.session.notify(f"Watching {dive.folder}")

    def _watch(self, dive: LiveDive) -> None:
        watch_job(self.session.app.queue, dive)
        self._changed()

    def stop(self) -> None:
        dive = self._require()
        stop_watch(self.session.app.queue, dive)
        self._changed()
        self.session.notify(f"The watch of {dive.name} stops. Press Resume to continue")

    def finish(self) -> None:
        dive = self._require()
        finish_dive(self.session.workspace, self.session.app.queue, dive)
        self._changed()
        self.session.notify(
            f"Finishing {dive.name}: the last images are taken in, then the clusters are stored as a run"
        )

    def learn(self) -> None:
        dive = self._require()
        if running_watch(self.session.app.queue, dive.id) is None:
            raise fail(f"dive {dive.name}", "is not watched now", "press Resume first")
        learn_now(self.session.workspace, dive)
        self._changed()

    def ask_settings(self) -> None:
        """Open the form that changes the learner during the dive."""
        dive = self._require()
        settings = live_settings(dive.settings)
        fields = tuple(
            _number(name, label, getattr(settings, name))
            for name, label in (
                ("memory", "Memory (images)"),
                ("epoch", "Images per round"),
                ("horizon", "Planned images"),
                ("round_seconds", "Longest wait for a round (seconds)"),
                ("level", "Share of images reported as novel"),
            )
        )
        self.form.open(
            Recipe(
                title="Settings of the learner",
                intro="They apply from the next round. Less memory merges more images into summaries; more memory does "
                "not restore lost detail.",
                action="Change",
                fields=fields,
                cost=lambda values: memory_sentence(settings.changed(**values)),
                run_now=lambda values: self._change(dive, values),
            )
        )

    def _change(self, dive: LiveDive, values: Values) -> str:
        change_settings(self.session.workspace, dive, values)
        self._changed()
        return "The settings apply from the next round"

    # --- clusters

    def ask_name(self, key: str) -> None:
        """Open the form that asks for the name of a cluster."""
        state = self.state
        known = "" if state is None else state.clusters.names.get(key, "")
        self.form.open(
            Recipe(
                title=f"Name cluster {key}",
                intro="The name follows the cluster while it evolves. An empty name removes it.",
                action="Name",
                fields=(FormField("name", "Name", "", "text", known),),
                cost=lambda values: "",
                run_now=lambda values: self._named(key, str(values["name"] or "")),
            )
        )

    def _named(self, key: str, name: str) -> str:
        dive, person = self._require(), self.session.require_person()
        name_cluster(self.session.workspace, dive, person.id, key, name)
        self._changed()
        return f"Cluster {key} is called {name.strip()}" if name.strip() else f"Cluster {key} has no name now"

    def merge(self, keys: tuple[str, ...]) -> None:
        dive, person = self._require(), self.session.require_person()
        edit = merge_clusters(self.session.workspace, dive, person.id, keys)
        self._offer_undo(edit, f"Clusters {', '.join(dict.fromkeys(keys))} are shown as one")

    def split(self, key: str) -> None:
        dive, person = self._require(), self.session.require_person()
        edit = split_cluster(self.session.workspace, dive, person.id, key)
        self._offer_undo(edit, f"Cluster {key} is shown as two")

    def undo(self, id_: int) -> None:
        dive, person = self._require(), self.session.require_person()
        undone = undo_edit(self.session.workspace, dive, person.id, id_)
        self._changed()
        self.session.notify(f"Undone: {describe_edit(undone)}")

    def _offer_undo(self, edit: int, text: str) -> None:
        self._changed()
        self.session.notify(text, undo=lambda: self.undo(edit), undo_changes=())

    def _changed(self) -> None:
        self.session.app.jobs.refresh()
        self.session.app.live_changed()


def _cost(values: Values) -> str:
    return memory_sentence(live_settings({name: values[name] for name in ("memory", "epoch", "first_images")}))


def _start_fields(session: Session) -> tuple[FormField, ...]:
    descriptors = [word for word, spec in DESCRIPTORS.items() if spec.level == "image" and word not in NOT_OFFERED]
    stored = [name for name in session.workspace.features.names() if _describes_images(session, name)]
    choices = [(name, f"{name}: as the images described already") for name in stored]
    choices += [(word, f"{word}: trained with the first images") for word in descriptors if word not in stored]
    return (
        FormField("folder", "Folder", "The folder that the images are written to, on the server.", "text", ""),
        FormField("name", "Dive", "Name of the dive; that of the folder by default.", "text", ""),
        _number("memory", "Memory (images)", USUAL.memory),
        _number("horizon", "Planned images", USUAL.horizon),
        FormField("features", "Features", HELP["features"].text, "choice", choices[0][0], tuple(choices)),
        FormField(
            "collection",
            "Campaign",
            "The campaign that the dive belongs to; 'Live dives' by default.",
            "text",
            "",
            more=True,
        ),
        _number("first_images", "Images before the first round", USUAL.first_images, more=True),
        _number("epoch", "Images per round", USUAL.epoch, more=True),
    )


def _describes_images(session: Session, name: str) -> bool:
    sidecar = session.workspace.features.open(name).sidecar
    return sidecar.level == "image" and not sidecar.extractor.get("water")


def _number(name: str, label: str, value: Any, more: bool = False) -> FormField:
    about = HELP[name]
    is_whole = name not in ("level", "round_seconds")
    minimum = about.minimum if is_whole else 0.001
    kind = "integer" if is_whole else "number"
    return FormField(name, label, about.text, kind, value, minimum=minimum, maximum=about.maximum, more=more)
