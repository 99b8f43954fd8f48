// Words for the groups of a collection, by its kind.

export const WORDS = {
  campaign: {one: "dive", many: "dives", One: "Dive", Many: "Dives"},
  albums: {one: "album", many: "albums", One: "Album", Many: "Albums"},
}
