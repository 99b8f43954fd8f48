// Learn: a batch to be accepted or put right by key, and three plots of how far suggestions can be trusted.

import {h, icon, redraw, s, whileShown} from "./dom.js"
import {inOrder} from "./in_order.js"
import {drags, thumbnail, tileOf} from "./marks.js"
import {typing} from "./shell/keyboard.js"
import {sweeps} from "./sweep.js"
import {termField} from "./term_field.js"
import {count, time} from "./told.js"

const percent = (share) => `${Math.round(100 * share)} %`
const WIDTH = 232
const HEIGHT = 120
const NONE = -1 // of the suggestions: none of them
const SMALL = 84 // pixels that a tile to be sorted takes at least
const GAP = 3 // between them, as in the style sheet
const ARROWS = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"]

export function render({model}) {
  const {tell, turn, seen} = inOrder(model)
  const nothing = h("section", {class: "notice", hidden: true}, icon("school"), h("h2", {}, "Nothing was learnt yet"),
    h("p", {}, "Name a few images of at least two terms in Review. What is learnt from them then suggests the names of all others, here in batches."),
    h("a", {class: "button main", href: "/review"}, "Go to Review"))
  const grid = h("div", {class: "tiles", role: "listbox", "aria-multiselectable": "true", "aria-label": "Batch"})
  const head = h("header", {class: "head"})
  const finder = termField(model, tell, (term) => tell("choose", {term}))
  const chosen = h("div", {class: "chosen"}), favourites = h("div", {class: "favourites"}), rest = h("div"), large = h("figure", {class: "large", hidden: true})
  const side = h("aside", {class: "side"}, large, h("div", {class: "term"}, chosen, finder.element, favourites), rest)
  const picks = new Map() // place of the suggestion taken instead of the first, or NONE, by image
  let shown = ""

  const now = () => model.content
  const names = () => Object.keys(now().queues)
  const images = () => now().images
  const byHand = () => now().queue === "groups" // what is not marked is named, not accepted

  // A click goes through the suggestions; after the last comes none of them, and then the first again.
  function turned(image, shift) {
    const at = picks.get(image.id) ?? 0
    const next = at === NONE ? 0 : byHand() || shift || at + 1 >= image.options.length ? NONE : at + 1
    if (next) picks.set(image.id, next)
    else picks.delete(image.id)
    drawPicks()
  }

  // The first change keeps the batch as it is, whatever is learnt meanwhile.
  let held = 0
  function hold() {
    if (held === now().table) return
    held = now().table
    tell("hold")
  }

  drags(grid, (ids) => { for (const id of ids) picks.set(id, NONE); drawPicks() })

  let meant = "" // the favourite whose key is held down; "" is the chosen term
  const sweep = sweeps(grid, {pointed: drawLarge, swept: (ids) => {
    for (const id of ids) picks.delete(id)
    tell("name", {images: ids, key: meant})
  }})

  // What a key names: the tile pointed at, unless that is one of those marked, which are named together.
  function begin(event, key) {
    if (byHand() || !sweep.at || picks.get(Number(sweep.at.dataset.id)) === NONE) return false
    meant = key
    hold()
    sweep.begin(event)
    return true
  }

  function drawLarge(tile) {
    const image = tile && images().find((one) => one.id === Number(tile.dataset.id))
    large.hidden = now().queue !== "sort" || !images().length
    if (large.hidden) return
    large.replaceChildren(...(image ? [h("img", {src: thumbnail(image.id, 320, now().version), alt: ""}), h("figcaption", {}, options(image), image.named || image.possible < 2 ? null : h("span", {class: "soft"}, `one of ${image.possible} at ${percent(now().wanted)}`))] : [h("figcaption", {class: "soft"}, "Point at an image to see it larger")]))
  }

  const options = (image) => image.named ? [h("span", {}, image.label)] : image.options.map(([, name, sure]) => h("span", {}, `${name} ${percent(sure)}`))

  function said(image) {
    const at = picks.get(image.id) ?? 0
    if (at === NONE) return [h("span", {class: "none"}, byHand() ? "not this" : "none of these")]
    if (image.named && !at) return [h("i", {style: `background:${image.named}`}), image.label]
    const [, name, sure] = image.options[at]
    const words = at ? `${name}!` : image.label && image.label !== name ? `${image.label}, or ${name}?` : name
    return [h("i", {style: `background:${(!at && image.colour) || "var(--line)"}`}), words, at || now().queue === "sort" ? "" : ` ${percent(sure)}${image.possible > 1 ? `, 1 of ${image.possible}` : ""}`]
  }

  function tile(image) {
    return tileOf(image.id, `Image ${image.id}, ${image.term}, ${percent(image.sure)}, one of ${count(image.possible)} terms`, Boolean(image.label), thumbnail(image.id, 320, now().version),
      (event) => turned(image, event.shiftKey), h("span", {class: "label"}, said(image)))
  }

  function drawPicks() {
    for (const element of grid.children) {
      const image = images().find((one) => one.id === Number(element.dataset.id))
      const at = picks.get(image.id) ?? 0
      element.classList.toggle("done", Boolean(image.label))
      element.classList.toggle("marked", at === NONE)
      element.classList.toggle("other", at > 0)
      element.setAttribute("aria-selected", String(at !== 0))
      element.querySelector(".label").replaceChildren(...said(image))
    }
    if (picks.size) hold()
    drawHead()
  }

  function draw() {
    const key = JSON.stringify(images().map(({id, options}) => [id, options]))
    if (key !== shown) {
      shown = key
      grid.replaceChildren(...images().map(tile))
      const there = new Set(images().map(({id}) => id))
      for (const id of picks.keys()) if (!there.has(id)) picks.delete(id)
    }
    grid.dataset.batch = `${now().queue}-${now().batch}`
    grid.classList.toggle("small", now().queue === "sort")
    grid.style.setProperty("--columns", now().columns)
    fit()
    drawLarge(grid.contains(sweep.at) ? sweep.at : null)
    drawPicks()
    drawSide()
  }

  // As few columns as show them all at once, unless they would get too small: then the page is scrolled.
  function columns(number) {
    const {clientWidth: width, clientHeight: height} = grid
    const most = Math.min(Math.max(Math.floor(width / SMALL), 3), 40)
    for (let count = 3; count < most; count++) if (Math.ceil(number / count) * (0.75 * width / count + GAP) <= height) return count
    return most
  }

  // Images to be sorted are laid out for as many columns as there is room for, and not shown before they are.
  let asked = 0
  function fit() {
    if (!grid.clientWidth || now().queue !== "sort") return grid.classList.remove("waiting")
    const count = columns(images().length)
    grid.classList.toggle("waiting", count !== now().columns)
    if (count === now().columns || count === asked) return
    asked = count
    tell("columns", {count})
  }

  function drawHead() {
    const {queue, queues, learnt, learning, term} = now()
    const choice = (name) => h("button", {class: name === queue ? "chip on" : "chip", "data-key": `queue-${name}`, "aria-pressed": String(name === queue), onclick: () => turn("queue", {name})}, name)
    const button = (words, key, act, main) => h("button", {class: main ? "button main" : "button", "data-key": key, onclick: act}, words, h("kbd", {}, key))
    const number = images().filter((image) => !image.named || picks.has(image.id)).length, marked = picks.size
    const main = byHand() ? `Name ${number - marked} ${term?.name ?? ""}` : marked ? `Accept, ${marked} changed` : `Accept ${number}`
    const verbs = learnt && images().length ? [button(main, "Enter", JUDGE.Enter, true), marked ? button(`Name ${marked} ${term?.name ?? ""}`, "e", JUDGE.e) : null, button("Next", "n", JUDGE.n)] : []
    const question = learnt ? (images().length ? queues[queue] : "Nothing is left in this queue") : "Once images of two terms are named, press r"
    nothing.hidden = learnt
    grid.hidden = !learnt
    redraw(head, h("div", {}, h("h1", {}, learning ? "Learning…" : "Learn"), h("p", {class: "soft"}, question)),
      h("div", {class: "verbs", role: "group", "aria-label": "Queue"}, names().map(choice), h("kbd", {title: "The next one"}, "q")),
      h("div", {class: "verbs"}, verbs.filter(Boolean), button("Learn", "r", KEYS.r), learnt ? button("Cluster again", "c", KEYS.c) : null))
  }

  function drawSide() {
    const {learnt, accuracy, possible, ready, threshold, wanted, labelled, left, term, curve, reliability, history, spent, expected} = now()
    redraw(chosen, term ? h("span", {class: "chip on"}, h("i", {style: `background:${term.colour || "var(--line)"}`}), term.name) : h("span", {class: "soft"}, "No term chosen"))
    redraw(favourites, now().favourites.map((one) => h("button", {class: one.id === term?.id ? "chip on" : "chip", "data-key": `key-${one.key}`, title: one.path, onclick: () => favourite(one.key)}, h("i", {style: `background:${one.colour || "var(--line)"}`}), one.name, h("kbd", {}, one.key))))
    const slider = h("input", {type: "range", min: 0.7, max: 0.99, step: 0.01, value: wanted, "data-key": "wanted", "aria-label": "Share of accepted suggestions that should be right",
      onchange: (event) => tell("wanted", {share: Number(event.target.value)})})
    const fact = (name, value, title) => [h("dt", {title}, name), h("dd", {}, value)]
    const parts = [h("dl", {class: "pace"}, h("dt", {}, "Labelled"), h("dd", {"data-told": "labelled"}, count(labelled)), fact("Left", count(left)), spent === null ? [] : fact("Time spent", time(spent) || "0 s"),
      learnt ? fact("First guess right", percent(accuracy)) : [],
      learnt ? fact(`Possible at ${percent(wanted)}`, `${possible.toFixed(1)} ${possible < 1.05 ? "term" : "terms"}`, `Terms of an image among which the true one is for ${percent(wanted)} of all images; on average`) : [],
      learnt ? fact(`To ${percent(wanted)} right`, expected === null ? "after 3 learnings" : expected.labels === null ? "more than can be said" : `${count(expected.labels)} labels${expected.seconds ? `, ${time(expected.seconds)}` : ""}`, "By the course of this campaign: labels in all, and the time for those still missing") : [])]
    if (learnt) parts.push(
      h("div", {class: "accept"}, h("label", {}, `Accept unseen what is right at ${percent(wanted)}`, slider),
        h("button", {class: "button", disabled: !ready, "data-key": "sure", onclick: () => turn("sure")}, threshold === null ? "Not sure enough yet" : `Accept ${count(ready)} above ${threshold.toFixed(2)}`)),
      plot("Accuracy against coverage", [curve.map(([x, y]) => [x, y]), curve.map(([x, , y]) => [x, y])], threshold === null ? null : coverage(curve, threshold), ["0 %", "of images decided", "100 %"]),
      plot("Calibration: said, and right", [[[0, 0], [1, 1]], reliability.map(([x, y]) => [x, y])], null, ["0 %", "said", "100 %"]),
      plot("Accuracy by labels", [history.map(([labels, right]) => [labels / Math.max(...history.map(([all]) => all), 1), right])], null, ["0", "labels", count(Math.max(...history.map(([all]) => all), 0))]))
    redraw(rest, parts, h("p", {class: "soft"}, h("a", {href: "/labels?part=files"}, "Export labels")))
  }

  const coverage = (curve, threshold) => Math.max(...curve.filter(([, , , at]) => at >= threshold).map(([share]) => share), 0)

  function plot(title, lines, mark, ends) {
    const points = (line) => line.map(([x, y]) => `${x * WIDTH},${HEIGHT - y * HEIGHT}`).join(" ")
    return h("figure", {class: "curve"}, h("figcaption", {class: "soft"}, title), s("svg", {viewBox: `-2 -2 ${WIDTH + 4} ${HEIGHT + 4}`, role: "img", "aria-label": title},
      ...[0.25, 0.5, 0.75].map((y) => s("line", {x1: 0, x2: WIDTH, y1: HEIGHT * y, y2: HEIGHT * y, class: "rule"})),
      ...lines.map((line, at) => s("polyline", {points: points(line), class: `line${at}`})), ...lines.flatMap((line, at) => (line.length < 16 ? line.map(([x, y]) => s("circle", {cx: x * WIDTH, cy: HEIGHT - y * HEIGHT, r: 2.5, class: `dot${at}`})) : [])),
      mark === null ? null : s("line", {x1: mark * WIDTH, x2: mark * WIDTH, y1: 0, y2: HEIGHT})), h("div", {class: "ends soft"}, ends.map((word) => h("span", {}, word))))
  }

  function accept() {
    if (!images().length) return
    if (byHand()) turn("name", {images: images().map(({id}) => id).filter((id) => !picks.has(id))})
    else turn("accept", {table: now().table, otherwise: [...picks].map(([id, at]) => [id, at === NONE ? null : images().find((one) => one.id === id).options[at][0]])})
  }

  function name(key = "") {
    if (!picks.size) return
    tell("name", {images: [...picks.keys()], key})
    picks.clear()
  }

  function favourite(key) {
    if (picks.size && !byHand() && now().favourites.some((one) => one.key === key)) seen(() => name(key))()
    else tell("press", {key})
  }

  const JUDGE = {
    Enter: seen(accept), e: seen(() => name()), n: seen(() => turn("next")),
    i: seen(() => { for (const {id} of images()) picks.has(id) ? picks.delete(id) : picks.set(id, NONE); drawPicks() }),
  }
  const KEYS = {...JUDGE, r: () => tell("learn"), z: () => turn("undo"), c: () => tell("steer"), l: finder.focus, Escape: () => { picks.clear(); drawPicks() },
    q: () => turn("queue", {name: names()[(names().indexOf(now().queue) + 1) % names().length]})}

  function actOf(event) {
    const {key} = event
    if (ARROWS.includes(key)) return () => sweep.step(key)
    if (sweep.on) return key === "Escape" ? () => sweep.end(false) : null
    if (key === " ") return grid.contains(sweep.at) ? () => sweep.at.click() : null
    if (/^[0-9A-Z]$/.test(key)) return () => { if (!now().favourites.some((one) => one.key === key) || !begin(event, key)) favourite(key) }
    if (key === "e" && now().term) return () => { if (!begin(event, "")) KEYS.e() }
    return KEYS[key]
  }

  whileShown(model, document, "keydown", (event) => {
    if (typing(event) || event.ctrlKey || event.metaKey || event.altKey || event.repeat && !ARROWS.includes(event.key)) return
    if (event.key === "Enter" && event.composedPath()[0].tagName === "BUTTON") return
    const act = actOf(event)
    if (!act) return
    event.preventDefault()
    act()
  })
  whileShown(model, document, "keyup", (event) => { if (sweep.isHeld(event)) sweep.end() })
  whileShown(model, window, "blur", () => sweep.end())
  const watch = new ResizeObserver(fit)
  watch.observe(grid)
  model.on("remove", () => watch.disconnect())
  model.on("change:content", draw)
  draw()
  return h("div", {class: "review"}, h("main", {}, head, nothing, grid), side)
}
