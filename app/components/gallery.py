"""A grid of any number of images, with a viewer for one of them."""

import param

from app.components.telling import OfImages


class Gallery(OfImages):
    """Tells {act: select, how, images}, {act: pin, id}, {act: clear}."""

    _module = "explore/gallery"
    _styles = ("parts", "explore")

    mask = param.Parameter(default=None, doc="The images in the grid, packed; nothing means all.")
    order_url = param.String(default="", doc="int32 positions in the order of the tiles; empty: by id.")
    group_url = param.String(default="", doc="int32 group of every image; empty: no headings.")
    group_names = param.List(default=[], doc="Names of the groups.")
    tile = param.Integer(default=112, bounds=(48, 320), doc="Pixels of a tile.")
    pinned = param.Integer(default=0, doc="The image that likeness is measured to.")
    empty = param.String(default="No images here.", doc="What stands where there is none.")
