// Objects: clusters of segments as cards of crops, with whom they are seen, where, in which scenes, and what points say.

import {h, icon, redraw, whileShown} from "./dom.js"
import {count} from "./told.js"
import {segmentCrop} from "./explore/wire.js"
import {typing} from "./shell/keyboard.js"
import {grid, stacks} from "./objects/charts.js"
import {Viewer} from "./explore/viewer.js"

const PAUSE = 250 // milliseconds after the last key before the cards are filtered

export function render({model}) {
  const tell = (act, rest = {}) => model.send_msg({act, ...rest})
  const now = () => model.content
  const head = h("header", {class: "head"}), tabs = h("div", {class: "tabs", role: "tablist", "aria-label": "What is shown"})
  const tools = h("div", {class: "tools"}), body = h("div", {class: "part", role: "tabpanel", id: "part"}), known = h("datalist", {id: "objectterms"})
  const find = finder(now, tell)
  let crops = [], place = 0 // those of the card whose crop was opened
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
  const root = h("div", {class: "objectspage", "aria-busy": "true"}, head, tabs, tools, body, known, viewer.element)

  function draw() {
    const content = now()
    if (content.gone) { body.replaceChildren(h("p", {class: "soft"}, "The run is gone. ", h("a", {href: "/objects"}, "Begin anew"))); return }
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
    if (known.childElementCount !== content.terms.length) known.replaceChildren(...content.terms.map((value) => h("option", {value})))
    DRAWN[content.part](body, content, tell, open)
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

// Stays as it is while the page is redrawn around it: nothing typed is lost.
function finder(now, tell) {
  let timer = null
  const field = h("input", {type: "search", placeholder: "Name or number", "aria-label": "Find an object by its name or number"})
  field.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(() => tell("word", {word: field.value}), PAUSE) })
  const show = () => { if (!field.matches(":focus")) field.value = now().word }
  return {element: field, show, focus: () => field.focus()}
}

// --- cards

function cards(body, content, tell, open) {
  if (!content.shown.length) { body.replaceChildren(h("p", {class: "soft"}, "No object has this name or number.")); return }
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
  const field = h("input", {type: "text", list: "objectterms", autocomplete: "off", placeholder: card.holds ? "Name it otherwise" : "Name all its segments", "aria-label": `Name for object ${card.number}`})
  const name = (event) => { event.preventDefault(); if (field.value.trim()) { tell("name", {object: card.number, word: field.value.trim()}); field.value = "" } }
  const button = h("button", {class: "button", disabled: true}, "Name")
  field.addEventListener("input", () => { button.disabled = !field.value.trim() })
  const crop = ([image, segment], at) => h("button", {class: "near", title: `Segment ${segment} of image ${image}`, "aria-label": `Open image ${image}`, onclick: () => open(card.crops, at)},
    h("img", {src: segmentCrop(content.cut, image, segment, 96, content.version), alt: "", loading: "lazy", decoding: "async"}))
  return h("article", {class: "card object", role: "listitem", "data-key": key, "data-number": card.number, "data-term": card.holds ? card.term : "", "aria-label": `${card.name}, ${count(card.segments)} segments in ${count(card.images)} images`},
    h("header", {}, dot, h("h2", {title: card.name}, card.name), h("span", {class: "soft size", title: `${(100 * card.share).toFixed(1)} % of all segments`}, `${count(card.segments)} segments · ${count(card.images)} images`)),
    h("div", {class: "cropgrid"}, card.crops.map(crop)), bars(card), named(card),
    h("form", {onsubmit: name}, field, button),
    h("div", {class: "acts"}, h("a", {class: "button", href: `/explore?run=${content.run}&object=${card.number}`}, icon("image_search"), "Images with it")))
}

function bars(card) {
  const most = Math.max(...card.dives.map(([, share]) => share), 1e-9)
  return h("div", {class: "dives", role: "img", title: "Share of each dive", "aria-label": `Share of each dive: ${card.dives.map(([dive, share]) => `${dive} ${(100 * share).toFixed(1)} %`).join(", ")}`}, card.dives.map(([dive, share]) => {
    const bar = h("i", {title: `${dive}: ${(100 * share).toFixed(1)} %`})
    bar.style.height = `${share > 0.0005 ? Math.max(2, (22 * share) / most) : 0}px`
    bar.style.background = card.colour
    return h("span", {title: `${dive}: ${(100 * share).toFixed(1)} %`}, bar)
  }))
}

function named(card) {
  if (!card.named) return h("p", {class: "soft state"}, "Not named yet")
  return h("p", {class: "state"}, `${(100 * card.named).toFixed(0)} % of its segments named`, card.agreeing < 0.995 ? `, of these ${(100 * card.agreeing).toFixed(0)} % ${card.term}` : ` ${card.term}`)
}

