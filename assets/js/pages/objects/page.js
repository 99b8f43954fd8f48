// The Objects page: cards of segment clusters, co-occurrence, shares by dive and image cluster, labelled points.

import {h, icon, redraw, whileShown} from "../../core/element.js"
import {count} from "../../core/format.js"
import {group} from "../../core/group_words.js"
import {segmentCrop} from "../../core/image_set_codec.js"
import {termField} from "../../shared/term_field.js"
import {typing} from "../../shell/keyboard.js"
import {plotShelf} from "../../shared/plot_frame.js"
import {Viewer} from "../../shared/viewer.js"

const PAUSE = 250 // milliseconds after the last key before the cards are filtered

export function render({model}) {
  const tell = (act, rest = {}) => model.send_msg({act, ...rest})
  const now = () => model.content
  const head = h("header", {class: "head"}), tabs = h("div", {class: "tabs", role: "tablist", "aria-label": "Parts of the page"})
  const tools = h("div", {class: "tools"}), body = h("div", {class: "part", role: "tabpanel", id: "part"})
  const find = finder(now, tell), plots = plotShelf(model)
  let crops = [], place = 0 // crops of the opened card, and the index of the opened one
  const viewer = new Viewer({
    step: (by) => (crops[place + by] ? come(place + by) : null), version: () => now().version, shown: () => {}, colour: () => "transparent",
    pin: (id) => { window.location.href = `/explore?run=${now().run}&pinned=${id}&order=likeness` }, run: () => now().run, accept: () => {},
    nameSegment: (id, number, word) => tell("segment", {id, number, word}),
  })
  const come = (at) => {
    place = at
    viewer.objects.first = crops[at][1]
    return crops[at][0]
  }
  const open = (all, at) => {
    crops = all
    viewer.overlaid = true
    viewer.open(come(at))
  }
  const root = h("div", {class: "objectspage", "aria-busy": "true"}, head, tabs, tools, body, viewer.element)

  function draw() {
    const content = now()
    if (content.gone) { body.replaceChildren(h("p", {class: "soft"}, "The run was deleted. ", h("a", {href: "/objects"}, "Show another run"))); return }
    if (!content.run) { body.replaceChildren(h("p", {class: "soft"}, "Counting the segments…")); return }
    root.setAttribute("aria-busy", "false")
    root.dataset.part = content.part
    redraw(head, h("h1", {}, "Objects"), h("p", {class: "soft"}, content.told), h("span", {class: "space"}), runs(content, tell))
    redraw(tabs, content.parts.map(([name, title], at) => h("button", {class: "tab", role: "tab", id: `tab-${name}`, "aria-controls": "part", "aria-selected": String(name === content.part), title: `${title} (${at + 1})`,
      onclick: () => tell("part", {name})}, title)))
    body.setAttribute("aria-labelledby", `tab-${content.part}`)
    tools.hidden = content.part !== "cards"
    if (!tools.childElementCount) tools.append(chooser(content, tell, "kind", "Which segments are shown"), chooser(content, tell, "order", "Order of the objects"), find.element)
    for (const select of tools.querySelectorAll("select")) select.value = content[select.name]
    find.show()
    DRAWN[content.part](body, content, tell, open, plots)
    plots.prune()
  }

  whileShown(model, document, "keydown", (event) => {
    if (typing(event) || event.ctrlKey || event.metaKey || event.altKey || !now().run) return
    const at = Number(event.key) - 1
    if (now().parts[at]) tell("part", {name: now().parts[at][0]})
    else if (event.key === "f" && now().part === "cards") { event.preventDefault(); find.focus() }
    else if (event.key === "l" && now().part === "cards") {
      const card = body.getRootNode().activeElement?.closest?.(".object") ?? body.querySelector(".object")
      if (card) { event.preventDefault(); card.querySelector("input").focus() }
    }
  })
  model.on("content", draw)
  model.on("remove", () => viewer.close())
  draw()
  return root
}

const DRAWN = {cards, together, dives, scenes, points}

function runs(content, tell) {
  const select = h("select", {"aria-label": "Run", title: "Run", onchange: () => tell("run", {run: Number(select.value)})}, content.runs.map(([id, name]) => h("option", {value: id, selected: id === content.run}, name)))
  return h("label", {class: "pick"}, icon("hub"), select)
}

