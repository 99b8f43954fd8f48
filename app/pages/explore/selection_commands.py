"""Commands on a selection: save, label, split off, accept suggestions. Each can be undone."""

from collections.abc import Iterable

import numpy as np

from benthoscope.app.data.clusters.clustered_images import Atlas
from benthoscope.app.data.labels import images_text
from benthoscope.app.data.naming import term_for
from benthoscope.app.data.suggestions import suggestions
from benthoscope.app.pages.explore.model import Explore
from benthoscope.app.session.cache import LABELS, OTHER, RUNS
from benthoscope.engine.labelling.accepting import refuse_stale, suggestion_acts
from benthoscope.engine.problems import fail
from benthoscope.engine.workspace import NewRun, Run, Workspace
from benthoscope.engine.workspace.library import Person
from benthoscope.engine.workspace.runs import counted_clusters, counted_shares


def save(explore: Explore, name: str) -> None:
    """Store the selection under a name and put its id into the address."""
    stored = explore.app.workspace.selections.save(
        explore.session.require_person().id,
        name,
        explore.selected_ids(),
        {**explore.selection.origin, "run": explore.run},
    )
    explore._recalled = explore.selection.positions
    explore.saved = stored.id
    explore.session.notify(f"Saved {len(stored.images):,} images as {stored.name}")


def forget(explore: Explore, selection_id: int) -> None:
    """Delete a saved selection; its images stay selected."""
    selections = explore.app.workspace.selections
    gone = selections.remove(selection_id)
    explore.session.notify(
        f"Deleted the selection {gone.name}",
        undo=lambda: selections.save(gone.person_id, gone.name, gone.images, gone.origin),
        undo_changes=(OTHER,),
    )
    if explore.saved == selection_id:
        explore.saved = None


def label(explore: Explore, word: str) -> None:
    """Label every selected image; a text that is in no vocabulary becomes a new term."""
    person, ids = explore.session.require_person(), explore.selected_ids()
    if not len(ids):
        raise fail("selection", "contains no images", "select some images first")
    workspace, term = explore.app.workspace, term_for(explore.session, word)
    run = explore.atlas.run
    event = workspace.labels.label(
        person.id,
        ids,
        term.id,
        why="bulk",
        run_id=run.id if run else None,
        rule={"selection": dict(explore.selection.origin)},
    )
    explore.session.changed(LABELS)
    explore.session.notify(
        f'Labelled {images_text(len(ids))} "{term.name}"', undo=lambda: workspace.labels.undo(person.id, event)
    )


def split_off(explore: Explore) -> Run:
    """Add a run in which the selected images are a separate cluster, and show it."""
    atlas, positions = explore.atlas, explore.selection.positions
    if atlas.run is None:
        raise fail("run", "there is no clustering yet", "cluster the images first, in Library")
    positions = positions[atlas.labels[positions] >= 0]
    if not len(positions):
        raise fail("selection", "contains no image of this run", "select some images first")
    runs, before = explore.app.workspace.runs, explore.run
    made = split_run(explore.app.workspace, atlas, positions, explore.session.require_person())
    explore.session.changed(RUNS)
    explore.run = made.id

    def undo() -> None:
        runs.delete(made.id)
        explore.run = before

    text = f"Split {images_text(len(positions))} off as cluster {atlas.clusters}"
    explore.session.notify(text, undo=undo, undo_changes=(RUNS,))
    return made


def split_run(workspace: Workspace, atlas: Atlas, positions: np.ndarray, person: Person) -> Run:
    """Store a run derived from the one in the atlas; sizes and mixtures are counted because no model was fitted."""
    run = atlas.run
    assert run is not None  # only images with clusters are split off
    labels, probability = atlas.labels.copy(), atlas.probability.copy()
    labels[positions], probability[positions] = atlas.clusters, 1.0
    known, count = labels >= 0, atlas.clusters + 1
    groups, weights = counted_shares(labels[known], atlas.columns.group_ids[known], count)
    arrays = {
        "image_ids": atlas.columns.ids[known],
        "labels": labels[known],
        "probability": probability[known],
        "group_ids": groups,
        "weights": weights,
    }
    name = f"{run.name}, {len(positions):,} split off"
    new = NewRun(
        name,
        run.model,
        run.features,
        run.parameters,
        {**run.provenance, "split_from": run.id, "split_by": person.name},
        {**run.summary_without_level, "clusters": count, "derived": True},
    )
    return workspace.runs.add(new, arrays, counted_clusters(labels[known], count))


def accept_suggestions(explore: Explore, images: Iterable[int]) -> None:
    """Accept the suggestions of unlabelled images. Several at once are a bulk label, whose error rate is unknown until
    it is checked."""
    person, suggested_labels, log = (
        explore.session.require_person(),
        suggestions(explore.app),
        explore.app.workspace.labels,
    )
    if suggested_labels is None:
        raise fail("suggestions", "there is no model yet", "use two different labels, then press r in Learn")
    refuse_stale(suggested_labels, log)
    open_ = np.setdiff1d(np.array(sorted(set(images)), np.int64), log.current()[0])
    rows = np.flatnonzero(np.isin(suggested_labels.image_ids, open_))
    if not len(rows):
        raise fail("suggestions", "all of these images have a label", "select unlabelled images")
    numbers = log.append_events(person.id, suggestion_acts(suggested_labels, rows, {"accepted_in": "explore"}))
    explore.session.changed(LABELS)
    unchecked = "" if len(rows) == 1 else ". Nobody has checked them yet: see Labels, History"
    explore.session.notify(
        f"Accepted {_suggestions_text(len(rows))}{unchecked}",
        undo=lambda: [log.undo(person.id, number) for number in reversed(numbers)],
    )


def _suggestions_text(count: int) -> str:
    return f"{count:,} {'suggestion' if count == 1 else 'suggestions'}"
