// Marked tiles: a click marks one, shift-click a range, and all marks can be inverted.

import {h} from "../core/element.js"

// `grid` contains elements with data-id; `changed` is called after every change.
export function marksOf(grid, changed) {
  const marked = new Set()
  let last = null
  const ids = () => [...grid.children].map((tile) => Number(tile.dataset.id))

  function draw() {
    for (const tile of grid.children) {
      const on = marked.has(Number(tile.dataset.id))
      tile.classList.toggle("marked", on)
      tile.setAttribute("aria-selected", String(on))
    }
    changed()
  }

  function turn(id, until) {
    const all = ids(), at = all.indexOf(id)
    const from = until && all.includes(last) ? all.indexOf(last) : at
    const on = !marked.has(id)
    for (const one of all.slice(Math.min(from, at), Math.max(from, at) + 1)) on ? marked.add(one) : marked.delete(one)
    last = id
    draw()
  }

  return {
    draw, turn,
    has: (id) => marked.has(id),
    add(some) { for (const id of some) marked.add(id); draw() },
    flip(id) { marked.has(id) ? marked.delete(id) : marked.add(id); draw() },
    // Of the images `among`, exactly these are marked.
    choose(some, among) { for (const id of among) marked.delete(id); for (const id of some) marked.add(id); draw() },
    get size() { return marked.size },
    get list() { return [...marked] },
    clear() { marked.clear(); last = null; draw() },
    invert() { for (const id of ids()) marked.has(id) ? marked.delete(id) : marked.add(id); draw() },
    // After a redraw: keeps the marks of images that are shown or in `others`.
    keep(others = []) { const all = new Set([...ids(), ...(others ?? [])]); for (const id of marked) if (!all.has(id)) marked.delete(id); draw() },
  }
}

// Dragging over tiles: `painted(ids)` gets all tiles when the button is released. A press on one tile stays a click.
export function drags(grid, painted) {
  let passed = null
  const under = (event) => grid.getRootNode().elementFromPoint(event.clientX, event.clientY)?.closest(".tile")
  const note = (tile) => {
    if (!tile || !passed || passed.includes(tile)) return
    passed.push(tile)
    if (passed.length > 1) for (const one of passed) one.classList.add("passed")
  }
  grid.addEventListener("pointerdown", (event) => { if (event.button === 0 && !event.shiftKey) { passed = []; note(under(event)) } })
  grid.addEventListener("pointermove", (event) => { if (passed && event.buttons) note(under(event)) })
  const over = () => {
    const tiles = passed ?? []
    passed = null
    for (const tile of tiles) tile.classList.remove("passed")
    if (tiles.length > 1) painted(tiles.map((tile) => Number(tile.dataset.id)))
  }
  grid.addEventListener("pointerup", over)
  grid.addEventListener("pointerleave", over)
}

export const thumbnail = (id, size, version) => `/thumbnails/image/${id}/${size}.jpg?v=${version}`

export function tileOf(id, title, done, picture, onclick, ...parts) {
  return h("div", {class: done ? "tile done" : "tile", role: "option", tabindex: "-1", "data-id": id, "aria-selected": "false", "aria-label": title, onclick},
    h("img", {src: picture, alt: "", draggable: "false"}), parts)
}
