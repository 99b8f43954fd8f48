"""What can be done with a selection: name it, label it, split it off. Each act can be taken back."""

from collections.abc import Iterable

import numpy as np

from app.state.atlas import Atlas
from app.state.explore import Explore
from app.state.session import Session
from app.state.suggested import suggestions
from app.state.terms import all_terms
from engine.labelling.accepting import suggestion_acts
from engine.problems import fail
from engine.workspace import NewRun, Run, Workspace
from engine.workspace.counting import counted_clusters, counted_shares
from engine.workspace.people import Person
from engine.workspace.vocabularies import NewTerm, Term

OWN_WORDS = "Labels"  # the vocabulary that terms go to which are in none yet


def save(explore: Explore, name: str) -> None:
    """Keeps the selection under a name; from now on the address leads to it."""
    found = explore.app.workspace.selections.save(
        explore.session.who_or_fail().id, name, explore.selected_ids(),
        {**explore.selection.origin, "run": explore.run})
    explore._recalled = explore.selection.positions
    explore.saved = found.id
    explore.session.tell(f"Saved {len(found.images):,} images as {found.name}")


def forget(explore: Explore, selection_id: int) -> None:
    """Removes a saved selection; the images stay selected."""
    selections = explore.app.workspace.selections
    gone = selections.remove(selection_id)
    explore.session.tell(f"Removed the selection {gone.name}",
                         undo=lambda: selections.save(gone.person_id, gone.name, gone.images, gone.origin))
    if explore.saved == selection_id:
        explore.saved = None


def label(explore: Explore, word: str) -> None:
    """Gives every selected image this label; a word that is in no vocabulary becomes a term of our own."""
    who, ids = explore.session.who_or_fail(), explore.selected_ids()
    if not len(ids):
        raise fail("selection", "holds no images", "select some first")
    workspace, term = explore.app.workspace, term_for(explore.session, word)
    run = explore.atlas.run
    event = workspace.labels.label(who.id, ids, term.id, why="bulk", run_id=run.id if run else None,
                                   rule={"selection": dict(explore.selection.origin)})
    explore.session.changed(images=False)
    explore.session.tell(f"Labelled {len(ids):,} images {term.name}",
                         undo=lambda: workspace.labels.undo(who.id, event))


def term_for(session: Session, word: str) -> Term:
    """The term with this name or path (parts parted by " > "), made where it is new."""
    path = tuple(part.strip() for part in word.split(">") if part.strip())
    if not path:
        raise fail("label", "is empty", "type a word or choose a term")
    for term in all_terms(session.app).values():
        if path in (term.path, (term.name,)):
            return term
    vocabularies = session.workspace.vocabularies
    made = vocabularies.add(OWN_WORDS, [NewTerm(path[:depth]) for depth in range(1, len(path) + 1)])
    session.changed(images=False)
    return next(term for term in vocabularies.terms(made.id) if term.path == path)


def split_off(explore: Explore) -> Run:
    """A new run in which the selected images are a cluster of their own; it becomes the one shown."""
    atlas, positions = explore.atlas, explore.selection.positions
    if atlas.run is None:
        raise fail("run", "there is none to split", "cluster the images first, in Library")
    positions = positions[atlas.labels[positions] >= 0]
    if not len(positions):
        raise fail("selection", "holds no image of this run", "select some first")
    runs, before = explore.app.workspace.runs, explore.run
    made = split_run(explore.app.workspace, atlas, positions, explore.session.who_or_fail())
    explore.session.changed(images=False)
    explore.run = made.id

    def undo() -> None:
        runs.delete(made.id)
        runs.choose(atlas.run.id)
        explore.run = before

    explore.session.tell(f"Split {len(positions):,} images off as cluster {atlas.clusters}", undo=undo)
    return made


def split_run(workspace: Workspace, atlas: Atlas, positions: np.ndarray, who: Person) -> Run:
    """Derived from the atlas's run: sizes and mixtures are counted, for no model has seen this cluster."""
    labels, probability = atlas.labels.copy(), atlas.probability.copy()
    labels[positions], probability[positions] = atlas.clusters, 1.0
    known, count = labels >= 0, atlas.clusters + 1
    groups, weights = counted_shares(labels[known], atlas.columns.group_ids[known], count)
    parts = {"image_ids": atlas.columns.ids[known], "labels": labels[known], "probability": probability[known],
             "group_ids": groups, "weights": weights}
    name = f"{atlas.run.name}, {len(positions):,} split off"
    new = NewRun(name, atlas.run.model, atlas.run.features, atlas.run.parameters,
                 {**atlas.run.provenance, "split_from": atlas.run.id, "split_by": who.name},
                 {**atlas.run.summary, "clusters": count, "derived": True})
    return workspace.runs.add(new, parts, counted_clusters(labels[known], count))


def accept_suggestions(explore: Explore, images: Iterable[int]) -> None:
    """Gives images without a label what the model suggests for each, as acts that say so."""
    who, found, log = explore.session.who_or_fail(), suggestions(explore.app), explore.app.workspace.labels
    if found is None:
        raise fail("suggestions", "nothing was learnt yet", "label images of two terms, then press r in Learn")
    open_ = np.setdiff1d(np.array(sorted(set(images)), np.int64), log.current()[0])
    places = np.flatnonzero(np.isin(found.image_ids, open_))
    if not len(places):
        raise fail("suggestions", "none of these images waits for a label", "select others")
    numbers = log.act_together(who.id, suggestion_acts(found, places, {"accepted_in": "explore"}))
    explore.session.changed(images=False)
    explore.session.tell(f"Accepted {len(places):,} suggestions",
                         undo=lambda: [log.undo(who.id, number) for number in reversed(numbers)])
