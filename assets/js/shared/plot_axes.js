// The axes of a scatter plot: round values along two sides, and the names of both axes.

import {s} from "../core/element.js"

const AXES = {left: 46, top: 40} // pixels beside the stage, as in the style sheet
const APART = {x: 48, y: 36} // least pixels between two values

// Round values from `low` to `high`, at most `most` of them.
export function ticks(low, high, most) {
  if (!(high > low) || most < 1) return {step: 1, values: []}
  const power = 10 ** Math.floor(Math.log10((high - low) / (most + 1)))
  const inside = (step) => Math.floor(high / step + 1e-9) - Math.ceil(low / step - 1e-9) + 1
  const step = [1, 2, 5, 10, 20].map((times) => times * power).find((each) => inside(each) <= most) ?? 50 * power
  const values = []
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high + step * 1e-9; at++) values.push(at * step)
  return {step, values}
}

// The text of a value, with as many digits as the step between two values needs.
export function tickText(value, step) {
  if (Math.abs(value) < step / 2) return "0"
  if (Math.abs(value) >= 1e5 || step < 1e-4) return value.toExponential(1)
  return value.toFixed(Math.max(0, -Math.floor(Math.log10(step) + 1e-9)))
}

// Lines, values and names. `place` maps steps to pixels of a stage of this size, and `scale` steps to coordinates.
export function axisParts(names, place, scale, {width, height}) {
  const {left, top} = AXES, foot = top + height
  const value = (axis, pixel) => scale.start[axis === "x" ? 0 : 1] + (pixel - place[`o${axis}`]) / place[`s${axis}`] * scale.unit
  const pixel = (axis, number) => (number - scale.start[axis === "x" ? 0 : 1]) / scale.unit * place[`s${axis}`] + place[`o${axis}`]
  const parts = [s("path", {class: "axis", d: `M${left} ${top}V${foot}H${left + width}`})]
  const along = (axis, from, to, length) => {
    const {step, values} = ticks(value(axis, from), value(axis, to), Math.floor(length / APART[axis]))
    for (const each of values) {
      const at = pixel(axis, each)
      parts.push(...(axis === "x"
        ? [s("path", {class: "axis", d: `M${left + at} ${foot}v4`}), s("text", {class: "tick middle", x: left + at, y: foot + 15}, tickText(each, step))]
        : [s("path", {class: "axis", d: `M${left} ${top + at}h-4`}), s("text", {class: "tick end", x: left - 7, y: top + at + 4}, tickText(each, step))]))
    }
  }
  along("x", 0, width, width)
  along("y", height, 0, height)
  parts.push(s("text", {class: "axisname middle", x: left + width / 2, y: foot + 31}, names[0]),
    s("text", {class: "axisname middle", transform: `translate(12 ${top + height / 2}) rotate(-90)`}, names[1]))
  return parts
}
