// A cluster's images as points; a line drawn round some of them marks those.

import {h} from "./dom.js"

const POINT = 2.6

// `drawn(ids)` gets what lies within the line; `marked(id)` tells what is marked already.
export function lassoPlane(drawn, marked) {
  const canvas = h("canvas", {class: "plane", role: "img", "aria-label": "The cluster along its two widest directions; draw a line round images to mark them"})
  let told = null
  let line = []

  const place = ([x, y]) => [x * canvas.clientWidth, (1 - y) * canvas.clientHeight]
  const at = (event) => [event.offsetX / canvas.clientWidth, 1 - event.offsetY / canvas.clientHeight]

  function draw() {
    const ratio = window.devicePixelRatio || 1, style = getComputedStyle(canvas)
    canvas.width = canvas.clientWidth * ratio
    canvas.height = canvas.clientHeight * ratio
    const ink = canvas.getContext("2d")
    ink.scale(ratio, ratio)
    const colours = ["--primary", "--text-soft", "--bad"].map((name) => style.getPropertyValue(name))
    told?.xy.forEach((point, i) => {
      const [x, y] = place(point)
      ink.globalAlpha = told.done[i] ? 0.35 : 0.8
      ink.fillStyle = marked(told.ids[i]) ? colours[2] : told.done[i] ? colours[1] : colours[0]
      ink.beginPath()
      ink.arc(x, y, POINT, 0, 7)
      ink.fill()
    })
    ink.globalAlpha = 1
    ink.strokeStyle = colours[2]
    ink.beginPath()
    line.map(place).forEach(([x, y], i) => (i ? ink.lineTo(x, y) : ink.moveTo(x, y)))
    ink.stroke()
  }

  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId)
    line = [at(event)]
    const moved = (next) => { line.push(at(next)); draw() }
    canvas.addEventListener("pointermove", moved)
    canvas.addEventListener("pointerup", () => {
      canvas.removeEventListener("pointermove", moved)
      const found = told.ids.filter((_, i) => within(told.xy[i], line))
      line = []
      if (found.length) drawn(found)
      draw()
    }, {once: true})
  })
  new ResizeObserver(() => draw()).observe(canvas)
  return {element: canvas, draw, show: (next) => { told = next; draw() }}
}

// Whether a point lies within a closed line: a ray from it crosses the line an odd number of times.
export function within([x, y], line) {
  let inside = false
  for (let i = 0, j = line.length - 1; i < line.length; j = i++) {
    const [xi, yi] = line[i], [xj, yj] = line[j]
    if (yi > y !== yj > y && x < ((xj - xi) * (y - yi)) / (yj - yi) + xi) inside = !inside
  }
  return inside
}