function chooser(content, tell, name, title) {
  const select = h("select", {name, title, "aria-label": title, onchange: () => tell(name, {name: select.value})}, content[`${name}s`].map(([value, word]) => h("option", {value, selected: value === content[name]}, word)))
  return select
}

// Not redrawn with the page, so that typed text is not lost.
function finder(now, tell) {
  let timer = null
  const field = h("input", {type: "search", placeholder: "Label or number", "aria-label": "Find an object by its label or number"})
  field.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(() => tell("word", {word: field.value}), PAUSE) })
  const show = () => { if (!field.matches(":focus")) field.value = now().word }
  return {element: field, show, focus: () => field.focus()}
}

// --- cards

function cards(body, content, tell, open) {
  if (!content.shown.length) { body.replaceChildren(h("p", {class: "soft"}, "No object has this label or number.")); return }
  let list = body.querySelector(".objectcards")
  if (!list) { list = h("div", {class: "objectcards", role: "list"}); body.replaceChildren(list) }
  list.dataset.kind = content.kind
  const old = new Map([...list.children].map((element) => [element.dataset.key, element]))
  const wanted = content.shown.map((card) => {
    const key = JSON.stringify([card, content.cut, content.version, content.run])
    return old.get(key) ?? objectCard(content, card, tell, open, key)
  })
  const focused = list.getRootNode().activeElement?.closest?.(".object")?.dataset.number
  const typed = new Map([...list.children].map((element) => [element.dataset.number, element.querySelector("input").value]))
  if (wanted.length === list.children.length && wanted.every((element, at) => element === list.children[at])) return
  list.replaceChildren(...wanted)
  for (const element of wanted) if (!old.has(element.dataset.key) && typed.get(element.dataset.number)) element.querySelector("input").value = element.dataset.term === typed.get(element.dataset.number) ? "" : typed.get(element.dataset.number)
  if (focused && !list.contains(list.getRootNode().activeElement)) list.querySelector(`[data-number="${focused}"] input`)?.focus({preventScroll: true})
}

function objectCard(content, card, tell, open, key) {
  const dot = h("i", {class: "dot"})
  dot.style.background = card.colour
  const field = termField({title: `Label for object ${card.number}`, placeholder: card.holds ? "Change the label" : "Label all segments", choose: ({path}) => tell("name", {object: card.number, word: path})})
  const crop = ([image, segment], at) => h("button", {class: "near", title: `Segment ${segment} of image ${image}`, "aria-label": `Open image ${image}`, onclick: () => open(card.crops, at)},
    h("img", {src: segmentCrop(content.cut, image, segment, 96, content.version), alt: "", loading: "lazy", decoding: "async"}))
  return h("div", {class: "card object", role: "listitem", "data-key": key, "data-number": card.number, "data-term": card.holds ? card.term : "", "aria-label": `${card.name}, ${count(card.segments)} segments in ${count(card.images)} images`},
    h("header", {}, dot, h("h2", {title: card.name}, card.name), h("span", {class: "soft size", title: `${(100 * card.share).toFixed(1)} % of all segments`}, `${count(card.segments)} segments · ${count(card.images)} images`)),
    h("div", {class: "cropgrid"}, card.crops.map(crop)), bars(card), named(card),
    h("div", {class: "naming"}, field.element, h("button", {class: "button", onpointerdown: (event) => event.preventDefault(), onclick: field.submit}, "Label")),
    h("div", {class: "acts"}, h("a", {class: "button", href: `/explore?run=${content.run}&object=${card.number}`}, icon("image_search"), "Images with it")))
}

function bars(card) {
  const most = Math.max(...card.dives.map(([, share]) => share), 1e-9)
  return h("div", {class: "dives", role: "img", title: `Share of each ${group()}`, "aria-label": `Share of each ${group()}: ${card.dives.map(([dive, share]) => `${dive} ${(100 * share).toFixed(1)} %`).join(", ")}`}, card.dives.map(([dive, share]) => {
    const bar = h("i", {title: `${dive}: ${(100 * share).toFixed(1)} %`})
    bar.style.height = `${share > 0.0005 ? Math.max(2, (22 * share) / most) : 0}px`
    bar.style.background = card.colour
    return h("span", {title: `${dive}: ${(100 * share).toFixed(1)} %`}, bar)
  }))
}

