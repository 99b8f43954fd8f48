"""Boards that are worked by the keyboard: their scripts know which of what was typed has been done."""

from collections.abc import Mapping
from typing import Any

import param

from app.components.telling import Telling


class TellingInOrder(Telling):
    """`on_told` gives the parameters to be shown after a message. `heard`, the number of the last message done,
    whether it could be done or not, comes to the browser with them: until then the script knows that what it shows is
    about to change. (That a tab's messages are done in their order, one at a time, is the affair of app.lanes.)"""

    __abstract = True

    heard = param.Integer(default=0, doc="Number of the last message that was done.")

    def _handle_msg(self, told: Mapping[str, Any]) -> None:
        rest, shown = dict(told), {}
        number = int(rest.pop("nth"))
        try:
            shown = self.on_told(rest) or {}
        finally:
            self.param.update(**shown, heard=max(self.heard, number))
