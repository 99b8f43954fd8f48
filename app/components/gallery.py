"""A grid of any number of images, with a viewer for one of them."""

import param

from benthoscope.app.components.base import ImageView

TILE_SIZES = (48, 480)  # pixels


class Gallery(ImageView):
    """The gallery. Sends {act: select, how, images}, {act: pin, id}, {act: clear}, and {act, id} for the commands in
    `menu`."""

    _module = "shared/gallery"
    _styles = ("parts", "explore", "term_field")

    mask = param.Parameter(default=None, doc="The images in the grid, packed; empty means all.")
    order_url = param.String(default="", doc="int32 positions in the order of the tiles; empty: by id.")
    group_url = param.String(default="", doc="int32 group of every image; empty: no headings.")
    group_names = param.List(default=[], doc="Names of the groups.")
    tile = param.Integer(default=112, bounds=TILE_SIZES, doc="Width of a tile in pixels.")
    pinned = param.Integer(default=0, doc="Id of the image that similarity is measured to.")
    menu = param.List(default=[], doc="[act, words] of more commands in the menu of one image.")
    empty = param.String(default="No images here.", doc="Text shown without images.")
