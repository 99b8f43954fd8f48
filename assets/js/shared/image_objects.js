// Segments of the shown image: the object of each, found by pointer or key, labelled, and searched in other images.

import {ask, h, icon} from "../core/element.js"
import {hoverCard} from "./hover_card.js"
import {regionDrag} from "./image_region.js"
import {termField} from "./term_field.js"
import {segmentCrop} from "../core/image_set_codec.js"

const LIT = [255, 255, 255, 120], ALIKE = [255, 255, 255, 44] // highlight of the segment, and of others of its object
const LOOKS = 20, PAUSE = 250 // number of requests for a new label, and milliseconds between them

export class ImageObjects {
  // `hooks`: run(), version(), nameSegment(id, number, word), and region(id, box) if regions can be searched; `named` is
  // called when a segment has a new label.
  constructor(stage, hooks, named) {
    Object.assign(this, {stage, hooks, named, segment: -1, chosen: -1, first: -1})
    this.canvas = h("canvas", {class: "lit", hidden: true, "aria-hidden": "true"})
    this.tip = hoverCard("objecttip", {role: "status"})
    this.list = h("ul", {class: "objects"})
    this.heading = h("h3", {}, "Objects")
    this.card = h("div", {class: "segmentcard", hidden: true})
    const hint = hooks.region ? h("p", {class: "soft"}, "Hold Shift and drag over the image to find images with a region like it.") : null
    this.element = h("section", {class: "inimage", "aria-label": "Objects in the image", hidden: true}, this.heading, this.card, this.list, hint)
    stage.append(this.canvas, this.tip.element)
    if (hooks.region) regionDrag(stage, (event) => this.fractions(event), (box) => hooks.region(this.id, box))
    stage.addEventListener("pointermove", (event) => this.hover(event))
    stage.addEventListener("pointerleave", () => this.light(-1))
    stage.addEventListener("pointerdown", (event) => { this.down = [event.clientX, event.clientY] })
    stage.addEventListener("click", (event) => { if (!this.dragged(event)) this.choose(this.at(event)) })
  }

  async show(id, place) {
    this.place = place
    if (this.id === id && this.run === this.hooks.run()) { this.appear(true); this.begin(); return }
    this.hide()
    Object.assign(this, {id, run: this.hooks.run(), content: null, chosen: -1})
    const query = this.run ? `?run=${this.run}` : ""
    const [content, mask] = await Promise.all([ask(`/api/v1/images/${id}/objects${query}`), maskOf(`/api/v1/images/${id}/segments.u2${query}`)])
    if (this.id !== id || this.run !== this.hooks.run()) return
    Object.assign(this, {content, ...mask})
    Object.assign(this.canvas, {width: mask.width, height: mask.height})
    this.draw()
    this.appear(this.wanted)
    this.begin()
  }

  // Shows the segment whose crop was clicked.
  begin() {
    if (!this.content || this.first < 0) return
    this.choose(this.first)
    this.first = -1
  }

  appear(shown) {
    this.wanted = shown
    const there = Boolean(shown && this.content)
    this.element.hidden = this.canvas.hidden = !there
    if (!there) this.tip.hide()
  }

  hide() { this.id = null; this.content = null; this.appear(false); this.wanted = true }

  moved(place, turn) {
    this.place = place
    this.canvas.style.transform = turn
  }

  // --- the pointer

  // [x, y] of the pointer as fractions of the image; null without segments.
  fractions(event) {
    if (!this.content || !this.wanted) return null
    const box = this.stage.getBoundingClientRect(), {scale, x, y} = this.place
    const fit = Math.min(box.width / this.width, box.height / this.height)
    return [((event.clientX - box.left - box.width / 2 - x) / scale) / (fit * this.width) + 0.5,
      ((event.clientY - box.top - box.height / 2 - y) / scale) / (fit * this.height) + 0.5]
  }

  at(event) {
    const place = this.fractions(event)
    if (!place) return -1
    const column = Math.floor(place[0] * this.width), row = Math.floor(place[1] * this.height)
    return column < 0 || row < 0 || column >= this.width || row >= this.height ? -1 : this.mask[row * this.width + column]
  }

