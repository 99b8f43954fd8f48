// A grid of any number of images: only visible tiles exist, and they are reused.

import {h, whileShown} from "../core/element.js"
import {count} from "../core/format.js"
import {layout} from "./grid_layout.js"
import {typing} from "../shell/keyboard.js"
import {imageCard} from "./image_card.js"
import {menu} from "./menu.js"
import {how} from "./scatter_view.js"
import {Viewer} from "./viewer.js"
import {array, oncePerFrame, packedPositions, thumbnail, unpacked} from "../core/image_set_codec.js"

const TALLEST = 12e6 // maximum scrolled height in pixels: browsers stop near 33 million
const GAP = 6
const AHEAD = 1.25   // screens preloaded in the direction of scrolling
const BEHIND = 0.25

export function render({model}) {
  return new Gallery(model).element
}

export class Gallery {
  constructor(model) {
    this.model = model
    this.list = new Int32Array(0)
    this.tiles = new Map()  // index in the list: element
    this.spare = []
    this.focused = 0
    this.anchor = 0
    this.rangeEnd = -1
    this.virtual = 0
    this.build()
    this.redraw = oncePerFrame(() => this.draw())
    for (const name of ["ids_url", "order_url", "count", "group_url"]) model.on(name, () => this.load())
    for (const name of ["mask", "group_names"]) model.on(name, () => this.relist())
    model.on("selected", () => this.reselect())
    model.on("tile", () => this.resize())
    for (const name of ["code_url", "colours", "names", "version", "pinned"]) model.on(name, () => this.recolour())
    model.on("focus_id", () => this.reveal(model.focus_id))
    const resized = new ResizeObserver(() => this.resize())
    resized.observe(this.scroller)
    model.on("remove", () => { resized.disconnect(); this.viewer.close(); this.card.hide() })
    this.load()
  }

  build() {
    this.layer = h("div", {class: "layer"})
    this.spacer = h("div", {class: "spacer"})
    this.scroller = h("div", {class: "scroller", tabindex: "0", role: "listbox", "aria-multiselectable": "true",
      "aria-label": `${this.model.title}: arrows move, Space selects, Enter opens, Shift extends, Control A selects all, P sorts by similarity, Shift F10 opens a menu`}, this.layer, this.spacer)
    this.empty = h("p", {class: "empty", hidden: true}, this.model.empty)
    this.element = h("div", {class: "gallery"}, this.scroller, this.empty)
    this.viewer = new Viewer({
      step: (by) => this.step(by), version: () => this.model.version, shown: (id) => this.focusId(id),
      select: (id) => this.toggle(this.positionOf(id)), pin: (id) => this.model.send_msg({act: "pin", id}),
      selected: (id) => Boolean(this.selected?.[this.positionOf(id)]), colour: (id) => this.colourOf(this.positionOf(id)),
      run: () => this.model.run, accept: (id) => this.model.send_msg({act: "accept", id}),
      nameSegment: (id, number, word) => this.model.send_msg({act: "segment", id, number, word}),
    })
    this.menu = menu("Commands on the image", () => this.commands())
    this.card = imageCard({run: () => this.model.run, version: () => this.model.version})
    this.element.append(this.viewer.element, this.menu.element, this.card.element)
    this.scroller.addEventListener("scroll", () => { this.card.hide(); this.scrolled() }, {passive: true})
    this.scroller.addEventListener("contextmenu", (event) => this.openMenu(event))
    this.scroller.addEventListener("pointermove", (event) => this.pointed(event))
    this.scroller.addEventListener("pointerleave", () => { this.card.hide(); this.preview(-1) })
    whileShown(this.model, document, "keyup", (event) => { if (event.key === "Shift") this.preview(-1) })
    whileShown(this.model, document, "keydown", (event) => this.selectAll(event))
    this.scroller.addEventListener("keydown", (event) => this.key(event))
    this.scroller.addEventListener("pointerdown", (event) => this.down(event))
    this.scroller.addEventListener("dblclick", (event) => { const at = this.indexAt(event); if (at >= 0) this.open(at) })
  }

  // --- the list

  async load() {
    const {ids_url, order_url, group_url} = this.model
    const [ids, order, groups] = await Promise.all([array(ids_url, Int32Array), array(order_url, Int32Array), array(group_url, Int32Array)])
    Object.assign(this, {ids, order, groups})
    this.reselect(false)
    await this.recolour()
    this.relist()
  }

