"""What the view models of all pages have in common."""

import param

from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.required import required
from benthoscope.app.session.session import Session


class ViewModel(param.Parameterized):
    """The state of one page in one tab."""

    session = required(Session, doc="The tab.")

    @property
    def app(self) -> AppState:
        return self.session.app
