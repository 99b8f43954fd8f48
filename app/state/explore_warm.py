"""What the first visitor of Explore would have to wait for, done while the server starts."""

from app.state import explore_views
from app.state.app_state import AppState
from app.state.explore import Explore
from app.state.session import Session

VIEWS = ("images", "colours", "order", "map", "plane", "cards", "bar")  # what fills arrays that all sessions share


def warm(app: AppState) -> None:
    if len(app.columns):
        explore = Explore(Session(app, "explore"))
        for view in VIEWS:
            getattr(explore_views, view)(explore)
