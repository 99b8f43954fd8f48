// Drawn images in Learn: every tile is labelled by a key, without suggestions that could influence the answer.

import {h, icon, redraw, whileShown} from "../../core/element.js"
import {inOrder} from "../../core/ordered_messages.js"
import {drags, thumbnail, tileOf} from "../../shared/tile_marks.js"
import {typing} from "../../shell/keyboard.js"
import {sweeps} from "../../shared/sweep.js"
import {termField} from "../../shared/term_field.js"
import {count} from "../../core/format.js"

const ARROWS = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"]

export function render({model}) {
  const {tell, turn, seen} = inOrder(model)
  const now = () => model.content
  const images = () => now().images
  const asking = h("section", {class: "notice", hidden: true})
  const grid = h("div", {class: "tiles", role: "listbox", tabindex: "0", "aria-multiselectable": "true", "aria-label": "Drawn images"})
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
    const {texts, remaining} = now(), open = images().filter((image) => !image.answered).length
    const button = (text, key, act, main, disabled) => h("button", {class: main ? "button main" : "button", "data-key": key, onclick: act, disabled}, text, h("kbd", {}, key))
    const verbs = images().length ? [button(open ? `Next page, ${open} left open` : "Next page", "Enter", KEYS.Enter, !open), button("Cannot tell", "x", () => { if (marked.size) answer("cannot", [...marked]) }, false, !marked.size)] : []
    const [href, name] = texts.link
    redraw(head, h("div", {}, h("h1", {}, texts.title), h("p", {class: "soft"}, texts.question)),
      h("div", {class: "verbs"}, verbs, h("a", {class: "button", href}, name), h("a", {class: "button", href: "/learn"}, "Other queues")))
    head.dataset.left = remaining
  }

  function drawAsking() {
    const {texts} = now(), {done, sizes, offer} = texts
    asking.hidden = images().length > 0
    grid.hidden = !asking.hidden
    if (asking.hidden) return
    redraw(asking, icon("casino"), h("h2", {}, texts.asking_title), h("p", {}, texts.asking),
      h("div", {class: "verbs"}, done ? h("a", {class: "button main", href: texts.link[0]}, done) : null, sizes.map((size) => h("button", {class: !done && (size === texts.default || sizes.length === 1) ? "button main" : "button", "data-key": `ask-${size}`, onclick: () => turn("ask", {count: size})}, `Label ${count(size)} ${offer}`))))
  }

  function drawSide() {
    const {term, progress, texts} = now()
    redraw(chosen, term ? h("span", {class: "chip on"}, h("i", {style: `background:${term.colour || "var(--line)"}`}), term.name) : h("span", {class: "soft"}, "No label chosen"))
    redraw(favourites, now().favourites.map((one) => h("button", {class: one.id === term?.id ? "chip on" : "chip", "data-key": `key-${one.key}`, title: one.path, onclick: () => (marked.size ? answer("name", [...marked], {key: one.key}) : tell("press", {key: one.key}))}, h("i", {style: `background:${one.colour || "var(--line)"}`}), one.name, h("kbd", {}, one.key))))
    redraw(rest, h("dl", {class: "pace"}, progress.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, count(value))])), h("p", {class: "soft"}, texts.explanation))
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
