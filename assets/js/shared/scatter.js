// Images as points, for the embedding and the map: pan and zoom, lasso and box, hover, axes, legend, outlines, images, pies,
// tracks, and the plot as a picture or a table.

import {h, icon, redraw, s} from "../core/element.js"
import {saveFile} from "../core/hand_over.js"
import {hoverCard} from "./hover_card.js"
import {imageCard} from "./image_card.js"
import {array, oncePerFrame, packed, thumbnail, unpacked} from "../core/image_set_codec.js"
import {Raster, inside, palette} from "./raster.js"
import {METRES, graticule} from "./graticule.js"
import {Ground, locator} from "./ground.js"
import {axisParts} from "./plot_axes.js"
import {pies} from "./pies.js"
import {plotImage} from "./plot_image.js"
import {PlotLegend} from "./plot_legend.js"
import {csv, handOver} from "./plot_table.js"
import {drawLines} from "./track_lines.js"
import {dragged, hasPoint, how, toPixel, transformOf, viewOfAll, zoomed} from "./scatter_view.js"

const TOOLS = [["pan", "pan_tool", "Move (h)"], ["lasso", "gesture", "Lasso (l)"], ["box", "highlight_alt", "Box (b)"]]
const NEAR = 46 // pixels of an example image
const MISSING = 65535
const ROOM = 420 // minimum width in pixels to show the map of the region
const LEGEND_ROOM = 440 // minimum width of a plot whose legend is open before a person chose
const PAUSE = 120 // milliseconds for which the pointer rests on a point
const WALKED = 200 // points that a key walks through, from the centre of the view outwards
const CHOICES = "bentho-plots" // {title and name of a switch: whether it is on}, stored in the browser

export function render({model}) {
  const plane = new Plane(model)
  return plane.element
}

class Plane {
  constructor(model) {
    this.model = model
    this.raster = new Raster()
    this.tool = "pan"
    this.view = null // see scatter_view.js
    this.build()
    this.redraw = oncePerFrame(() => this.draw())
    this.relabel = oncePerFrame(() => this.overlays())
    for (const name of ["xy_url", "count"]) model.on(name, () => this.load())
    model.on("lines_url", () => { this.arrange(); this.loadLines() })
    for (const name of ["code_url", "colours"]) model.on(name, () => this.recolour())
    for (const name of ["shown", "selected"]) model.on(name, () => { this.masks(); this.redraw() })
    for (const name of ["outlines", "pies", "note", "pictures", "scale"]) model.on(name, this.relabel)
    model.on("legend", () => this.drawLegend())
    model.on("axes", () => this.rearrange())
    model.on("focus_id", () => this.relabel())
    const resized = new ResizeObserver(() => this.fit())
    resized.observe(this.element)
    const themed = new MutationObserver(() => this.recolour())
    themed.observe(document.documentElement, {attributes: true, attributeFilter: ["data-look"]})
    model.on("remove", () => { resized.disconnect(); themed.disconnect() })
    this.load()
  }

  build() {
    const {model} = this
    this.trackCanvas = h("canvas", {"aria-hidden": "true"})
    this.canvas = h("canvas", {"aria-hidden": "true"})
    this.over = s("svg", {class: "over"})
    this.pictures = h("div", {class: "pictures", "aria-hidden": "true"})
    this.axes = s("svg", {class: "axes", "aria-hidden": "true"})
    this.status = h("span", {class: "spoken", role: "status"})
    this.card = imageCard({run: () => model.run, version: () => model.version, pause: PAUSE, status: this.status, preview: () => this.describe(this.hovered)})
    this.tip = hoverCard("tip pievalues")
    this.legend = new PlotLegend(model)
    this.note = h("p", {class: "note"})
    this.stage = h("div", {class: "stage", tabindex: "0", role: "application"}, this.trackCanvas, this.canvas, this.over, this.pictures)
    this.underground()
    this.element = h("div", {class: "plane"}, this.axes, this.stage, this.toolbar(), this.legend.element, this.card.element, this.tip.element, this.note, this.status)
    this.listen()
    this.arrange()
  }

