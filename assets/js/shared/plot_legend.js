// The legend of a scatter plot: what its colours mean. A click on an entry shows only its images.

import {h, redraw} from "../core/element.js"
import {count} from "../core/format.js"

// The ids that are shown after a click on an entry; none means all. A click shows only this entry, and a second click all.
// With the Shift key it adds or removes the entry.
export function nextFilter(chosen, id, add) {
  if (!add) return chosen.length === 1 && chosen[0] === id ? [] : [id]
  return chosen.includes(id) ? chosen.filter((each) => each !== id) : [...chosen, id].sort((a, b) => a - b)
}

// The entry that a key moves to, from the entry at `at` among `length`; null for other keys.
export function keyTarget(key, at, length) {
  const target = {ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + 8, PageUp: at - 8, Home: 0, End: length - 1}[key]
  return target === undefined || !length ? null : Math.min(Math.max(target, 0), length - 1)
}

export class PlotLegend {
  constructor(model) {
    this.model = model
    this.current = 0 // the entry that the Tab key reaches
    this.element = h("div", {class: "plotlegend", role: "group", hidden: true})
    this.element.addEventListener("keydown", (event) => this.key(event))
    this.draw()
  }

  get any() {
    const {entries, ends} = this.model.legend
    return Boolean(ends || entries?.length)
  }

  draw() {
    const {title = "", ends, colours} = this.model.legend
    this.element.setAttribute("aria-label", `Legend of ${this.model.title}: ${title}`)
    const top = this.list?.scrollTop ?? 0
    if (ends) redraw(this.element, h("header", {}, h("b", {}, title)), ramp(ends, colours))
    else redraw(this.element, this.head(), this.body())
    if (this.list) this.list.scrollTop = top
  }

  head() {
    const {title, kind, chosen = []} = this.model.legend
    const all = h("button", {class: "plain", "data-key": "all", "aria-pressed": String(!chosen.length), title: "Show the images of all entries", onclick: () => this.send([])}, "All")
    return h("header", {}, h("b", {}, title), kind ? all : null)
  }

  body() {
    const {entries = [], chosen = []} = this.model.legend
    this.buttons = []
    this.ids = []
    this.list = h("div", {class: "entries"}, entries.map((entry) => this.entry(entry, chosen)))
    this.current = Math.min(this.current, Math.max(this.buttons.length - 1, 0))
    this.buttons.forEach((button, at) => { button.tabIndex = at === this.current ? 0 : -1 })
    return this.list
  }

  entry({id, colour, text, count: images}, chosen) {
    const dot = h("i", {class: "dot", style: `background: ${colour}`}), parts = [dot, h("span", {class: "name"}, text), h("span", {class: "soft"}, count(images))]
    const facts = `${text}: ${count(images)} ${images === 1 ? "image" : "images"}`
    if (id === null || !this.model.legend.kind) return h("div", {class: "entry", title: facts}, parts)
    const at = this.buttons.length, shown = chosen.includes(id)
    const button = h("button", {class: `entry${chosen.length && !shown ? " off" : ""}`, "data-key": `entry ${id}`, "aria-pressed": String(shown),
      title: `${facts}. Click to show only these, Shift-click to add them`, "aria-label": facts, onfocus: () => { this.current = at; this.reach() },
      onclick: (event) => this.send(nextFilter(this.model.legend.chosen, id, event.shiftKey))}, parts)
    this.buttons.push(button)
    this.ids.push(id)
    return button
  }

  reach() { this.buttons.forEach((button, at) => { button.tabIndex = at === this.current ? 0 : -1 }) }

  key(event) {
    const at = this.buttons?.indexOf(event.target) ?? -1
    if (event.key.length === 1 && event.key !== " ") return // keys of the page
    if (at >= 0 && (event.key === "Enter" || event.key === " ") && event.shiftKey) {
      event.preventDefault() // not every browser passes the Shift key on to the click
      this.send(nextFilter(this.model.legend.chosen, this.ids[at], true))
    }
    const target = at < 0 ? null : keyTarget(event.key, at, this.buttons.length)
    if (target === null) return
    event.preventDefault()
    event.stopPropagation()
    this.buttons[target].focus()
  }

  send(ids) { this.model.send_msg({act: "legend", kind: this.model.legend.kind, ids}) }
}

function ramp([low, high], colours) {
  const bar = h("i", {class: "rampbar", style: `background: linear-gradient(0deg, ${colours.filter((_, at) => at % 20 === 0).join(", ")})`})
  return h("div", {class: "numbers"}, bar, h("span", {}, high), h("span", {}, low))
}
