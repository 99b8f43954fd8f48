// Images as points: the embedding and the map. Pan and zoom, lasso and box, hover, outlines, pictures, pies.

import {h, icon, s} from "../dom.js"
import {array, oncePerFrame, packed, thumbnail, unpacked} from "./wire.js"
import {Raster, inside, palette} from "./raster.js"
import {graticule} from "./graticule.js"
import {Ground, locator} from "./ground.js"

const TOOLS = [["pan", "pan_tool", "Move (h)"], ["lasso", "gesture", "Lasso (l)"], ["box", "highlight_alt", "Box (b)"]]
const NEAR = 46 // pixels of a picture on the plane
const MISSING = 65535
const PIE = 17 // pixels from the middle of a pie to its rim
const FARTHEST = 6e6 // metres a map is wide when one looks from as far as possible
const ROOM = 420 // pixels from which on there is room for the region

export function render({model}) {
  const plane = new Plane(model)
  return plane.element
}

class Plane {
  constructor(model) {
    this.model = model
    this.raster = new Raster()
    this.tool = "pan"
    this.view = null // {x, y, zoom}: the data at the middle and pixels a unit
    this.build()
    this.redraw = oncePerFrame(() => this.draw())
    this.relabel = oncePerFrame(() => this.overlays())
    for (const name of ["xy_url", "count"]) model.on(name, () => this.load())
    for (const name of ["code_url", "colours"]) model.on(name, () => this.recolour())
    for (const name of ["shown", "selected"]) model.on(name, () => { this.masks(); this.redraw() })
    for (const name of ["outlines", "pies", "note", "pictures"]) model.on(name, this.relabel)
    model.on("focus_id", () => this.relabel())
    const resized = new ResizeObserver(() => this.fit())
    resized.observe(this.element)
    const themed = new MutationObserver(() => this.recolour())
    themed.observe(document.documentElement, {attributes: true, attributeFilter: ["data-look"]})
    model.on("remove", () => { resized.disconnect(); themed.disconnect() })
    this.load()
  }

  build() {
    this.canvas = h("canvas", {"aria-hidden": "true"})
    this.over = s("svg", {class: "over", "aria-hidden": "true"})
    this.pictures = h("div", {class: "pictures", "aria-hidden": "true"})
    this.tip = h("div", {class: "tip", hidden: true})
    this.tools = h("div", {class: "tools", role: "toolbar", "aria-label": `${this.model.title} tools`},
      TOOLS.map(([name, sign, title]) => h("button", {class: "plain", "data-tool": name, title, "aria-label": title,
        "aria-pressed": String(name === this.tool), onclick: () => this.use(name)}, icon(sign))),
      h("button", {class: "plain", title: "Show all (0)", "aria-label": "Show all", onclick: () => this.home()}, icon("fit_screen")))
    this.note = h("p", {class: "note"})
    this.stage = h("div", {class: "stage", tabindex: "0", role: "application",
      "aria-label": `${this.model.title}: arrows move, plus and minus zoom, L lassos, B draws a box, Escape clears`},
      this.canvas, this.over, this.pictures)
    this.underground()
    this.element = h("div", {class: "plane"}, this.stage, this.tools, this.tip, this.note)
    this.listen()
  }

  // Anew whenever the origin of a map moves.
  underground() {
    if (!this.model.geographic) return
    for (const part of this.stage.querySelectorAll(".ground, .locator")) part.remove()
    this.ground = new Ground(this.model.middle, this.model.tiles)
    this.region = locator(this.model.middle)
    this.stage.prepend(this.ground.tiles, this.ground.land)
    this.stage.append(this.region)
  }

  use(tool) {
    this.tool = tool
    this.stage.dataset.tool = tool
    for (const button of this.tools.querySelectorAll("[data-tool]")) button.setAttribute("aria-pressed", String(button.dataset.tool === tool))
  }

  // --- data

  async load() {
    const {xy_url, xy_kind, count} = this.model
    const Type = xy_kind === "f4" ? Float32Array : Uint16Array
    const [xy, ids] = await Promise.all([array(xy_url, Type), array(this.model.ids_url, Int32Array)])
    this.xy = xy
    this.ids = ids
    this.count = xy ? Math.min(count, xy.length / 2) : 0
    this.missing = xy_kind === "f4" ? (values, at) => values[at] !== values[at] : (values, at) => values[at] === MISSING
    this.masks()
    await this.recolour()
    this.view = null
    this.underground()
    this.fit()
  }

