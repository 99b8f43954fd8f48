// The Review page: tiles that are right unless clicked, the chosen label, and the curve of an extension.

import {attention} from "./audit.js"
import {h, redraw, whileShown} from "../../core/element.js"
import {inOrder} from "../../core/ordered_messages.js"
import {plotShelf} from "../../shared/plot_frame.js"
import {clickedPlaces, levelButtons} from "./levels.js"
import {drags, marksOf, thumbnail, tileOf} from "../../shared/tile_marks.js"
import {oneByOne} from "./single_image.js"
import {typing} from "../../shell/keyboard.js"
import {menu} from "../../shared/menu.js"
import {termField} from "../../shared/term_field.js"
import {tileSize} from "./tile_size.js"
import {count, time} from "../../core/format.js"

export function render({model}) {
  const {tell, turn, seen, after} = inOrder(model)
  const grid = h("div", {class: "tiles", role: "listbox", tabindex: "0", "aria-multiselectable": "true", "aria-label": "Images"})
  const title = h("h1"), told = h("span", {class: "told"}), question = h("p", {class: "soft"}), verbs = h("div", {class: "verbs"})
  const size = tileSize(grid, () => draw())
  const more = menu("More commands", () => moreCommands())
  const head = h("header", {class: "head"}, h("div", {class: "titles"}, title, told, question),
    h("div", {class: "toolbar", role: "toolbar", "aria-label": "Review"}, verbs, more.button("More", {class: "button more"}), more.element, h("span", {class: "space"}), size.element))
  const finder = termField({choose: ({id}) => tell("choose", {term: id}), placeholder: "Label (L): find or create", offer: true})
  const chosen = h("div", {class: "chosen"}), words = h("div", {class: "words"}), rest = h("div")
  const list = h("div", {class: "clusters", role: "group", "aria-label": "Clusters"})
  const side = h("aside", {class: "side"}, h("div", {class: "term"}, finder.element, chosen, words), rest, list, h("p", {class: "soft"}, h("a", {href: `/labels?part=export&run=${model.content.run}`}, "Export labels")))
  let content = {...model.content, ...model.changes.values}
  let received = model.changes.number ?? 0 // number of the last change
  const now = () => content
  const plots = plotShelf(model)
  const plane = h("div", {class: "plane", hidden: true})
  const marks = marksOf(grid, () => { showMarks(); drawHead() })
  drags(grid, (ids) => marks.add(ids))
  const audit = attention(model, grid, (seconds) => tell("looked", {seconds, wrong: marks.list}), () => drawHead())
  const single = oneByOne({tell, turn, now, changed: () => drawHead()})
  const aimField = h("input", {class: "find", type: "number", min: 0, "aria-label": "Number of the other cluster", onkeydown: aimed})
  const aimWords = h("label", {for: "aim"})
  const aim = h("div", {class: "aim", hidden: true}, aimWords, aimField, h("span", {class: "soft"}, "Choose the target: type its number and press Enter, or click it on the right; Esc cancels"))
  const clicked = clickedPlaces()
  let aiming = null // command for the cluster that is chosen next: move, merge or duplicate
  let shown = ""

  function tile(image) {
    const odd = image.guess && !image.label && image.guess !== now().suggested?.name
    const caption = image.label ? h("span", {class: "label"}, image.label) : odd ? h("span", {class: "label guess", title: `Suggested label: ${image.guess}`}, h("span", {class: "guessed"}, image.guess), `?${now().measured ? ` ${Math.round(100 * image.sure)} %` : ""}`) : null
    return tileOf(image.id, `Image ${image.id}${image.label ? `, ${image.label}` : image.guess ? `, perhaps ${image.guess}` : ""}`, Boolean(image.label) && now().mode === "cluster",
      thumbnail(image.id, size.picture(), now().version), (event) => marks.turn(image.id, event.shiftKey), caption)
  }

  function draw() {
    const {mode, cluster, page, images, ahead, version} = now()
    const key = JSON.stringify([images, size.picture()])
    const step = `${mode}-${cluster}-${page}`
    if (key !== shown) {
      shown = key
      grid.replaceChildren(...images.map(tile))
      for (const id of ahead) new Image().src = thumbnail(id, size.picture(), version)
      clicked.restore(now(), marks)
    }
    if (step !== grid.dataset.step) grid.scrollTop = 0
    if (mode === "single" && grid.dataset.mode !== "single") single.start()
    grid.dataset.mode = mode
    grid.dataset.step = step
    grid.hidden = mode === "single"
    single.element.hidden = mode !== "single"
    if (mode === "single") single.show(now().single)
    drawPlane()
    marks.keep(now().plane?.ids)
    audit.show(mode === "check" ? now().check : null)
    drawSide()
    plots.prune()
  }

  // The members of the cluster as points; those in a box or lasso are marked, like clicked tiles.
  function drawPlane() {
    const {plane: members, cluster, noun} = now()
    plane.hidden = !members
    if (!members) return plane.replaceChildren()
    const figure = plots.frame("members", {id: "members", values: {xy: members.xy, images: members.ids, labelled: members.done}, height: 300, label: `Members of ${noun} ${cluster} along its two axes of largest variance; draw a box or a lasso around images to mark them`,
      adds: true,
      onselect: (chosen) => marks.choose(chosen.map(([id]) => id), members.ids), onpick: ({image}) => marks.flip(Number(image))})
    if (plane.firstChild !== figure) plane.replaceChildren(figure)
    showMarks()
  }

  const showMarks = () => plots.select("members", now().plane ? marks.list.map((id) => [id]) : [])

  function update() {
    const {number, values} = model.changes
    const missed = number !== received + 1
    received = number
    content = {...content, ...values}
    draw()
    if (missed) tell("refresh")
  }

  // At most four commands are visible, always at the same places; the others are in the menu.
  function drawHead() {
    const {mode, name, noun, size, page, pages, term, check, verify, grow} = now()
    const growing = grow?.into ?? null
    title.textContent = {cluster: `${name}, ${count(size)} images`, grow: growing === null ? `Extending ${term?.name ?? ""}` : `Extending ${noun} ${growing}`,
      check: check ? `Checking ${count(check.size)} of ${count(check.of)}${check.acts > 1 ? `, ${check.acts} bulk labels together` : ""}` : "Checking", verify: `Is this ${verify?.term.name ?? ""}?`, single: "One by one"}[mode]
    const button = (words, key, act, main, disabled) => h("button", {class: main ? "button main" : "button", "data-key": key, title: main ? words : null, disabled, onclick: act}, h("span", {}, words), h("kbd", {}, key))
    const leave = (words) => button(words, "Esc", () => turn("leave"))
    redraw(verbs, {
      cluster: () => [button(term ? `Label ${marks.size ? "the rest " : ""}${term.name}` : "Choose a label", "Enter", JUDGE.Enter, true), button("Label clicked", "e", JUDGE.e, false, !marks.size),
        button("Extend", "x", JUDGE.x), button("Next", "n", KEYS.n)],
      grow: () => [button("Yes", "f", GROW.f, true), button("No", "j", GROW.j), button(`${growing === null ? "Label" : "Add"} ${count(grow?.taken ?? 0)}`, "Enter", JUDGE.Enter), leave("Leave")],
      check: () => [button(audit.seen < check?.size ? `${audit.seen} of ${check.size} seen` : marks.size ? `${marks.size} wrong` : "All right", "Enter", JUDGE.Enter, audit.seen >= check?.size), leave("Skip")],
      verify: () => [button(marks.size ? "Confirm the rest" : "Confirm all", "Enter", JUDGE.Enter, true), button("Label clicked", "e", JUDGE.e, false, !marks.size), leave("Leave")],
      single: () => [button(term ? `Label ${term.name}` : "Choose a label", "Enter", JUDGE.Enter, true), button("Later", "n", KEYS.n), button("Undo", "z", KEYS.z), leave("Leave")],
    }[mode]())
    const state = {cluster: pages > 1 ? `page ${page + 1} of ${pages}` : "", check: check ? [check.viewing, check.bound].filter(Boolean).join(" · ") : "", verify: verify?.left ? `${count(verify.left)} more` : "", single: mode === "single" ? single.told() : ""}[mode] ?? ""
    told.textContent = [marks.size ? `${marks.size} clicked` : "", state].filter(Boolean).join(" · ")
    question.textContent = now().question
  }

  function moreCommands() {
    const {mode, lasso, noun} = now()
    const item = (words, key, act, disabled) => ({words, key, act, disabled})
    const undo = [item("Undo", "z", KEYS.z), item("Redo", "y", KEYS.y)]
    const invert = item("Invert the clicks", "i", KEYS.i)
    if (mode === "grow") return [item("Back to the last answer", "b", GROW.b), "-", ...undo]
    if (mode === "single") return [item("Accept the suggestion", "a", KEYS.a)]
    if (mode !== "cluster") return [invert, "-", ...undo]
    return [item(marks.size ? "Split off the clicked images" : "Split in two", "s", JUDGE.s), item("Split automatically", "w", KEYS.w, marks.size > 0),
      item(marks.size ? "Move the clicked images" : `Merge into another ${noun}`, "m", KEYS.m), item("Mark as a duplicate", "d", KEYS.d, marks.size > 0), item(`New ${noun} from the clicked image`, "c", KEYS.c, marks.size !== 1), "-",
      item(lasso ? "Tiles only" : "Plot with a lasso", "p", KEYS.p), invert, "-",
      item("One by one", "o", KEYS.o), item("Verify labels of others", "v", KEYS.v), item("Check all bulk labels", "g", KEYS.g), "-", ...undo]
  }

  function chip(one, key, on) {
    return h("button", {class: on ? "chip on" : "chip", "data-key": `term-${one.id}-${key ?? ""}`, title: one.path, onclick: () => tell("choose", {term: one.id})},
      h("i", {style: `background:${one.colour || "var(--line)"}`}), one.name, key ? h("kbd", {}, key) : null)
  }

  function drawSide() {
    const {term, suggested, favourites, pace, grow} = now()
    redraw(chosen, term ? chip(term, null, true) : h("span", {class: "soft"}, "No label chosen"), term?.notes ? h("p", {class: "notes soft"}, term.notes) : null,
      term?.examples.length ? h("div", {class: "examples"}, term.examples.map((id) => h("img", {src: thumbnail(id, 128, now().version), alt: `Example of ${term.name}`}))) : null)
    redraw(words, suggested ? h("p", {class: "soft"}, "Suggested ", chip(suggested, "a"), ` ${Math.round(100 * suggested.share)} %`) : null,
      h("div", {class: "favourites"}, favourites.map((one) => chip(one, one.key, term?.id === one.id))))
    redraw(rest, grow ? curve(grow) : null, levelButtons(now(), toLevel, () => tell("compute_levels")),
      h("dl", {class: "pace"}, h("dt", {}, "Labelled"), h("dd", {"data-told": "labelled"}, count(pace.labelled)), h("dt", {}, "Left"), h("dd", {}, count(pace.left)),
        h("dt", {}, "Images per hour"), h("dd", {}, count(pace.per_hour)), h("dt", {}, "Time left"), h("dd", {}, pace.seconds_left === null ? "–" : time(pace.seconds_left))))
    drawClusters()
  }

  // Rows are replaced only when they change, so that their images do not flicker.
  let listed = ""
  function drawClusters() {
    const {clusters, cluster, version} = now()
    const key = JSON.stringify([clusters, version])
    if (key !== listed) redraw(list, clusters.map(row))
    listed = key
    for (const element of list.children) {
      element.classList.toggle("on", element.dataset.key === `cluster-${cluster}`)
      element.setAttribute("aria-current", String(element.classList.contains("on")))
    }
  }

  function row({number, name, size, done, label, image}) {
    const labelled = Math.round(100 * done)
    return h("button", {class: "row", "data-key": `cluster-${number}`, onclick: () => (aiming ? hit(number) : turn("open", {cluster: number})), title: `${name}: ${labelled} % labelled`,
      "aria-label": `${name}, ${size} images, ${labelled} per cent labelled${label ? `, mostly ${label}` : ""}`},
    h("img", {src: thumbnail(image, 128, now().version), alt: "", loading: "lazy"}), h("span", {class: label ? "what" : "soft what"}, h("b", {}, now().noun === "topic" ? name : number), " ", label || "No label"),
    h("span", {class: "number"}, count(size)), h("span", {class: "bar"}, h("i", {style: `width:${100 * done}%`})))
  }

  // The probability of every page, the interval of the cut, and the cut itself: a click or the slider moves it.
  function curve(grow) {
    const values = {share: grow.curve, low: grow.low, high: grow.high, cut: grow.cut, answers: grow.answers}
    const cut = (pages) => tell("cut", {pages: Math.min(Math.max(pages, 0), grow.pages)})
    return h("section", {class: "curve"}, plots.frame("extension", {id: "extension", values, height: 240, label: "Probability of each page to belong", onplace: ({x}) => cut(Math.round(x))}),
      h("label", {class: "cut"}, "Cut", h("input", {type: "range", "data-key": "cut", "aria-label": "Cut, in pages", min: 0, max: grow.pages, step: 1, value: grow.cut, onchange: (event) => cut(Number(event.target.value)),
        onkeydown: (event) => { if (event.key.startsWith("Arrow")) event.stopPropagation(); else if (event.key === "Enter") enter() }})), h("p", {class: "soft"},
      `${grow.done ? "Done: " : "So far: "}${grow.cut} of ${grow.pages} pages, ${count(grow.taken)} images`))
  }

  function toLevel(direction) {
    clicked.keep(now(), marks.list)
    turn("level", {direction})
  }

  function answer(belongs) { turn("answer", {belongs, without: marks.list}) }

  // Without a chosen label, commands that label focus the label field; the person chooses one and presses the key again.
  const needTerm = (act) => (now().term ? act() : finder.focus())

  function enter() {
    const {mode, term} = now()
    if (mode === "cluster") needTerm(() => turn("name", {exceptions: marks.list}))
    else if (mode === "grow") turn("accept")
    else if (mode === "verify") turn("confirm", {wrong: marks.list})
    else if (mode === "single") needTerm(() => single.name(term.id))
    else if (audit.ready) turn("check", {wrong: marks.list, seconds: audit.pairs()})
  }

  // --- the other cluster of a merge, a move or a duplicate

  function take(act) {
    aiming = act
    const {cluster, name, noun} = now()
    aimWords.textContent = {move: `Move ${marks.size} images to ${noun}`, merge: `Merge ${noun} ${cluster} into ${noun}`, duplicate: `${name} is the same as ${noun}`}[act]
    aimField.setAttribute("aria-label", `Number of the other ${noun}`)
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
    Enter: seen(enter), x: only("cluster", () => needTerm(() => turn("grow", {seed: marks.size === 1 ? marks.list[0] : null}))), s: only("cluster", () => turn("split", {images: marks.list})),
    i: seen(marks.invert), e: seen(() => marks.size && needTerm(() => (now().mode === "verify" ? turn("otherwise", {images: marks.list}) : tell("images", {images: marks.list})))),
  }
  const KEYS = {
    ...JUDGE, n: () => (now().mode === "single" ? single.later() : turn("next")), z: () => (now().mode === "single" ? single.undo() : turn("undo")), y: () => turn("redo"), l: finder.focus,
    Escape: () => (aiming ? miss() : marks.size ? marks.clear() : now().lasso && now().mode === "cluster" ? tell("lasso", {on: false}) : (single.flush(), turn("leave"))),
    a: () => (now().mode === "single" ? single.name(single.guess()) : tell("suggested")), ArrowRight: () => turn("page", {by: 1}), ArrowLeft: () => turn("page", {by: -1}),
    w: only("cluster", () => tell("model")), p: only("cluster", () => tell("lasso", {on: !now().lasso})), m: only("cluster", () => take(marks.size ? "move" : "merge")),
    d: only("cluster", () => take("duplicate")), c: only("cluster", () => marks.size === 1 && turn("found", {image: marks.list[0]})), o: only("cluster", () => turn("single")),
    "+": () => size.step(1), "-": () => size.step(-1), v: only("cluster", () => turn("verify")), g: only("cluster", () => turn("audit")),
    "<": only("cluster", () => now().levels.coarser && toLevel("coarser")), ">": only("cluster", () => now().levels.finer && toLevel("finer")),
  }
  const GROW = {f: seen(() => answer(true)), j: seen(() => answer(false)), b: seen(() => turn("back"))}

  function favourite(key) {
    const assigned = now().favourites.find((one) => one.key === key)
    if (now().mode === "single" && assigned) single.name(assigned.id)
    else if (marks.size && assigned && ["cluster", "verify"].includes(now().mode)) {
      tell("press", {key})
      JUDGE.e()
    } else if (assigned) tell("press", {key})
    else needTerm(() => tell("press", {key}))
  }

  whileShown(model, document, "keydown", (event) => {
    if (event.repeat && event.key === "Enter") event.preventDefault() // a held key would press a focused button repeatedly
    if (typing(event) || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return
    if (event.key === "Enter" && event.composedPath()[0].tagName === "BUTTON") return
    const act = /^[0-9A-Z]$/.test(event.key) ? () => favourite(event.key) : (now().mode === "grow" && GROW[event.key]) || KEYS[event.key]
    if (!act) return
    event.preventDefault()
    act()
  })
  whileShown(model, window, "pagehide", single.flush)
  model.on("change:changes", update)
  if (received > 1) tell("refresh") // several changes before this was drawn: only the last is here
  draw()
  return h("div", {class: "review"}, h("div", {class: "work"}, head, aim, plane, grid, single.element), side)
}
