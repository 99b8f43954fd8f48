"""Acts of the label log in words, for histories and trails."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from app.state.app_state import AppState
from app.state.terms import all_terms
from engine.workspace.events import Event, undone_numbers
from engine.workspace.parts import parts_of
from engine.workspace.segment_labels import count_of, names_segments

WHY = {"manual": "by hand", "bulk": "of a selection", "review": "in review", "suggestion": "suggestion accepted",
       "crowd": "said by the crowd", "import": "imported", "verification": "verified", "resolved": "conflict settled",
       "audit": "after a check", "arrange": "clusters put right", "revert": "reverted", "undo": "taken back"}
KINDS = {"label": "named", "clear": "took the label away", "refuse": "refused", "part": "marked", "audit": "checked",
         "arrange": "rearranged", "revert": "reverted", "undo": "took back"}
PARTS = {"point": "points", "box": "boxes", "circle": "circles", "line": "lines", "outline": "outlines",
         "mask": "segments", "segment": "segments"}


def told(app: AppState, events: Iterable[Event], image: int | None = None) -> list[dict[str, Any]]:
    """Events as plain values, in their order; with an image, the parts of it that they mark."""
    names = all_terms(app)
    people = {person.id: person.name for person in app.workspace.people.all()}
    undone = undone_numbers(app.workspace.labels.events())
    return [{"number": event.number, "at": event.at, "who": event.rule.get("by") or people.get(event.person_id, ""),
             "what": _what(event, names, image), "why": _why(event), "images": event.count, "kind": event.kind,
             "undone": event.number in undone, "confidence": event.confidence, "run": event.run_id,
             "parts": _parts(event, image)} for event in events]


def _what(event: Event, names: Mapping[int, Any], image: int | None) -> str:
    term = names.get(event.term_id)
    word = term.name if term else ""
    if event.kind == "part":
        return f"marked {_counted(event, image)} as {word}"
    if event.kind == "undo":
        return f"took back act {event.undoes}"
    if event.kind == "revert":
        return f"brought back the labels of act {event.undoes}" if event.undoes else "took all labels away"
    if event.kind == "arrange":
        return f"{event.rule.get('act', 'moved')}: to cluster {event.rule.get('into', '?')}"
    if event.kind == "audit":
        share = 100 * event.rule["at_most"]
        return (f"checked {event.rule['checked']} of act {event.rule['about']}, wrong {event.rule['wrong']}, "
                f"at most {share:.2g} % wrong")
    return f"{KINDS[event.kind]} {word}".strip()


def _why(event: Event) -> str:
    """The reason, and where a file said it: which."""
    source = event.rule.get("source")
    return f"{WHY.get(event.why, event.why)}{f', {source}' if source else ''}"


def _counted(event: Event, image: int | None) -> str:
    shape = event.rule.get("shape", "point")
    if image is None:
        return f"{event.rule['segments']:,} segments" if names_segments(event) else PARTS.get(shape, shape)
    count = count_of(event, image) if names_segments(event) else Counter(p.image for p in parts_of(event))[image]
    return f"{count} {PARTS.get(shape, shape) if count != 1 else shape}"


def _parts(event: Event, image: int | None) -> list[dict[str, Any]]:
    if event.kind != "part" or image is None or names_segments(event):  # segments are shown as such
        return []
    return [{"shape": part.shape, "numbers": list(part.numbers)} for part in parts_of(event) if part.image == image]
