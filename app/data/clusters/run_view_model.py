"""The view model of pages that show the images of one run."""

import param

from benthoscope.app.data.clusters.clustered_images import Atlas, atlas_of
from benthoscope.app.session.view_model import ViewModel


class RunViewModel(ViewModel):
    run = param.Integer(default=None, allow_None=True, doc="Id of the run; None is the current one.")

    @property
    def atlas(self) -> Atlas:
        return atlas_of(self.app, self.run)
