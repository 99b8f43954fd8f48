// One image in full size: zoom, pan, metadata, history, and its neighbours in the order taken.

import {ask, h, icon, s} from "../core/element.js"
import {moment} from "../core/format.js"
import {ImageObjects} from "./image_objects.js"
import {thumbnail} from "../core/image_set_codec.js"

const COVER = "110" // usual opacity of the colours of segments, of 255
const FIELDS = [["taken_at", "Taken", (value) => `${moment(value)} UTC`], ["depth", "Depth", (value) => `${value.toFixed(2)} m`],
  ["altitude", "Altitude", (value) => `${value.toFixed(2)} m`], ["latitude", "Latitude", (value) => `${value.toFixed(6)}°`],
  ["longitude", "Longitude", (value) => `${value.toFixed(6)}°`]]

export class Viewer {
  // `hooks`: step(by) -> id, version(), shown(id), select(id), selected(id), pin(id), colour(id), run(), accept(id),
  // nameSegment(id, number, word), region(id, box)
  constructor(hooks) {
    this.hooks = hooks
    this.picture = h("img", {alt: "", draggable: "false"})
    this.segments = h("img", {class: "segments", alt: "", draggable: "false", hidden: true})
    this.parts = s("svg", {class: "parts", "aria-hidden": "true"})
    this.stage = h("div", {class: "stage"}, this.picture, this.segments, this.parts)
    this.objects = new ImageObjects(this.stage, hooks, (id) => this.tellPast(id).catch(() => {}))
    this.guess = h("p", {class: "suggestion", hidden: true})
    this.past = h("section", {class: "past", "aria-label": "History"})
    this.facts = h("dl", {class: "facts"})
    this.details = h("section", {class: "fromfiles"}) // values of metadata files are no results of the program
    this.track = h("div", {class: "track", role: "group", "aria-label": "Neighbours in the order taken"})
    this.title = h("h2", {})
    const button = (sign, title, act) => h("button", {class: "plain", title, "aria-label": title, onclick: act}, icon(sign))
    this.tick = button("check_box_outline_blank", "Select (Space)", () => this.select())
    this.over = button("grid_on", "Segments (S)", () => this.toggleSegments())
    this.over.hidden = true
    this.cover = h("input", {type: "range", class: "cover", min: "0", max: "255", step: "5", value: COVER, hidden: true, title: "Opacity of the colours", "aria-label": "Opacity of the colours", oninput: () => this.showSegments()})
    this.tick.hidden = !hooks.select // views without a selection
    this.element = h("dialog", {class: "viewer", "aria-label": "Image"},
      h("header", {}, this.title, h("span", {class: "space"}), this.tick, button("push_pin", "Sort by similarity to this image (P)", () => this.pin()),
        button("zoom_in", "Larger (+)", () => this.zoom(1.6)), button("zoom_out", "Smaller (-)", () => this.zoom(1 / 1.6)),
        this.over, this.cover, button("fit_screen", "Whole image (0)", () => this.fit()), button("info", "Information (I)", () => this.element.classList.toggle("bare")),
        button("close", "Close (Esc)", () => this.close())),
      h("div", {class: "body"}, button("chevron_left", "Previous (←)", () => this.go(-1)), this.stage,
        button("chevron_right", "Next (→)", () => this.go(1)), h("aside", {}, this.guess, this.objects.element, this.facts, this.details, this.past)), this.track)
    this.listen()
  }

  open(id) {
    if (id === undefined || id < 0) return
    this.id = id
    if (!this.element.open) this.element.showModal()
    this.picture.src = thumbnail(id, 1024, this.hooks.version())
    this.picture.alt = `Image ${id}`
    this.sharp = this.hasSegments = false
    this.parts.replaceChildren()
    this.past.replaceChildren()
    this.guess.hidden = true
    this.showSegments()
    this.fit()
    this.marks()
    this.title.textContent = `Image ${id}`
    this.tell(id).catch((error) => { this.facts.replaceChildren(h("dd", {}, error.message)) })
  }

  close() {
    if (this.element.open) this.element.close()
  }

