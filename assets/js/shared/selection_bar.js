// What is shown and what is selected, and what can be done with it.

import {h, icon} from "../dom.js"
import {count} from "../told.js"
import {fill} from "./choices.js"
import {oncePerFrame} from "./wire.js"

export function render({model}) {
  return new SelectionBar(model).element
}

class SelectionBar {
  constructor(model) {
    this.model = model
    this.choices = h("div", {class: "choices"})
    this.chips = h("div", {class: "chips"})
    this.legend = h("div", {class: "legend"})
    this.told = h("span", {class: "told", role: "status"})
    this.words = h("datalist", {id: "terms"})
    this.label = h("input", {type: "text", list: "terms", placeholder: "Label", "aria-label": "Label for the selected images", class: "word"})
    this.name = h("input", {type: "text", placeholder: "Name", "aria-label": "Name of the selection", class: "word"})
    this.element = h("div", {class: "explorebar", role: "toolbar", "aria-label": "Explore"}, this.choices, this.legend, this.chips, h("span", {class: "space"}), this.told, this.acts(), this.words)
    this.label.addEventListener("keydown", (event) => { if (event.key === "Enter") this.give() })
    this.name.addEventListener("keydown", (event) => { if (event.key === "Enter") this.save() })
    model.on("goto", () => { if (model.goto.startsWith("/")) window.location.assign(model.goto) })
    const draw = oncePerFrame(() => this.draw())
    for (const name of ["choices", "filters", "shown", "total", "selected_count", "terms", "legend", "crowd", "saved", "export_url"]) model.on(name, draw)
    this.draw()
  }

  acts() {
    const act = (name, sign, title, word) => h("button", {class: "plain", "data-act": name, title, "aria-label": title, onclick: () => this.model.send_msg({act: name})}, icon(sign), word ?? null)
    this.menu = h("div", {class: "menu", hidden: true},
      h("div", {class: "line"}, this.name, h("button", {class: "button", onclick: () => this.save()}, "Save")),
      act("split", "call_split", "Make the selection a cluster of its own, in a new run", "Split off as a cluster"),
      h("a", {class: "plain", "data-act": "export", download: "selection.csv"}, icon("download"), "Export as CSV"),
      act("labels", "ios_share", "Save it and export its labels in a format of other programs", "Export labels"),
      act("accept", "done_all", "Give every selected image without a label what the model suggests for it", "Accept suggestions"),
      act("crowd", "groups", "Save it and ask the crowd about it", "Send to the crowd"),
      act("invert", "flip_to_back", "Select what is not selected of what is shown", "Invert"), act("back", "undo", "What was selected before", "Previous selection"),
      h("div", {class: "savedlist"}))
    this.more = h("button", {class: "plain", title: "More", "aria-label": "More to do with the selection", "aria-haspopup": "true", onclick: () => { this.menu.hidden = !this.menu.hidden }}, icon("more_vert"))
    document.addEventListener("pointerdown", (event) => { if (!event.composedPath().includes(this.holder)) this.menu.hidden = true })
    this.holder = h("div", {class: "holder"}, this.more, this.menu)
    this.own = h("div", {class: "own"}, this.label, h("button", {class: "button main", "data-act": "label", onclick: () => this.give()}, "Label"), act("clear", "close", "Clear the selection (Esc)"))
    return h("div", {class: "acts"}, this.own, this.holder)
  }

  give() {
    if (this.label.value.trim()) this.model.send_msg({act: "label", word: this.label.value})
  }

  save() {
    this.model.send_msg({act: "save", name: this.name.value})
    this.menu.hidden = true
  }

  draw() {
    const {model} = this, selected = model.selected_count
    fill(this.choices, model.choices, (told) => model.send_msg(told))
    this.told.textContent = selected ? `${count(selected)} selected` : model.shown === model.total ? `${count(model.total)} images` : `${count(model.shown)} of ${count(model.total)} images`
    this.own.hidden = !selected
    for (const name of ["split", "labels", "accept", "crowd", "invert", "export"]) this.menu.querySelector(`[data-act=${name}]`).hidden = !selected
    this.menu.querySelector(".line").hidden = !selected
    this.menu.querySelector("[data-act=crowd]").hidden = !selected || !model.crowd
    this.menu.querySelector("[data-act=export]").setAttribute("href", model.export_url)
    this.words.replaceChildren(...model.terms.map((word) => h("option", {value: word})))
    this.chips.replaceChildren(...model.filters.map(({kind, id, text}) => h("button", {class: "chip", title: `Remove the filter ${text}`, onclick: () => model.send_msg({act: "unfilter", kind, id})}, text, icon("close"))),
      ...(model.filters.length > 1 ? [h("button", {class: "chip", onclick: () => model.send_msg({act: "show_all"})}, "Show all")] : []))
    this.menu.querySelector(".savedlist").replaceChildren(...model.saved.map(([id, name, size]) => h("div", {class: "line"}, h("button", {class: "plain", onclick: () => { model.send_msg({act: "recall", id}); this.menu.hidden = true }}, icon("bookmark"), name, h("span", {class: "soft"}, count(size))),
      h("button", {class: "plain", title: `Remove ${name}`, "aria-label": `Remove ${name}`, onclick: () => model.send_msg({act: "forget", id})}, icon("delete")))))
    this.drawLegend()
  }

  drawLegend() {
    const {ends, colours} = this.model.legend
    if (!ends) { this.legend.replaceChildren(); return }
    const ramp = h("i", {class: "ramp"})
    ramp.style.background = `linear-gradient(90deg, ${colours.filter((_, at) => at % 20 === 0).join(", ")})`
    this.legend.replaceChildren(h("span", {class: "soft"}, ends[0]), ramp, h("span", {class: "soft"}, ends[1]))
  }
}