  toolbar() {
    const {title} = this.model
    const button = (sign, words, act, more = {}) => h("button", {class: "plain", type: "button", title: words, "aria-label": words, onclick: act, ...more}, icon(sign))
    const toggle = (name, sign, words) => button(sign, words, () => this.choose(name, !this.chosen(name)), {"data-choice": name})
    this.tools = h("div", {class: "tools", role: "toolbar", "aria-label": `${title} tools`},
      TOOLS.map(([name, sign, words]) => button(sign, words, () => this.use(name), {"data-tool": name, "aria-pressed": String(name === this.tool)})),
      button("fit_screen", "Show all points (0)", () => this.home(), {"aria-label": "Show all points"}),
      h("i", {class: "gap"}), toggle("legend", "legend_toggle", "Legend"), toggle("lines", "timeline", "Join the images of a dive in order of time"),
      button("image", "Save as PNG", () => this.save(), {"aria-label": `Save as PNG: ${title}`}),
      button("content_copy", "Copy data as CSV", () => this.copy(), {"aria-label": `Copy data as CSV: ${title}`}), this.done = h("span", {class: "soft", role: "status"}))
    return this.tools
  }

  // --- switches of the tool bar

  chosen(name) {
    const stored = JSON.parse(localStorage.getItem(CHOICES) ?? "{}")[`${this.model.title} ${name}`]
    if (stored !== undefined) return stored
    return name === "lines" || (!this.model.geographic && this.element.clientWidth >= LEGEND_ROOM)
  }

  choose(name, on) {
    const stored = JSON.parse(localStorage.getItem(CHOICES) ?? "{}")
    localStorage.setItem(CHOICES, JSON.stringify({...stored, [`${this.model.title} ${name}`]: on}))
    this.rearrange()
    if (name === "lines") this.loadLines()
    this.redraw()
  }

  // Axes and legend lie beside the stage.
  arrange() {
    const {model} = this, axes = model.axes.length > 0
    const available = {legend: this.legend.any, lines: Boolean(model.lines_url)}
    for (const [name, any] of Object.entries(available)) {
      const button = this.tools.querySelector(`[data-choice=${name}]`)
      button.hidden = !any
      button.setAttribute("aria-pressed", String(any && this.chosen(name)))
    }
    this.legend.element.hidden = !available.legend || !this.chosen("legend")
    this.element.dataset.axes = String(axes)
    this.element.dataset.legend = String(!this.legend.element.hidden)
    const [across, up] = model.axes
    this.stage.setAttribute("aria-label", `${model.title}${axes ? `, ${across} to the right and ${up} upwards` : ""}: arrows move, plus and minus zoom, N and Shift N walk from point to point, Enter shows the point in the gallery, L draws a lasso, B draws a box, Escape clears the selection`)
  }

  rearrange() {
    const before = this.stage.clientWidth + this.stage.clientHeight
    this.arrange()
    if (this.stage.clientWidth + this.stage.clientHeight !== before) this.fit()
    else this.relabel()
  }

  drawLegend() {
    this.legend.draw()
    this.rearrange()
  }

