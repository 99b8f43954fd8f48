// Learn: a batch to be accepted or put right by key, and three plots of how far suggestions can be trusted.

import {h, redraw, s, whileShown} from "./dom.js"
import {inOrder} from "./in_order.js"
import {marksOf, thumbnail, tileOf} from "./marks.js"
import {termField} from "./term_field.js"
import {count} from "./told.js"

const percent = (share) => `${Math.round(100 * share)} %`
const WIDTH = 232
const HEIGHT = 120

export function render({model}) {
  const {tell, turn, ...order} = inOrder(model)
  const grid = h("div", {class: "tiles", role: "listbox", "aria-multiselectable": "true", "aria-label": "Batch"})
  const head = h("header", {class: "head"})
  const finder = termField(model, tell, (term) => tell("choose", {term}))
  const chosen = h("div", {class: "chosen"}), rest = h("div")
  const side = h("aside", {class: "side"}, h("div", {class: "term"}, chosen, finder.element), rest)
  const marks = marksOf(grid, drawHead)
  let shown = ""

  const now = () => model.content
  const names = () => Object.keys(now().queues)

  function tile(image) {
    const words = image.label && image.label !== image.term ? `${image.label}, or ${image.term}?` : image.term
    return tileOf(image.id, `Image ${image.id}, ${image.term}, ${percent(image.sure)}`, Boolean(image.label), thumbnail(image.id, 320, now().version),
      (event) => marks.turn(image.id, event.shiftKey),
      h("span", {class: "label"}, h("i", {style: `background:${image.colour || "var(--line)"}`}), words, ` ${percent(image.sure)}`))
  }

  function draw() {
    const key = JSON.stringify(now().images)
    if (key !== shown) {
      shown = key
      grid.replaceChildren(...now().images.map(tile))
    }
    grid.dataset.batch = `${now().queue}-${now().batch}`
    marks.keep()
    drawSide()
  }

  function drawHead() {
    const {queue, queues, learnt, learning, images, term} = now()
    const choice = (name, at) => h("button", {class: name === queue ? "chip on" : "chip", "data-key": `queue-${name}`, "aria-pressed": String(name === queue), onclick: () => turn("queue", {name})}, name, h("kbd", {}, at + 1))
    const button = (words, key, act, main) => h("button", {class: main ? "button main" : "button", "data-key": key, onclick: act}, words, h("kbd", {}, key))
    const verbs = learnt && images.length ? [button(marks.size ? `Accept the other ${images.length - marks.size}` : `Accept ${images.length}`, "Enter", JUDGE.Enter, true),
      button(`Name ${marks.size} ${term?.name ?? ""}`, "e", JUDGE.e), button("Next", "n", JUDGE.n)] : []
    const question = learnt ? (images.length ? queues[queue] : "Nothing is left in this queue") : "Nothing was learnt yet: name images of two terms in Review, then press r"
    redraw(head, h("div", {}, h("h1", {}, learning ? "Learning…" : "Learn"), h("p", {class: "soft"}, question)),
      h("div", {class: "verbs", role: "group", "aria-label": "Queue"}, names().map(choice)), h("div", {class: "verbs"}, verbs, button("Learn", "r", KEYS.r)))
  }

  function drawSide() {
    const {learnt, accuracy, ready, threshold, wanted, labelled, left, term, curve, reliability, history} = now()
    redraw(chosen, term ? h("span", {class: "chip on"}, h("i", {style: `background:${term.colour || "var(--line)"}`}), term.name) : h("span", {class: "soft"}, "No term chosen"))
    const slider = h("input", {type: "range", min: 0.7, max: 0.99, step: 0.01, value: wanted, "data-key": "wanted", "aria-label": "Share of accepted suggestions that should be right",
      onchange: (event) => tell("wanted", {share: Number(event.target.value)})})
    const parts = [h("dl", {class: "pace"}, h("dt", {}, "Labelled"), h("dd", {"data-told": "labelled"}, count(labelled)),
      h("dt", {}, "Left"), h("dd", {}, count(left)), ...(learnt ? [h("dt", {}, "First guess right"), h("dd", {}, percent(accuracy))] : []))]
    if (learnt) parts.push(
      h("div", {class: "accept"}, h("label", {}, `Accept unseen what is right at ${percent(wanted)}`, slider),
        h("button", {class: "button", disabled: !ready, "data-key": "sure", onclick: () => turn("sure")}, threshold === null ? "Not sure enough yet" : `Accept ${count(ready)} above ${threshold.toFixed(2)}`)),
      plot("Accuracy against coverage", [curve.map(([x, y]) => [x, y]), curve.map(([x, , y]) => [x, y])], threshold === null ? null : coverage(curve, threshold)),
      plot("Calibration: said, and right", [[[0, 0], [1, 1]], reliability.map(([x, y]) => [x, y])]),
      plot("Accuracy by labels", [history.map(([labels, right], at) => [history.length > 1 ? at / (history.length - 1) : 0.5, right])]))
    redraw(rest, parts)
  }

  const coverage = (curve, threshold) => Math.max(...curve.filter(([, , , at]) => at >= threshold).map(([share]) => share), 0)

  function plot(title, lines, mark = null) {
    const points = (line) => line.map(([x, y]) => `${x * WIDTH},${HEIGHT - y * HEIGHT}`).join(" ")
    return h("figure", {class: "curve"}, h("figcaption", {class: "soft"}, title), s("svg", {viewBox: `-2 -2 ${WIDTH + 4} ${HEIGHT + 4}`, role: "img", "aria-label": title},
      ...lines.map((line, at) => s("polyline", {points: points(line), class: `line${at}`})), ...lines.flatMap((line, at) => (line.length < 16 ? line.map(([x, y]) => s("circle", {cx: x * WIDTH, cy: HEIGHT - y * HEIGHT, r: 2.5, class: `dot${at}`})) : [])),
      mark === null ? null : s("line", {x1: mark * WIDTH, x2: mark * WIDTH, y1: 0, y2: HEIGHT})))
  }

  // What these say is about the images on the table: pressed while others are on their way, they are not heard.
  const seen = (act) => () => { if (!order.turning()) act() }
  const JUDGE = {
    Enter: seen(() => now().images.length && turn("accept", {wrong: marks.list})), e: seen(() => tell("name", {images: marks.list})),
    n: seen(() => turn("next")), i: seen(marks.invert),
  }
  const KEYS = {...JUDGE, r: () => tell("learn"), z: () => turn("undo"), l: finder.focus, Escape: marks.clear}
  whileShown(model, document, "keydown", (event) => {
    const typing = event.composedPath().some((node) => ["INPUT", "TEXTAREA", "SELECT"].includes(node.tagName))
    if (typing || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return
    if (event.key === "Enter" && event.composedPath()[0].tagName === "BUTTON") return
    const queue = /^[1-9]$/.test(event.key) ? names()[event.key - 1] : null
    const act = queue ? () => turn("queue", {name: queue}) : KEYS[event.key]
    if (!act) return
    event.preventDefault()
    act()
  })
  model.on("change:content", draw)
  draw()
  return h("div", {class: "review"}, h("main", {}, head, grid), side)
}
