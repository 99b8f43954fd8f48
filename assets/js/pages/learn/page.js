// The Learn page: a batch to accept or correct with the keyboard, and plots of how far suggestions can be trusted.

import {h, icon, redraw, whileShown} from "../../core/element.js"
import {inOrder} from "../../core/ordered_messages.js"
import {plotShelf} from "../../shared/plot_frame.js"
import {drags, thumbnail, tileOf} from "../../shared/tile_marks.js"
import {typing} from "../../shell/keyboard.js"
import {sweeps} from "../../shared/sweep.js"
import {termField} from "../../shared/term_field.js"
import {count, time} from "../../core/format.js"

const percent = (share) => `${Math.round(100 * share)} %`
const HEIGHT = 250 // pixels of a plot while it loads
const NONE = -1 // choice "none of these suggestions"
const SMALL = 84 // minimum width in pixels of a tile in the queue Sort
const GAP = 3 // between them, as in the style sheet
const ERRORS = "doubted" // the queue of labels to check
const LAID_OUT = ["sort", "typical"] // queues with many small tiles, similar images side by side
const ARROWS = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"]

export function render({model}) {
  const {tell, turn, seen} = inOrder(model)
  const memories = h("div", {class: "memories", hidden: true})
  const missing = h("div", {class: "missing"})
  const nothing = h("section", {class: "notice", hidden: true}, icon("school"), missing, memories)
  const grid = h("div", {class: "tiles", role: "listbox", tabindex: "0", "aria-multiselectable": "true", "aria-label": "Batch"})
  const head = h("header", {class: "head"})
  const finder = termField({choose: ({id}) => tell("choose", {term: id}), placeholder: "Label (L): find or create", offer: true})
  const chosen = h("div", {class: "chosen"}), favourites = h("div", {class: "favourites"}), rest = h("div"), large = h("figure", {class: "large", hidden: true})
  const side = h("aside", {class: "side"}, large, h("div", {class: "term"}, finder.element, chosen, favourites), rest)
  const plots = plotShelf(model)
  const picks = new Map() // index of the chosen suggestion if it is not the first, or NONE, by image
  let shown = ""
  let all = false // whether the queues under More are visible
  const before = new Map() // the suggestions of each tile as drawn last, by image

  const now = () => model.content
  const queues = () => Object.entries(now().queues)
  const first = () => queues().filter(([, queue]) => queue.first).map(([name]) => name)
  const here = () => first().filter((name) => !now().queues[name].href) // the others have separate pages
  const known = () => now().measured ? now().measured.accuracy !== null : false // before that, confidence is not shown as a percentage
  const images = () => now().images
  const laidOut = () => LAID_OUT.includes(now().queue)
  const byHand = () => now().queue === "groups" // unmarked images get the chosen label

  // A click goes to the next suggestion, after the last one to NONE, then to the first again.
  function turned(image, shift) {
    const at = picks.get(image.id) ?? 0
    const next = at === NONE ? 0 : byHand() || shift || at + 1 >= image.options.length ? NONE : at + 1
    if (next) picks.set(image.id, next)
    else picks.delete(image.id)
    drawPicks()
  }

  // The first change keeps the batch as it is, even if the model is updated.
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

  // A key labels the image pointed at, or all marked images together if it is one of them.
  function begin(event, key) {
    if (byHand() || !sweep.at || picks.get(Number(sweep.at.dataset.id)) === NONE) return false
    meant = key
    hold()
    sweep.begin(event)
    return true
  }

  function drawLarge(tile) {
    const image = tile && images().find((one) => one.id === Number(tile.dataset.id))
    large.hidden = !laidOut() || !images().length
    if (large.hidden) return
    large.replaceChildren(...(image ? [h("img", {src: thumbnail(image.id, 320, now().version), alt: ""}), h("figcaption", {}, options(image), image.named || image.possible < 2 ? null : h("span", {class: "soft"}, `one of ${image.possible} at ${percent(now().wanted)}`))] : [h("figcaption", {class: "soft"}, "Point at an image to enlarge it")]))
  }

  const confidence = (sure) => (known() ? ` ${percent(sure)}` : "")
  const options = (image) => image.named ? [h("span", {}, image.label)] : image.options.map(([, name, sure]) => h("span", {}, `${name}${confidence(sure)}`))

  function answerLabel(image) {
    const at = picks.get(image.id) ?? 0
    if (at === NONE) return [h("span", {class: "none"}, byHand() ? "not this" : image.options.length ? "none of these" : "marked")]
    if (image.named && !at) return [h("i", {style: `background:${image.named}`}), h("span", {class: "labelname"}, image.label)]
    if (!image.options.length) return []
    const [, name, sure] = image.options[at]
    const words = at ? `${name}!` : image.label && now().queue === ERRORS && image.options.length > 1 ? `${image.label}, or ${image.options[1][1]}?` : image.label && image.label !== name ? `${image.label}, or ${name}?` : name
    return [h("i", {style: `background:${(!at && image.colour) || "var(--line)"}`}), h("span", {class: "labelname"}, words), at || [...LAID_OUT, ERRORS].includes(now().queue) ? "" : h("span", {class: "sure"}, `${confidence(sure)}${image.possible > 1 ? `, 1 of ${image.possible}` : ""}`)]
  }

  function tile(image) {
    return tileOf(image.id, `Image ${image.id}${image.term && `, ${image.term}${confidence(image.sure)}`}${image.possible ? `, one of ${count(image.possible)} labels` : ""}`, Boolean(image.label), thumbnail(image.id, 320, now().version),
      (event) => turned(image, event.shiftKey), h("span", {class: "label"}, answerLabel(image)))
  }

  function drawPicks() {
    for (const element of grid.children) {
      const image = images().find((one) => one.id === Number(element.dataset.id))
      const at = picks.get(image.id) ?? 0
      element.classList.toggle("done", Boolean(image.label))
      element.classList.toggle("marked", at === NONE)
      element.querySelector(".label").hidden = !image.options.length && !image.named && !at
      element.classList.toggle("other", at > 0)
      element.setAttribute("aria-selected", String(at !== 0))
      element.querySelector(".label").replaceChildren(...answerLabel(image))
    }
    if (picks.size) hold()
    drawHead()
  }

  // Choices stay for images that are still in the batch and still have the chosen suggestion.
  function keepPicks() {
    const there = new Map(images().map((image) => [image.id, image.options.map(([term]) => term)]))
    for (const [id, at] of [...picks]) {
      const place = at === NONE ? NONE : there.get(id)?.indexOf(before.get(id)?.[at]) ?? -2
      if (!there.has(id) || at !== NONE && place < 0) picks.delete(id)
      else picks.set(id, place)
    }
    before.clear()
    for (const [id, terms] of there) before.set(id, terms)
  }

  function draw() {
    const key = JSON.stringify([known(), images().map(({id, options, possible}) => [id, options, possible])])
    if (key !== shown) {
      shown = key
      keepPicks()
      grid.replaceChildren(...images().map(tile))
    }
    grid.dataset.batch = `${now().queue}-${now().batch}`
    grid.classList.toggle("small", laidOut())
    grid.style.setProperty("--columns", now().columns)
    fit()
    drawLarge(grid.contains(sweep.at) ? sweep.at : null)
    drawPicks()
    drawSide()
  }

  // The fewest columns that show all tiles at once; if tiles would get too small, the page scrolls.
  function columns(number) {
    const {clientWidth: width, clientHeight: height} = grid
    const most = Math.min(Math.max(Math.floor(width / SMALL), 3), 40)
    for (let count = 3; count < most; count++) if (Math.ceil(number / count) * (0.75 * width / count + GAP) <= height) return count
    return most
  }

  // The server lays out Typical and Sort for the number of columns; tiles are hidden until then.
  let asked = 0
  function fit() {
    if (!grid.clientWidth || !laidOut()) return grid.classList.remove("waiting")
    const count = columns(images().length)
    grid.classList.toggle("waiting", count !== now().columns)
    if (count === now().columns || count === asked) return
    asked = count
    tell("columns", {count})
  }

  // Which labels the model has not been trained on yet.
  function ageWords() {
    const {age, learning, learnt} = now()
    if (!learnt) return learning ? "The model is being trained" : ""
    if (!now().labelled && now().memory.used) return `Trained on the memory "${now().memory.used.name}"${age.updating ? ", updating" : ""}`
    return `${age.text[0].toUpperCase()}${age.text.slice(1)}${age.updating ? ", updating" : ""}`
  }

  function drawHead() {
    const {queue, learnt, learning, term, age} = now()
    const titles = Object.fromEntries(queues())
    const choice = (name) => titles[name].href ? h("a", {class: "chip", "data-key": `queue-${name}`, title: titles[name].hint, href: titles[name].href}, titles[name].title) : h("button", {class: name === queue ? "chip on" : "chip", "data-key": `queue-${name}`, "aria-pressed": String(name === queue), title: titles[name].hint, onclick: () => turn("queue", {name})}, titles[name].title)
    const others = queues().map(([name]) => name).filter((name) => !titles[name].first && (name !== ERRORS || name === queue || !learnt || now().errors.offered))
    const more = h("button", {class: "chip", "data-key": "more", "aria-expanded": String(all), onclick: () => { all = !all; drawHead() }}, all ? "Less" : "More")
    const visible = [...first(), ...others.filter((name) => all || name === queue)]
    const button = (words, key, act, main, disabled) => h("button", {class: main ? "button main" : "button", "data-key": key, onclick: act, disabled}, words, h("kbd", {}, key))
    const number = images().filter((image) => !image.named || picks.has(image.id)).length, marked = picks.size
    const main = !learnt ? `Train a model${number ? `, ${number} left open` : ""}` : byHand() ? `Label ${number - marked} ${term?.name ?? ""}` : marked ? `Accept, ${marked} changed` : `Accept ${number}`
    const stale = learnt && age.stale && !byHand()
    const verbs = images().length ? [button(stale ? "Out of date" : main, "Enter", JUDGE.Enter, learnt || number < images().length, stale), marked ? button(`Label ${marked} ${term?.name ?? ""}`, "e", JUDGE.e) : null, button("Next", "n", JUDGE.n)] : []
    const evidence = learnt && queue === ERRORS && now().errors.text ? `. ${now().errors.text}` : ""
    const question = images().length ? `${titles[queue].hint}${evidence}` : now().choosing ? "Choosing typical images" : learnt ? "This queue is empty" : "Use two different labels, then press r to train a model"
    nothing.hidden = learnt || images().length > 0
    drawMissing()
    drawMemories()
    grid.hidden = !images().length
    const {best} = now()
    const next = best && titles[best.queue] ? h("button", {class: "chip best", "data-key": "next-best", title: best.reason, "aria-pressed": String(best.queue === queue), onclick: () => turn("queue", {name: best.queue})}, `Next best: ${titles[best.queue].title}`) : null
    const why = next ? h("span", {class: "soft why", "data-told": "next-best"}, best.reason) : null
    redraw(head, h("div", {class: "title"}, h("h1", {}, learning ? "Training…" : "Learn"), h("p", {class: "soft hint"}, question)),
      h("div", {class: "verbs"}, verbs.filter(Boolean), button("Train model", "r", KEYS.r), learnt ? button("Cluster again", "c", KEYS.c) : null),
      h("div", {class: "verbs queues", role: "group", "aria-label": "Queue"}, visible.map(choice), more, h("kbd", {title: "Next queue"}, "q"), next, why, h("span", {class: stale ? "age stale" : "age soft", "data-told": "age"}, ageWords())))
  }

  function drawSide() {
    const {learnt, measured, sets, accept: ready, wanted, labelled, left, term, trainings, spent, expected, slips, final, reliable} = now()
    redraw(chosen, term ? h("span", {class: "chip on"}, h("i", {style: `background:${term.colour || "var(--line)"}`}), term.name) : h("span", {class: "soft"}, "No label chosen"))
    redraw(favourites, now().favourites.map((one) => h("button", {class: one.id === term?.id ? "chip on" : "chip", "data-key": `key-${one.key}`, title: one.path, onclick: () => favourite(one.key)}, h("i", {style: `background:${one.colour || "var(--line)"}`}), one.name, h("kbd", {}, one.key))))
    const fact = (name, value, title) => [h("dt", {title}, name), h("dd", {}, value)]
    const parts = [h("dl", {class: "pace"}, h("dt", {}, "Labelled"), h("dd", {"data-told": "labelled"}, count(labelled)), fact("Left", count(left)), spent === null ? [] : fact("Time spent", time(spent) || "0 s"),
      known() ? fact("First guess right", `${percent(measured.accuracy)}, at least ${percent(measured.at_least)}`, "Share of right suggestions for images without a label, with a lower bound at 95 % confidence") : [],
      learnt && sets.possible !== null ? fact("Possible labels per image", `${sets.possible.toFixed(1)} on average`, `Each image keeps ${sets.possible.toFixed(1)} possible labels on average; for ${percent(wanted)} of the images the true one is among them`) : [],
      expected ? fact(`For ${percent(wanted)} accuracy`, expected.labels === null ? "cannot be predicted" : `${count(expected.labels)} labels${expected.seconds ? `, ${time(expected.seconds)}` : ""}`, "Predicted from the measured accuracy so far: total number of labels, and the time for the missing ones") : [])]
    if (learnt) parts.push(h("p", {class: "soft measured", "data-told": "measured"}, evidence(measured)), repeats(measured))
    if (slips) parts.push(h("p", {class: "soft measured", "data-told": "slips", title: "One tile in thirty shows a label of yours again, at least fifty tiles later"}, slips))
    if (reliable) parts.push(h("p", {class: "soft measured", "data-told": "reliable"}, `Labels of ${count(reliable)} ${reliable === 1 ? "person" : "people"} count by how reliable they are in `, h("a", {href: "/labels?part=people"}, "second labels")))
    if (learnt) parts.push(acceptBox(ready, wanted), finalBox(final))
    parts.push(memoryBox())
    const stamp = JSON.stringify([measured, trainings])
    const plot = (name, label, query = {}) => plots.frame(name, {query, stamp, label, height: HEIGHT})
    if (known()) parts.push(plot("accuracy", "Accuracy by coverage", {threshold: ready.ready ? ready.threshold : null}), plot("calibration", "Calibration: predicted and observed"))
    if (trainings) parts.push(plot("learning-curve", "Accuracy by labels"))
    redraw(rest, parts.filter(Boolean), h("p", {class: "soft"}, h("a", {href: "/labels?part=export"}, "Export labels")))
    plots.prune()
  }

  // The evidence for the accuracy, or what is missing.
  function evidence(measured) {
    if (measured.accuracy === null) return `Accuracy: ${measured.missing}. One tile in six of every page is a random image.${uncounted(measured.without_guess)}`
    return `From the last ${count(measured.used)} of ${count(measured.answered)} random images; ${measured.remark}.`
  }

  // Random images for Cover that cannot be used to measure suggestions.
  const uncounted = (images) => (images ? ` ${count(images)} more random ${images === 1 ? "image does" : "images do"} not count: there was no model yet, or ${images === 1 ? "it" : "they"} had a label.` : "")

  // Repeated answers: they show how often a suggestion influences the answer.
  function repeats({repeated, differ, waiting}) {
    if (!repeated && !waiting) return null
    return h("p", {class: "soft", "data-told": "repeats"}, repeated ? `${count(differ)} of ${count(repeated)} repeated answers ${differ === 1 ? "differs" : "differ"}. ` : "",
      waiting ? h("a", {href: "/learn?queue=random"}, `Answer ${count(waiting)} again without suggestions`) : null)
  }

  function acceptBox(ready, wanted) {
    const slider = h("input", {type: "range", min: 0.7, max: 0.99, step: 0.01, value: wanted, "data-key": "wanted", "aria-label": "Share of accepted suggestions that should be right",
      onchange: (event) => tell("wanted", {share: Number(event.target.value)})})
    const why = ready.ready ? `Random images prove that at least ${percent(wanted)} of them are right (95 % confidence).` : ready.need
    return h("div", {class: "accept"}, h("label", {}, `Accept unseen at ${percent(wanted)} accuracy`, slider),
      h("button", {class: "button", disabled: !ready.ready || now().age.stale, title: why, "data-key": "sure", onclick: () => turn("sure")}, !ready.ready ? "Accept unseen" : ready.ready === ready.left ? `Accept all ${count(ready.ready)}` : `Accept the ${count(ready.ready)} most confident`), h("span", {class: "soft", "data-told": "need"}, why),
      ready.draw_more && now().queue !== "check" ? h("button", {class: "button", "data-key": "draw", onclick: () => turn("queue", {name: "check"})}, "Answer random images") : null,
      ready.open_cover ? h("a", {class: "button", "data-key": "cover", href: "/learn?queue=random"}, `Answer ${count(ready.open_cover)} open random images`) : null,
      ready.reachable ? h("button", {class: "button", "data-key": "reachable", onclick: () => tell("wanted", {share: ready.reachable})}, `Use ${percent(ready.reachable)}`) : null,
      ready.unchecked.length ? h("a", {class: "button main", "data-key": "unchecked", href: `/review?audit=${ready.unchecked.join(",")}`}, "Check what was accepted") : null)
  }

  // The final check: the forecast, the state of the check, and its next step.
  function finalBox({forecast, ready, possible, result, proven, remaining}) {
    const checking = result && !proven
    return h("div", {class: "accept", "data-told": "final"}, h("b", {}, "Final check"), h("span", {class: "soft"}, result || forecast),
      checking && now().queue !== "final" ? h("button", {class: "button main", "data-key": "check-on", onclick: () => turn("queue", {name: "final"})}, "Continue the check") : null,
      remaining ? h("button", {class: "button main", "data-key": "deliver", onclick: () => turn("deliver")}, `Label the remaining ${count(remaining)} images`) : null,
      possible ? h("button", {class: ready ? "button main" : "button", disabled: now().age.stale, "data-key": "start-check", title: forecast, onclick: freeze}, result ? "Freeze and check again" : "Freeze and check") : null)
  }

  const usable = () => now().memory.available.filter(({problem}) => !problem)
  const useButton = ({name, about}, main) => h("button", {class: main ? "button main" : "button", "data-key": `memory-${name}`, title: about, onclick: () => turn("use-memory", {name})}, `Use "${name}"`)

  // Before there is a model: what has to be done first.
  function drawMissing() {
    const {queue, queues: titles, choosing, learning, labelled, trainable} = now()
    const train = h("button", {class: "button main", "data-key": "first-model", onclick: () => tell("learn")}, "Train a model")
    const typical = h("button", {class: "button main", "data-key": "first-page", onclick: () => turn("queue", {name: "typical"})}, "Label typical images")
    const [title, text, next] = learning ? ["The model is being trained", "The next page opens in a moment."]
      : choosing ? ["Choosing typical images", "The first page opens in a moment. It shows images that stand for many others."]
        : trainable ? ["No model yet", `${count(labelled)} images have a label. They are enough for a first model.`, train]
        : queue === "typical" ? ["No typical images", "No more typical images are left. Label images in Review.", h("a", {class: "button main", href: "/review"}, "Go to Review")]
          : ["No model yet", `${titles[queue].title} needs a model. Label one page of typical images first.`, typical]
    redraw(missing, h("h2", {}, title), h("p", {}, text), next ?? null)
  }

  // Before there is a model: the memories of earlier campaigns.
  function drawMemories() {
    memories.hidden = now().learning || !usable().length
    redraw(memories, h("p", {}, now().labelled ? "Or use the memory of an earlier campaign. The model then suggests labels at once." : "No labels yet: use the memory of an earlier campaign. The model then suggests labels at once."),
      usable().map((one) => h("div", {class: "memory"}, useButton(one, true), h("span", {class: "soft"}, one.about))))
  }

  // The memory in use, or the memories that can be used and a button that stores the labels as a new one.
  function memoryBox() {
    const {used, available, name} = now().memory
    const box = (...parts) => h("div", {class: "accept", "data-told": "memory"}, h("b", {}, "Memory of an earlier campaign"), ...parts)
    const misfits = available.filter(({problem}) => problem)
    const save = now().labelled ? h("button", {class: "button", "data-key": "save-memory", title: "Use these labels in your next campaign", onclick: () => tell("save-memory", {name})}, "Store these labels as a memory") : null
    const offers = [...(now().learnt || images().length ? usable().map((one) => useButton(one)) : []), ...misfits.map((one) => h("span", {class: "soft", title: one.problem}, `"${one.name}" cannot be used here: ${one.problem}`)), ...(save ? [save] : [])]
    if (!used) return offers.length ? box(offers) : null
    const weight = used.weight === null ? "" : ` One of them counts as ${used.weight.toFixed(2)} of your own labels.`
    return box(h("span", {class: "soft"}, `"${used.name}": ${count(used.labels)} labels from ${used.source}.${weight}`),
      used.fits ? null : h("span", {class: "warning"}, "The image features have changed, so the memory has no effect. Turn it off, then use it again."),
      used.text ? h("span", {class: used.misleads ? "warning" : "soft", "data-told": "transfer"}, used.text) : null,
      used.missing_count ? [h("span", {class: "soft", title: used.missing.join("\n")}, `${count(used.missing_count)} of its labels ${used.missing_count === 1 ? "is" : "are"} not in your vocabulary, so ${used.missing_count === 1 ? "it is" : "they are"} not used.`),
        h("button", {class: "button", "data-key": "memory-terms", title: used.missing.join("\n"), onclick: () => turn("memory-terms")}, `Create ${count(used.missing_count)} ${used.missing_count === 1 ? "label" : "labels"}`)] : null,
      h("button", {class: used.misleads ? "button main" : "button", "data-key": "stop-memory", onclick: () => turn("stop-memory")}, "Turn off"), save)
  }

  // Enter then accepts the first page instead of pressing the button again.
  function freeze(event) {
    event.currentTarget.blur()
    turn("start-check")
  }

  const needTerm = (act) => (now().term ? act() : finder.focus())

  function accept() {
    if (!images().length || now().age?.stale && !byHand() && now().queue !== "final") return
    if (byHand()) needTerm(() => turn("name", {images: images().map(({id}) => id).filter((id) => !picks.has(id))}))
    else turn("accept", {table: now().table, otherwise: [...picks].map(([id, at]) => [id, at === NONE ? null : images().find((one) => one.id === id).options[at][0]])})
  }

  function name(key = "") {
    if (!picks.size) return
    if (!key && !now().term) return finder.focus()
    tell("name", {images: [...picks.keys()], key})
    picks.clear()
  }

  function favourite(key) {
    if (picks.size && !byHand() && now().favourites.some((one) => one.key === key)) seen(() => name(key))()
    else if (now().favourites.some((one) => one.key === key)) tell("press", {key})
    else needTerm(() => tell("press", {key}))
  }

  const JUDGE = {
    Enter: seen(accept), e: seen(() => name()), n: seen(() => turn("next")),
    i: seen(() => { for (const {id} of images()) picks.has(id) ? picks.delete(id) : picks.set(id, NONE); drawPicks() }),
  }
  const KEYS = {...JUDGE, r: () => tell("learn"), z: () => turn("undo"), c: () => tell("steer"), l: finder.focus, Escape: () => { picks.clear(); drawPicks() },
    q: () => turn("queue", {name: here()[(here().indexOf(now().queue) + 1) % here().length]})}

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
  return h("div", {class: "review"}, h("div", {class: "work"}, head, nothing, grid), side)
}