  relist() {
    const {model} = this, size = model.count
    if (!this.ids) return
    const mask = model.mask && model.mask.byteLength ? unpacked(model.mask, size) : null
    const list = new Int32Array(size)
    let length = 0
    for (let at = 0; at < size; at++) {
      const position = this.order ? this.order[at] : at
      if (!mask || mask[position]) list[length++] = position
    }
    const focusedImage = this.list.length ? this.list[this.focused] : -1
    this.list = list.subarray(0, length)
    this.places = null
    this.focused = Math.max(0, focusedImage < 0 ? 0 : this.list.indexOf(focusedImage))
    this.anchor = this.focused
    this.empty.hidden = length > 0
    this.element.dataset.length = String(length)
    for (const index of [...this.tiles.keys()]) this.release(index)
    this.resize(true)
  }

  reselect(draw = true) {
    const {selected, count} = this.model
    this.selected = selected && selected.byteLength > 4 ? unpacked(selected, count) : null
    if (draw) this.refresh()
  }

  async recolour() {
    this.codes = await array(this.model.code_url, Uint16Array)
    this.refresh()
  }

  refresh() {
    for (const [index, tile] of this.tiles) this.fill(tile, index)
  }

  // --- the layout

  resize(top = false) {
    const width = this.scroller.clientWidth
    if (!width || !this.ids) return
    const first = this.layout && !top ? this.layout.indexAt(this.virtual) : 0
    this.layout = layout(this.list, this.groups, {width, size: this.model.tile, gap: GAP})
    this.size = this.layout.size
    this.height = Math.min(this.layout.height, TALLEST)
    this.spacer.style.height = `${this.height}px`
    if (top) this.jump(0)
    else this.jump(this.layout.top(first))
    for (const [index, tile] of this.tiles) this.fill(tile, index)
    this.draw()
  }

  scrolled() {
    const top = this.scroller.scrollTop, most = Math.max(this.height - this.scroller.clientHeight, 0)
    const whole = Math.max((this.layout?.height ?? 0) - this.scroller.clientHeight, 0)
    const moved = top - (this.lastTop ?? 0)
    this.lastTop = top
    if (this.height === this.layout?.height) this.virtual = top
    else if (top <= 0) this.virtual = 0
    else if (top >= most - 1) this.virtual = whole
    else if (Math.abs(moved) < 3 * this.scroller.clientHeight) this.virtual += moved // mouse wheel: by its distance
    else this.virtual = (top / most) * whole                                          // scroll bar: by its position
    this.virtual = Math.min(Math.max(this.virtual, 0), whole)
    this.redraw()
  }

  jump(virtual) {
    const whole = Math.max(this.layout.height - this.scroller.clientHeight, 0)
    const most = Math.max(this.height - this.scroller.clientHeight, 0)
    this.virtual = Math.min(Math.max(virtual, 0), whole)
    this.lastTop = this.height === this.layout.height ? this.virtual : whole ? Math.round((this.virtual / whole) * most) : 0
    this.scroller.scrollTop = this.lastTop
    this.lastTop = this.scroller.scrollTop
    this.redraw()
  }

  draw() {
    if (!this.layout) return
    const seen = this.scroller.clientHeight, up = this.virtual < (this.drawnAt ?? 0)
    if (this.virtual !== this.drawnAt) this.drawnAt = this.virtual
    const [from, to] = this.layout.range(this.virtual - seen * (up ? AHEAD : BEHIND), this.virtual + seen * (up ? 1 + BEHIND : 1 + AHEAD))
    for (const index of [...this.tiles.keys()]) if (index < from || index >= to) this.release(index)
    for (let index = from; index < to; index++) {
      if (!this.tiles.has(index)) this.obtain(index)
      const [x, y] = this.layout.place(index)
      this.tiles.get(index).style.transform = `translate(${x}px, ${y - this.virtual}px)`
    }
    this.headings(seen)
  }

  headings(seen) {
    const shown = this.layout.headings(this.virtual, this.virtual + seen).map(({code, y, count: number}) => {
      const heading = h("div", {class: "heading"}, h("b", {}, this.model.group_names[code] ?? "None"), h("span", {class: "soft"}, count(number)))
      heading.style.transform = `translateY(${Math.max(y - this.virtual, 0)}px)`
      return heading
    })
    for (const old of this.layer.querySelectorAll(".heading")) old.remove()
    this.layer.append(...shown)
  }

  obtain(index) {
    const tile = this.spare.pop() ?? h("div", {class: "tile", role: "option"}, h("img", {alt: "", draggable: "false", decoding: "async"}),
      h("i", {class: "mark"}), h("span", {class: "check icon", "aria-hidden": "true"}, "check"))
    this.tiles.set(index, tile)
    this.fill(tile, index)
    this.layer.append(tile)
  }

  release(index) {
    const tile = this.tiles.get(index)
    this.tiles.delete(index)
    tile.remove()
    tile.firstChild.removeAttribute("src") // cancels a download in progress
    tile.dataset.id = ""
    if (this.spare.length < 200) this.spare.push(tile)
  }

