// While a key is held, every tile that the pointer crosses or the arrow keys reach is labelled. Only the centre of a tile
// counts, so that the pointer can pass between tiles.

const EDGE = 0.22 // share of a tile on each side that does not count

// `grid` contains elements with data-id. `pointed(tile)` is called with the current tile or null; `swept(ids)` when the
// key is released.
export function sweeps(grid, {pointed, swept}) {
  let at = null
  let code = null // code of the held key
  let touched = new Set()

  const tileAt = (x, y) => grid.getRootNode().elementFromPoint(x, y)?.closest(".tile") ?? null
  function inMiddle(tile, x, y) {
    const {left, top, width, height} = tile.getBoundingClientRect()
    const within = (place, size) => place > EDGE * size && place < (1 - EDGE) * size
    return within(x - left, width) && within(y - top, height)
  }

  function point(tile) {
    if (tile === at) return
    at = tile
    pointed(at)
  }

  function touch(tile) {
    touched.add(tile)
    tile.classList.add("passed")
  }

  grid.addEventListener("pointermove", (event) => {
    const passed = event.getCoalescedEvents?.() ?? []
    for (const {clientX: x, clientY: y} of passed.length ? passed : [event]) {
      const tile = tileAt(x, y)
      point(tile)
      if (code && tile && inMiddle(tile, x, y)) touch(tile)
    }
  })
  grid.addEventListener("pointerleave", () => point(null))

  function end(keep = true) {
    const ids = [...touched].filter((tile) => grid.contains(tile)).map((tile) => Number(tile.dataset.id))
    for (const tile of touched) tile.classList.remove("passed")
    touched = new Set()
    code = null
    if (keep && ids.length) swept(ids)
  }

  return {
    end,
    get at() { return at },
    get on() { return code !== null },
    isHeld: (event) => event.code === code,
    begin(event) {
      code = event.code
      touch(at)
    },
    // Moves one tile in the direction of an arrow key, or to the first tile.
    step(key) {
      const tiles = [...grid.children]
      const columns = tiles.filter((tile) => tile.offsetTop === tiles[0]?.offsetTop).length
      const by = {ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns}[key]
      const next = tiles[grid.contains(at) ? tiles.indexOf(at) + by : 0]
      if (!next) return
      next.focus({preventScroll: true})
      next.scrollIntoView({block: "nearest"})
      point(next)
      if (code) touch(next)
    },
  }
}