  // Built again when the origin of a map changes.
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
    this.loadLines()
  }

  // After the points, and only if a person wants to see the lines.
  async loadLines() {
    const url = this.model.lines_url
    if (!this.xy || !this.chosen("lines")) return
    const lines = await array(url, Int32Array)
    if (url !== this.model.lines_url) return
    this.lines = lines
    this.redraw()
  }

  async recolour() {
    const codes = await array(this.model.code_url, Uint16Array)
    const style = getComputedStyle(this.element)
    this.back = this.rgb(style.getPropertyValue("--surface") || "#ffffff")
    this.lineColour = style.getPropertyValue("--text-soft")
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
    this.arrange()
    const {clientWidth: width, clientHeight: height} = this.stage
    if (!width || !height) return
    const ratio = Math.min(window.devicePixelRatio || 1, 2)
    this.ratio = Math.sqrt(Math.min(ratio * ratio, 2.2e6 / (width * height))) // limited to the pixels that can be shaded in one frame
    if (this.ratio < 1) this.ratio = Math.max(this.ratio, 0.5)
    for (const canvas of [this.canvas, this.trackCanvas]) {
      canvas.width = Math.round(width * this.ratio)
      canvas.height = Math.round(height * this.ratio)
    }
    this.raster.resize(this.canvas.width, this.canvas.height)
    if (!this.view || this.whole) this.home() // all points stay in view in a larger or smaller window
    this.redraw()
    this.relabel()
  }

  home() {
    const {view, ...limits} = viewOfAll(this.model.extent, this.size(), this.model.margin, this.model.geographic)
    this.view = view
    this.limits = limits
    this.whole = true
    this.placeRegion()
    this.redraw()
    this.relabel()
  }

  // The small map of the region lies at the upper right, or at the lower right if it would cover points there.
  placeRegion() {
    if (!this.region || !this.xy) return
    this.region.classList.remove("low")
    const box = this.region.getBoundingClientRect(), stage = this.stage.getBoundingClientRect()
    const place = {left: box.left - stage.left, top: box.top - stage.top, width: box.width, height: box.height}
    this.region.classList.toggle("low", hasPoint(this.xy, transformOf(this.view, this.size()), place))
  }

  size() {
    return {width: this.stage.clientWidth, height: this.stage.clientHeight}
  }

  transform(scale = 1) {
    return transformOf(this.view, this.size(), scale)
  }

  zoom(factor, px, py) {
    this.view = zoomed(this.view, factor, [px, py], this.size(), this.limits)
    this.whole = false
    this.redraw()
    this.relabel()
  }

  move(dx, dy) {
    this.view = dragged(this.view, dx, dy)
    this.whole = false
    this.redraw()
    this.relabel()
  }

  points() {
    return {x: this.xy, y: this.xy, stride: 2, count: this.count, missing: this.missing, shown: this.shown}
  }

  draw() {
    const context = this.canvas.getContext("2d"), tracks = this.trackCanvas.getContext("2d")
    if (!this.xy || !this.codes || !this.view || !this.raster.width) {
      for (const each of [context, tracks]) each.clearRect(0, 0, this.canvas.width, this.canvas.height)
      return
    }
    const began = performance.now()
    this.drawTracks(tracks, this.ratio)
    context.putImageData(this.shaded(this.raster, this.ratio), 0, 0)
    this.element.dataset.drawn = String((performance.now() - began).toFixed(1))
    this.element.dataset.frames = String(Number(this.element.dataset.frames ?? 0) + 1)
  }

  shaded(raster, ratio) {
    return raster.draw({...this.points(), place: this.transform(ratio), codes: this.codes, table: this.table, front: this.selected, back: this.back, grow: ratio / this.ratio})
  }

  drawTracks(context, ratio) {
    const {width, height} = context.canvas
    drawLines(context, this.chosen("lines") ? this.lines : null, {...this.points(), place: this.transform(ratio), width, height}, this.lineColour, ratio)
  }

  // --- overlays

  overlays() {
    if (!this.view) return
    const {clientWidth: width, clientHeight: height} = this.stage
    this.over.setAttribute("viewBox", `0 0 ${width} ${height}`)
    const parts = []
    if (this.model.geographic) {
      parts.push(...graticule(this.view, this.transform(), width, height, this.model.middle))
      this.ground.draw(this.transform(), this.view.zoom, width, height)
      this.region.classList.toggle("none", !this.xy || width < ROOM)
    }
    parts.push(...this.outlines(), ...pies(this.model, (point) => this.pixel(point), {width, height}, this.tip), this.mark())
    redraw(this.over, ...parts)
    this.drawPictures(width, height)
    this.drawAxes(width, height)
    this.note.textContent = this.model.note
    this.note.hidden = !this.model.note
  }

  drawAxes(width, height) {
    const {axes, scale} = this.model
    const {clientWidth, clientHeight} = this.element
    this.axes.setAttribute("viewBox", `0 0 ${clientWidth} ${clientHeight}`)
    this.axes.replaceChildren(...(axes.length && scale.start && this.xy ? axisParts(axes, this.transform(), scale, {width, height}) : []))
  }

  // A ring around the point that a key chose.
  mark() {
    const place = this.walked?.at(this.step)
    if (!place) return null
    const [x, y] = this.pixel(this.pointAt(place))
    return s("circle", {class: "walked", cx: x, cy: y, r: 8})
  }

  pointAt(at) { return [this.xy[2 * at], this.xy[2 * at + 1]] }

  pixel(point) {
    return toPixel(this.transform(), point)
  }

  outlines() {
    return this.model.outlines.filter(({cluster}) => this.inFilter(cluster)).flatMap(({cluster, rings, colour}) => rings.map((ring) =>
      s("polygon", {points: ring.map((corner) => this.pixel(corner).map((at) => at.toFixed(1)).join(",")).join(" "),
        class: "outline", stroke: colour, "data-cluster": cluster})))
  }

  // Whether the legend shows this cluster.
  inFilter(cluster) {
    const {kind, chosen = []} = this.model.legend
    return kind !== "cluster" || !chosen.length || chosen.includes(cluster)
  }

  // One example image for each cluster at its densest point, larger clusters first; overlapping ones are left out.
  drawPictures(width, height) {
    const occupied = [], shown = []
    for (const {cluster, peak, id, colour, name} of this.model.pictures) {
      const [x, y] = this.pixel(peak)
      if (!this.inFilter(cluster) || x < NEAR / 2 || y < NEAR / 2 || x > width - NEAR / 2 || y > height - NEAR / 2) continue
      if (occupied.some(([a, b]) => Math.abs(a - x) < NEAR + 4 && Math.abs(b - y) < NEAR + 4)) continue
      occupied.push([x, y])
      const picture = h("button", {class: "picture", title: name, tabindex: "-1", "data-cluster": cluster,
        onclick: (event) => this.model.send_msg({act: "cluster", cluster, how: how(event)})},
        h("img", {src: thumbnail(id, 128, this.model.version), alt: "", draggable: "false"}))
      picture.style.cssText = `transform: translate(${x - NEAR / 2}px, ${y - NEAR / 2}px); border-color: ${colour}`
      shown.push(picture)
    }
    this.pictures.replaceChildren(...shown)
  }

  // --- mouse and keyboard

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
    stage.addEventListener("pointerleave", () => this.card.hide())
    stage.addEventListener("keydown", (event) => this.key(event))
    stage.addEventListener("blur", () => this.stopWalk())
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
      h: () => this.use("pan"), n: () => this.walk(1), N: () => this.walk(-1), Enter: () => this.pickWalked(event),
      Escape: () => (this.walked ? this.stopWalk() : this.model.send_msg({act: "clear"}))}
    if (event.ctrlKey || event.metaKey || event.altKey || !acts[event.key]) return
    event.preventDefault()
    event.stopPropagation()
    acts[event.key]()
  }

  // Goes to the next point from the centre of the view outwards, and shows its card.
  walk(by) {
    if (!this.xy || !this.ids) return
    if (!this.walked || this.walkedFrom !== this.view) {
      this.walked = this.nearest()
      this.walkedFrom = this.view
      this.step = by > 0 ? -1 : 0
    }
    if (!this.walked.length) return this.stopWalk()
    this.step = (this.step + by + this.walked.length) % this.walked.length
    const at = this.walked[this.step], [x, y] = this.pixel(this.pointAt(at)), box = this.stage.getBoundingClientRect()
    this.card.show({clientX: box.left + x, clientY: box.top + y}, this.ids[at])
    this.relabel()
  }

  // The drawn points near the centre of the view, nearest first.
  nearest() {
    const {owner, width, height} = this.raster, distances = new Map()
    for (let pixel = 0; pixel < owner.length; pixel++) {
      if (owner[pixel] < 0) continue
      const far = Math.hypot(pixel % width - width / 2, Math.floor(pixel / width) - height / 2)
      if (!(distances.get(owner[pixel]) <= far)) distances.set(owner[pixel], far)
    }
    return [...distances].sort(([, a], [, b]) => a - b).slice(0, WALKED).map(([at]) => at)
  }

  pickWalked(event) {
    if (this.walked) this.model.send_msg({act: "pick", position: this.walked[this.step], how: how(event)})
  }

  stopWalk() {
    if (!this.walked) return
    this.walked = null
    this.card.hide()
    this.relabel()
  }

  down(event) {
    if (event.button !== 0 || event.target.closest?.(".picture, .pie")) return
    this.stage.setPointerCapture(event.pointerId)
    this.stage.focus({preventScroll: true})
    this.stopWalk()
    this.card.hide()
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
          : path.push(...(next.getCoalescedEvents?.() ?? []).map((between) => this.where(between)), at) // coalesced events give a smooth line on a busy page
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
      place: this.transform(this.ratio), width: this.canvas.width, height: this.canvas.height})
    this.model.send_msg({act: "select", tool: this.tool, how: combine, images: packed(mask)})
  }

  hover(event) {
    if (event.buttons || !this.ids || event.target.closest?.(".picture, .pie")) return this.card.hide()
    const [px, py] = this.where(event)
    this.hovered = this.raster.at(px * this.ratio, py * this.ratio)
    this.card.point(event, this.hovered < 0 ? 0 : this.ids[this.hovered])
  }

  describe(at) { return this.model.names[this.codes?.[at]] ?? "" }

  // --- the plot as a file

  async save() {
    const {model} = this, {clientWidth: width, clientHeight: height} = this.stage
    if (!this.xy || !this.view) return
    const {title, caption, legend} = model, selected = this.selected ? "selected images in front" : ""
    const blob = await plotImage({element: this.element, stage: this.stage, legend, pictures: this.pictures.children,
      svgs: [...this.stage.querySelectorAll("svg.ground"), this.over, this.axes],
      title: [title, caption, legend.title ? `coloured by ${legend.title.toLowerCase()}` : "", selected].filter(Boolean).join(" · "),
      layers: (context, scale) => {
        const ratio = Math.min(scale, Math.sqrt(4e6 / (width * height))), raster = new Raster(), canvas = new OffscreenCanvas(Math.round(width * ratio), Math.round(height * ratio))
        this.drawTracks(canvas.getContext("2d"), ratio)
        context.drawImage(canvas, 0, 0, width, height)
        raster.resize(canvas.width, canvas.height)
        canvas.getContext("2d").putImageData(this.shaded(raster, ratio), 0, 0)
        context.drawImage(canvas, 0, 0, width, height)
      }})
    saveFile(blob, `${title.toLowerCase()}.png`)
    this.say("Saved as PNG")
  }

  copy() {
    if (!this.xy || !this.ids) return
    const {columns, values} = this.coordinates()
    let rows = 0
    const own = this
    function* each() {
      for (let at = 0; at < own.count; at++) {
        if ((own.shown && !own.shown[at]) || own.missing(own.xy, 2 * at)) continue
        rows++
        yield [own.ids[at], ...values(at), own.describe(at)]
      }
    }
    const text = csv(["image_id", ...columns, this.model.legend.title || "colour"], each())
    this.say(handOver(text, rows, this.model.title.toLowerCase()))
  }

  // The coordinates of points with their names: degrees on a map, otherwise those of the axes.
  coordinates() {
    const {geographic, middle: [latitude, longitude], axes, scale} = this.model
    if (geographic) {
      const east = METRES * Math.cos(latitude * Math.PI / 180)
      return {columns: ["latitude", "longitude"], values: (at) => {
        const [x, y] = this.pointAt(at)
        return [Number((latitude + y / METRES).toFixed(7)), Number((longitude + x / east).toFixed(7))]
      }}
    }
    const {start: [left, foot] = [0, 0], unit = 1} = scale
    return {columns: axes.length ? axes.map((name) => name.split(",")[0]) : ["x", "y"], values: (at) => {
      const [x, y] = this.pointAt(at)
      return [Number((left + x * unit).toPrecision(6)), Number((foot + y * unit).toPrecision(6))]
    }}
  }

  say(words) {
    this.done.textContent = words
    clearTimeout(this.quiet)
    this.quiet = setTimeout(() => { this.done.textContent = "" }, 4000)
  }
}