  dragged(event) { return this.down && Math.hypot(event.clientX - this.down[0], event.clientY - this.down[1]) > 4 }

  hover(event) {
    const segment = this.at(event)
    this.light(segment)
    if (segment >= 0 && this.content) this.tip.show(event)
  }

  light(segment) {
    if (segment === this.segment) return
    this.segment = segment
    if (segment < 0 || !this.content) this.tip.hide()
    if (!this.content) return
    if (segment >= 0) this.tip.fill(...this.words(segment))
    this.glow((each) => each === segment || each === this.chosen, segment)
  }

  // Highlights one segment brightly and the others of its object faintly.
  glow(brightly, segment) {
    const context = this.canvas.getContext("2d"), picture = context.createImageData(this.width, this.height)
    const {labels} = this.content, object = segment >= 0 ? labels[segment] : -1
    const tints = labels.map((label, each) => (brightly(each) ? LIT : object >= 0 && label === object ? ALIKE : null))
    for (let at = 0; at < this.mask.length; at++) {
      const tint = tints[this.mask[at]]
      if (tint) picture.data.set(tint, 4 * at)
    }
    context.putImageData(picture, 0, 0)
  }

  object(segment) { return this.content.objects.find(({number}) => number === this.content.labels[segment]) }

  words(segment) {
    const object = this.object(segment), name = this.content.names[segment]
    const dot = h("i", {class: "dot"})
    dot.style.background = object?.colour ?? "transparent"
    return [dot, h("b", {}, name || object?.name || `Segment ${segment}`), name && object ? h("span", {}, object.name) : null].filter(Boolean)
  }

  // --- the list and the card beside the image

  draw() {
    this.heading.textContent = this.content.title
    this.element.setAttribute("aria-label", `${this.content.title} in the image`)
    const [one, many] = this.content.part_words
    this.segment = -1 // the tip shows what it is called now when the pointer moves next
    const row = (object) => {
      const mine = this.content.labels.flatMap((label, at) => (label === object.number ? [at] : []))
      const glow = () => this.glow((each) => mine.includes(each), -1)
      const dot = h("i", {class: "dot"})
      dot.style.background = object.colour
      const next = () => this.choose(mine[(mine.indexOf(this.chosen) + 1) % mine.length])
      return h("li", {}, h("button", {class: "plain", onclick: next, onfocus: glow, onpointerenter: glow, onpointerleave: () => this.glow((each) => each === this.chosen, -1),
        title: `Show the ${many} one after the other`}, dot, object.name, h("span", {class: "soft"}, `${mine.length} ${mine.length === 1 ? one : many}`)), this.finder(object))
    }
    this.list.replaceChildren(...(this.content.objects.length ? this.content.objects.map(row) : [h("li", {class: "soft"}, "This run has no objects. You can label segments.")]))
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
    const object = this.object(segment), {names, set, part_words: [one]} = this.content, One = one[0].toUpperCase() + one.slice(1)
    const field = termField({title: `Label of ${one} ${segment}`, placeholder: names[segment] || `Label this ${one}`, choose: ({path}) => this.name(segment, path)})
    const form = h("div", {class: "naming"}, field.element, h("button", {class: "button", onpointerdown: (event) => event.preventDefault(), onclick: field.submit}, "Label"))
    this.card.replaceChildren(h("img", {src: segmentCrop(set, this.id, segment, 192, this.hooks.version()), alt: `${One} ${segment}`}),
      h("div", {}, h("p", {}, ...this.words(segment)), h("p", {class: "soft"}, `${One} ${segment} of image ${this.id}`),
        object ? h("a", {class: "button", href: this.finder(object).getAttribute("href")}, icon("image_search"), "All images with it") : null), form)
    this.card.hidden = false
    this.card.dataset.segment = segment
  }

  async name(segment, word) {
    if (!word) return
    const {id} = this, before = this.content.names[segment]
    this.hooks.nameSegment(id, segment, word)
    for (let look = 0; look < LOOKS; look++) {
      await new Promise((go) => setTimeout(go, PAUSE))
      const content = await ask(`/api/v1/images/${id}/objects${this.run ? `?run=${this.run}` : ""}`).catch(() => null)
      if (this.id !== id) return
      if (content && content.names[segment] !== before) {
        this.content = content
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
