"""The crowd as the one who asks sees it: campaigns, the link, how it goes, who answers, what came out."""

import param

from app.components.dialogs import ActingComponent


class CrowdBoard(ActingComponent):
    _module = "crowd_studio"
    _styles = ("parts", "runs", "crowd_studio")

    content = param.Dict(default={}, doc="What app.state.crowd_studio says.")
