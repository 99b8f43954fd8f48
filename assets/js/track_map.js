// A small map of all dives: equal distances north and east, a graticule in whole steps, a scale bar, north up.

import {h, s} from "./dom.js"
import {locator, placeName} from "./explore/ground.js"

const WIDTH = 420
const HEIGHT = 340
const MARGIN = 26
const KM_PER_DEGREE = 111.195
// Twelve hues that stay apart in both themes and for most colour-blind eyes; dives beyond that repeat them.
const HUES = ["#2a7fb8", "#d9762b", "#3a9d5d", "#b8558f", "#8a6fd1", "#b59a1c", "#1fa3a3", "#cf4b4b", "#6b8e23", "#4f6bd6", "#a0643c", "#7a8a99"]

export function trackMap(found) {
  const dives = found.collections.flatMap((collection) => collection.groups)
  const hue = new Map(dives.map((dive, at) => [dive.id, HUES[at % HUES.length]]))
  const placed = dives.filter((dive) => found.tracks[dive.id])
  const map = {colour: (id) => hue.get(id) ?? "transparent", point: () => {}, onpoint: () => {}, element: null}
  if (!placed.length) {
    map.element = h("aside", {class: "map card none"}, h("p", {class: "soft"}, "No positions: dives are drawn here once their images have latitude and longitude."))
    return map
  }
  const frame = framed(placed.map((dive) => found.tracks[dive.id]))
  const lines = new Map(placed.map((dive) => [dive.id, track(frame, found.tracks[dive.id], dive, hue.get(dive.id))]))
  map.point = (id) => {
    lines.forEach((line, own) => line.classList.toggle("faded", id !== null && own !== id))
    if (lines.has(id)) lines.get(id).parentNode.append(lines.get(id))
  }
  lines.forEach((line, id) => {
    line.addEventListener("mouseenter", () => { map.point(id); map.onpoint(id) })
    line.addEventListener("mouseleave", () => { map.point(null); map.onpoint(null) })
  })
  const svg = s("svg", {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `Map of ${placed.length} dives`},
    ...graticule(frame), s("g", {}, ...lines.values()), ...scaleBar(frame), north())
  map.element = h("aside", {class: "map card"}, svg,
    h("p", {class: "region"}, locator(frame.middle), h("span", {}, "Around ", placeName(frame.middle))))
  return map
}

// From degrees to pixels: kilometres from the middle, the longitudes shrunk by the cosine of the latitude.
function framed(tracks) {
  const latitudes = tracks.flatMap(([latitude]) => latitude)
  const longitudes = tracks.flatMap(([, longitude]) => longitude)
  const [south, north] = [Math.min(...latitudes), Math.max(...latitudes)]
  const [west, east] = [Math.min(...longitudes), Math.max(...longitudes)]
  const middle = [(south + north) / 2, (west + east) / 2]
  const shrink = Math.cos((middle[0] * Math.PI) / 180)
  const high = Math.max((north - south) * KM_PER_DEGREE, 0.02)
  const wide = Math.max((east - west) * KM_PER_DEGREE * shrink, 0.02)
  const scale = Math.min((WIDTH - 2 * MARGIN) / wide, (HEIGHT - 2 * MARGIN) / high) // pixels a kilometre
  return {scale, middle, shrink,
    x: (longitude) => WIDTH / 2 + (longitude - middle[1]) * KM_PER_DEGREE * shrink * scale,
    y: (latitude) => HEIGHT / 2 - (latitude - middle[0]) * KM_PER_DEGREE * scale}
}

function track(frame, [latitudes, longitudes], dive, colour) {
  const points = latitudes.map((latitude, at) => `${frame.x(longitudes[at]).toFixed(1)},${frame.y(latitude).toFixed(1)}`)
  const title = s("title", {})
  title.textContent = dive.name
  const small = points.length === 1 || length(points) < 6
  const dot = small ? s("circle", {cx: points[0].split(",")[0], cy: points[0].split(",")[1], r: 4, fill: colour}) : null
  const line = s("polyline", {points: points.join(" "), fill: "none", stroke: colour, "stroke-width": 2.2, "stroke-linejoin": "round"})
  const wide = s("polyline", {points: points.join(" "), fill: "none", stroke: "transparent", "stroke-width": 12})
  return s("g", {class: "track"}, title, wide, line, dot)
}

function length(points) {
  const pairs = points.map((point) => point.split(",").map(Number))
  const xs = pairs.map(([x]) => x)
  const ys = pairs.map(([, y]) => y)
  return Math.max(...xs) - Math.min(...xs) + Math.max(...ys) - Math.min(...ys)
}

function step(span, count) {
  const rough = span / count
  const power = 10 ** Math.floor(Math.log10(rough))
  return [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough)
}

function graticule(frame) {
  const spanY = HEIGHT / frame.scale / KM_PER_DEGREE
  const spanX = WIDTH / frame.scale / KM_PER_DEGREE / frame.shrink
  const size = step(Math.max(spanY, spanX), 5)
  const digits = Math.max(0, -Math.floor(Math.log10(size)))
  const named = (value, plus, minus) => `${Math.abs(value).toFixed(digits)}° ${value < 0 ? minus : plus}`
  const parts = []
  const steps = (middle, span) => {
    const first = Math.ceil((middle - span / 2) / size)
    const last = Math.floor((middle + span / 2) / size)
    return Array.from({length: Math.max(last - first + 1, 0)}, (_, at) => (first + at) * size)
  }
  const text = (attributes, value) => { const made = s("text", {class: "tick", ...attributes}); made.textContent = value; return made }
  for (const latitude of steps(frame.middle[0], spanY)) {
    const y = frame.y(latitude)
    parts.push(s("line", {class: "grid", x1: 0, x2: WIDTH, y1: y, y2: y}), text({x: 5, y: y - 3}, named(latitude, "N", "S")))
  }
  for (const longitude of steps(frame.middle[1], spanX)) {
    const x = frame.x(longitude)
    parts.push(s("line", {class: "grid", x1: x, x2: x, y1: 0, y2: HEIGHT}), text({x: x + 3, y: 12}, named(longitude, "E", "W")))
  }
  return parts
}

function scaleBar(frame) {
  const km = step(WIDTH / frame.scale / 4, 1.6)
  const pixels = km * frame.scale
  const label = s("text", {class: "tick", x: WIDTH - 12 - pixels / 2, y: HEIGHT - 16, "text-anchor": "middle"})
  label.textContent = km < 1 ? `${Math.round(km * 1000)} m` : `${km} km`
  return [s("path", {class: "scale", d: `M${WIDTH - 12 - pixels} ${HEIGHT - 14}v5h${pixels}v-5`}), label]
}

function north() {
  const letter = s("text", {class: "tick", x: 0, y: -10, "text-anchor": "middle"})
  letter.textContent = "N"
  return s("g", {transform: `translate(${WIDTH - 18} 34)`, class: "north", "aria-hidden": "true"}, s("path", {d: "M0 -7L5 8L0 5L-5 8Z"}), letter)
}
