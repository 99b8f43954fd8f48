// Labels: words, agreement, history, cover, files; each part is a module of its own that draws into one place.

import {h, redraw, whileShown} from "./dom.js"
import {inOrder} from "./in_order.js"
import {coverPart} from "./labels/cover.js"
import {filesPart} from "./labels/files.js"
import {historyPart} from "./labels/history.js"
import {peoplePart} from "./labels/people.js"
import {wordsPart} from "./labels/words.js"
import {typing} from "./shell/keyboard.js"

const DRAW = {words: wordsPart, people: peoplePart, history: historyPart, cover: coverPart, files: filesPart}

export function render({model}) {
  const {tell} = inOrder(model)
  const now = () => model.content
  const tabs = h("nav", {class: "tabs", role: "tablist", "aria-label": "Labels"})
  const place = h("div", {class: "part"})
  let drawn = null // name of the part on the page, and how it is drawn anew

  function draw() {
    redraw(tabs, now().parts.map(([name, title], at) => h("button", {class: "tab", role: "tab", "data-key": name, "aria-selected": String(name === now().part), onclick: () => tell("part", {name})}, title, h("kbd", {}, at + 1))))
    if (drawn?.name !== now().part) {
      drawn = {name: now().part, part: DRAW[now().part]({tell, now})}
      place.replaceChildren(drawn.part.element)
    }
    drawn.part.draw()
    place.dataset.part = now().part
  }

  whileShown(model, document, "keydown", (event) => {
    if (typing(event) || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return
    const part = now().parts[Number(event.key) - 1]
    if (part) tell("part", {name: part[0]})
    else if (event.key === "x") tell("export")
    else if (event.key === "i") tell("part", {name: "files"})
    else return
    event.preventDefault()
  })
  model.on("change:content", draw)
  draw()
  return h("div", {class: "labels"}, h("header", {class: "head"}, h("h1", {}, "Labels"), tabs), place)
}
