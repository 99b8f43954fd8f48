// A dive from left to right: the sequence of clusters, with depth and altitude below it; a range can be selected.

import {h, s} from "../core/element.js"
import {Group, group, isAlbums} from "../core/group_words.js"
import {hoverCard} from "./hover_card.js"
import {moment} from "../core/format.js"
import {how} from "./scatter_view.js"
import {array, numbersOf, oncePerFrame, packedPositions, thumbnail, unpacked} from "../core/image_set_codec.js"

const BAND = 20, LEFT = 44, RIGHT = 8

export function render({model}) {
  return new Strip(model).element
}

class Strip {
  constructor(model) {
    this.model = model
    this.canvas = h("canvas", {"aria-hidden": "true"})
    this.over = s("svg", {class: "over", "aria-hidden": "true"})
    this.tip = hoverCard()
    this.choose = h("select", {"aria-label": `${Group()} of the strip`, onchange: () => model.send_msg({act: "strip", dive: Number(this.choose.value)})})
    this.stage = h("div", {class: "stage", role: "img", "aria-label": `Sequence of clusters along the ${group()}${isAlbums() ? "" : " with depth and altitude"}`}, this.canvas, this.over)
    this.element = h("div", {class: "strip"}, this.choose, this.stage, this.tip.element)
    this.redraw = oncePerFrame(() => this.draw())
    for (const name of ["dives", "dive"]) model.on(name, () => this.names())
    for (const name of ["positions", "depth", "altitude"]) model.on(name, this.redraw)
    for (const name of ["code_url", "colours", "ids_url"]) model.on(name, () => this.load())
    model.on("selected", this.redraw)
    const resized = new ResizeObserver(this.redraw)
    resized.observe(this.stage)
    const themed = new MutationObserver(this.redraw)
    themed.observe(document.documentElement, {attributes: true, attributeFilter: ["data-look"]})
    model.on("remove", () => { resized.disconnect(); themed.disconnect() })
    this.listen()
    this.names()
    this.load()
  }

  names() {
    this.choose.replaceChildren(...this.model.dives.map(([id, name]) => h("option", {value: id, selected: id === this.model.dive}, name)))
    this.choose.hidden = this.model.dives.length < 2
    this.redraw()
  }

  async load() {
    [this.codes, this.ids] = await Promise.all([array(this.model.code_url, Uint16Array), array(this.model.ids_url, Int32Array)])
    this.redraw()
  }

  draw() {
    const {clientWidth: width, clientHeight: height} = this.stage, ratio = window.devicePixelRatio || 1
    if (!width || !height) return
    this.canvas.width = width * ratio
    this.canvas.height = height * ratio
    const context = this.canvas.getContext("2d")
    context.scale(ratio, ratio)
    this.positions = numbersOf(this.model.positions, Int32Array)
    this.width = width - LEFT - RIGHT
    const length = this.positions.length
    this.over.replaceChildren()
    this.over.setAttribute("viewBox", `0 0 ${width} ${height}`)
    if (!length || !this.codes) return
    this.sequence(context, length)
    const style = getComputedStyle(this.element)
    const lines = [["depth", style.getPropertyValue("--primary"), "Depth", true], ["altitude", style.getPropertyValue("--accent"), "Altitude", false]]
      .filter(([name]) => numbersOf(this.model[name], Float32Array).some((value) => value === value))
    const tall = (height - BAND - 10) / Math.max(lines.length, 1)
    lines.forEach(([name, colour, title, down], at) => this.line(context, numbersOf(this.model[name], Float32Array), colour, title, down, BAND + 8 + at * tall, tall - 6, style))
  }

  x(at) { return LEFT + (at + 0.5) / this.positions.length * this.width }

  sequence(context, length) {
    const selected = this.model.selected && this.model.selected.byteLength > 4 ? unpacked(this.model.selected, this.model.count) : null
    const wide = Math.max(this.width / length, 0.75)
    for (let at = 0; at < length; at++) {
      context.globalAlpha = selected && !selected[this.positions[at]] ? 0.22 : 1
      context.fillStyle = this.model.colours[this.codes[this.positions[at]]] ?? this.model.unknown
      context.fillRect(this.x(at) - wide / 2, 2, wide + 0.3, BAND)
    }
    context.globalAlpha = 1
  }

