"""The word for a group of images on screen: dive, album, or both if a workspace has both."""

from collections.abc import Iterable
from dataclasses import dataclass

from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.cache import IMAGES
from benthoscope.engine.exchange.image_import.import_plan import ALBUMS, CAMPAIGN
from benthoscope.engine.workspace.library import Library


@dataclass(frozen=True)
class GroupWords:
    singular: str
    plural: str
    track: str  # name of the order of its images
    map: str  # title of its map

    @property
    def heading(self) -> str:
        """The word with a capital letter."""
        return self.singular.capitalize()


WORDS = {
    frozenset({CAMPAIGN}): GroupWords("dive", "dives", "Along the track", "Track"),
    frozenset({ALBUMS}): GroupWords("album", "albums", "In the order taken", "Map"),
}
EITHER = GroupWords("dive or album", "dives and albums", "In the order taken", "Map")


def words_of(kinds: Iterable[str]) -> GroupWords:
    """The words for collections of these kinds."""
    return WORDS.get(frozenset(kinds), EITHER)


def group_words(app: AppState) -> GroupWords:
    """The words for this workspace. Empty collections count only if no collection contains images."""
    return app.cached("group words", lambda: _read(app), IMAGES)


def words_of_group(app: AppState, group_id: int) -> GroupWords:
    """The words for the collection of one group."""
    library = app.workspace.library
    kinds = app.cached("kinds of groups", lambda: _kinds_of_groups(library), IMAGES)
    return words_of([kinds[group_id]]) if group_id in kinds else group_words(app)


def _kinds_of_groups(library: Library) -> dict[int, str]:
    kinds = {collection.id: collection.kind for collection in library.collections()}
    return {group.id: kinds[group.collection_id] for group in library.groups()}


def _read(app: AppState) -> GroupWords:
    library = app.workspace.library
    kinds = {collection.id: collection.kind for collection in library.collections()}
    filled = {summary.group.collection_id for summary in library.summaries() if summary.images}
    return words_of({kinds[number] for number in filled} or kinds.values())
