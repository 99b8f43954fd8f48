// Review by the keyboard: tiles that are right unless clicked, the term that Enter gives, the curve of a grown list.

import {h, icon, s, whileShown} from "./dom.js"
import {count, time} from "./told.js"

const thumbnail = (id, size, version) => `/thumbnails/image/${id}/${size}.jpg?v=${version}`

export function render({model}) {
  const marked = new Set()
  const grid = h("div", {class: "tiles", role: "listbox", "aria-multiselectable": "true", "aria-label": "Images"})
  const side = h("aside", {class: "side"})
  const head = h("header", {class: "head"})
  const field = h("input", {class: "find", type: "search", placeholder: "Term: l, then its first letters", "aria-label": "Term",
    oninput: () => tell("find", {text: field.value}), onkeydown: inField})
  const list = h("ul", {class: "hits", role: "listbox", "aria-label": "Terms found"})
  let shown = ""
  let last = null

  const now = () => model.content
  const tell = (act, more = {}) => model.send_msg({act, ...more})

  function mark(id, until) {
    const ids = now().images.map((image) => image.id)
    const at = ids.indexOf(id)
    const from = until && last !== null && ids.includes(last) ? ids.indexOf(last) : at
    const turned = !marked.has(id)
    for (const one of ids.slice(Math.min(from, at), Math.max(from, at) + 1)) turned ? marked.add(one) : marked.delete(one)
    last = id
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
    const one = h("div", {class: image.label ? "tile done" : "tile", role: "option", tabindex: "-1", "data-id": image.id, "aria-selected": "false",
      "aria-label": `Image ${image.id}${image.label ? `, ${image.label}` : ""}`, onclick: (event) => mark(image.id, event.shiftKey)},
    h("img", {src: thumbnail(image.id, 128, now().version), alt: "", draggable: "false"}), image.label ? h("span", {class: "label"}, image.label) : null)
    return one
  }

  function draw() {
    const key = JSON.stringify(now().images) + now().mode
    if (key !== shown) {
      shown = key
      marked.clear()
      last = null
      grid.replaceChildren(...now().images.map(tile))
      grid.scrollTop = 0
      for (const id of now().ahead) new Image().src = thumbnail(id, 128, now().version)
    }
    grid.dataset.mode = now().mode
    grid.dataset.step = `${now().mode}-${now().cluster}-${now().page}`
    drawMarks()
    drawSide()
  }

  function drawHead() {
    const {mode, question, cluster, size, page, pages, term, check} = now()
    const title = {cluster: `Cluster ${cluster}, ${count(size)} images`, grow: `Extending ${term?.name ?? ""}`,
      check: check ? `Checking ${count(check.size)} of ${count(check.of)}` : "Checking"}[mode]
    const button = (words, key, act, main) => h("button", {class: main ? "button main" : "button", onclick: act}, words, h("kbd", {}, key))
    const verbs = {
      cluster: [button(term ? `Name ${marked.size ? "the rest " : ""}${term.name}` : "Name", "Enter", enter, true), button("Extend", "x", () => tell("grow")),
        button(marked.size ? "Split off" : "Split in two", "s", () => tell("split", {images: [...marked]})), button("Next", "n", () => tell("next"))],
      grow: [button("Yes", "f", () => answer(true), true), button("No", "j", () => answer(false)), button("Back", "b", () => tell("back")),
        button(`Take ${count(now().grow?.taken ?? 0)}`, "Enter", enter), button("Leave", "Esc", () => tell("leave"))],
      check: [button(marked.size ? `${marked.size} wrong` : "All right", "Enter", enter, true), button("Skip", "Esc", () => tell("leave"))],
    }[mode]
    head.replaceChildren(h("div", {}, h("h1", {}, title), h("p", {class: "soft"}, question)), h("span", {class: "told"},
      [marked.size ? `${marked.size} clicked` : "", mode === "cluster" && pages > 1 ? `page ${page + 1} of ${pages}` : ""].filter(Boolean).join(" · ")), h("div", {class: "verbs"}, verbs))
  }

  function drawSide() {
    const {term, suggested, favourites, pace, clusters, cluster, grow} = now()
    const chip = (one, key) => h("button", {class: term?.id === one.id ? "chip on" : "chip", title: one.path, onclick: () => tell("choose", {term: one.id})},
      h("i", {style: `background:${one.colour || "var(--line)"}`}), one.name, key ? h("kbd", {}, key) : null)
    const row = (one) => h("button", {class: one.number === cluster ? "row on" : "row", onclick: () => tell("open", {cluster: one.number}),
      "aria-label": `Cluster ${one.number}, ${one.size} images, ${Math.round(100 * one.done)} per cent labelled`}, h("span", {}, one.number),
    h("span", {class: "bar"}, h("i", {style: `width:${100 * one.done}%`})), h("span", {class: "number"}, count(one.size)))
    const parts = [
      h("div", {class: "term"}, term ? chip(term) : h("span", {class: "soft"}, "No term chosen"), field, list,
        suggested ? h("p", {class: "soft"}, "Suggested ", chip(suggested, "a"), ` ${Math.round(100 * suggested.share)} %`) : null,
        h("div", {class: "favourites"}, favourites.map((one) => chip(one, one.key)))),
      grow ? curve(grow) : null,
      h("dl", {class: "pace"}, h("dt", {}, "Labelled"), h("dd", {"data-told": "labelled"}, count(pace.labelled)), h("dt", {}, "Left"), h("dd", {}, count(pace.left)),
        h("dt", {}, "An hour"), h("dd", {}, count(pace.per_hour)), h("dt", {}, "Time left"), h("dd", {}, pace.seconds_left === null ? "–" : time(pace.seconds_left))),
      h("div", {class: "clusters", "aria-label": "Clusters"}, clusters.map(row))]
    side.replaceChildren(...parts.filter(Boolean))
  }

  // The probability of every page, what is known of the cut, and the cut itself: drag or click to move it.
  function curve(grow) {
    const [width, height] = [232, 90]
    const x = (page) => width * page / Math.max(grow.pages, 1)
    const points = grow.curve.map((value, page) => `${x(page + 0.5)},${height - value * (height - 8) - 4}`).join(" ")
    const place = (event) => Math.round(grow.pages * event.offsetX / event.currentTarget.clientWidth)
    return h("figure", {class: "curve"}, s("svg", {viewBox: `0 0 ${width} ${height}`, role: "slider", tabindex: "0", "aria-label": "Cut, in pages", "aria-valuenow": grow.cut,
      "aria-valuemin": 0, "aria-valuemax": grow.pages, onclick: (event) => tell("cut", {pages: place(event)}),
      onkeydown: (event) => { const by = {ArrowLeft: -1, ArrowRight: 1}[event.key]; if (by) { event.stopPropagation(); tell("cut", {pages: grow.cut + by}) } }},
    s("rect", {x: x(grow.low), y: 0, width: Math.max(x(grow.high) - x(grow.low), 1), height, class: "unsure"}), s("polyline", {points}),
    ...grow.answers.map(([page, yes]) => s("circle", {cx: x(page + 0.5), cy: height - 4, r: 3, class: yes ? "yes" : "no"})),
    s("line", {x1: x(grow.cut), x2: x(grow.cut), y1: 0, y2: height})), h("figcaption", {class: "soft"},
    `${grow.done ? "Found: " : "So far "}${grow.cut} of ${grow.pages} pages, ${count(grow.taken)} images`))
  }

  function answer(belongs) { tell("answer", {belongs, without: [...marked]}) }

  function enter() {
    const {mode} = now()
    if (mode === "cluster") tell("name", {exceptions: [...marked]})
    else if (mode === "grow") tell("accept")
    else tell("check", {wrong: [...marked]})
  }

  function inField(event) {
    event.stopPropagation()
    if (event.key === "Escape") leaveField()
    if (event.key === "Enter" && model.hits.length) { tell("choose", {term: model.hits[0].id}); leaveField() }
    if (event.altKey && /^[1-9]$/.test(event.key) && model.hits[event.key - 1]) { tell("choose", {term: model.hits[event.key - 1].id}); leaveField() }
  }

  function leaveField() { field.value = ""; list.replaceChildren(); field.blur() }

  function drawHits() {
    list.replaceChildren(...(field.value ? model.hits : []).map((one) => h("li", {role: "option", onclick: () => { tell("choose", {term: one.id}); leaveField() }},
      h("i", {style: `background:${one.colour || "var(--line)"}`}), one.name, h("span", {class: "soft"}, one.path))))
  }

  const KEYS = {
    Enter: enter, n: () => tell("next"), x: () => tell("grow", {seed: marked.size === 1 ? [...marked][0] : null}), s: () => tell("split", {images: [...marked]}),
    z: () => tell("undo"), y: () => tell("redo"), Escape: () => (marked.size ? (marked.clear(), drawMarks()) : tell("leave")),
    a: () => now().suggested && tell("choose", {term: now().suggested.id}), l: () => field.focus(),
    i: () => { for (const {id} of now().images) marked.has(id) ? marked.delete(id) : marked.add(id); drawMarks() },
    e: () => marked.size && now().term && tell("images", {images: [...marked], term: now().term.id}),
    ArrowRight: () => tell("page", {page: Math.min(now().page + 1, now().pages - 1)}), ArrowLeft: () => tell("page", {page: Math.max(now().page - 1, 0)}),
  }
  const GROW = {f: () => answer(true), j: () => answer(false), b: () => tell("back")}

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
  model.on("change:hits", drawHits)
  draw()
  return h("div", {class: "review"}, h("main", {}, head, grid), side)
}
