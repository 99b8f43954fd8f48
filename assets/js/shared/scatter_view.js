// The geometry of the scatter plots, without a document: views, zoom, and free positions for pies.
// A view is {x, y, zoom}: the data coordinates of the centre, and CSS pixels per unit. North is up.

export const PIE = 17 // radius of a pie in pixels
const TOP = 40 // pixels of the tool buttons
const FARTHEST = 6e6 // width of a map in metres when zoomed out completely
const DEEPEST = 2000 // largest zoom, relative to the view of all points

// The view of all points, and the limits of its zoom. `extent` is [west, east, south, north].
export function viewOfAll(extent, {width, height}, margin, geographic = false) {
  const [west, east, south, north] = extent
  const wide = Math.max(east - west, 1e-9), high = Math.max(north - south, 1e-9)
  const room = (pixels) => Math.max(pixels - 2 * margin, pixels / 3) // a low pane has little room besides its margins
  const zoom = Math.min(room(width) / wide, room(height) / high)
  return {
    view: {x: (west + east) / 2, y: (south + north) / 2, zoom},
    least: geographic ? Math.min(zoom / 4, width / FARTHEST) : zoom / 4,
    most: zoom * DEEPEST,
  }
}

// The transformation from data to pixels, px = x * sx + ox. `scale` is the number of device pixels per CSS pixel.
export function transformOf({x, y, zoom}, {width, height}, scale = 1) {
  return {sx: zoom * scale, ox: (width / 2 - x * zoom) * scale, sy: -zoom * scale, oy: (height / 2 + y * zoom) * scale}
}

export const toPixel = ({sx, ox, sy, oy}, [x, y]) => [x * sx + ox, y * sy + oy]
export const toData = ({sx, ox, sy, oy}, [px, py]) => [(px - ox) / sx, (py - oy) / sy]

// Whether a point lies in a box of pixels, {left, top, width, height}. `xy` has the coordinates of the points in turn.
export function hasPoint(xy, transform, {left, top, width, height}) {
  for (let at = 0; at < xy.length; at += 2) {
    const [px, py] = toPixel(transform, [xy[at], xy[at + 1]])
    if (px >= left && px <= left + width && py >= top && py <= top + height) return true
  }
  return false
}

// The view after a zoom at a pixel, whose data point stays where it is.
export function zoomed(view, factor, pixel, size, {least, most}) {
  const [x, y] = toData(transformOf(view, size), pixel)
  const zoom = Math.min(Math.max(view.zoom * factor, least), most)
  const change = view.zoom / zoom
  return {zoom, x: x + (view.x - x) * change, y: y + (view.y - y) * change}
}

// The view after its content was dragged by this many pixels.
export function dragged(view, dx, dy) {
  return {...view, x: view.x - dx / view.zoom, y: view.y + dy / view.zoom}
}

// The nearest free position for a pie, searched on growing circles. `occupied` are the positions of the others.
export function freePosition([x, y], occupied, crowded, {width, height}) {
  const wide = crowded ? 2 * PIE + 4 : 92, high = crowded ? 2 * PIE + 4 : 2 * PIE + 20
  for (let ring = 0; ring < 14; ring++) {
    for (let turn = 0; turn < Math.max(1, ring * 8); turn++) {
      const angle = turn / Math.max(1, ring * 8) * 2 * Math.PI - Math.PI / 4, distance = 24 + ring * 22
      const px = x + distance * Math.cos(angle), py = y + distance * Math.sin(angle)
      if (px < PIE + 24 || px > width - 40 || py < PIE + TOP || py > height - PIE - 4) continue
      if (!occupied.some(([a, b]) => Math.abs(a - px) < wide && Math.abs(b - py) < high)) return [px, py]
    }
  }
  return [x + 24, y - 24]
}

// How a click or a drawn shape changes the selection, by the modifier keys.
export function how(event) {
  if (event.shiftKey && (event.ctrlKey || event.metaKey)) return "intersect"
  if (event.shiftKey) return "add"
  return event.ctrlKey || event.metaKey || event.altKey ? "subtract" : "replace"
}
