// The background of a map: coarse land, tiles of an allowed server, and a small map of the region.

import {h, s} from "../core/element.js"
import {METRES} from "./graticule.js"

const EQUATOR = 156543.034 // metres per pixel of tile 0/0/0
const DEEPEST = 19
const WIDE = 150000 // metres: in a narrower view the coarse coast would be visibly wrong
const INSET = {width: 108, height: 72, degrees: 60}

let land = null // rings of [longitude, latitude, longitude, ...], fetched once for a page

function rings() {
  land ??= fetch(new URL("../../maps/land.json", import.meta.url)).then((answer) => answer.ok ? answer.json() : [], () => [])
  return land
}

export class Ground {
  constructor(middle, tiles) {
    [this.latitude, this.longitude] = middle
    this.template = tiles
    this.east = METRES * Math.cos(this.latitude * Math.PI / 180)
    this.tiles = h("div", {class: "ground", "aria-hidden": "true"})
    this.land = s("svg", {class: "ground", "aria-hidden": "true"})
    this.shown = new Map()
  }

  async draw(place, zoom, width, height) {
    this.drawTiles(place, zoom, width, height)
    const wide = !this.template && width / zoom > WIDE
    const path = wide ? outline(await rings(), this.longitude, (degrees) => degrees * this.east * place.sx + place.ox,
      (degrees) => (degrees - this.latitude) * METRES * place.sy + place.oy, width, height) : ""
    this.land.setAttribute("viewBox", `0 0 ${width} ${height}`)
    this.land.replaceChildren(s("path", {d: path, class: "land"}))
  }

  // Tiles are in the Mercator projection and the map is not: each tile is stretched between its edges.
  drawTiles(place, zoom, width, height) {
    if (!this.template) return
    const level = Math.min(Math.max(Math.round(Math.log2(EQUATOR * Math.cos(this.latitude * Math.PI / 180) * zoom)), 0), DEEPEST)
    const many = 2 ** level
    const left = (x) => ((x / many * 360 - 180 - this.longitude) * this.east) * place.sx + place.ox
    const top = (y) => (unmercator(y / many) - this.latitude) * METRES * place.sy + place.oy
    const at = (px) => ((px - place.ox) / place.sx / this.east + this.longitude + 180) / 360 * many
    const down = (py) => mercator((py - place.oy) / place.sy / METRES + this.latitude) * many
    const wanted = new Map()
    for (let x = Math.floor(at(0)); x <= at(width); x++) {
      for (let y = Math.max(Math.floor(down(0)), 0); y <= Math.min(down(height), many - 1) && wanted.size < 100; y++) {
        const url = this.template.replace("{z}", level).replace("{x}", ((x % many) + many) % many).replace("{y}", y)
        wanted.set(`${level}/${x}/${y}`, {url, x1: left(x), x2: left(x + 1), y1: top(y), y2: top(y + 1)})
      }
    }
    for (const [key, image] of this.shown) if (!wanted.has(key)) { image.remove(); this.shown.delete(key) }
    for (const [key, {url, x1, x2, y1, y2}] of wanted) {
      const image = this.shown.get(key) ?? h("img", {src: url, alt: "", draggable: "false", referrerpolicy: "no-referrer", onerror: (event) => { event.target.hidden = true }})
      image.style.cssText = `left: ${x1}px; top: ${y1}px; width: ${x2 - x1}px; height: ${y2 - y1}px`
      if (!this.shown.has(key)) { this.shown.set(key, image); this.tiles.append(image) }
    }
  }
}

const mercator = (degrees) => {
  const sine = Math.sin(Math.min(Math.max(degrees, -85.05), 85.05) * Math.PI / 180)
  return 0.5 - Math.log((1 + sine) / (1 - sine)) / (4 * Math.PI)
}
const unmercator = (y) => Math.atan(Math.sinh(Math.PI * (1 - 2 * y))) * 180 / Math.PI

// The rings in the frame as one path; `x` takes degrees east of the centre, `y` degrees north of the equator.
function outline(rings, middle, x, y, width, height) {
  const parts = []
  for (const ring of rings) {
    for (const turn of [-360, 0, 360]) {
      const points = []
      let [left, right, top, bottom] = [Infinity, -Infinity, Infinity, -Infinity]
      for (let at = 0; at < ring.length; at += 2) {
        const px = x(ring[at] - middle + turn), py = y(ring[at + 1])
        points.push(`${px.toFixed(1)} ${py.toFixed(1)}`)
        left = Math.min(left, px); right = Math.max(right, px); top = Math.min(top, py); bottom = Math.max(bottom, py)
      }
      if (left < width && right > 0 && top < height && bottom > 0) parts.push(`M${points.join("L")}Z`)
    }
  }
  return parts.join("")
}

export function placeName([latitude, longitude]) {
  return `${Math.abs(latitude).toFixed(1)}° ${latitude < 0 ? "S" : "N"}, ${Math.abs(longitude).toFixed(1)}° ${longitude < 0 ? "W" : "E"}`
}

// A small map of the region around a place, with the place in its centre.
export function locator([latitude, longitude]) {
  const {width, height, degrees} = INSET
  const each = width / degrees, shrink = Math.max(Math.cos(latitude * Math.PI / 180), 0.2)
  const path = s("path", {class: "land"})
  rings().then((all) => path.setAttribute("d", outline(all, longitude, (east) => width / 2 + east * each * shrink,
    (north) => height / 2 - (north - latitude) * each, width, height)))
  const title = s("title", {}, `The region around ${placeName([latitude, longitude])}`)
  return s("svg", {class: "locator", viewBox: `0 0 ${width} ${height}`, width, height, role: "img"}, title,
    s("rect", {width, height, class: "sea"}), path, s("path", {class: "here", d: `M${width / 2 - 7} ${height / 2}h14M${width / 2} ${height / 2 - 7}v14`}),
    s("circle", {class: "here", cx: width / 2, cy: height / 2, r: 4}))
}
