// A line plot: axes in whole steps, a mark and its values under the pointer. Colours are custom properties, so that it
// follows the theme by itself.

import {h, s} from "./dom.js"

const LEFT = 64
const RIGHT = 14
const TOP = 12
const BOTTOM = 34

export function linePlot({points, x, y, width = 520, height = 220, steps = false, marks = false, logX = false, label, onpick}) {
  const shown = points.filter(([a, b]) => Number.isFinite(a) && Number.isFinite(b) && (!logX || a > 0))
  if (!shown.length) return h("p", {class: "soft nothing"}, "Nothing to draw yet.")
  const across = logX ? Math.log10 : (value) => value
  const spanX = span(shown.map(([a]) => across(a)), 0)
  const spanY = span(shown.map(([, b]) => b), 0.06)
  const px = (value) => LEFT + ((across(value) - spanX[0]) / (spanX[1] - spanX[0])) * (width - LEFT - RIGHT)
  const py = (value) => height - BOTTOM - ((value - spanY[0]) / (spanY[1] - spanY[0])) * (height - TOP - BOTTOM)
  const path = shown.map(([a, b], at) => {
    if (!at) return `M${px(a).toFixed(1)} ${py(b).toFixed(1)}`
    return steps ? `H${px(a).toFixed(1)}V${py(b).toFixed(1)}` : `L${px(a).toFixed(1)} ${py(b).toFixed(1)}`
  }).join("")
  const dot = s("circle", {r: 4, class: "dot", visibility: "hidden"})
  const told = text("told", LEFT + 6, TOP + 10, "", "start")
  const svg = s("svg", {viewBox: `0 0 ${width} ${height}`, class: "plot", role: "img", "aria-label": label},
    ...axisY(spanY, py, width, y), ...axisX(shown, spanX, px, height, width, x, logX), s("path", {class: "line", d: path}),
    ...(marks ? shown.map(([a, b, id]) => s("circle", {class: "mark", cx: px(a), cy: py(b), r: 4.5, onclick: onpick ? () => onpick(id) : null})) : []), dot, told)
  svg.addEventListener("pointermove", (event) => {
    const at = ((event.clientX - svg.getBoundingClientRect().left) / svg.getBoundingClientRect().width) * width
    const [a, b] = shown.reduce((best, point) => (Math.abs(px(point[0]) - at) < Math.abs(px(best[0]) - at) ? point : best))
    dot.setAttribute("cx", px(a))
    dot.setAttribute("cy", py(b))
    dot.setAttribute("visibility", "visible")
    told.textContent = `${x} ${short(a)}: ${short(b)}`
  })
  svg.addEventListener("pointerleave", () => { dot.setAttribute("visibility", "hidden"); told.textContent = "" })
  return svg
}

function span(values, room) {
  const [low, high] = [Math.min(...values), Math.max(...values)]
  const size = high - low || Math.abs(high) * 0.1 || 1
  return high === low ? [low - size / 2, high + size / 2] : [low - size * room, high + size * room]
}

const text = (kind, x, y, words, anchor) => {
  const made = s("text", {class: kind, x, y, "text-anchor": anchor})
  made.textContent = words
  return made
}

function ticks([low, high], count) {
  const rough = (high - low) / count
  const power = 10 ** Math.floor(Math.log10(rough))
  const size = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= rough)
  const first = Math.ceil(low / size)
  return Array.from({length: Math.max(0, Math.floor(high / size) - first + 1)}, (_, at) => Number(((first + at) * size).toPrecision(12)))
}

export const short = (value) => (Math.abs(value) >= 1e5 || (value !== 0 && Math.abs(value) < 1e-3)
  ? value.toExponential(2) : Number(value.toPrecision(5)).toLocaleString("en-GB", {maximumFractionDigits: 5}))

function axisY(spanY, py, width, name) {
  const lines = ticks(spanY, 4).flatMap((value) => [s("line", {class: "rule", x1: LEFT, x2: width - RIGHT, y1: py(value), y2: py(value)}),
    text("tick", LEFT - 6, py(value) + 4, short(value), "end")])
  const title = text("tick", 0, 0, name, "middle")
  title.setAttribute("transform", `translate(13 ${(py(spanY[0]) + py(spanY[1])) / 2}) rotate(-90)`)
  return [...lines, title]
}

function axisX(points, spanX, px, height, width, name, logX) {
  const values = logX ? [...new Set(points.map(([value]) => value))] : ticks(spanX, 6)
  return [...values.map((value) => text("tick", px(value), height - BOTTOM + 15, short(value), "middle")),
    text("tick", (LEFT + width - RIGHT) / 2, height - 4, name, "middle")]
}
