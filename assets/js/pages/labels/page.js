// The Labels page in three groups: labels, their quality, and results. Each part is a separate module.

import {h, redraw, whileShown} from "../../core/element.js"
import {inOrder} from "../../core/ordered_messages.js"
import {coverPart} from "./cover.js"
import {exportPart, importPart} from "./files.js"
import {historyPart} from "./history.js"
import {peoplePart} from "./people.js"
import {trainingPart} from "./training.js"
import {wordsPart} from "./words.js"
import {plotShelf} from "../../shared/plot_frame.js"
import {typing} from "../../shell/keyboard.js"

const DRAW = {words: wordsPart, import: importPart, people: peoplePart, training: trainingPart, history: historyPart, cover: coverPart, export: exportPart}

export function render({model}) {
  const {tell} = inOrder(model)
  const now = () => model.content
  const table = h("div", {hidden: true}, model.get_child("history")) // it stays in the page: Tabulator fails where it is drawn outside of it
  table.addEventListener("table-act", ({detail: {act, number}}) => tell(act, {number}))
  const tabs = h("div", {class: "tabs", role: "tablist", "aria-label": "Labels"}), question = h("p", {class: "question soft"})
  const parts = () => now().tabs.flatMap(([, members]) => members)
  const place = h("div", {class: "part"})
  const plots = plotShelf(model)
  let drawn = null // the shown part: its name and module

  function draw() {
    const numbers = parts().map(([name]) => name)
    const tab = ([name, title]) => h("button", {class: "tab", role: "tab", "data-key": name, "aria-selected": String(name === now().part), onclick: () => tell("part", {name})}, title, h("kbd", {}, numbers.indexOf(name) + 1))
    redraw(tabs, now().tabs.map(([title, members]) => h("div", {class: "group", role: "presentation"}, h("span", {class: "caption", "aria-hidden": "true"}, title), h("div", {class: "row", role: "presentation"}, members.map(tab)))))
    question.textContent = parts().find(([name]) => name === now().part)[2]
    if (drawn?.name !== now().part) {
      drawn = {name: now().part, part: DRAW[now().part]({tell, now, plots})}
      place.replaceChildren(drawn.part.element)
    }
    drawn.part.draw()
    plots.prune()
    table.hidden = now().part !== "history" || !now().entries
    place.dataset.part = now().part
  }

  whileShown(model, document, "keydown", (event) => {
    if (typing(event) || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return
    const part = parts()[Number(event.key) - 1]
    if (drawn?.part.key?.(event)) { event.preventDefault(); return }
    if (part) tell("part", {name: part[0]})
    else if (event.key === "x") tell("export")
    else if (event.key === "i") tell("part", {name: "import"})
    else return
    event.preventDefault()
  })
  model.on("change:content", draw)
  draw()
  return h("div", {class: "labels"}, h("header", {class: "head"}, h("h1", {}, "Labels"), tabs), question, place, table)
}