function named(card) {
  if (!card.named) return h("p", {class: "soft state"}, "Not labelled yet")
  return h("p", {class: "state"}, `${(100 * card.named).toFixed(0)} % of its segments labelled`, card.agreeing < 0.995 ? `, of these ${(100 * card.agreeing).toFixed(0)} % ${card.term}` : ` ${card.term}`)
}

// --- plots

// Each plot is drawn once; the frame of the same plot stays in the page when the content comes again.
function plotPart(body, name, heading, text, height, {content, plots}) {
  const query = {run: content.run}
  const figure = plots.frame(name, {query, stamp: JSON.stringify(content.names), height, label: heading})
  redraw(body, h("section", {class: "card pad"}, h("h2", {}, heading), h("p", {class: "soft"}, text, " Click a part, or draw a box around several, to open their images in Explore."), figure))
}

function together(body, content, tell, open, plots) {
  const {left_out, objects} = content.shown
  plotPart(body, "cooccurrence", "Seen together in one image", `Objects with similar co-occurrence are side by side.${left_out ? ` The ${count(left_out)} rarest objects are not shown.` : ""}`, Math.min(160 + 20 * objects, 900), {content, plots})
}

function dives(body, content, tell, open, plots) {
  plotPart(body, "objects-by-dive", `Share of every object in every ${group()}`, `Share of the segments of the ${group()}.`, Math.min(160 + 20 * content.shown.rows, 900), {content, plots})
}

function scenes(body, content, tell, open, plots) {
  plotPart(body, "objects-by-cluster", "Objects in image clusters", "Shares of the objects among the segments of each image cluster, the largest cluster first.", Math.min(130 + 26 * content.shown.rows, 900), {content, plots})
}

function points(body, content) {
  const {shown} = content
  if (!shown.points) {
    body.replaceChildren(h("section", {class: "card pad"}, h("h2", {}, "No labelled points"), h("p", {}, "Points labelled by hand, in CoralNet or CPCe, show how well objects agree with labels."),
      h("a", {class: "button main", href: "/labels?part=import"}, "Import labels")))
    return
  }
  const line = (row) => {
    const dot = h("i", {class: "dot"})
    dot.style.background = content.colours[row.number]
    const cells = row.counts.map((value, at) => {
      const cell = h("td", {class: value ? "number hit" : "number", title: `${content.names[row.number]}, ${shown.terms[at]}: ${count(value)} points`}, value ? count(value) : "")
      if (value) cell.style.setProperty("--share", `${Math.round((100 * value) / row.points)}%`)
      return cell
    })
    return h("tr", {}, h("th", {scope: "row"}, dot, content.names[row.number]), h("td", {class: "number"}, count(row.points)), h("td", {}, row.points ? `${row.term}, ${(100 * row.share).toFixed(0)} %` : "no point"), cells, shown.more ? h("td", {class: "number soft"}, row.rest ? count(row.rest) : "") : null)
  }
  body.replaceChildren(h("section", {class: "card pad"}, h("h2", {}, "Labelled points on objects"),
    h("p", {class: "soft"}, `${count(shown.points)} points on segments of this run; V-measure of objects and terms ${shown.v_measure.toFixed(3)} (1: each object has one term and each term one object).`, shown.missed ? ` ${count(shown.missed)} points are on images without segments in this run.` : ""),
    h("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": "Objects by terms of points"}, h("table", {class: "agreement"}, h("thead", {}, h("tr", {}, h("th", {scope: "col"}, "Object"), h("th", {scope: "col", class: "number"}, "Points"), h("th", {scope: "col"}, "Mostly"),
      shown.terms.map((term) => h("th", {scope: "col", class: "turned"}, h("span", {}, term))), shown.more ? h("th", {scope: "col", class: "turned"}, h("span", {}, `${shown.more} more`)) : null)), h("tbody", {}, shown.rows.map(line))))))
}
