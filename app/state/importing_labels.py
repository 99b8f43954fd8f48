"""Labels on their way in: files that came through the browser, looked at before anything is stored."""

from collections.abc import Sequence
from typing import Any

from app.state.exporting import incoming_folder
from app.state.job_form import Field, Recipe, Values
from app.state.session import Session
from engine.jobs.import_labels import import_labels
from engine.problems import fail
from engine.progress import Progress

MOST = 8  # problems shown before an import; all of them are in Library afterwards


class Rehearsal:
    """What a dry run tells its progress to: nobody."""

    def progress(self, done: float, total: float | None = None, message: str = "", **figures: Any) -> None:
        pass

    def on_step(self, progress: Progress) -> None:
        pass

    def check(self) -> None:
        pass


def importing(session: Session, tokens: Sequence[str]) -> Recipe:
    """The form for an import of these files."""
    app = session.app
    files = [str(_place(session, token)) for token in tokens]
    if not files:
        raise fail("import", "no file was chosen", "choose one or several")
    words = [("", "Look in all"), *((found.name, found.name) for found in app.workspace.vocabularies.all())]
    collections = [("", "All collections"), *((one.name, one.name) for one in app.workspace.library.collections())]
    fields = (
        Field("vocabulary", "Vocabulary", "Where the names of the labels are looked for.", "choice", "", tuple(words)),
        Field("add_terms", "Add unknown labels", "Labels nobody knows yet become terms of that vocabulary; otherwise "
              "they are listed and left out.", "switch", False),
        Field("replace", "Let the files win", "Where an image has another label. Its history keeps the old one.",
              "switch", False),
        Field("collection", "Images", "Only images of this collection are meant.", "choice", "", tuple(collections)),
        Field("image_column", "Column of images", "For tables where the guess is wrong.", "text", "", more=True),
        Field("label_column", "Column of labels", "For tables where the guess is wrong.", "text", "", more=True),
    )
    names = ", ".join(token.rpartition("/")[2] for token in tokens)
    return Recipe("Import labels", f"From {names}. Nothing is overwritten: labels become acts in the history that "
                  "tell where they come from, and can be taken back.", "Import", fields,
                  lambda values: _preview(session, files, values),
                  lambda values: [("import labels", _parameters(session, files, values), f"Import {names}")])


def _preview(session: Session, files: Sequence[str], values: Values) -> str:
    """What would come of it, by a dry run."""
    told = import_labels(Rehearsal(), session.workspace, **_parameters(session, files, values), dry_run=True)
    lines = [f"{found['file']}: {found['kind']}, {found['labels']:,} labels" for found in told["files"]]
    lines.append(f"{told['labels']:,} labels of images and {told['parts']:,} of parts would be stored; "
                 f"{told['already_there']:,} are there already.")
    lines += [f"{told['kept']:,} images have another label, which they keep."] if told["kept"] else []
    lines += [f"{told['replaced']:,} images would get another label."] if told["replaced"] else []
    lines += [f"New terms: {', '.join(told['added_terms'][:MOST])}"] if told["added_terms"] else []
    problems = [*told["losses"], *told["problems"]]
    return "\n".join([*lines, *(f"· {line}" for line in problems[:MOST]),
                      *([f"and {len(problems) - MOST:,} more"] if len(problems) > MOST else [])])


def _parameters(session: Session, files: Sequence[str], values: Values) -> dict[str, Any]:
    session.who_or_fail()
    columns = {values[f"{name}_column"].strip(): name for name in ("image", "label")}
    return {"files": list(files), "person": session.person, "vocabulary": values["vocabulary"] or None,
            "add_terms": values["add_terms"], "replace": values["replace"], "collection": values["collection"] or None,
            "mapping": {column: name for column, name in columns.items() if column} or None}


def _place(session: Session, token: str) -> Any:
    """The file a token stands for, if it lies where such files lie."""
    folder = incoming_folder(session.app)
    path = (folder / token).resolve()
    if not path.is_relative_to(folder.resolve()) or not path.is_file():
        raise fail("import", f"no file '{token}'", "choose it again")
    return path
