// Lines that join the images of a dive in the order of time.

const BATCH = 400 // segments of one path: longer paths take a browser disproportionately long

// `lines` are indices of points, -1 where a line ends. A line also ends at a hidden point and at one without a position.
// Calls `move(x, y)` and `line(x, y)` in pixels; points in the pixel of the one before, and parts outside of the frame, are
// left out. Returns the number of segments.
export function walkLines(lines, {x, missing, shown, place, width, height}, move, line) {
  const {sx, ox, sy, oy} = place
  let begun = false, moved = false, lastX = 0, lastY = 0, segments = 0
  for (let at = 0; at < lines.length; at++) {
    const row = lines[at]
    if (row < 0 || missing(x, 2 * row) || (shown && !shown[row])) { begun = false; continue }
    const px = x[2 * row] * sx + ox, py = x[2 * row + 1] * sy + oy
    if (!begun) { begun = true; moved = false; lastX = px; lastY = py; continue }
    if ((px | 0) === (lastX | 0) && (py | 0) === (lastY | 0)) continue
    const outside = (px < 0 && lastX < 0) || (py < 0 && lastY < 0) || (px > width && lastX > width) || (py > height && lastY > height)
    if (outside) moved = false
    else {
      if (!moved) move(lastX, lastY)
      line(px, py)
      moved = true
      segments++
    }
    lastX = px
    lastY = py
  }
  return segments
}

export function drawLines(context, lines, frame, colour, thickness) {
  context.clearRect(0, 0, context.canvas.width, context.canvas.height)
  if (!lines?.length) return
  context.strokeStyle = colour
  context.lineWidth = thickness
  context.lineJoin = "round"
  let inBatch = 0, [lastX, lastY] = [0, 0]
  context.beginPath()
  walkLines(lines, frame, (px, py) => { context.moveTo(px, py); lastX = px; lastY = py }, (px, py) => {
    if (++inBatch > BATCH) {
      context.stroke()
      context.beginPath()
      context.moveTo(lastX, lastY)
      inBatch = 0
    }
    context.lineTo(px, py)
    lastX = px
    lastY = py
  })
  context.stroke()
}
