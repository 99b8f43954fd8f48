// Marks of a plot: rows of BokehJS sources with the columns that identify what a mark stands for.

const FAR = 1e6 // pixels, more than a plot has
const ROUNDED = 4 // digits of a number that is read aloud

export const isMark = (renderer, columns) => columns.length > 0 && columns.every((column) => renderer.data_source?.data[column] !== undefined)

export const keyOf = (source, columns, at) => columns.map((column) => Number(source.data[column][at])).join()

// The selected marks of all sources, each once, as lists of numbers.
export function marksOf(renderers, columns) {
  const keys = new Set(renderers.flatMap(({data_source: source}) => source.selected.indices.map((at) => keyOf(source, columns, at))))
  return [...keys].map((key) => key.split(",").map(Number))
}

// All marks, with their panel and their place in the values of its axes.
export function marksWithPlaces(views, columns) {
  return views.flatMap((view, panel) => view.model.renderers.filter((renderer) => isMark(renderer, columns)).flatMap((renderer) => {
    const {data_source: source, glyph} = renderer, place = placeOf(glyph, source)
    return place ? [...source.data[columns[0]]].map((_, index) => ({view, panel, source, index, key: keyOf(source, columns, index), ...place(index)})) : []
  }))
}

// The middle of a rectangle or the place of a point, by row; null for other parts.
function placeOf(glyph, {data}) {
  const middle = (first, last, at) => (data[first.field][at] + data[last.field][at]) / 2
  if (glyph.type === "Quad") return (at) => ({x: middle(glyph.left, glyph.right, at), y: middle(glyph.bottom, glyph.top, at)})
  return glyph.x?.field ? (at) => ({x: data[glyph.x.field][at], y: data[glyph.y.field][at]}) : null
}

// The same mark in a plot that was drawn again: in the same panel, at the same place if several marks are equal.
export function sameMark(marks, {panel, key, x, y}) {
  const far = (one) => Math.abs(one.x - x) + Math.abs(one.y - y)
  return marks.filter((one) => one.panel === panel && one.key === key).reduce((best, one) => (best && far(best) <= far(one) ? best : one), null)
}

// The nearest mark of the same panel in the direction of an arrow key, in the same row or column if there is one; the first
// mark if there is none to start from.
export function nextMark(marks, from, [right, up]) {
  if (!from) return marks[0] ?? null
  const pixels = ({view: {frame}, x, y}) => [frame.x_scale.compute(x), frame.y_scale.compute(y)]
  const [startX, startY] = pixels(from)
  const cost = (one) => {
    const [x, y] = pixels(one)
    const along = (x - startX) * right - (y - startY) * up, across = Math.abs((x - startX) * up) + Math.abs((y - startY) * right)
    return along <= 0.5 ? Infinity : along + (across < 1 ? 0 : FAR + 3 * across)
  }
  return marks.filter((one) => one.panel === from.panel).map((one) => [cost(one), one]).reduce((best, next) => (next[0] < best[0] ? next : best), [Infinity, from])[1]
}

// The mark nearest to a position along the x axis.
export function nearestMark(marks, x) {
  return marks.reduce((best, one) => (best && Math.abs(best.x - x) <= Math.abs(one.x - x) ? best : one), null)
}

// The values that the pointer would show, as one sentence.
export function textOf(plot, source, at) {
  const tooltips = plot.toolbar.tools.map((tool) => tool.tooltips).find((one) => one && columnsIn(one).every((column) => source.data[column] !== undefined))
  if (!tooltips) return ""
  const rows = typeof tooltips === "string" ? [...tooltips.matchAll(/<td>(.*?):&nbsp;<\/td><td>(.*?)<\/td>/g)].map(([, title, value]) => [title, value]) : tooltips
  return rows.map(([title, value]) => `${title} ${filled(value, source, at)}`).join(", ")
}

const columnsIn = (tooltips) => [...String(tooltips).matchAll(/@(\w+)/g)].map(([, column]) => column)

function filled(value, source, at) {
  return value.replace(/@(\w+)(?:\{([^}]*)\})?/g, (_, column, form) => {
    const number = source.data[column][at]
    if (typeof number !== "number") return String(number)
    if (form?.includes("%T")) return new Date(number).toISOString().slice(0, 19).replace("T", " ")
    if (form?.includes("%")) return `${Number((100 * number).toPrecision(ROUNDED))} %`
    return Number.isNaN(number) ? "unknown" : String(Number(number.toPrecision(Number.isInteger(number) ? 15 : ROUNDED)))
  })
}
