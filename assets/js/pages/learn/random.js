// Random images in Learn: every tile is labelled by a key, without suggestions that could influence the answer.

import {h, icon, redraw, whileShown} from "../../core/element.js"
import {inOrder} from "../../core/ordered_messages.js"
import {drags, thumbnail, tileOf} from "../../shared/tile_marks.js"
import {typing} from "../../shell/keyboard.js"
import {sweeps} from "../../shared/sweep.js"
import {termField} from "../../shared/term_field.js"
import {count} from "../../core/format.js"

const ARROWS = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"]
const DEFAULT_SIZE = 100

export function render({model}) {
  const {tell, turn, seen} = inOrder(model)
  const now = () => model.content
  const images = () => now().images
  const asking = h("section", {class: "notice", hidden: true})
  const grid = h("div", {class: "tiles", role: "listbox", tabindex: "0", "aria-multiselectable": "true", "aria-label": "Random images"})
  const head = h("header", {class: "head"})
  const finder = termField({choose: ({id}) => tell("choose", {term: id}), placeholder: "Label (L): find or create"})
  const chosen = h("div", {class: "chosen"}), favourites = h("div", {class: "favourites"}), rest = h("div")
  const side = h("aside", {class: "side"}, h("div", {class: "term"}, chosen, finder.element, favourites), rest)
  const marked = new Set()
  let shown = ""
  let since = performance.now() // time of the last answer, to measure the seconds for the next one

  const seconds = () => { const spent = (performance.now() - since) / 1000; since = performance.now(); return spent }
  const answer = (act, ids, more = {}) => { for (const id of ids) marked.delete(id); tell(act, {images: ids, seconds: seconds(), ...more}) }

  let meant = "" // the favourite whose key is held down; "" is the chosen term
  const sweep = sweeps(grid, {pointed() {}, swept: (ids) => (meant === null ? answer("cannot", ids) : answer("name", ids, {key: meant}))})
  drags(grid, (ids) => { for (const id of ids) marked.add(id); drawMarks() })

  // A key answers the marked images together, or starts a sweep at the image pointed at.
  function begin(event, key) {
    if (marked.size) key === null ? answer("cannot", [...marked]) : answer("name", [...marked], {key})
    else if (sweep.at) { meant = key; sweep.begin(event) }
    else if (key) tell("press", {key})
  }

  function mark(id) {
    marked.has(id) ? marked.delete(id) : marked.add(id)
    drawMarks()
  }

  function tile(image) {
    return tileOf(image.id, `Image ${image.id}, ${image.answered ? image.label : "not answered"}`, image.answered, thumbnail(image.id, 320, now().version), () => mark(image.id),
      image.answered ? h("span", {class: "label"}, h("i", {style: `background:${image.colour}`}), image.label) : null)
  }

  function drawMarks() {
    for (const element of grid.children) {
      const on = marked.has(Number(element.dataset.id))
      element.classList.toggle("other", on)
      element.setAttribute("aria-selected", String(on))
    }
  }

  function draw() {
    const key = JSON.stringify([now().number, images()])
    if (key !== shown) {
      shown = key
      const there = new Set(images().map(({id}) => id))
      for (const id of marked) if (!there.has(id)) marked.delete(id)
      grid.replaceChildren(...images().map(tile))
    }
    drawMarks()
    drawHead()
    drawAsking()
    drawSide()
  }

  function drawHead() {
    const {second, progress} = now(), open = images().filter((image) => !image.answered).length
    const words = !images().length ? "The cover of habitats can be estimated only from images drawn at random"
      : second ? "Second look: label these images again. This shows how often answers are mistakes or were influenced by a suggestion"
        : "Label every image, including dull ones. Point at an image and press the key of a label"
    const button = (text, key, act, main, disabled) => h("button", {class: main ? "button main" : "button", "data-key": key, onclick: act, disabled}, text, h("kbd", {}, key))
    const verbs = images().length ? [button(open ? `Next page, ${open} left open` : "Next page", "Enter", KEYS.Enter, !open), button("Cannot tell", "x", () => { if (marked.size) answer("cannot", [...marked]) }, false, !marked.size)] : []
    redraw(head, h("div", {}, h("h1", {}, "Random images"), h("p", {class: "soft"}, words)),
      h("div", {class: "verbs"}, verbs, h("a", {class: "button", href: "/labels?part=cover"}, "Cover"), h("a", {class: "button", href: "/learn"}, "Other queues")))
    head.dataset.left = progress.left
  }

  function drawAsking() {
    const {progress, sizes, total, person} = now()
    asking.hidden = images().length > 0
    grid.hidden = !asking.hidden
    if (asking.hidden) return
    const done = progress.budget > 0 && !progress.left
    const title = !person ? "Enter your name first" : done ? `All ${count(progress.budget)} random images are answered` : "How many random images?"
    const words = !person ? "Answers are stored with a name. Enter yours at the top right."
      : done ? "Cover now shows estimates with their intervals. More images make the intervals narrower."
        : "Four times as many images halve the width of an interval. To show that a label is below 1 %, you need about 370 images without it."
    redraw(asking, icon("casino"), h("h2", {}, title), h("p", {}, words),
      h("div", {class: "verbs"}, done ? h("a", {class: "button main", href: "/labels?part=cover"}, "Show cover") : null, person ? sizes.filter((size) => size <= Math.max(total, sizes[0])).map((size) => h("button", {class: size === DEFAULT_SIZE && !done ? "button main" : "button", "data-key": `ask-${size}`, onclick: () => turn("ask", {count: size})}, `Label ${size} ${done ? "more images" : "random images"}`)) : []))
  }

  function drawSide() {
    const {term, progress} = now()
    redraw(chosen, term ? h("span", {class: "chip on"}, h("i", {style: `background:${term.colour || "var(--line)"}`}), term.name) : h("span", {class: "soft"}, "No label chosen"))
    redraw(favourites, now().favourites.map((one) => h("button", {class: one.id === term?.id ? "chip on" : "chip", "data-key": `key-${one.key}`, title: one.path, onclick: () => (marked.size ? answer("name", [...marked], {key: one.key}) : tell("press", {key: one.key}))}, h("i", {style: `background:${one.colour || "var(--line)"}`}), one.name, h("kbd", {}, one.key))))
    const fact = (name, value) => [h("dt", {}, name), h("dd", {}, count(value))]
    redraw(rest, h("dl", {class: "pace"}, progress.budget ? [fact("Drawn", progress.budget), fact("Answered", progress.answered), fact("Left", progress.left)].flat() : [], progress.left ? [] : fact("Second looks left", progress.again)),
      h("p", {class: "soft"}, "Suggestions are hidden here, so that they do not influence your answers. Images that cannot be identified count as \"cannot tell\"."))
  }

  const KEYS = {Enter: seen(() => { if (images().length) { turn("next"); since = performance.now() } }), z: () => tell("undo"), l: finder.focus, Escape: () => { marked.clear(); drawMarks() }}

  function actOf(event) {
    const {key} = event
    if (ARROWS.includes(key)) return () => sweep.step(key)
    if (sweep.on) return key === "Escape" ? () => sweep.end(false) : null
    if (key === " ") return grid.contains(sweep.at) ? () => sweep.at.click() : null
    if (/^[0-9A-Z]$/.test(key)) return () => begin(event, key)
    if (key === "e") return () => begin(event, "")
    if (key === "x") return () => begin(event, null)
    return KEYS[key]
  }

  whileShown(model, document, "keydown", (event) => {
    if (typing(event) || event.ctrlKey || event.metaKey || event.altKey || event.repeat && !ARROWS.includes(event.key)) return
    if (event.key === "Enter" && ["BUTTON", "A"].includes(event.composedPath()[0].tagName)) return
    const act = actOf(event)
    if (!act) return
    event.preventDefault()
    act()
  })
  whileShown(model, document, "keyup", (event) => { if (sweep.isHeld(event)) sweep.end() })
  whileShown(model, window, "blur", () => sweep.end())
  model.on("change:content", draw)
  draw()
  return h("div", {class: "review"}, h("div", {class: "work"}, head, asking, grid), side)
}
