// A key held down names every tile the pointer touches, or the arrow keys move to, until it is let go. Only the middle
// of a tile counts: along the edges the pointer gets past those that are not meant.

const EDGE = 0.22 // of a tile, on each side

// `grid` holds elements with data-id; `pointed(tile)` is called with the tile under the pointer or the arrow keys, or
// null; `swept(ids)` once the key is let go.
export function sweeps(grid, {pointed, swept}) {
  let at = null
  let code = null // of the key held down
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
    // The tile that is one step away, or the first one: where the arrow keys lead.
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
