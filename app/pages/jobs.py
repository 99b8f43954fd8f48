"""The page stands in the navigation; what it shows follows."""

from app.components.notices import empty
from app.state.session import Session


def view(session: Session):
    return empty("jobs", "soon")
