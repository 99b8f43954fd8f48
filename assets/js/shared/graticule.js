// Lines of latitude and longitude, a scale bar and a north arrow, for a map in metres around its centre.

import {s} from "../core/element.js"

export const METRES = 111320 // of a degree of latitude
const STEPS = [30, 10, 5, 2, 1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0.0002, 0.0001, 0.00005, 0.00001]

const LETTER = 6.5 // pixels of a letter of a label, at most
const TOOLS = {width: 250, height: 42} // pixels of the tool buttons in the upper left corner

export function graticule(view, place, width, height, [latitude, longitude]) {
  const east = METRES * Math.cos(latitude * Math.PI / 180)
  return [...lines("x", place.sx * east, place.ox, longitude, width, height), ...lines("y", place.sy * METRES, place.oy, latitude, width, height),
    scale(view.zoom, width, height), north(width)]
}

// Degree d of one axis is at pixel (d - middle) * each + zero.
function lines(axis, each, zero, middle, width, height) {
  const length = axis === "x" ? width : height
  const step = STEPS.findLast((degrees) => Math.abs(degrees * each) > 110) ?? STEPS[0]
  const ends = [(0 - zero) / each + middle, (length - zero) / each + middle].sort((a, b) => a - b)
  const parts = [], every = Math.max(1, Math.ceil(64 / Math.abs(step * each))) // labels would overlap on a map of the world
  for (let line = Math.ceil(ends[0] / step); line * step <= ends[1] && parts.length < 60; line++) {
    const degrees = line * step, at = (degrees - middle) * each + zero
    const [x1, y1, x2, y2] = axis === "x" ? [at, 0, at, height] : [0, at, width, at]
    const label = named(degrees, axis, step)
    parts.push(s("line", {x1, y1, x2, y2, class: "graticule"}))
    if (line % every) continue
    parts.push(axis === "x" ? below(at, label, width, height) : s("text", {x: at < TOOLS.height ? TOOLS.width : 4, y: at - 4, class: "degrees"}, label))
  }
  return parts
}

// The label of a meridian is on its right side, or on its left one where it would be cut off.
function below(at, label, width, height) {
  const isCut = at + 4 + label.length * LETTER > width
  return s("text", {x: isCut ? at - 4 : at + 4, y: height - 5, class: "degrees", "text-anchor": isCut ? "end" : null}, label)
}

function named(degrees, axis, step) {
  const turned = axis === "x" ? ((degrees + 540) % 360) - 180 : degrees
  const digits = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9))
  const side = axis === "x" ? (turned < 0 ? "W" : "E") : (turned < 0 ? "S" : "N")
  return `${Math.abs(turned).toFixed(digits)}° ${side}`
}

function scale(zoom, width, height) {
  const aim = 110 / zoom, power = 10 ** Math.floor(Math.log10(aim))
  const metres = [5, 2, 1].find((times) => times * power <= aim) * power
  const long = metres * zoom, x = width - long - 14, y = height - 16
  const label = metres >= 1000 ? `${metres / 1000} km` : metres >= 1 ? `${metres} m` : `${Math.round(metres * 100)} cm`
  return s("g", {class: "scale"}, s("path", {d: `M${x} ${y - 5}V${y}H${x + long}V${y - 5}`}),
    s("text", {x: x + long / 2, y: y - 7}, label))
}

function north(width) {
  return s("g", {class: "north", transform: `translate(${width - 22} 30)`}, s("path", {d: "M0 -14L6 6L0 2L-6 6Z"}),
    s("text", {y: 19}, "N"))
}