  fill(tile, index) {
    const position = this.list[index], id = this.ids[position], picture = tile.firstChild
    const address = thumbnail(id, this.size * window.devicePixelRatio > 340 ? 1024 : this.size * window.devicePixelRatio > 170 ? 320 : 128, this.model.version)
    if (picture.getAttribute("src") !== address) picture.setAttribute("src", address)
    tile.style.width = tile.style.height = `${this.size}px`
    tile.dataset.id = id
    tile.id = `tile-${index}`
    tile.children[1].style.background = this.colourOf(position)
    tile.setAttribute("aria-selected", String(Boolean(this.selected?.[position])))
    tile.setAttribute("aria-label", `Image ${id}${this.model.names[this.codes?.[position]] ? `, ${this.model.names[this.codes[position]]}` : ""}`)
    tile.setAttribute("aria-posinset", index + 1)
    tile.setAttribute("aria-setsize", this.list.length)
    tile.classList.toggle("focused", index === this.focused)
    tile.classList.toggle("pinned", id === this.model.pinned)
    tile.classList.toggle("inrange", this.inRange(index))
  }

  colourOf(position) {
    return this.model.colours[this.codes?.[position]] ?? this.model.unknown
  }

  // --- mouse and keyboard

  indexAt(event) {
    const tile = event.target.closest?.(".tile")
    return tile ? Number(tile.id.slice(5)) : -1
  }

  // While Shift is down, the images that a click would select are marked.
  pointed(event) {
    if (event.buttons) { this.card.hide(); return }
    const at = this.indexAt(event)
    this.card.point(event, at >= 0 ? this.idAt(at) : 0)
    this.preview(event.shiftKey ? at : -1)
  }

  preview(to) {
    if (to === this.rangeEnd) return
    this.rangeEnd = to
    for (const [index, tile] of this.tiles) tile.classList.toggle("inrange", this.inRange(index))
  }

  inRange(index) {
    return this.rangeEnd >= 0 && index >= Math.min(this.anchor, this.rangeEnd) && index <= Math.max(this.anchor, this.rangeEnd)
  }

  // --- the menu of one image

  openMenu(event) {
    if (this.indexAt(event) >= 0) this.menuAt(this.indexAt(event), event, [event.clientX, event.clientY])
  }

  // Beside the pointer, or for a key at the corner of the focused image.
  menuAt(index, event, place = null) {
    if (!this.list.length) return
    event.preventDefault()
    this.card.hide()
    this.focus(index)
    const box = this.tiles.get(index).getBoundingClientRect()
    this.menu.openAt(...(place ?? [box.left + 12, box.top + 12]), this.scroller)
  }

  commands() {
    const position = this.list[this.focused], id = this.idAt(this.focused), told = (act) => () => this.model.send_msg({act, id})
    return [{words: "Open", key: "Enter", act: () => this.open(this.focused)},
      {words: this.selected?.[position] ? "Remove from the selection" : "Add to the selection", key: "Space", act: () => this.toggle(position)},
      {words: `Select all ${count(this.list.length)} images here`, key: "Ctrl A", act: () => this.send(this.list, "replace")},
      {words: id === this.model.pinned ? "Restore the usual order" : "Sort by similarity to it", key: "p", act: told("pin")},
      ...(this.model.menu.length ? ["-", ...this.model.menu.map(([act, words]) => ({words, act: told(act)}))] : []),
      "-", {words: "Open the original file", act: () => window.open(`/api/v1/images/${id}/file`, "_blank", "noopener")}]
  }

  selectAll(event) {
    if (event.key !== "a" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey || typing(event) || !this.list.length) return
    event.preventDefault() // otherwise the browser selects the texts of the page
    this.scroller.focus()
    this.send(this.list, "replace")
  }

  down(event) {
    this.card.hide()
    if (event.button !== 0 || event.offsetX > this.scroller.clientWidth) return
    const at = this.indexAt(event), box = this.scroller.getBoundingClientRect()
    const start = [event.clientX - box.left, event.clientY - box.top + this.virtual]
    let band = null
    const corner = (next) => [next.clientX - box.left, next.clientY - box.top + this.virtual]
    const moved = (next) => {
      const [x, y] = corner(next)
      if (!band && Math.hypot(x - start[0], y - start[1]) < 8) return
      if (!band) { band = h("div", {class: "band"}); this.layer.append(band); this.scroller.setPointerCapture(event.pointerId) }
      const edge = next.clientY - box.top
      if (edge < 20) this.jump(this.virtual - 16)
      if (edge > box.height - 20) this.jump(this.virtual + 16)
      band.style.cssText = `left: ${Math.min(x, start[0])}px; top: ${Math.min(y, start[1]) - this.virtual}px; width: ${Math.abs(x - start[0])}px; height: ${Math.abs(y - start[1])}px`
    }
    const ended = (end) => {
      window.removeEventListener("pointermove", moved)
      if (band) { band.remove(); this.rubber(start, corner(end), how(end)) }
      else if (at >= 0 && end.type === "pointerup") this.clicked(at, end)
    }
    window.addEventListener("pointermove", moved)
    window.addEventListener("pointerup", ended, {once: true})
  }

