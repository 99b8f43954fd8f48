"""The form for importing labels from uploaded files, with a preview by a dry run."""

from collections.abc import Sequence
from typing import Any

from benthoscope.app.components.forms import FormField, Recipe, Values
from benthoscope.app.pages.labels.export_form import incoming_folder
from benthoscope.app.session.session import Session
from benthoscope.engine.jobs.labels.import_labels import import_labels
from benthoscope.engine.problems import fail
from benthoscope.engine.progress import Progress

MOST = 8  # problems shown before an import; Library lists all afterwards


class Rehearsal:
    """No-op progress reporter for dry runs."""

    def progress(self, done: float, total: float | None = None, message: str = "", **figures: Any) -> None:
        pass

    def on_step(self, progress: Progress) -> None:
        pass


def importing(session: Session, tokens: Sequence[str]) -> Recipe:
    """The form for an import of these files."""
    app = session.app
    files = [str(_uploaded_file(session, token)) for token in tokens]
    if not files:
        raise fail("import", "no file was chosen", "choose one or more files")
    words = [
        ("", "All vocabularies"),
        *((vocabulary.name, vocabulary.name) for vocabulary in app.workspace.vocabularies.all()),
    ]
    collections = [
        ("", "All collections"),
        *((collection.name, collection.name) for collection in app.workspace.library.collections()),
    ]
    fields = (
        FormField(
            "vocabulary", "Vocabulary", "The vocabulary that the labels are matched with.", "choice", "", tuple(words)
        ),
        FormField(
            "add_terms",
            "Add unknown labels",
            "Add labels that are not in the vocabulary as new terms. Otherwise they are listed and not imported.",
            "switch",
            False,
        ),
        FormField(
            "replace",
            "Replace existing labels",
            "If an image has another label, use the one from the file. The history keeps the old label.",
            "switch",
            False,
        ),
        FormField(
            "collection",
            "Images",
            "Import labels only for images of this collection.",
            "choice",
            "",
            tuple(collections),
        ),
        FormField("image_column", "Column of images", "If the column was guessed wrongly.", "text", "", more=True),
        FormField("label_column", "Column of labels", "If the column was guessed wrongly.", "text", "", more=True),
    )
    names = ", ".join(token.rpartition("/")[2] for token in tokens)
    return Recipe(
        "Import labels",
        f"From {names}. The history keeps existing labels. It lists the imported labels with their source, and you "
        "can undo the import.",
        "Import",
        fields,
        lambda values: _preview(session, files, values),
        lambda values: [("import labels", _parameters(session, files, values), f"Import {names}")],
    )


def _preview(session: Session, files: Sequence[str], values: Values) -> str:
    """Lines that say what would be imported, from a dry run."""
    result = import_labels(Rehearsal(), session.workspace, **_parameters(session, files, values), dry_run=True)
    lines = [f"{source['file']}: {source['kind']}, {source['labels']:,} labels" for source in result["files"]]
    lines.append(
        f"{result['labels']:,} labels of images and {result['parts']:,} of parts would be imported; "
        f"{result['already_there']:,} exist already."
    )
    lines += [
        f"{count:,} of them are {status}: they keep this status and never count as labels by a person."
        for status, count in result["unconfirmed"].items()
    ]
    lines += [f"{result['kept']:,} images have another label and keep it."] if result["kept"] else []
    lines += [f"{result['replaced']:,} images would get a different label."] if result["replaced"] else []
    lines += [f"New terms: {', '.join(result['added_terms'][:MOST])}"] if result["added_terms"] else []
    problems = [*result["losses"], *result["problems"]]
    return "\n".join(
        [
            *lines,
            *(f"· {line}" for line in problems[:MOST]),
            *([f"and {len(problems) - MOST:,} more"] if len(problems) > MOST else []),
        ]
    )


def _parameters(session: Session, files: Sequence[str], values: Values) -> dict[str, Any]:
    session.require_person()
    columns = {values[f"{name}_column"].strip(): name for name in ("image", "label")}
    return {
        "files": list(files),
        "person": session.person,
        "vocabulary": values["vocabulary"] or None,
        "add_terms": values["add_terms"],
        "replace": values["replace"],
        "collection": values["collection"] or None,
        "mapping": {column: name for column, name in columns.items() if column} or None,
    }


def _uploaded_file(session: Session, token: str) -> Any:
    """Resolve an upload token to its file; raises if it is not in the upload folder."""
    folder = incoming_folder(session.app)
    path = (folder / token).resolve()
    if not path.is_relative_to(folder.resolve()) or not path.is_file():
        raise fail("import", f"there is no uploaded file '{token}'", "choose the file again")
    return path
