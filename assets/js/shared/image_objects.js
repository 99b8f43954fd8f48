// The segments of the image in view: which object each is, found under the pointer or by key, named, and looked for.

import {ask, h, icon} from "../dom.js"
import {segmentCrop} from "./wire.js"

const LIT = [255, 255, 255, 120], ALIKE = [255, 255, 255, 44] // the segment itself, the others of its object
const LOOKS = 20, PAUSE = 250 // how often and in which steps of milliseconds a new name is looked for

export class ImageObjects {
  // `hooks`: run(), version(), nameSegment(id, number, word); `named` is called when a segment has a new name.
  constructor(stage, hooks, named) {
    Object.assign(this, {stage, hooks, named, segment: -1, chosen: -1, first: -1})
    this.canvas = h("canvas", {class: "lit", hidden: true, "aria-hidden": "true"})
    this.tip = h("div", {class: "objecttip", hidden: true, role: "status"})
    this.list = h("ul", {class: "objects"})
    this.card = h("div", {class: "segmentcard", hidden: true})
    this.element = h("section", {class: "inimage", "aria-label": "Objects in the image", hidden: true}, h("h3", {}, "Objects"), this.card, this.list)
    stage.append(this.canvas, this.tip)
    stage.addEventListener("pointermove", (event) => this.hover(event))
    stage.addEventListener("pointerleave", () => this.light(-1))
    stage.addEventListener("pointerdown", (event) => { this.down = [event.clientX, event.clientY] })
    stage.addEventListener("click", (event) => { if (!this.dragged(event)) this.choose(this.at(event)) })
  }

  async show(id, place) {
    this.place = place
    if (this.id === id && this.run === this.hooks.run()) { this.appear(true); this.begin(); return }
    this.hide()
    Object.assign(this, {id, run: this.hooks.run(), told: null, chosen: -1})
    const query = this.run ? `?run=${this.run}` : ""
    const [told, mask] = await Promise.all([ask(`/api/v1/images/${id}/objects${query}`), maskOf(`/api/v1/images/${id}/segments.u2${query}`)])
    if (this.id !== id || this.run !== this.hooks.run()) return
    Object.assign(this, {told, ...mask})
    Object.assign(this.canvas, {width: mask.width, height: mask.height})
    this.draw()
    this.appear(this.wanted)
    this.begin()
  }

  // The segment somebody came for.
  begin() {
    if (!this.told || this.first < 0) return
    this.choose(this.first)
    this.first = -1
  }

  appear(shown) {
    this.wanted = shown
    const there = Boolean(shown && this.told)
    this.element.hidden = this.canvas.hidden = !there
    if (!there) this.tip.hidden = true
  }

  hide() { this.id = null; this.told = null; this.appear(false); this.wanted = true }

  moved(place, turn) {
    this.place = place
    this.canvas.style.transform = turn
  }

  // --- where the pointer is

  at(event) {
    if (!this.told || !this.wanted) return -1
    const box = this.stage.getBoundingClientRect(), {scale, x, y} = this.place
    const fit = Math.min(box.width / this.width, box.height / this.height)
    const column = Math.floor(((event.clientX - box.left - box.width / 2 - x) / scale) / fit + this.width / 2)
    const row = Math.floor(((event.clientY - box.top - box.height / 2 - y) / scale) / fit + this.height / 2)
    return column < 0 || row < 0 || column >= this.width || row >= this.height ? -1 : this.mask[row * this.width + column]
  }

  dragged(event) { return this.down && Math.hypot(event.clientX - this.down[0], event.clientY - this.down[1]) > 4 }

  hover(event) {
    const segment = this.at(event), box = this.stage.getBoundingClientRect()
    this.light(segment)
    if (segment >= 0) this.tip.style.transform = `translate(${Math.min(event.clientX - box.left + 14, box.width - 200)}px, ${event.clientY - box.top + 16}px)`
  }

  light(segment) {
    if (segment === this.segment) return
    this.segment = segment
    this.tip.hidden = segment < 0 || !this.told
    if (!this.told) return
    if (segment >= 0) this.tip.replaceChildren(...this.words(segment))
    this.glow((each) => each === segment || each === this.chosen, segment)
  }