  rubber([x1, y1], [x2, y2], combine) {
    const inside = this.layout.inside(Math.min(x1, x2), Math.min(y1, y2), Math.max(x1, x2), Math.max(y1, y2))
    this.send(inside.map((index) => this.list[index]), combine)
  }

  clicked(at, event) {
    if (event.shiftKey) this.range(at)
    else if (event.ctrlKey || event.metaKey) this.toggle(this.list[at])
    else if (!this.selected?.[this.list[at]]) this.send([this.list[at]], "replace") // a click on a selected image moves only the focus
    if (!event.shiftKey) this.anchor = at
    this.focus(at)
  }

  range(to) {
    const [from, last] = [Math.min(this.anchor, to), Math.max(this.anchor, to)]
    this.send(this.list.subarray(from, last + 1), "replace")
  }

  toggle(position) {
    if (position >= 0) this.send([position], this.selected?.[position] ? "subtract" : "add")
  }

  send(positions, combine) {
    this.model.send_msg({act: "select", tool: "tiles", how: combine, images: packedPositions(positions)})
  }

  key(event) {
    const columns = this.layout?.columns ?? 1, page = columns * Math.max(1, Math.floor(this.scroller.clientHeight / (this.size + GAP)))
    const steps = {ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns, PageUp: -page, PageDown: page,
      Home: -this.list.length, End: this.list.length}
    const acts = {Enter: () => this.open(this.focused), " ": () => this.toggle(this.list[this.focused]),
      Escape: () => this.model.send_msg({act: "clear"}), "+": () => this.zoom(1.25), "-": () => this.zoom(0.8),
      p: () => this.model.send_msg({act: "pin", id: this.idAt(this.focused)})}
    if (event.ctrlKey || event.metaKey || event.altKey) return
    if (event.key === "ContextMenu" || event.shiftKey && event.key === "F10") this.menuAt(this.focused, event)
    else if (event.key in steps) {
      event.preventDefault()
      this.focus(Math.min(Math.max(this.focused + steps[event.key], 0), this.list.length - 1))
      if (event.shiftKey) this.range(this.focused)
      else this.anchor = this.focused
    } else if (acts[event.key] && this.list.length) {
      event.preventDefault()
      acts[event.key]()
    }
  }

  zoom(factor) {
    this.model.tile = Math.round(Math.min(Math.max(this.model.tile * factor, 48), 480))
  }

  focus(index) {
    const before = this.tiles.get(this.focused)
    before?.classList.remove("focused")
    this.focused = index
    const [, y] = this.layout.place(index), seen = this.scroller.clientHeight
    if (y < this.virtual + 30) this.jump(y - 30)
    else if (y + this.size > this.virtual + seen) this.jump(y + this.size + GAP - seen)
    this.draw()
    this.tiles.get(index)?.classList.add("focused")
    this.scroller.setAttribute("aria-activedescendant", `tile-${index}`)
  }

  // --- one image

  idAt(index) { return this.ids?.[this.list[index]] ?? -1 }

  positionOf(id) { // ids ascend with positions
    let low = 0, high = (this.ids?.length ?? 0) - 1
    while (low <= high) {
      const middle = (low + high) >> 1
      if (this.ids[middle] === id) return middle
      this.ids[middle] < id ? low = middle + 1 : high = middle - 1
    }
    return -1
  }

  open(index) {
    this.focus(index)
    this.viewer.open(this.idAt(index))
  }

  step(by) {
    const next = this.focused + by
    if (next < 0 || next >= this.list.length) return null
    this.focus(next)
    for (const ahead of [1, 2]) if (next + ahead * by in this.list) new Image().src = thumbnail(this.idAt(next + ahead * by), 1024, this.model.version)
    return this.idAt(next)
  }

  focusId(id) {
    const index = this.list.indexOf(this.positionOf(id))
    if (index >= 0) this.focus(index)
  }

  // Scrolls to an image that was clicked in another view.
  reveal(id) {
    const index = id ? this.list.indexOf(this.positionOf(id)) : -1
    if (index >= 0 && this.layout) this.focus(index)
  }
}