  async tell(id) {
    const run = this.hooks.run()
    const details = await ask(`/api/v1/images/${id}/around${run ? `?run=${run}` : ""}`)
    if (this.id !== id) return
    const {image} = details
    this.size = [image.width, image.height]
    this.tellPast(id).catch((error) => { this.past.replaceChildren(error.message) })
    this.guess.hidden = !details.suggestion
    if (details.suggestion) this.guess.replaceChildren(`Suggested: ${details.suggestion.name}${details.suggestion.measured ? `, ${Math.round(100 * details.suggestion.sure)} %` : ""} `, h("button", {class: "button", onclick: () => this.accept()}, "Accept", h("kbd", {}, "A")))
    this.hasSegments = details.segments
    this.showSegments()
    this.title.textContent = image.path.split("/").pop()
    const rows = [["File", image.path], [details.kind, details.group], ...FIELDS.filter(([name]) => image[name] !== null).map(([name, title, word]) => [title, word(image[name])]),
      ["Size", `${image.width} × ${image.height}`], ...(details.cluster === null ? [] : [[details.cluster_kind, `${details.cluster_name.replace(`${details.cluster_kind} `, "")}${details.probability === null ? "" : `, probability ${details.probability.toFixed(3)}`}`]]),
      ...(image.changed_at ? [["Replaced", `${moment(image.changed_at)} UTC. Values computed before are from the old file`]] : []),
      ["Label", details.label ?? "none"]]
    const list = (pairs) => pairs.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))
    const metadata = Object.entries(image.details).map(([name, value]) => [name, typeof value === "object" ? JSON.stringify(value) : String(value)])
    this.facts.replaceChildren(...list(rows))
    this.details.replaceChildren(...(metadata.length ? [h("h3", {}, "From metadata files"), h("dl", {class: "facts"}, list(metadata))] : []))
    this.track.replaceChildren(...details.track.map((other) => h("button", {class: "near", "aria-current": other === id ? "true" : null, title: `Image ${other}`,
      onclick: () => { this.open(other); this.hooks.shown(other) }}, h("img", {src: thumbnail(other, 128, this.hooks.version()), alt: `Image ${other}`}))))
  }

  // The history of labels, and current labels of parts drawn over the image.
  async tellPast(id) {
    const acts = await ask(`/api/v1/images/${id}/history`)
    if (this.id !== id) return
    const row = (act) => h("li", {class: act.undone ? "undone" : null}, h("b", {}, act.what), ` ${act.who}, ${moment(act.at)}, ${act.why}`)
    this.past.replaceChildren(...(acts.length ? [h("h3", {}, "History"), h("ul", {}, acts.reverse().map(row))] : []))
    this.parts.setAttribute("viewBox", `0 0 ${this.size[0]} ${this.size[1]}`)
    this.parts.replaceChildren(...acts.filter((act) => !act.undone).flatMap((act) => act.parts.map((part) => drawn(part, act.what, Math.max(...this.size) / 160))))
  }

  // --- commands

  accept() {
    if (this.guess.hidden) return
    const id = this.id
    this.hooks.accept(id)
    this.guess.hidden = true
    setTimeout(() => { if (this.id === id) this.tell(id).catch(() => {}) }, 600)
  }

  toggleSegments() {
    this.overlaid = !this.overlaid
    if (!this.overlaid && this.cover.matches(":focus")) this.over.focus() // a hidden element loses the focus, and keys with it
    this.showSegments()
  }

  showSegments() {
    const shown = Boolean(this.overlaid && this.hasSegments), run = this.hooks.run()
    this.over.hidden = !this.hasSegments
    this.over.setAttribute("aria-pressed", String(shown))
    this.segments.hidden = this.cover.hidden = !shown
    if (shown) this.objects.show(this.id, this.place).catch((error) => { this.past.prepend(error.message) })
    else this.objects.appear(false)
    if (shown) this.segments.src = `/api/v1/images/${this.id}/segments.png?cover=${this.cover.value}${run ? `&run=${run}` : ""}`
  }

  go(by) {
    const next = this.hooks.step(by)
    if (next !== null && next !== undefined) this.open(next)
  }

  select() {
    if (!this.hooks.select) return
    this.hooks.select(this.id)
    setTimeout(() => this.marks(), 150)
  }

  pin() {
    this.close()
    this.hooks.pin(this.id)
  }

  marks() {
    const selected = Boolean(this.hooks.selected?.(this.id))
    this.tick.setAttribute("aria-pressed", String(selected))
    this.tick.firstChild.textContent = selected ? "check_box" : "check_box_outline_blank"
    this.element.style.setProperty("--mark", this.hooks.colour(this.id))
  }

  fit() {
    this.place = {scale: 1, x: 0, y: 0}
    this.draw()
  }

  zoom(factor, px = 0, py = 0) {
    const scale = Math.min(Math.max(this.place.scale * factor, 1), 24), turned = scale / this.place.scale
    this.place = scale === 1 ? {scale, x: 0, y: 0} : {scale, x: px - (px - this.place.x) * turned, y: py - (py - this.place.y) * turned}
    if (scale > 1.2 && !this.sharp) this.sharpen()
    this.draw()
  }

  // The original is loaded only when the image is zoomed.
  sharpen() {
    this.sharp = true
    const original = new Image(), id = this.id
    original.onload = () => { if (this.id === id) this.picture.src = original.src }
    original.src = `/api/v1/images/${id}/file?shown`
  }

  draw() {
    const turn = `translate(${this.place.x}px, ${this.place.y}px) scale(${this.place.scale})`
    this.picture.style.transform = this.segments.style.transform = this.parts.style.transform = turn
    this.objects.moved(this.place, turn)
  }

  listen() {
    const middle = (event) => {
      const box = this.stage.getBoundingClientRect()
      return [event.clientX - box.left - box.width / 2, event.clientY - box.top - box.height / 2]
    }
    this.stage.addEventListener("wheel", (event) => { event.preventDefault(); this.zoom(Math.exp(-event.deltaY * 0.002), ...middle(event)) }, {passive: false})
    this.stage.addEventListener("dblclick", (event) => (this.place.scale > 1 ? this.fit() : this.zoom(4, ...middle(event))))
    this.stage.addEventListener("pointerdown", (event) => {
      this.stage.setPointerCapture(event.pointerId)
      let last = [event.clientX, event.clientY]
      const moved = (next) => {
        if (this.place.scale === 1) return
        this.place = {...this.place, x: this.place.x + next.clientX - last[0], y: this.place.y + next.clientY - last[1]}
        last = [next.clientX, next.clientY]
        this.draw()
      }
      this.stage.addEventListener("pointermove", moved)
      this.stage.addEventListener("pointerup", () => this.stage.removeEventListener("pointermove", moved), {once: true})
    })
    this.element.addEventListener("keydown", (event) => this.key(event))
  }

  key(event) {
    const acts = {ArrowLeft: () => this.go(-1), ArrowRight: () => this.go(1), " ": () => this.select(), p: () => this.pin(), a: () => this.accept(), "+": () => this.zoom(1.6),
      "=": () => this.zoom(1.6), "-": () => this.zoom(1 / 1.6), 0: () => this.fit(), s: () => this.toggleSegments(), i: () => this.element.classList.toggle("bare")}
    if (event.ctrlKey || event.metaKey || event.altKey || (event.target === this.cover && event.key.startsWith("Arrow"))) return
    if (acts[event.key]) { event.preventDefault(); acts[event.key]() }
    if (event.key !== "Escape") event.stopPropagation()
  }
}

// A labelled part in pixels of the image; masks are drawn elsewhere.
function drawn({shape, numbers}, title, radius) {
  const [x, y, a, b] = numbers
  const pairs = () => Array.from({length: numbers.length / 2}, (_, i) => `${numbers[2 * i]},${numbers[2 * i + 1]}`).join(" ")
  const made = {
    point: () => s("circle", {cx: x, cy: y, r: radius}), box: () => s("rect", {x, y, width: a, height: b}), circle: () => s("circle", {cx: x, cy: y, r: a}),
    line: () => s("polyline", {points: pairs()}), outline: () => s("polygon", {points: pairs()}), mask: () => s("g"),
  }[shape]()
  made.append(s("title", {}, title))
  return made
}