  // One segment brightly, or with it the others of its object faintly.
  glow(brightly, segment) {
    const context = this.canvas.getContext("2d"), picture = context.createImageData(this.width, this.height)
    const {labels} = this.told, object = segment >= 0 ? labels[segment] : -1
    const tints = labels.map((label, each) => (brightly(each) ? LIT : object >= 0 && label === object ? ALIKE : null))
    for (let at = 0; at < this.mask.length; at++) {
      const tint = tints[this.mask[at]]
      if (tint) picture.data.set(tint, 4 * at)
    }
    context.putImageData(picture, 0, 0)
  }

  object(segment) { return this.told.objects.find(({number}) => number === this.told.labels[segment]) }

  words(segment) {
    const object = this.object(segment), name = this.told.names[segment]
    const dot = h("i", {class: "dot"})
    dot.style.background = object?.colour ?? "transparent"
    return [dot, h("b", {}, name || object?.name || `Segment ${segment}`), name && object ? h("span", {}, object.name) : null].filter(Boolean)
  }

  // --- the list and the card beside the image

  draw() {
    this.segment = -1 // the tip shows what it is called now when the pointer moves next
    const row = (object) => {
      const mine = this.told.labels.flatMap((label, at) => (label === object.number ? [at] : []))
      const glow = () => this.glow((each) => mine.includes(each), -1)
      const dot = h("i", {class: "dot"})
      dot.style.background = object.colour
      const next = () => this.choose(mine[(mine.indexOf(this.chosen) + 1) % mine.length])
      return h("li", {}, h("button", {class: "plain", onclick: next, onfocus: glow, onpointerenter: glow, onpointerleave: () => this.glow((each) => each === this.chosen, -1),
        title: "Show its segments one after the other"}, dot, object.name, h("span", {class: "soft"}, `${mine.length} ${mine.length === 1 ? "segment" : "segments"}`)), this.finder(object))
    }
    this.list.replaceChildren(...(this.told.objects.length ? this.told.objects.map(row) : [h("li", {class: "soft"}, "This run knows no objects; segments can be named.")]))
    this.card.hidden = true
  }

  finder(object) {
    return h("a", {class: "plain", href: `/explore?${this.run ? `run=${this.run}&` : ""}object=${object.number}`, title: `All images with ${object.name}`,
      "aria-label": `All images with ${object.name}`}, icon("image_search"))
  }

  choose(segment) {
    if (segment < 0 || segment === undefined) return
    this.chosen = segment
    this.glow((each) => each === segment, segment)
    const object = this.object(segment), {names, set} = this.told
    const field = h("input", {type: "text", list: "segmentterms", placeholder: "Name it", "aria-label": `Name of segment ${segment}`, value: names[segment], autocomplete: "off"})
    field.addEventListener("keydown", (event) => event.stopPropagation())
    const form = h("form", {onsubmit: (event) => { event.preventDefault(); this.name(segment, field.value.trim()) }}, field, h("button", {class: "button"}, "Name"))
    const known = h("datalist", {id: "segmentterms"})
    terms().then((found) => known.replaceChildren(...found.map((value) => h("option", {value}))), () => {})
    this.card.replaceChildren(h("img", {src: segmentCrop(set, this.id, segment, 192, this.hooks.version()), alt: `Segment ${segment}`}),
      h("div", {}, h("p", {}, ...this.words(segment)), h("p", {class: "soft"}, `Segment ${segment} of image ${this.id}`),
        object ? h("a", {class: "button", href: this.finder(object).getAttribute("href")}, icon("image_search"), "All images with it") : null), form, known)
    this.card.hidden = false
    this.card.dataset.segment = segment
  }

  async name(segment, word) {
    if (!word) return
    const {id} = this, before = this.told.names[segment]
    this.hooks.nameSegment(id, segment, word)
    for (let look = 0; look < LOOKS; look++) {
      await new Promise((go) => setTimeout(go, PAUSE))
      const told = await ask(`/api/v1/images/${id}/objects${this.run ? `?run=${this.run}` : ""}`).catch(() => null)
      if (this.id !== id) return
      if (told && told.names[segment] !== before) {
        this.told = told
        this.draw()
        this.choose(segment)
        this.named(id)
        return
      }
    }
  }
}

async function maskOf(address) {
  const answer = await fetch(address, {credentials: "same-origin"})
  if (!answer.ok) throw new Error(`${address} answered ${answer.status}`)
  const values = new Uint16Array(await answer.arrayBuffer())
  return {height: values[0], width: values[1], mask: values.subarray(2)}
}

let asked = null
function terms() {
  asked ??= ask("/api/v1/segment-terms").catch((error) => { asked = null; throw error })
  return asked
}