// --- charts

function together(body, content, tell) {
  const {order, ratio, both, each, images, left_out} = content.shown
  const label = (at) => content.names[order[at]]
  const chance = (line, column) => (each[line] * each[column]) / Math.max(images, 1)
  const say = (line, column) => (line === column ? `${label(line)}: in ${count(each[line])} images` : `${label(line)} and ${label(column)}: ${count(both[line][column])} images, by chance ${count(chance(line, column))}`)
  body.replaceChildren(h("section", {class: "card pad"}, h("h2", {}, "Seen together in one image"),
    h("p", {class: "soft"}, "Objects that keep the same company stand side by side. A cell leads to the images that show both.", left_out ? ` The ${count(left_out)} rarest objects are left out.` : ""),
    h("p", {class: "scale"}, h("i", {class: "rarely"}), "an eighth as often as by chance", h("i", {class: "evenly"}), "as often", h("i", {class: "often"}), "eight times as often"),
    grid({rows: order.map((number) => ({name: content.names[number], colour: content.colours[number]})), columns: order.map((number) => ({name: content.names[number], colour: content.colours[number], short: String(number)})),
      cell: (line, column) => ({way: line === column ? "self" : ratio[line][column] < 0 ? "rarely" : "often", strength: Math.min(Math.abs(ratio[line][column]) / 3, 1), title: say(line, column),
        href: line === column ? `/explore?run=${content.run}&object=${order[line]}` : `/explore?run=${content.run}&object=${order[line]},${order[column]}`}), label: "Objects seen together"})))
}

function dives(body, content) {
  const {rows, columns, shares} = content.shown
  const most = Math.max(...shares.flat(), 1e-9)
  body.replaceChildren(h("section", {class: "card pad"}, h("h2", {}, "Share of every object in every dive"),
    h("p", {class: "soft"}, `Of the segments of the dive; dark is much, at most ${(100 * most).toFixed(0)} %. A cell leads to the images of the dive that show the object.`),
    grid({rows: rows.map(([, name]) => ({name})), columns: columns.map((number) => ({name: content.names[number], colour: content.colours[number], short: String(number)})),
      cell: (line, column) => ({way: "much", strength: Math.sqrt(shares[line][column] / most), title: `${rows[line][1]}, ${content.names[columns[column]]}: ${(100 * shares[line][column]).toFixed(1)} %`,
        href: `/explore?run=${content.run}&dive=${rows[line][0]}&object=${columns[column]}`}), label: "Objects in dives"})))
}

function scenes(body, content) {
  const {rows, shares} = content.shown
  body.replaceChildren(h("section", {class: "card pad"}, h("h2", {}, "What image clusters are made of"),
    h("p", {class: "soft"}, "Shares of the objects among the segments of each image cluster, the largest cluster first."),
    stacks({rows: rows.map(([number, size], at) => ({name: `Cluster ${number}`, note: `${count(size)} images`, href: `/explore?run=${content.run}&cluster=${number}`, shares: shares[at]})), names: content.names, colours: content.colours,
      href: (row, object) => `/explore?run=${content.run}&cluster=${rows[row][0]}&object=${object}`})))
}

function points(body, content) {
  const {shown} = content
  if (!shown.points) {
    body.replaceChildren(h("section", {class: "card pad"}, h("h2", {}, "No labelled points"), h("p", {}, "Points counted by hand, in CoralNet or CPCe, tell how well objects agree with what people call things."),
      h("a", {class: "button main", href: "/labels?part=files"}, "Import labels")))
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
  body.replaceChildren(h("section", {class: "card pad"}, h("h2", {}, "What labelled points say of the objects they lie on"),
    h("p", {class: "soft"}, `${count(shown.points)} points on segments of this run; V-measure of objects and terms ${shown.v_measure.toFixed(3)} (1: each object one term and each term one object).`, shown.missed ? ` ${count(shown.missed)} points lie on images without segments here.` : ""),
    h("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": "Objects by terms of points"}, h("table", {class: "agreement"}, h("thead", {}, h("tr", {}, h("th", {scope: "col"}, "Object"), h("th", {scope: "col", class: "number"}, "Points"), h("th", {scope: "col"}, "Mostly"),
      shown.terms.map((term) => h("th", {scope: "col", class: "turned"}, h("span", {}, term))), shown.more ? h("th", {scope: "col", class: "turned"}, h("span", {}, `${shown.more} more`)) : null)), h("tbody", {}, shown.rows.map(line))))))
}
