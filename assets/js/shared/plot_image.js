// A scatter plot as a PNG picture: title, points, overlays, axes and legend on the ground of the page.

import {count} from "../core/format.js"

const SCALE = 2 // pixels of the picture for each pixel of the page
const TITLE = 34
const LEGEND = 190
const LINE = 18
const BORDER = 12
const MOST_LINES = 30 // of the legend; a lower plot gets more ground for them

// Paints the shapes and texts of an SVG element with their styles. `origin` is the point of the page at (0, 0).
function paintSvg(context, svg, origin) {
  const frame = svg.getBoundingClientRect()
  context.save()
  context.beginPath()
  context.rect(frame.left - origin.left, frame.top - origin.top, frame.width, frame.height)
  context.clip()
  for (const element of svg.querySelectorAll("path, line, polygon, circle, rect, text")) paintElement(context, element, origin)
  context.restore()
}

function paintElement(context, element, origin) {
  const style = getComputedStyle(element), matrix = element.getScreenCTM()
  if (!matrix || style.display === "none" || style.visibility === "hidden") return
  context.save()
  context.translate(-origin.left, -origin.top)
  context.transform(matrix.a, matrix.b, matrix.c, matrix.d, matrix.e, matrix.f)
  context.globalAlpha = Number(style.opacity)
  context.lineWidth = parseFloat(style.strokeWidth) || 1
  context.lineJoin = "round"
  context.fillStyle = style.fill
  context.strokeStyle = style.stroke
  if (element.tagName === "text") paintText(context, element, style)
  else {
    const path = shape(element)
    if (style.fill !== "none") { context.globalAlpha *= Number(style.fillOpacity); context.fill(path) }
    if (style.stroke !== "none") context.stroke(path)
  }
  context.restore()
}

function paintText(context, element, style) {
  context.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`
  context.textAlign = {middle: "center", end: "right"}[style.textAnchor] ?? "left"
  const [x, y] = ["x", "y"].map((name) => Number(element.getAttribute(name) ?? 0))
  if (style.stroke !== "none") context.strokeText(element.textContent, x, y)
  context.fillText(element.textContent, x, y)
}

function shape(element) {
  const number = (name) => Number(element.getAttribute(name) ?? 0)
  if (element.tagName === "path") return new Path2D(element.getAttribute("d") ?? "")
  if (element.tagName === "polygon") return new Path2D(`M${element.getAttribute("points")}Z`)
  const path = new Path2D()
  if (element.tagName === "circle") path.arc(number("cx"), number("cy"), number("r"), 0, 2 * Math.PI)
  else if (element.tagName === "rect") path.rect(number("x"), number("y"), number("width"), number("height"))
  else { path.moveTo(number("x1"), number("y1")); path.lineTo(number("x2"), number("y2")) }
  return path
}

// `element` is the plot, `stage` the part with the points, and `layers(context)` paints them in pixels of the stage.
export async function plotImage({element, stage, svgs, pictures, layers, title, legend}) {
  const whole = element.getBoundingClientRect(), inner = stage.getBoundingClientRect(), style = getComputedStyle(element)
  const axes = element.dataset.axes === "true"
  const origin = {left: whole.left, top: axes ? inner.top - BORDER / 2 : inner.top} // without the place of the buttons
  const side = legend.entries?.length || legend.ends ? LEGEND : 0
  const width = inner.right - whole.left + BORDER, listed = Math.min(shownEntries(legend).length, MOST_LINES)
  const height = Math.max((axes ? whole.bottom : inner.bottom) - origin.top, 24 + listed * LINE)
  const canvas = document.createElement("canvas")
  canvas.width = Math.round((width + side) * SCALE)
  canvas.height = Math.round((height + TITLE + BORDER) * SCALE)
  const context = canvas.getContext("2d"), variable = (name) => style.getPropertyValue(name).trim()
  context.scale(SCALE, SCALE)
  context.fillStyle = variable("--surface")
  context.fillRect(0, 0, width + side, height + TITLE + BORDER)
  context.fillStyle = variable("--text")
  context.font = `500 15px ${variable("--font")}`
  context.fillText(title, BORDER, 22, width + side - 2 * BORDER)
  context.translate(0, TITLE)
  context.save()
  context.translate(inner.left - origin.left, inner.top - origin.top)
  context.beginPath()
  context.rect(0, 0, inner.width, inner.height)
  context.clip()
  layers(context, SCALE)
  context.restore()
  for (const svg of svgs) paintSvg(context, svg, origin)
  for (const picture of pictures) paintPicture(context, picture, origin)
  if (side) paintLegend(context, legend, {x: width + 8, height}, variable)
  return new Promise((done) => { canvas.toBlob(done, "image/png") })
}

function paintPicture(context, picture, origin) {
  const box = picture.getBoundingClientRect(), image = picture.querySelector("img")
  if (!image?.complete || !image.naturalWidth) return
  const side = Math.min(image.naturalWidth, image.naturalHeight)
  const [x, y] = [box.left - origin.left, box.top - origin.top]
  context.drawImage(image, (image.naturalWidth - side) / 2, (image.naturalHeight - side) / 2, side, side, x, y, box.width, box.height)
  context.strokeStyle = picture.style.borderColor
  context.lineWidth = 2.5
  context.strokeRect(x + 1, y + 1, box.width - 2, box.height - 2)
}

const shownEntries = ({entries = [], chosen = []}) => entries.filter(({id}) => !chosen.length || chosen.includes(id))

function paintLegend(context, legend, {x, height}, variable) {
  const {title, ends, colours} = legend
  const text = (words, at, weight = 400, colour = "--text") => {
    context.fillStyle = variable(colour)
    context.font = `${weight} 12px ${variable("--font")}`
    context.fillText(words, x, at, LEGEND - 20)
  }
  text(title, 14, 500)
  if (ends) {
    const long = Math.min(160, height - 60), gradient = context.createLinearGradient(0, 24 + long, 0, 24)
    colours.forEach((colour, at) => gradient.addColorStop(at / Math.max(colours.length - 1, 1), colour))
    context.fillStyle = gradient
    context.fillRect(x, 24, 14, long)
    context.translate(20, 0)
    text(ends[1], 34)
    text(ends[0], 24 + long)
    context.translate(-20, 0)
    return
  }
  const listed = shownEntries(legend), room = Math.max(Math.floor((height - 24) / LINE), 1)
  const lines = listed.length > room ? listed.slice(0, room - 1) : listed
  lines.forEach(({colour, text: words, count: images}, at) => {
    const y = 24 + at * LINE
    context.fillStyle = colour
    context.beginPath()
    context.arc(x + 5, y + 6, 5, 0, 2 * Math.PI)
    context.fill()
    context.translate(16, 0)
    text(`${words} (${count(images)})`, y + 10)
    context.translate(-16, 0)
  })
  if (lines.length < listed.length) text(`and ${count(listed.length - lines.length)} more`, 24 + lines.length * LINE + 10, 400, "--text-soft")
}
