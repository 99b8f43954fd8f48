// Review by the keyboard: tiles that are right unless clicked, the term that Enter gives, the curve of a grown list.

import {h, redraw, s, whileShown} from "./dom.js"
import {inOrder} from "./in_order.js"
import {marksOf, thumbnail, tileOf} from "./marks.js"
import {termField} from "./term_field.js"
import {count, time} from "./told.js"

export function render({model}) {
  const {tell, turn, ...order} = inOrder(model)
  const grid = h("div", {class: "tiles", role: "listbox", "aria-multiselectable": "true", "aria-label": "Images"})
  const head = h("header", {class: "head"})
  const finder = termField(model, tell, (term) => tell("choose", {term}))
  const chosen = h("div", {class: "chosen"}), words = h("div", {class: "words"}), rest = h("div")
  const side = h("aside", {class: "side"}, h("div", {class: "term"}, chosen, finder.element, words), rest)
  const marks = marksOf(grid, drawHead)
  let shown = ""

  const now = () => model.content

  function tile(image) {
    return tileOf(image.id, `Image ${image.id}${image.label ? `, ${image.label}` : ""}`, Boolean(image.label), thumbnail(image.id, 128, now().version),
      (event) => marks.turn(image.id, event.shiftKey), image.label ? h("span", {class: "label"}, image.label) : null)
  }

  function draw() {
    const {mode, cluster, page, images, ahead, version} = now()
    const key = JSON.stringify(images)
    const step = `${mode}-${cluster}-${page}`
    if (key !== shown) {
      shown = key
      grid.replaceChildren(...images.map(tile))
      for (const id of ahead) new Image().src = thumbnail(id, 128, version)
    }
    if (step !== grid.dataset.step) grid.scrollTop = 0
    grid.dataset.mode = mode
    grid.dataset.step = step
    marks.keep()
    drawSide()
  }

  function drawHead() {
    const {mode, question, cluster, size, page, pages, term, check} = now()
    const title = {cluster: `Cluster ${cluster}, ${count(size)} images`, grow: `Extending ${term?.name ?? ""}`,
      check: check ? `Checking ${count(check.size)} of ${count(check.of)}` : "Checking"}[mode]
    const button = (words, key, act, main) => h("button", {class: main ? "button main" : "button", "data-key": key, onclick: act}, words, h("kbd", {}, key))
    const verbs = {
      cluster: [button(term ? `Name ${marks.size ? "the rest " : ""}${term.name}` : "Name", "Enter", JUDGE.Enter, true), button("Extend", "x", JUDGE.x),
        button(marks.size ? "Split off" : "Split in two", "s", JUDGE.s), button("Next", "n", KEYS.n)],
      grow: [button("Yes", "f", GROW.f, true), button("No", "j", GROW.j), button("Back", "b", GROW.b),
        button(`Take ${count(now().grow?.taken ?? 0)}`, "Enter", JUDGE.Enter), button("Leave", "Esc", () => turn("leave"))],
      check: [button(marks.size ? `${marks.size} wrong` : "All right", "Enter", JUDGE.Enter, true), button("Skip", "Esc", () => turn("leave"))],
    }[mode]
    const told = [marks.size ? `${marks.size} clicked` : "", mode === "cluster" && pages > 1 ? `page ${page + 1} of ${pages}` : ""].filter(Boolean).join(" · ")
    redraw(head, h("div", {}, h("h1", {}, title), h("p", {class: "soft"}, question)), h("span", {class: "told"}, told), h("div", {class: "verbs"}, verbs))
  }

  function chip(one, key, on) {
    return h("button", {class: on ? "chip on" : "chip", "data-key": `term-${one.id}-${key ?? ""}`, title: one.path, onclick: () => tell("choose", {term: one.id})},
      h("i", {style: `background:${one.colour || "var(--line)"}`}), one.name, key ? h("kbd", {}, key) : null)
  }

  function drawSide() {
    const {term, suggested, favourites, pace, clusters, cluster, grow} = now()
    const row = (one) => h("button", {class: one.number === cluster ? "row on" : "row", "data-key": `cluster-${one.number}`, onclick: () => turn("open", {cluster: one.number}),
      "aria-label": `Cluster ${one.number}, ${one.size} images, ${Math.round(100 * one.done)} per cent labelled`}, h("span", {}, one.number),
    h("span", {class: "bar"}, h("i", {style: `width:${100 * one.done}%`})), h("span", {class: "number"}, count(one.size)))
    redraw(chosen, term ? chip(term, null, true) : h("span", {class: "soft"}, "No term chosen"))
    redraw(words, suggested ? h("p", {class: "soft"}, "Suggested ", chip(suggested, "a"), ` ${Math.round(100 * suggested.share)} %`) : null,
      h("div", {class: "favourites"}, favourites.map((one) => chip(one, one.key, term?.id === one.id))))
    redraw(rest, grow ? curve(grow) : null,
      h("dl", {class: "pace"}, h("dt", {}, "Labelled"), h("dd", {"data-told": "labelled"}, count(pace.labelled)), h("dt", {}, "Left"), h("dd", {}, count(pace.left)),
        h("dt", {}, "An hour"), h("dd", {}, count(pace.per_hour)), h("dt", {}, "Time left"), h("dd", {}, pace.seconds_left === null ? "–" : time(pace.seconds_left))),
      h("div", {class: "clusters", "aria-label": "Clusters"}, clusters.map(row)))
  }

  // The probability of every page, what is known of the cut, and the cut itself: drag or click to move it.
  function curve(grow) {
    const [width, height] = [232, 90]
    const x = (page) => width * page / Math.max(grow.pages, 1)
    const points = grow.curve.map((value, page) => `${x(page + 0.5)},${height - value * (height - 8) - 4}`).join(" ")
    const place = (event) => Math.round(grow.pages * event.offsetX / event.currentTarget.clientWidth)
    return h("figure", {class: "curve"}, s("svg", {"data-key": "cut", viewBox: `0 0 ${width} ${height}`, role: "slider", tabindex: "0", "aria-label": "Cut, in pages", "aria-valuenow": grow.cut,
      "aria-valuemin": 0, "aria-valuemax": grow.pages, onclick: (event) => tell("cut", {pages: place(event)}),
      onkeydown: (event) => { const by = {ArrowLeft: -1, ArrowRight: 1}[event.key]; if (by) { event.stopPropagation(); tell("cut", {pages: grow.cut + by}) } }},
    s("rect", {x: x(grow.low), y: 0, width: Math.max(x(grow.high) - x(grow.low), 1), height, class: "unsure"}), s("polyline", {points}),
    ...grow.answers.map(([page, yes]) => s("circle", {cx: x(page + 0.5), cy: height - 4, r: 3, class: yes ? "yes" : "no"})),
    s("line", {x1: x(grow.cut), x2: x(grow.cut), y1: 0, y2: height})), h("figcaption", {class: "soft"},
    `${grow.done ? "Found: " : "So far "}${grow.cut} of ${grow.pages} pages, ${count(grow.taken)} images`))
  }

  function answer(belongs) { turn("answer", {belongs, without: marks.list}) }

  function enter() {
    const {mode} = now()
    if (mode === "cluster") turn("name", {exceptions: marks.list})
    else if (mode === "grow") turn("accept")
    else turn("check", {wrong: marks.list})
  }

  // What these say is about the images on the table: pressed while others are on their way, they are not heard.
  const seen = (act) => () => { if (!order.turning()) act() }
  const JUDGE = {
    Enter: seen(enter), x: seen(() => turn("grow", {seed: marks.size === 1 ? marks.list[0] : null})), s: seen(() => turn("split", {images: marks.list})),
    i: seen(marks.invert), e: seen(() => marks.size && tell("images", {images: marks.list})),
  }
  const KEYS = {
    ...JUDGE, n: () => turn("next"), z: () => turn("undo"), y: () => turn("redo"), Escape: () => (marks.size ? marks.clear() : turn("leave")), l: finder.focus,
    a: () => tell("suggested"), ArrowRight: () => turn("page", {by: 1}), ArrowLeft: () => turn("page", {by: -1}),
  }
  const GROW = {f: seen(() => answer(true)), j: seen(() => answer(false)), b: seen(() => turn("back"))}

  whileShown(model, document, "keydown", (event) => {
    const typing = event.composedPath().some((node) => ["INPUT", "TEXTAREA", "SELECT"].includes(node.tagName))
    if (typing || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return
    if (event.key === "Enter" && event.composedPath()[0].tagName === "BUTTON") return
    const act = /^[0-9]$/.test(event.key) ? () => tell("press", {key: event.key}) : (now().mode === "grow" && GROW[event.key]) || KEYS[event.key]
    if (!act) return
    event.preventDefault()
    act()
  })
  model.on("change:content", draw)
  draw()
  return h("div", {class: "review"}, h("main", {}, head, grid), side)
}
