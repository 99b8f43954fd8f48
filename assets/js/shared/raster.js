// Draws up to millions of points on a canvas: counts and colours are summed per pixel, then shaded.
// A million points take about 20 ms on one core, so neither WebGL nor drawing on the server is needed.

const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16))

export function palette(colours, unknown) {
  const table = new Uint8Array(65536 * 3)
  const last = rgb(unknown)
  for (let code = 0; code < 65536; code++) table.set(last, code * 3)
  colours.forEach((colour, code) => table.set(rgb(colour), code * 3))
  return table
}

export class Raster {
  constructor() { this.width = this.height = 0 }

  resize(width, height) {
    if (width === this.width && height === this.height) return
    this.width = width
    this.height = height
    this.image = new ImageData(width, height)
    this.sums = new Float32Array(width * height * 4) // red, green, blue, count
    this.owner = new Int32Array(width * height)       // last point drawn at each pixel, for the pointer
  }

  // `place` maps data to pixels: x * sx + ox. Points are drawn in two layers, background and front.
  // `grow` enlarges the points of a picture with more pixels than the screen.
  draw({x, y, stride, count, missing, place, codes, table, shown, front, back, grow = 1}) {
    this.image.data.fill(0)
    this.owner.fill(-1)
    const any = front !== null
    const visible = this.visible({x, y, stride, count, missing, place, shown})
    const radius = Math.round((visible > 120000 ? 0 : visible > 20000 ? 1 : visible > 3000 ? 2 : 3) * grow)
    this.radius = radius
    if (any) this.layer({x, y, stride, count, missing, place, codes, table, shown, only: front, wanted: 0, radius, back, strength: 0.34})
    this.layer({x, y, stride, count, missing, place, codes, table, shown, only: front, wanted: 1, radius, back: null, strength: 1})
    return this.image
  }

  visible({x, y, stride, count, missing, place, shown}) {
    const {sx, ox, sy, oy} = place
    let seen = 0
    for (let at = 0, from = 0; at < count; at++, from += stride) {
      if ((shown && !shown[at]) || missing(x, from)) continue
      const px = x[from] * sx + ox, py = y[from + 1] * sy + oy
      if (px >= 0 && px < this.width && py >= 0 && py < this.height) seen++
    }
    return seen
  }

  layer({x, y, stride, count, missing, place, codes, table, shown, only, wanted, radius, back, strength}) {
    const {sx, ox, sy, oy} = place, {width, height, sums, owner} = this
    sums.fill(0)
    let most = 0
    for (let at = 0, from = 0; at < count; at++, from += stride) {
      if ((shown && !shown[at]) || (only && only[at] !== wanted) || missing(x, from)) continue
      const px = (x[from] * sx + ox) | 0, py = (y[from + 1] * sy + oy) | 0
      if (px < radius || px >= width - radius || py < radius || py >= height - radius) continue
      const code = codes[at] * 3
      const red = table[code], green = table[code + 1], blue = table[code + 2]
      for (let dy = -radius; dy <= radius; dy++) {
        for (let dx = -radius; dx <= radius; dx++) {
          if (radius > 1 && dx * dx + dy * dy > radius * radius + 1) continue
          const pixel = (py + dy) * width + px + dx, to = pixel * 4
          sums[to] += red
          sums[to + 1] += green
          sums[to + 2] += blue
          if (++sums[to + 3] > most) most = sums[to + 3]
          owner[pixel] = at
        }
      }
    }
    this.shade(most, back, strength)
  }

  // Opacity grows with the logarithm of the count, so that single points stay visible beside many.
  shade(most, back, strength) {
    const {sums} = this, data = this.image.data
    const scale = most > 1 ? 0.45 / Math.log(most) : 0
    for (let to = 0; to < sums.length; to += 4) {
      const count = sums[to + 3]
      if (!count) continue
      const alpha = (most > 1 ? 0.55 + scale * Math.log(count) : 0.92) * strength
      const stay = (data[to + 3] / 255) * (1 - alpha), whole = alpha + stay
      for (let channel = 0; channel < 3; channel++) {
        const colour = back ? (sums[to + channel] / count) * 0.25 + back[channel] * 0.75 : sums[to + channel] / count
        data[to + channel] = (colour * alpha + data[to + channel] * stay) / whole
      }
      data[to + 3] = whole * 255
    }
  }

  // The point at a pixel or up to `reach` pixels from it; -1 if there is none.
  at(px, py, reach = 5) {
    for (let far = 0; far <= reach; far++) {
      for (let dy = -far; dy <= far; dy++) {
        for (let dx = -far; dx <= far; dx += Math.abs(dy) === far ? 1 : 2 * far || 1) {
          const x = (px + dx) | 0, y = (py + dy) | 0
          if (x < 0 || y < 0 || x >= this.width || y >= this.height) continue
          const owner = this.owner[y * this.width + x]
          if (owner >= 0) return owner
        }
      }
    }
    return -1
  }
}

// Points inside a polygon in pixels: the polygon is painted, and each point looks up its pixel.
export function inside(polygon, {x, y, stride, count, missing, place, shown, width, height}) {
  const canvas = new OffscreenCanvas(width, height)
  const context = canvas.getContext("2d", {willReadFrequently: true})
  context.beginPath()
  polygon.forEach(([px, py], at) => (at ? context.lineTo(px, py) : context.moveTo(px, py)))
  context.closePath()
  context.fill()
  const painted = context.getImageData(0, 0, width, height).data
  const {sx, ox, sy, oy} = place
  const mask = new Uint8Array(count)
  for (let at = 0, from = 0; at < count; at++, from += stride) {
    if ((shown && !shown[at]) || missing(x, from)) continue
    const px = (x[from] * sx + ox) | 0, py = (y[from + 1] * sy + oy) | 0
    if (px >= 0 && px < width && py >= 0 && py < height && painted[(py * width + px) * 4 + 3] > 127) mask[at] = 1
  }
  return mask
}
