"""Routes of live dives: start, change, stop and finish a watch, add images, and read its state."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from benthoscope.app.api.common import Details, Integer, RequestBody, State, Text, not_found
from benthoscope.app.data.live.state import live_state
from benthoscope.app.session.app_state import AppState
from benthoscope.engine.imaging.files import MAX_BYTES
from benthoscope.engine.jobs.live.clusters import (
    describe_edit,
    effective_edits,
    merge_clusters,
    name_cluster,
    split_cluster,
    undo_edit,
)
from benthoscope.engine.jobs.live.starting import (
    add_file,
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

router = APIRouter(tags=["live dives"])
BINARY = {"type": "string", "format": "binary"}
Dive = Annotated[Integer, Path(description="Id of the live dive.")]
PersonName = Annotated[Text, Field(min_length=1, max_length=200, description="Name of the person who decides.")]
Key = Annotated[Text, Field(description='Key of a cluster: "7", or "7.1" for a part of a split.')]


class NewWatch(RequestBody):
    folder: Text = Field(description="Folder that the images are written to, on the server.")
    name: Text | None = Field(None, description="Name of the dive; that of the folder by default.")
    collection: Text | None = Field(None, description="Campaign of the dive; 'Live dives' by default.")
    settings: Details = Field(default_factory=dict, description="Settings, as in a dive's `settings`.")


class NewClusterEdit(RequestBody):
    """A name, a merge or a split of clusters. It changes what people see, not what is learned."""

    person: PersonName
    kind: Annotated[Text, Field(pattern="^(name|merge|split)$", description="name, merge or split.")]
    clusters: list[Key] = Field(min_length=1, description="The cluster; for a merge, all clusters to join.")
    name: Text = Field("", max_length=200, description="The new name; an empty one removes it.")


class UndoRequest(RequestBody):
    person: PersonName


class RoundState(BaseModel):
    number: int
    images: int
    clusters: dict[int, float] = Field(description="Expected number of images of each cluster, by lasting number.")
    events: list[tuple[str, int, int | None]] = Field(
        description="birth, split from, merge into or death of a cluster."
    )
    memory: dict[str, int]
    budget_binds: bool = Field(description="Whether the memory limits the number of clusters.")
    score: float | None = Field(description="Mean log density of the round's images before they were learned.")
    seconds: float
    at: float


class ClusterState(BaseModel):
    key: str
    name: str
    images: int
    label: str = Field(description="The most frequent label of its images; empty without labels.")


class EditState(BaseModel):
    id: int
    kind: str
    text: str
    at: float


class DiveState(BaseModel):
    """The present state of a live dive."""

    id: int
    name: str
    folder: str
    state: str
    watching: bool = Field(description="Whether a job watches the folder now.")
    notice: str
    images: int
    waiting: int = Field(description="Images that no round has learned.")
    run: int | None = Field(description="The run that was stored after the dive.")
    settings: dict[str, Any]
    clusters: list[ClusterState]
    rounds: list[RoundState]
    edits: list[EditState]


class LiveImageState(BaseModel):
    image: int
    cluster: int | None = Field(description="Lasting number of the cluster it was assigned to on arrival.")
    percentile: float | None = Field(
        description="Share of images that are at least as unusual; null until enough images were learned."
    )
    novel: bool
    arrived_at: float
    seconds: float = Field(description="From the first sight of the file until its row was stored.")


class AddedFile(BaseModel):
    file: str
    bytes: int


@router.get("/live")
def dives(app: State) -> list[DiveState]:
    """All live dives, the newest first."""
    return [_state(app, dive) for dive in app.workspace.live.all()]


@router.post("/live", status_code=201)
def start(new: NewWatch, app: State) -> DiveState:
    """Start a watch, or resume the unfinished dive of the folder."""
    dive = begin_dive(app.workspace, new.folder, new.name, collection=new.collection, settings=new.settings)
    watch_job(app.queue, dive)
    return _changed(app, dive.id)


@router.get("/live/{dive}")
def state(dive: Dive, app: State) -> DiveState:
    """One live dive with its clusters, rounds and edits."""
    return _state(app, _known(app, dive))


@router.get("/live/{dive}/images")
def images(
    dive: Dive,
    app: State,
    novel: Annotated[bool, Query(description="Only novelty alarms.")] = False,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 100,
) -> list[LiveImageState]:
    """The newest images of a dive, the newest first."""
    columns = live_state(app, _known(app, dive).id).columns
    positions = [at for at in range(len(columns["id"]) - 1, -1, -1) if columns["novel"][at] or not novel][:limit]
    return [
        LiveImageState(
            image=int(columns["image_id"][at]),
            cluster=None if columns["cluster"][at] < 0 else int(columns["cluster"][at]),
            percentile=None if columns["percentile"][at] != columns["percentile"][at] else columns["percentile"][at],
            novel=bool(columns["novel"][at]),
            arrived_at=columns["arrived_at"][at],
            seconds=columns["seconds"][at],
        )
        for at in positions
    ]


@router.post(
    "/live/{dive}/images",
    status_code=201,
    openapi_extra={"requestBody": {"content": {"application/octet-stream": {"schema": BINARY}}}},
)
async def add_image(
    dive: Dive,
    app: State,
    request: Request,
    name: Annotated[Text, Query(description="Name of the file, without folders.")],
) -> AddedFile:
    """Add an image: the body is the file. After the answer it is on disk, and the watch takes it in. The same file
    under the same name may be sent again."""
    known = await run_in_threadpool(_known, app, dive)
    content = bytearray()
    async for piece in request.stream():
        content += piece
        if len(content) > MAX_BYTES:
            raise fail(name, f"has more than {MAX_BYTES >> 30} GiB", "split it into tiles")
    path = await run_in_threadpool(add_file, known, name, bytes(content))
    return AddedFile(file=path.name, bytes=len(content))


@router.patch("/live/{dive}/settings")
def change(dive: Dive, values: Details, app: State) -> DiveState:
    """Change memory, epoch, horizon, round_seconds or level during the dive. The next round uses the new values."""
    change_settings(app.workspace, _known(app, dive), values)
    return _changed(app, dive)


@router.post("/live/{dive}/watch")
def resume(dive: Dive, app: State) -> DiveState:
    """Watch again after a stop."""
    watch_job(app.queue, _known(app, dive))
    return _changed(app, dive)


@router.post("/live/{dive}/stop")
def stop(dive: Dive, app: State) -> DiveState:
    """Stop watching for a while."""
    stop_watch(app.queue, _known(app, dive))
    return _changed(app, dive)


@router.post("/live/{dive}/learn")
def learn(dive: Dive, app: State) -> DiveState:
    """Ask for a round with the images that wait, however few they are."""
    learn_now(app.workspace, _known(app, dive))
    return _changed(app, dive)


@router.post("/live/{dive}/finish")
def finish(dive: Dive, app: State) -> DiveState:
    """Take in the remaining files, store the clusters as a run, and end the dive."""
    finish_dive(app.workspace, app.queue, _known(app, dive))
    return _changed(app, dive)


@router.post("/live/{dive}/edits", status_code=201)
def edit(dive: Dive, new: NewClusterEdit, app: State) -> DiveState:
    """Name, merge or split clusters."""
    known, person = _known(app, dive), app.workspace.people.named(new.person)
    if new.kind == "name":
        name_cluster(app.workspace, known, person.id, new.clusters[0], new.name)
    elif new.kind == "merge":
        merge_clusters(app.workspace, known, person.id, new.clusters)
    else:
        split_cluster(app.workspace, known, person.id, new.clusters[0])
    return _changed(app, dive)


@router.post("/live/{dive}/edits/{edit_id}/undo")
def undo(dive: Dive, edit_id: Integer, request: UndoRequest, app: State) -> DiveState:
    """Undo an edit."""
    person = app.workspace.people.named(request.person)
    undo_edit(app.workspace, _known(app, dive), person.id, edit_id)
    return _changed(app, dive)


def _known(app: AppState, dive_id: int) -> LiveDive:
    known = {dive.id: dive for dive in app.workspace.live.all()}
    if dive_id not in known:
        raise not_found("live dives", f"there is no live dive {dive_id}")
    return known[dive_id]


def _changed(app: AppState, dive_id: int) -> DiveState:
    app.jobs.refresh()
    app.live_changed()
    return _state(app, _known(app, dive_id))


def _state(app: AppState, dive: LiveDive) -> DiveState:
    state = live_state(app, dive.id)
    sizes, names = state.clusters.sizes(), dict(zip(state.clusters.keys, state.names(), strict=True))
    return DiveState(
        id=dive.id,
        name=dive.name,
        folder=dive.folder,
        state=dive.state,
        watching=running_watch(app.queue, dive.id) is not None,
        notice=dive.notice,
        images=len(state.columns["id"]),
        waiting=int((state.columns["learned_in"] < 0).sum()),
        run=dive.run_id,
        settings=dict(dive.settings),
        clusters=[
            ClusterState(key=key, name=names[key], images=sizes[key], label=state.label_names.get(key, ("", 0.0))[0])
            for key in state.clusters.keys
        ],
        rounds=[RoundState(**{**vars(each), "events": [*map(tuple, each.events)]}) for each in state.rounds],
        edits=[
            EditState(id=each.id, kind=each.kind, text=describe_edit(each), at=each.at)
            for each in effective_edits(app.workspace.live.edits(dive.id))
        ],
    )
