// Learn: a batch to be accepted or put right by key, and three plots of how far suggestions can be trusted.

import {h, s, whileShown} from "./dom.js"
import {count} from "./told.js"

const thumbnail = (id, size, version) => `/thumbnails/image/${id}/${size}.jpg?v=${version}`
const percent = (share) => `${Math.round(100 * share)} %`
const WIDTH = 232
const HEIGHT = 120

export function render({model}) {
  const marked = new Set()
  const grid = h("div", {class: "tiles", role: "listbox", "aria-multiselectable": "true", "aria-label": "Batch"})
  const side = h("aside", {class: "side"})
  const head = h("header", {class: "head"})
  const field = h("input", {class: "find", type: "search", placeholder: "Term: l, then its first letters", "aria-label": "Term",
    oninput: () => tell("find", {text: field.value}), onkeydown: inField})
  const list = h("ul", {class: "hits", role: "listbox", "aria-label": "Terms found"})
  let shown = ""

  const now = () => model.content
  const tell = (act, more = {}) => model.send_msg({act, ...more})
  const names = () => Object.keys(now().queues)

  function mark(id) {
    marked.has(id) ? marked.delete(id) : marked.add(id)
    drawMarks()
  }

  function drawMarks() {
    for (const tile of grid.children) {
      const on = marked.has(Number(tile.dataset.id))
      tile.classList.toggle("marked", on)
      tile.setAttribute("aria-selected", String(on))
    }
    drawHead()
  }

  function tile(image) {
    return h("div", {class: image.label ? "tile done" : "tile", role: "option", "data-id": image.id, "aria-selected": "false",
      "aria-label": `Image ${image.id}, ${image.term}, ${percent(image.sure)}`, onclick: () => mark(image.id)},
    h("img", {src: thumbnail(image.id, 320, now().version), alt: "", draggable: "false"}),
    h("span", {class: "label"}, h("i", {style: `background:${image.colour || "var(--line)"}`}), image.label && image.label !== image.term ? `${image.label}, or ${image.term}?` : image.term, ` ${percent(image.sure)}`))
  }

  function draw() {
    const key = JSON.stringify(now().images) + now().batch
    if (key !== shown) {
      shown = key
      marked.clear()
      grid.replaceChildren(...now().images.map(tile))
    }
    grid.dataset.batch = `${now().queue}-${now().batch}`
    drawMarks()
    drawSide()
  }

  function drawHead() {
    const {queue, queues, learnt, learning, images, term} = now()
    const choice = (name, at) => h("button", {class: name === queue ? "chip on" : "chip", "aria-pressed": String(name === queue), onclick: () => tell("queue", {name})}, name, h("kbd", {}, at + 1))
    const button = (words, key, act, main) => h("button", {class: main ? "button main" : "button", onclick: act}, words, h("kbd", {}, key))
    const verbs = learnt && images.length ? [button(marked.size ? `Accept the other ${images.length - marked.size}` : `Accept ${images.length}`, "Enter", accept, true),
      button(`Name ${marked.size} ${term?.name ?? ""}`, "e", name), button("Next", "n", () => tell("next"))] : []
    const question = learnt ? (images.length ? queues[queue] : "Nothing is left in this queue") : "Nothing was learnt yet: name images of two terms in Review, then press r"
    head.replaceChildren(h("div", {}, h("h1", {}, learning ? "Learning…" : "Learn"), h("p", {class: "soft"}, question)),
      h("div", {class: "verbs", role: "group", "aria-label": "Queue"}, names().map(choice)), h("div", {class: "verbs"}, verbs, button("Learn", "r", () => tell("learn"))))
  }

  function drawSide() {
    const {learnt, accuracy, ready, threshold, wanted, labelled, left, term, curve, reliability, history} = now()
    const chip = term ? h("span", {class: "chip on"}, h("i", {style: `background:${term.colour || "var(--line)"}`}), term.name) : h("span", {class: "soft"}, "No term chosen")
    const slider = h("input", {type: "range", min: 0.7, max: 0.99, step: 0.01, value: wanted, "aria-label": "Share of accepted suggestions that should be right",
      onchange: (event) => tell("wanted", {share: Number(event.target.value)})})
    const parts = [h("div", {class: "term"}, chip, field, list), h("dl", {class: "pace"}, h("dt", {}, "Labelled"), h("dd", {"data-told": "labelled"}, count(labelled)),
      h("dt", {}, "Left"), h("dd", {}, count(left)), ...(learnt ? [h("dt", {}, "First guess right"), h("dd", {}, percent(accuracy))] : []))]
    if (learnt) parts.push(
      h("div", {class: "accept"}, h("label", {}, `Accept unseen what is right at ${percent(wanted)}`, slider),
        h("button", {class: "button", disabled: !ready, onclick: () => tell("sure")}, threshold === null ? "Not sure enough yet" : `Accept ${count(ready)} above ${threshold.toFixed(2)}`)),
      plot("Accuracy against coverage", [curve.map(([x, y]) => [x, y]), curve.map(([x, , y]) => [x, y])], threshold === null ? null : coverage(curve, threshold)),
      plot("Calibration: said, and right", [[[0, 0], [1, 1]], reliability.map(([x, y]) => [x, y])]),
      plot("Accuracy by labels", [history.map(([labels, right], at) => [history.length > 1 ? at / (history.length - 1) : 0.5, right])]))
    side.replaceChildren(...parts)
  }

  const coverage = (curve, threshold) => Math.max(...curve.filter(([, , , at]) => at >= threshold).map(([share]) => share), 0)

  function plot(title, lines, mark = null) {
    const points = (line) => line.map(([x, y]) => `${x * WIDTH},${HEIGHT - y * HEIGHT}`).join(" ")
    return h("figure", {class: "curve"}, h("figcaption", {class: "soft"}, title), s("svg", {viewBox: `-2 -2 ${WIDTH + 4} ${HEIGHT + 4}`, role: "img", "aria-label": title},
      ...lines.map((line, at) => s("polyline", {points: points(line), class: `line${at}`})), ...lines.flatMap((line, at) => (line.length < 16 ? line.map(([x, y]) => s("circle", {cx: x * WIDTH, cy: HEIGHT - y * HEIGHT, r: 2.5, class: `dot${at}`})) : [])),
      mark === null ? null : s("line", {x1: mark * WIDTH, x2: mark * WIDTH, y1: 0, y2: HEIGHT})))
  }

  function accept() { if (now().images.length) tell("accept", {wrong: [...marked]}) }
  function name() { tell("name", {images: [...marked]}) }
  function leaveField() { field.value = ""; list.replaceChildren(); field.blur() }
  function inField(event) {
    event.stopPropagation()
    if (event.key === "Escape") leaveField()
    if (event.key === "Enter" && model.hits.length) { tell("choose", {term: model.hits[0].id}); leaveField() }
  }
  function drawHits() {
    list.replaceChildren(...(field.value ? model.hits : []).map((one) => h("li", {role: "option", onclick: () => { tell("choose", {term: one.id}); leaveField() }},
      h("i", {style: `background:${one.colour || "var(--line)"}`}), one.name, h("span", {class: "soft"}, one.path))))
  }

  const KEYS = {Enter: accept, e: name, n: () => tell("next"), r: () => tell("learn"), z: () => tell("undo"), l: () => field.focus(),
    Escape: () => { marked.clear(); drawMarks() }, i: () => now().images.forEach(({id}) => mark(id))}
  whileShown(model, document, "keydown", (event) => {
    const typing = event.composedPath().some((node) => ["INPUT", "TEXTAREA", "SELECT"].includes(node.tagName))
    if (typing || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return
    if (event.key === "Enter" && event.composedPath()[0].tagName === "BUTTON") return
    const queue = /^[1-9]$/.test(event.key) ? names()[event.key - 1] : null
    const act = queue ? () => tell("queue", {name: queue}) : KEYS[event.key]
    if (!act) return
    event.preventDefault()
    act()
  })
  model.on("change:content", draw)
  model.on("change:hits", drawHits)
  draw()
  return h("div", {class: "review"}, h("main", {}, head, grid), side)
}