  async recolour() {
    const codes = await array(this.model.code_url, Uint16Array)
    const style = getComputedStyle(this.element)
    this.back = this.rgb(style.getPropertyValue("--surface") || "#ffffff")
    this.table = palette(this.model.colours, this.model.unknown)
    this.codes = codes
    this.redraw()
    this.relabel()
  }

  rgb(text) {
    const hex = text.trim()
    return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16) || 0)
  }

  masks() {
    const {shown, selected} = this.model
    this.shown = shown && shown.byteLength ? unpacked(shown, this.count) : null
    this.selected = selected && selected.byteLength > 4 ? unpacked(selected, this.count) : null
  }

  // --- the view

  fit() {
    const {clientWidth: width, clientHeight: height} = this.stage
    if (!width || !height) return
    const ratio = Math.min(window.devicePixelRatio || 1, 2)
    this.ratio = Math.sqrt(Math.min(ratio * ratio, 2.2e6 / (width * height))) // no more pixels than can be shaded in a frame
    if (this.ratio < 1) this.ratio = Math.max(this.ratio, 0.5)
    this.canvas.width = Math.round(width * this.ratio)
    this.canvas.height = Math.round(height * this.ratio)
    this.raster.resize(this.canvas.width, this.canvas.height)
    if (!this.view) this.home()
    this.redraw()
    this.relabel()
  }

  home() {
    const [west, east, south, north] = this.model.extent
    const {clientWidth: width, clientHeight: height} = this.stage
    const wide = Math.max(east - west, 1e-9), high = Math.max(north - south, 1e-9)
    this.view = {x: (west + east) / 2, y: (south + north) / 2,
      zoom: Math.min((width - 2 * this.model.margin) / wide, (height - 2 * this.model.margin) / high)}
    this.least = this.model.geographic ? Math.min(this.view.zoom / 4, width / FARTHEST) : this.view.zoom / 4
    this.most = this.view.zoom * 2000
    this.redraw()
    this.relabel()
  }

  // Data to CSS pixels; north is up.
  place(scale = 1) {
    const {clientWidth: width, clientHeight: height} = this.stage, {x, y, zoom} = this.view
    return {sx: zoom * scale, ox: (width / 2 - x * zoom) * scale, sy: -zoom * scale, oy: (height / 2 + y * zoom) * scale}
  }

  back_to_data(px, py) {
    const {sx, ox, sy, oy} = this.place()
    return [(px - ox) / sx, (py - oy) / sy]
  }

  zoom(factor, px, py) {
    const [x, y] = this.back_to_data(px, py)
    const zoom = Math.min(Math.max(this.view.zoom * factor, this.least), this.most)
    const turned = this.view.zoom / zoom
    this.view = {zoom, x: x + (this.view.x - x) * turned, y: y + (this.view.y - y) * turned}
    this.redraw()
    this.relabel()
  }

  move(dx, dy) {
    this.view = {...this.view, x: this.view.x - dx / this.view.zoom, y: this.view.y + dy / this.view.zoom}
    this.redraw()
    this.relabel()
  }

  points() {
    return {x: this.xy, y: this.xy, stride: 2, count: this.count, missing: this.missing, shown: this.shown}
  }

  draw() {
    const context = this.canvas.getContext("2d")
    if (!this.xy || !this.codes || !this.view || !this.raster.width) {
      context.clearRect(0, 0, this.canvas.width, this.canvas.height)
      return
    }
    const began = performance.now()
    context.putImageData(this.raster.draw({...this.points(), place: this.place(this.ratio), codes: this.codes,
      table: this.table, front: this.selected, back: this.back}), 0, 0)
    this.element.dataset.drawn = String((performance.now() - began).toFixed(1))
    this.element.dataset.frames = String(Number(this.element.dataset.frames ?? 0) + 1)
  }

  // --- what lies over the points

  overlays() {
    if (!this.view) return
    const {clientWidth: width, clientHeight: height} = this.stage
    this.over.setAttribute("viewBox", `0 0 ${width} ${height}`)
    const parts = []
    if (this.model.geographic) {
      parts.push(...graticule(this.view, this.place(), width, height, this.model.middle))
      this.ground.draw(this.place(), this.view.zoom, width, height)
      this.region.classList.toggle("none", !this.xy || width < ROOM)
    }
    parts.push(...this.outlines(), ...this.pies())
    this.over.replaceChildren(...parts.filter(Boolean))
    this.drawPictures(width, height)
    this.note.textContent = this.model.note
    this.note.hidden = !this.model.note
  }

  pixel([x, y]) {
    const {sx, ox, sy, oy} = this.place()
    return [x * sx + ox, y * sy + oy]
  }

  outlines() {
    return this.model.outlines.flatMap(({cluster, rings, colour}) => rings.map((ring) =>
      s("polygon", {points: ring.map((corner) => this.pixel(corner).map((at) => at.toFixed(1)).join(",")).join(" "),
        class: "outline", stroke: colour, "data-cluster": cluster})))
  }

  // One picture a cluster at its densest place; the larger cluster's goes first, and those that would overlap wait.
  drawPictures(width, height) {
    const taken = [], shown = []
    for (const {cluster, peak, id, colour, name} of this.model.pictures) {
      const [x, y] = this.pixel(peak)
      if (x < NEAR / 2 || y < NEAR / 2 || x > width - NEAR / 2 || y > height - NEAR / 2) continue
      if (taken.some(([a, b]) => Math.abs(a - x) < NEAR + 4 && Math.abs(b - y) < NEAR + 4)) continue
      taken.push([x, y])
      const picture = h("button", {class: "picture", title: name, tabindex: "-1", "data-cluster": cluster,
        onclick: (event) => this.model.send_msg({act: "cluster", cluster, how: how(event)})},
        h("img", {src: thumbnail(id, 128, this.model.version), alt: "", draggable: "false"}))
      picture.style.cssText = `transform: translate(${x - NEAR / 2}px, ${y - NEAR / 2}px); border-color: ${colour}`
      shown.push(picture)
    }
    this.pictures.replaceChildren(...shown)
  }

  // Pies of dives that lie close together make room for each other; a line leads to where the dive is.
  pies() {
    const {clientWidth: width, clientHeight: height} = this.stage
    const taken = [], crowded = this.model.pies.length > 16 || height < 260
    return this.model.pies.map((dive) => {
      const [x, y] = this.pixel([dive.x, dive.y])
      if (x < 0 || y < 0 || x > width || y > height) return null
      const [px, py] = roomFor(x, y, taken, crowded, width, height)
      taken.push([px, py])
      const pie = s("g", {class: "pie", "data-dive": dive.dive, onclick: () => this.model.send_msg({act: "dive", dive: dive.dive})},
        s("line", {x1: x, y1: y, x2: px, y2: py, class: "leader"}), s("circle", {cx: x, cy: y, r: 2.5, class: "foot"}),
        s("g", {transform: `translate(${px} ${py})`}, s("circle", {r: PIE + 2, class: "rim"}), ...slices(dive),
          crowded ? null : s("text", {y: PIE + 14, class: "name"}, dive.name.length > 14 ? `…${dive.name.slice(-13)}` : dive.name)))
      pie.append(s("title", {}, `${dive.name}: mixture of clusters`))
      return pie
    })
  }

  // --- hands

  listen() {
    const stage = this.stage
    stage.dataset.tool = this.tool
    stage.addEventListener("wheel", (event) => {
      event.preventDefault()
      const [px, py] = this.where(event)
      this.zoom(Math.exp(-event.deltaY * 0.0018), px, py)
    }, {passive: false})
    stage.addEventListener("dblclick", (event) => this.zoom(event.shiftKey ? 0.4 : 2.5, ...this.where(event)))
    stage.addEventListener("pointerdown", (event) => this.down(event))
    stage.addEventListener("pointermove", (event) => this.hover(event))
    stage.addEventListener("pointerleave", () => { this.tip.hidden = true })
    stage.addEventListener("keydown", (event) => this.key(event))
  }

  where(event) {
    const box = this.stage.getBoundingClientRect()
    return [event.clientX - box.left, event.clientY - box.top]
  }

  key(event) {
    const step = 60, middle = [this.stage.clientWidth / 2, this.stage.clientHeight / 2]
    const acts = {ArrowLeft: () => this.move(step, 0), ArrowRight: () => this.move(-step, 0), ArrowUp: () => this.move(0, step),
      ArrowDown: () => this.move(0, -step), "+": () => this.zoom(1.5, ...middle), "=": () => this.zoom(1.5, ...middle),
      "-": () => this.zoom(1 / 1.5, ...middle), 0: () => this.home(), l: () => this.use("lasso"), b: () => this.use("box"),
      h: () => this.use("pan"), Escape: () => this.model.send_msg({act: "clear"})}
    if (event.ctrlKey || event.metaKey || event.altKey || !acts[event.key]) return
    event.preventDefault()
    event.stopPropagation()
    acts[event.key]()
  }

  down(event) {
    if (event.button !== 0 || event.target.closest?.(".picture, .pie")) return
    this.stage.setPointerCapture(event.pointerId)
    this.stage.focus({preventScroll: true})
    this.tip.hidden = true
    const start = this.where(event), path = [start]
    const drawn = this.tool === "pan" ? null : s("polygon", {class: "lasso"})
    if (drawn) this.over.append(drawn)
    let last = start, farthest = 0
    const moved = (next) => {
      const at = this.where(next)
      farthest = Math.max(farthest, Math.hypot(at[0] - start[0], at[1] - start[1]))
      if (!drawn) this.move(at[0] - last[0], at[1] - last[1])
      else {
        this.tool === "box" ? path.splice(1, path.length, [at[0], start[1]], at, [start[0], at[1]])
          : path.push(...(next.getCoalescedEvents?.() ?? []).map((between) => this.where(between)), at) // a busy page gets few events
        drawn.setAttribute("points", path.map((corner) => corner.join(",")).join(" "))
      }
      last = at
    }
    const ended = (end) => {
      this.stage.removeEventListener("pointermove", moved)
      drawn?.remove()
      if (farthest < 4) this.click(end, start)
      else if (drawn) this.select(path, how(end))
    }
    this.stage.addEventListener("pointermove", moved)
    this.stage.addEventListener("pointerup", ended, {once: true})
  }

  click(event, [px, py]) {
    const at = this.raster.at(px * this.ratio, py * this.ratio)
    if (at >= 0) this.model.send_msg({act: "pick", position: at, how: how(event)})
  }

  select(path, combine) {
    if (!this.xy) return
    const mask = inside(path.map(([x, y]) => [x * this.ratio, y * this.ratio]), {...this.points(),
      place: this.place(this.ratio), width: this.canvas.width, height: this.canvas.height})
    this.model.send_msg({act: "select", tool: this.tool, how: combine, images: packed(mask)})
  }

  hover(event) {
    if (event.buttons || !this.ids || event.target.closest?.(".picture, .pie")) { this.tip.hidden = true; return }
    const [px, py] = this.where(event)
    const at = this.raster.at(px * this.ratio, py * this.ratio)
    this.tip.hidden = at < 0
    if (at < 0 || this.hovered === at) { this.follow(px, py); return }
    this.hovered = at
    this.tip.replaceChildren(h("img", {src: thumbnail(this.ids[at], 320, this.model.version), alt: ""}),
      h("span", {}, this.describe(at)))
    this.follow(px, py)
  }

  describe(at) {
    const code = this.codes?.[at]
    return this.model.names[code] ?? ""
  }

  follow(px, py) {
    const right = px > this.stage.clientWidth / 2, low = py > this.stage.clientHeight / 2
    this.tip.style.transform = `translate(${right ? px - 190 : px + 16}px, ${low ? py - 160 : py + 16}px)`
  }
}

