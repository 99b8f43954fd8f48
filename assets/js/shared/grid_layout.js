// Positions of the tiles of a list, with or without headings between groups; independent of the DOM.

const HEAD = 30 // pixels of a heading

// Tiles have at least the requested size and grow until a row is full.
export function layout(list, groups, {width, size: least, gap}) {
  const columns = Math.max(1, Math.floor((width - gap) / (least + gap)))
  const size = Math.floor((width - gap) / columns) - gap
  const step = size + gap
  const parts = groups ? split(list, groups) : [{from: 0, to: list.length, code: null}]
  let y = gap
  for (const part of parts) {
    part.y = y
    part.tiles = y + (part.code === null ? 0 : HEAD)
    y = part.tiles + Math.ceil((part.to - part.from) / columns) * step
  }
  return new Layout(parts, columns, step, size, gap, y)
}

// Consecutive tiles with the same group form one part.
function split(list, groups) {
  const parts = []
  for (let at = 0; at < list.length; at++) {
    const code = groups[list[at]]
    const last = parts[parts.length - 1]
    if (last && last.code === code) last.to = at + 1
    else parts.push({from: at, to: at + 1, code})
  }
  return parts
}

class Layout {
  constructor(parts, columns, step, size, gap, height) {
    Object.assign(this, {parts, columns, step, size, gap, height})
  }

  partOf(index) {
    return this.find((part) => part.from <= index)
  }

  find(passes) { // last part that passes, by binary search
    let low = 0, high = this.parts.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      passes(this.parts[middle]) ? low = middle : high = middle - 1
    }
    return this.parts[low]
  }

  place(index) {
    const part = this.partOf(index), at = index - part.from
    return [this.gap + (at % this.columns) * this.step, part.tiles + Math.floor(at / this.columns) * this.step]
  }

  top(index) {
    return this.parts.length && this.parts[this.parts.length - 1].to ? this.place(index)[1] : 0
  }

  // The first tile at or below y, and the one after the last above it.
  indexAt(y) {
    const part = this.find((known) => known.y <= Math.max(y, this.gap))
    if (!part) return 0
    const row = Math.max(0, Math.floor((y - part.tiles) / this.step))
    return Math.min(part.from + row * this.columns, part.to)
  }

  range(top, bottom) {
    const last = this.find((known) => known.y <= Math.max(bottom, this.gap))
    if (!last) return [0, 0]
    const rows = Math.ceil((bottom - last.tiles) / this.step)
    return [this.indexAt(top), Math.min(last.to, last.from + Math.max(rows, 0) * this.columns)]
  }

  headings(top, bottom) {
    return this.parts.filter((part) => part.code !== null && part.y < bottom && part.tiles + Math.ceil((part.to - part.from) / this.columns) * this.step > top)
      .map((part) => ({code: part.code, y: Math.min(part.y, part.tiles + Math.ceil((part.to - part.from) / this.columns) * this.step - HEAD), count: part.to - part.from}))
  }

  inside(left, top, right, bottom) {
    const [from, to] = this.range(top - this.step, bottom + this.step), tiles = []
    for (let index = from; index < to; index++) {
      const [x, y] = this.place(index)
      if (x < right && x + this.size > left && y < bottom && y + this.size > top) tiles.push(index)
    }
    return tiles
  }
}
