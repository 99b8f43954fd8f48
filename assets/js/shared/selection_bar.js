// The bar of Explore: filters, the number of selected images, and commands on the selection.

import {h, icon} from "../core/element.js"
import {popover} from "../shell/popover.js"
import {termField} from "./term_field.js"
import {count} from "../core/format.js"
import {fill} from "./choices.js"
import {oncePerFrame} from "../core/image_set_codec.js"

export function render({model}) {
  return new SelectionBar(model).element
}

class SelectionBar {
  constructor(model) {
    this.model = model
    this.choices = h("div", {class: "choices"})
    this.chips = h("div", {class: "chips"})
    this.legend = h("div", {class: "legend"})
    this.status = h("span", {class: "told", role: "status"})
    this.label = termField({title: "Label for the selected images", placeholder: "Label", choose: ({path}) => model.send_msg({act: "label", word: path})})
    this.name = h("input", {type: "text", placeholder: "Name", "aria-label": "Name of the selection", class: "word"})
    this.element = h("div", {class: "explorebar", role: "toolbar", "aria-label": "Explore"}, this.choices, this.legend, this.chips, h("span", {class: "space"}), this.status, this.acts())
    this.name.addEventListener("keydown", (event) => { if (event.key === "Enter") this.save() })
    model.on("goto", () => { if (model.goto.startsWith("/")) window.location.assign(model.goto) })
    const draw = oncePerFrame(() => this.draw())
    for (const name of ["choices", "filters", "shown", "total", "selected_count", "legend", "crowd", "saved", "views", "export_url", "back"]) model.on(name, draw)
    this.draw()
  }

  acts() {
    const act = (name, sign, title, word) => h("button", {class: "plain", "data-act": name, title, "aria-label": title, onclick: () => this.model.send_msg({act: name})}, icon(sign), word ?? null)
    this.menu = h("div", {class: "menu", hidden: true},
      h("div", {class: "line"}, this.name, h("button", {class: "button", onclick: () => this.save()}, "Save")),
      act("split", "call_split", "Make the selection a separate cluster in a new run", "Split off as a cluster"),
      h("a", {class: "plain", "data-act": "export", download: "selection.csv"}, icon("download"), "Export as CSV"),
      act("labels", "ios_share", "Save the selection and export its labels in a format of another program", "Export labels"),
      act("accept", "done_all", "Accept the suggestion of every selected image without a label", "Accept suggestions"),
      act("crowd", "groups", "Save the selection and create a campaign about it", "Send to the crowd"),
      act("invert", "flip_to_back", "Select the shown images that are not selected", "Invert"), act("back", "undo", "Restore the previous selection", "Previous selection"),
      h("button", {class: "plain", onclick: () => { this.menu.hidden = true; window.dispatchEvent(new Event("bentho-tour")) }}, icon("tour"), "Show the tour"),
      h("div", {class: "savedlist"}))
    this.more = h("button", {class: "plain", title: "More", "aria-label": "More commands on the selection", "aria-haspopup": "true", onclick: () => { this.menu.hidden = !this.menu.hidden }}, icon("more_vert"))
    document.addEventListener("pointerdown", (event) => { if (!event.composedPath().includes(this.holder)) this.menu.hidden = true })
    this.holder = h("div", {class: "holder"}, this.more, this.menu)
    this.own = h("div", {class: "own"}, this.label.element, h("button", {class: "button main", "data-act": "label", onpointerdown: (event) => event.preventDefault(), onclick: () => this.label.submit()}, "Label"), act("clear", "close", "Clear the selection (Esc)"))
    return h("div", {class: "acts"}, this.own, this.viewsHolder(), this.holder)
  }

  // Saved views: a name for the run, filters, colours and order of the page.
  viewsHolder() {
    const field = h("input", {type: "text", placeholder: "Name of this view", "aria-label": "Name of this view", class: "word", maxlength: 80})
    const save = () => { if (!field.value.trim()) return field.focus(); this.model.send_msg({act: "save_view", name: field.value}); field.value = ""; pop.close() }
    field.addEventListener("keydown", (event) => { if (event.key === "Enter") save() })
    const list = () => h("div", {class: "savedlist"}, this.model.views.length ? this.model.views.map((name) => h("div", {class: "line"},
      h("button", {class: "plain", onclick: () => { this.model.send_msg({act: "open_view", name}); pop.close() }}, icon("bookmark"), name),
      h("button", {class: "plain", title: `Delete ${name}`, "aria-label": `Delete the view ${name}`, onclick: () => this.model.send_msg({act: "delete_view", name})}, icon("delete")))) : h("p", {class: "soft"}, "A view is what this page shows now: run, filters, colours and order. Everybody in this workspace sees saved views."))
    const opener = h("button", {class: "button", title: "Save what the page shows, or show a saved view"}, icon("bookmarks"), "Views")
    const pop = popover(this.model, opener, (box) => { box.classList.add("menu"); box.append(h("div", {class: "line"}, field, h("button", {class: "button", onclick: save}, "Save")), list()) })
    this.model.on("views", pop.refill)
    return pop.holder
  }

  save() {
    this.model.send_msg({act: "save", name: this.name.value})
    this.menu.hidden = true
  }

  draw() {
    const {model} = this, selected = model.selected_count
    fill(this.choices, model.choices, (message) => model.send_msg(message))
    this.status.textContent = selected ? `${count(selected)} selected` : model.shown === model.total ? `${count(model.total)} images` : `${count(model.shown)} of ${count(model.total)} images`
    this.own.hidden = !selected
    for (const name of ["split", "labels", "accept", "crowd", "invert", "export"]) this.menu.querySelector(`[data-act=${name}]`).hidden = !selected
    this.menu.querySelector(".line").hidden = !selected
    this.menu.querySelector("[data-act=crowd]").hidden = !selected || !model.crowd
    this.menu.querySelector("[data-act=export]").setAttribute("href", model.export_url)
    const {href, text} = model.back
    this.chips.replaceChildren(...(href?.startsWith("/") ? [h("a", {class: "chip", href}, icon("arrow_back"), text)] : []), ...model.filters.map(({kind, id, text}) => h("button", {class: "chip", title: `Remove the filter ${text}`, onclick: () => model.send_msg({act: "unfilter", kind, id})}, text, icon("close"))),
      ...(model.filters.length > 1 ? [h("button", {class: "chip", onclick: () => model.send_msg({act: "show_all"})}, "Show all")] : []))
    this.menu.querySelector(".savedlist").replaceChildren(...model.saved.map(([id, name, size]) => h("div", {class: "line"}, h("button", {class: "plain", onclick: () => { model.send_msg({act: "recall", id}); this.menu.hidden = true }}, icon("bookmark"), name, h("span", {class: "soft"}, count(size))),
      h("button", {class: "plain", title: `Delete ${name}`, "aria-label": `Delete ${name}`, onclick: () => model.send_msg({act: "forget", id})}, icon("delete")))))
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