function slices({shares, colours}) {
  let turn = -Math.PI / 2
  return shares.map((share, at) => {
    const from = turn
    turn += share * 2 * Math.PI
    if (share >= 0.9999) return s("circle", {r: PIE, fill: colours[at]})
    const arc = `A${PIE} ${PIE} 0 ${share > 0.5 ? 1 : 0} 1 ${PIE * Math.cos(turn)} ${PIE * Math.sin(turn)}`
    return s("path", {fill: colours[at], d: `M0 0L${PIE * Math.cos(from)} ${PIE * Math.sin(from)}${arc}Z`})
  })
}

// The nearest free place for a pie, going round in wider and wider circles.
function roomFor(x, y, taken, crowded, width, height) {
  const wide = crowded ? 2 * PIE + 4 : 92, high = crowded ? 2 * PIE + 4 : 2 * PIE + 20
  for (let ring = 0; ring < 14; ring++) {
    for (let turn = 0; turn < Math.max(1, ring * 8); turn++) {
      const angle = turn / Math.max(1, ring * 8) * 2 * Math.PI - Math.PI / 4, far = 24 + ring * 22
      const px = x + far * Math.cos(angle), py = y + far * Math.sin(angle)
      if (px < 60 || px > width - 40 || py < PIE + 4 || py > height - PIE - 4) continue
      if (!taken.some(([a, b]) => Math.abs(a - px) < wide && Math.abs(b - py) < high)) return [px, py]
    }
  }
  return [x + 24, y - 24]
}

export function how(event) {
  if (event.shiftKey && (event.ctrlKey || event.metaKey)) return "intersect"
  if (event.shiftKey) return "add"
  return event.ctrlKey || event.metaKey || event.altKey ? "subtract" : "replace"
}
