// Review by the keyboard: tiles that are right unless clicked, the term that Enter gives, the curve of a grown list.

import {h, redraw, s, whileShown} from "./dom.js"
import {inOrder} from "./in_order.js"
import {lassoPlane} from "./lasso_plane.js"
import {drags, marksOf, thumbnail, tileOf} from "./marks.js"
import {oneByOne} from "./one_by_one.js"
import {typing} from "./shell/keyboard.js"
import {termField} from "./term_field.js"
import {count, time} from "./told.js"

const SIZE = window.innerWidth >= 1900 || window.devicePixelRatio > 1 ? 320 : 128 // of thumbnails: tiles are larger there

export function render({model}) {
  const {tell, turn, seen, after} = inOrder(model)
  const grid = h("div", {class: "tiles", role: "listbox", "aria-multiselectable": "true", "aria-label": "Images"})
  const head = h("header", {class: "head"})
  const finder = termField(model, tell, (term) => tell("choose", {term}))
  const chosen = h("div", {class: "chosen"}), words = h("div", {class: "words"}), rest = h("div")
  const side = h("aside", {class: "side"}, h("div", {class: "term"}, chosen, finder.element, words), rest)
  const now = () => model.content
  const marks = marksOf(grid, () => { plane.draw(); drawHead() })
  const plane = lassoPlane((ids) => marks.add(ids), (id) => marks.has(id))
  drags(grid, (ids) => marks.add(ids))
  const single = oneByOne({tell, turn, now, changed: () => drawHead()})
  const aimField = h("input", {class: "find", type: "number", min: 0, "aria-label": "Number of the other cluster", onkeydown: aimed})
  const aimWords = h("label", {for: "aim"})
  const aim = h("div", {class: "aim", hidden: true}, aimWords, aimField, h("span", {class: "soft"}, "type its number and Enter, or click it on the right; Esc leaves"))
  let aiming = null // what is done with the cluster that is chosen next: move, merge or duplicate
  let shown = ""

  function tile(image) {
    const odd = image.guess && !image.label && image.guess !== now().suggested?.name
    const told = image.label ? h("span", {class: "label"}, image.label) : odd ? h("span", {class: "label guess", title: `The model would say ${image.guess}`}, `${image.guess}? ${Math.round(100 * image.sure)} %`) : null
    return tileOf(image.id, `Image ${image.id}${image.label ? `, ${image.label}` : image.guess ? `, perhaps ${image.guess}` : ""}`, Boolean(image.label) && now().mode === "cluster",
      thumbnail(image.id, SIZE, now().version), (event) => marks.turn(image.id, event.shiftKey), told)
  }

  function draw() {
    const {mode, cluster, page, images, ahead, version} = now()
    const key = JSON.stringify(images)
    const step = `${mode}-${cluster}-${page}`
    if (key !== shown) {
      shown = key
      grid.replaceChildren(...images.map(tile))
      for (const id of ahead) new Image().src = thumbnail(id, SIZE, version)
    }
    if (step !== grid.dataset.step) grid.scrollTop = 0
    if (mode === "single" && grid.dataset.mode !== "single") single.start()
    grid.dataset.mode = mode
    grid.dataset.step = step
    grid.hidden = mode === "single"
    single.element.hidden = mode !== "single"
    if (mode === "single") single.show(now().single)
    plane.element.hidden = !now().plane
    plane.show(now().plane)
    marks.keep(now().plane?.ids)
    drawSide()
  }

  function drawHead() {
    const {mode, question, cluster, size, page, pages, term, check, verify, grow, suggested} = now()
    const growing = grow?.into ?? null
    const title = {cluster: `Cluster ${cluster}, ${count(size)} images`, grow: growing === null ? `Extending ${term?.name ?? ""}` : `Growing cluster ${growing}`,
      check: check ? `Checking ${count(check.size)} of ${count(check.of)}` : "Checking", verify: `Is this ${verify?.term.name ?? ""}?`, single: "One by one"}[mode]
    const button = (words, key, act, main) => h("button", {class: main ? "button main" : "button", "data-key": key, onclick: act}, words, h("kbd", {}, key))
    const leave = (words) => button(words, "Esc", () => turn("leave"))
    const verbs = {
      cluster: () => [button(term ? `Name ${marks.size ? "the rest " : ""}${term.name}` : "Name", "Enter", JUDGE.Enter, true), marks.size ? button("Name clicked", "e", JUDGE.e) : null,
        button("Extend", "x", JUDGE.x), button("Next", "n", KEYS.n)],
      grow: () => [button("Yes", "f", GROW.f, true), button("No", "j", GROW.j), button("Back", "b", GROW.b), button(`Take ${count(grow?.taken ?? 0)}`, "Enter", JUDGE.Enter), leave("Leave")],
      check: () => [button(marks.size ? `${marks.size} wrong` : "All right", "Enter", JUDGE.Enter, true), leave("Skip")],
      verify: () => [button(marks.size ? "Confirm the rest" : "Confirm all", "Enter", JUDGE.Enter, true), marks.size ? button(`Name clicked ${term?.name ?? ""}`, "e", JUDGE.e) : null, leave("Leave")],
      single: () => [term ? button(term.name, "Enter", JUDGE.Enter, true) : null, button("Later", "n", KEYS.n), button("Undo", "z", KEYS.z), leave("Leave")],
    }[mode]()
    const quiet = mode !== "cluster" ? [] : [button(marks.size ? "Split off" : "Split in two", "s", JUDGE.s), marks.size ? null : button("Split by the model", "w", KEYS.w), button(now().lasso ? "Tiles only" : "Lasso", "p", KEYS.p),
      button(marks.size ? "Move" : "Merge", "m", KEYS.m), marks.size ? null : button("Duplicate", "d", KEYS.d), marks.size === 1 ? button("New cluster", "c", KEYS.c) : null,
      button("One by one", "o", KEYS.o), button("Verify others", "v", KEYS.v)]
    const more = {cluster: pages > 1 ? `page ${page + 1} of ${pages}` : "", verify: verify?.left ? `${count(verify.left)} more` : "", single: mode === "single" ? single.told() : ""}[mode] ?? ""
    const told = [marks.size ? `${marks.size} clicked` : "", more].filter(Boolean).join(" · ")
    redraw(head, h("div", {}, h("h1", {}, title), h("p", {class: "soft"}, question)), h("span", {class: "told"}, told), h("div", {class: "verbs"}, verbs.filter(Boolean)),
      quiet.length ? h("div", {class: "verbs quiet"}, quiet.filter(Boolean)) : null)
  }

  function chip(one, key, on) {
    return h("button", {class: on ? "chip on" : "chip", "data-key": `term-${one.id}-${key ?? ""}`, title: one.path, onclick: () => tell("choose", {term: one.id})},
      h("i", {style: `background:${one.colour || "var(--line)"}`}), one.name, key ? h("kbd", {}, key) : null)
  }

  function drawSide() {
    const {term, suggested, favourites, pace, clusters, cluster, grow} = now()
    const row = (one) => h("button", {class: one.number === cluster ? "row on" : "row", "data-key": `cluster-${one.number}`, onclick: () => (aiming ? hit(one.number) : turn("open", {cluster: one.number})),
      "aria-label": `Cluster ${one.number}, ${one.size} images, ${Math.round(100 * one.done)} per cent labelled`}, h("span", {}, one.number),
    h("span", {class: "bar"}, h("i", {style: `width:${100 * one.done}%`})), h("span", {class: "number"}, count(one.size)))
    redraw(chosen, term ? chip(term, null, true) : h("span", {class: "soft"}, "No term chosen"), term?.notes ? h("p", {class: "notes soft"}, term.notes) : null,
      term?.examples.length ? h("div", {class: "examples"}, term.examples.map((id) => h("img", {src: thumbnail(id, 128, now().version), alt: `Example of ${term.name}`}))) : null)
    redraw(words, suggested ? h("p", {class: "soft"}, "Suggested ", chip(suggested, "a"), ` ${Math.round(100 * suggested.share)} %`) : null,
      h("div", {class: "favourites"}, favourites.map((one) => chip(one, one.key, term?.id === one.id))))
    redraw(rest, grow ? curve(grow) : null,
      h("dl", {class: "pace"}, h("dt", {}, "Labelled"), h("dd", {"data-told": "labelled"}, count(pace.labelled)), h("dt", {}, "Left"), h("dd", {}, count(pace.left)),
        h("dt", {}, "An hour"), h("dd", {}, count(pace.per_hour)), h("dt", {}, "Time left"), h("dd", {}, pace.seconds_left === null ? "–" : time(pace.seconds_left))),
      h("div", {class: "clusters", "aria-label": "Clusters"}, clusters.map(row)), h("p", {class: "soft"}, h("a", {href: "/labels?part=files"}, "Export labels")))
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
    const {mode, term} = now()
    if (mode === "cluster") turn("name", {exceptions: marks.list})
    else if (mode === "grow") turn("accept")
    else if (mode === "verify") turn("confirm", {wrong: marks.list})
    else if (mode === "single") single.name(term?.id)
    else turn("check", {wrong: marks.list})
  }

  // --- the other cluster of a merge, a move or a duplicate

  function take(act) {
    aiming = act
    aimWords.textContent = {move: `Move ${marks.size} images to cluster`, merge: `Merge cluster ${now().cluster} into cluster`, duplicate: `Cluster ${now().cluster} is the same as cluster`}[act]
    aim.hidden = false
    aimField.value = ""
    aimField.focus()
  }

  function aimed(event) {
    event.stopPropagation()
    if (event.key === "Escape") miss()
    if (event.key === "Enter" && aimField.value !== "") hit(Number(aimField.value))
  }

  function hit(into) {
    turn(aiming, {into, images: marks.list})
    miss()
  }

  function miss() {
    aiming = null
    aim.hidden = true
    aimField.blur()
  }

  const only = (mode, act) => after(() => { if (now().mode === mode) act() })
  const JUDGE = {
    Enter: seen(enter), x: only("cluster", () => turn("grow", {seed: marks.size === 1 ? marks.list[0] : null})), s: only("cluster", () => turn("split", {images: marks.list})),
    i: seen(marks.invert), e: seen(() => marks.size && (now().mode === "verify" ? turn("otherwise", {images: marks.list}) : tell("images", {images: marks.list}))),
  }
  const KEYS = {
    ...JUDGE, n: () => (now().mode === "single" ? single.later() : turn("next")), z: () => (now().mode === "single" ? single.undo() : turn("undo")), y: () => turn("redo"), l: finder.focus,
    Escape: () => (aiming ? miss() : marks.size ? marks.clear() : now().lasso && now().mode === "cluster" ? tell("lasso", {on: false}) : (single.flush(), turn("leave"))),
    a: () => (now().mode === "single" ? single.name(single.guess()) : tell("suggested")), ArrowRight: () => turn("page", {by: 1}), ArrowLeft: () => turn("page", {by: -1}),
    w: only("cluster", () => tell("model")), p: only("cluster", () => tell("lasso", {on: !now().lasso})), m: only("cluster", () => take(marks.size ? "move" : "merge")),
    d: only("cluster", () => take("duplicate")), c: only("cluster", () => marks.size === 1 && turn("found", {image: marks.list[0]})), o: only("cluster", () => turn("single")),
    v: only("cluster", () => turn("verify")),
  }
  const GROW = {f: seen(() => answer(true)), j: seen(() => answer(false)), b: seen(() => turn("back"))}

  function favourite(key) {
    const found = now().favourites.find((one) => one.key === key)
    if (now().mode === "single" && found) single.name(found.id)
    else if (marks.size && found && ["cluster", "verify"].includes(now().mode)) {
      tell("press", {key})
      JUDGE.e()
    } else tell("press", {key})
  }

  whileShown(model, document, "keydown", (event) => {
    if (typing(event) || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return
    if (event.key === "Enter" && event.composedPath()[0].tagName === "BUTTON") return
    const act = /^[0-9A-Z]$/.test(event.key) ? () => favourite(event.key) : (now().mode === "grow" && GROW[event.key]) || KEYS[event.key]
    if (!act) return
    event.preventDefault()
    act()
  })
  whileShown(model, window, "pagehide", single.flush)
  model.on("change:content", draw)
  draw()
  return h("div", {class: "review"}, h("main", {}, head, aim, plane.element, grid, single.element), side)
}
