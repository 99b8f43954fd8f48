// The slider for the size of tiles. This browser remembers the size.

import {h, icon} from "../../core/element.js"

const KEPT = "bentho-review-tile"
const [LEAST, MOST] = [80, 1024] // pixels; the largest tiles fill a 4K screen with three columns
const USUAL = () => (window.innerWidth >= 1900 ? 168 : 104)
const STRETCH = 1.15 // tiles grow until a row is full

// `changed` is called when tiles need larger or smaller pictures.
export function tileSize(grid, changed) {
  let size = Math.min(Math.max(Number(localStorage.getItem(KEPT)) || USUAL(), LEAST), MOST)
  // Equal steps of the slider change the size by equal factors.
  const slider = h("input", {type: "range", min: 0, max: 100, "aria-label": "Size of tiles", title: "Size of tiles (+ and −)", oninput: () => set(LEAST * (MOST / LEAST) ** (slider.value / 100)),
    onpointerup: () => slider.blur()}) // so that the page hears its keys again
  const element = h("label", {class: "tilesize"}, icon("photo_size_select_large"), slider)

  function picture() {
    const pixels = size * STRETCH * window.devicePixelRatio
    return [128, 320].find((known) => pixels <= known) ?? 1024
  }

  function set(next) {
    const before = picture()
    size = Math.round(Math.min(Math.max(next, LEAST), MOST))
    localStorage.setItem(KEPT, String(size))
    apply()
    if (picture() !== before) changed()
  }

  function apply() {
    slider.value = String(Math.round(100 * Math.log(size / LEAST) / Math.log(MOST / LEAST)))
    slider.setAttribute("aria-valuetext", `${size} pixels`)
    grid.style.setProperty("--tile", `${size}px`)
  }

  apply()
  return {element, picture, step: (by) => set(size * 1.25 ** by)}
}