  line(context, values, colour, title, down, top, tall, style) {
    const known = values.filter((value) => value === value)
    const low = known.reduce((a, b) => Math.min(a, b)), high = known.reduce((a, b) => Math.max(a, b), -Infinity)
    const y = (value) => { const share = (value - low) / Math.max(high - low, 1e-9); return top + 4 + (tall - 8) * (down ? share : 1 - share) }
    context.strokeStyle = colour
    context.lineWidth = 1.2
    context.beginPath()
    let drawing = false
    const every = Math.max(1, Math.floor(values.length / 20000))
    for (let at = 0; at < values.length; at += every) {
      if (values[at] !== values[at]) { drawing = false; continue }
      drawing ? context.lineTo(this.x(at), y(values[at])) : context.moveTo(this.x(at), y(values[at]))
      drawing = true
    }
    context.stroke()
    context.fillStyle = style.getPropertyValue("--text-soft")
    context.font = "11px Roboto, sans-serif"
    context.textAlign = "right"
    context.fillText(`${(down ? low : high).toFixed(1)} m`, LEFT - 5, top + 10)
    if (tall > 28) context.fillText(`${(down ? high : low).toFixed(1)} m`, LEFT - 5, top + tall - 1)
    context.textAlign = "left"
    if (tall > 22) {
      context.strokeStyle = style.getPropertyValue("--surface")
      context.lineWidth = 4
      context.strokeText(title, LEFT + 4, top + 11)
      context.fillText(title, LEFT + 4, top + 11)
    }
  }

  // --- mouse and keyboard

  indexAt(event) {
    const box = this.stage.getBoundingClientRect()
    const at = Math.floor((event.clientX - box.left - LEFT) / this.width * this.positions.length)
    return Math.min(Math.max(at, 0), this.positions.length - 1)
  }

  listen() {
    this.stage.addEventListener("pointermove", (event) => this.hover(event))
    this.stage.addEventListener("pointerleave", () => this.tip.hide())
    this.stage.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || !this.positions?.length) return
      this.stage.setPointerCapture(event.pointerId)
      const start = this.indexAt(event)
      const brush = s("rect", {class: "lasso", y: 0, height: this.stage.clientHeight})
      this.over.append(brush)
      const moved = (next) => {
        const [from, to] = [start, this.indexAt(next)].sort((a, b) => a - b)
        brush.setAttribute("x", this.x(from))
        brush.setAttribute("width", Math.max(this.x(to) - this.x(from), 1))
      }
      this.stage.addEventListener("pointermove", moved)
      this.stage.addEventListener("pointerup", (end) => {
        this.stage.removeEventListener("pointermove", moved)
        brush.remove()
        const [from, to] = [start, this.indexAt(end)].sort((a, b) => a - b)
        if (to - from < 1) this.model.send_msg({act: "pick", position: this.positions[start], how: how(end)})
        else this.model.send_msg({act: "select", tool: "strip", how: how(end), images: packedPositions(this.positions.slice(from, to + 1))})
      }, {once: true})
    })
  }

  hover(event) {
    if (!this.positions?.length || !this.ids || event.buttons) return this.tip.hide()
    const at = this.indexAt(event), position = this.positions[at]
    const times = numbersOf(this.model.time, Float64Array), depth = numbersOf(this.model.depth, Float32Array)
    const text = [this.model.names[this.codes?.[position]], Number.isFinite(times[at]) ? moment(times[at]).slice(11) : null, depth[at] === depth[at] ? `${depth[at].toFixed(1)} m` : null]
    if (this.hovered !== position) this.tip.fill(h("img", {src: thumbnail(this.ids[position], 320, this.model.version), alt: ""}), h("span", {}, text.filter(Boolean).join(" · ")))
    this.hovered = position
    this.tip.show(event)
  }
}
