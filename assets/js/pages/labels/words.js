// Vocabularies: the tree of terms with counts, and the form of one term.

import {h, icon, redraw} from "../../core/element.js"
import {thumbnail} from "../../shared/tile_marks.js"
import {count} from "../../core/format.js"

const KEYS = ["", ..."1234567890ABCDEFGHIJKLMNOPQRSTUVWXYZ"]

export function wordsPart({tell, now}) {
  let open = null // id of the term in the form
  let sought = ""
  const list = h("div", {class: "tree", "aria-label": "Terms"})
  const form = h("aside", {class: "term"})
  const bar = h("div", {class: "tools"})
  const find = h("input", {type: "search", placeholder: "Find a term", "aria-label": "Find a term", oninput: () => { sought = find.value.toLowerCase(); drawList() }})
  const table = h("input", {type: "file", accept: ".csv,.txt,.tsv", hidden: true, onchange: read})
  const element = h("div", {class: "words"}, bar, h("div", {class: "halves"}, h("section", {class: "card"}, find, list), form), table)
  let shown = null // the term in the form; it is not redrawn while it stays the same, so that typed text is kept

  async function read() {
    const [file] = table.files
    if (file) tell("table", {name: file.name, text: await file.text()})
    table.value = ""
  }

  function draw() {
    const {vocabularies, vocabulary, target} = now()
    const select = (title, value, choices, act) => h("label", {class: "pick"}, title, h("select", {"aria-label": title, "data-key": title, onchange: (event) => act(event.target.value)},
      choices.map(([word, words]) => h("option", {value: word, selected: String(word) === String(value)}, words))))
    redraw(bar, vocabularies.length ? select("Vocabulary", vocabulary, vocabularies.map((one) => [one.id, `${one.name} ${one.version}`.trim()]), (id) => { open = null; tell("vocabulary", {id}) }) : null,
      vocabularies.length > 1 ? select("Linked to", target ?? "", [["", "–"], ...vocabularies.filter((one) => one.id !== vocabulary).map((one) => [one.id, one.name])], (id) => tell("target", {id})) : null,
      h("span", {class: "space"}), vocabularies.some((one) => one.name === "CATAMI") ? null : h("button", {class: "button", onclick: () => tell("catami")}, "Add CATAMI"),
      h("button", {class: "button", onclick: () => table.click()}, "Import table"), vocabulary ? h("a", {class: "button", href: `/api/v1/vocabularies/${vocabulary}.csv`, download: ""}, "Save as CSV") : null,
      h("form", {class: "line", onsubmit: (event) => { event.preventDefault(); tell("add_vocabulary", {name: event.target.elements[0].value}); event.target.reset() }},
        h("input", {placeholder: "New vocabulary", "aria-label": "Name of a new vocabulary", required: true}), h("button", {class: "button"}, "Add")))
    drawList()
    drawForm()
  }

  function drawList() {
    const {terms} = now()
    const rows = terms.filter((one) => !sought || `${one.path} ${one.synonyms} ${one.code}`.toLowerCase().includes(sought))
    list.setAttribute("role", rows.length ? "tree" : "note") // a tree without branches would be an error
    redraw(list, rows.length ? rows.map((one) => h("button", {class: one.id === open ? "row on" : "row", role: "treeitem", "data-key": `term-${one.id}`, "aria-level": one.depth, "aria-selected": String(one.id === open), style: `--depth:${sought ? 0 : one.depth - 1}`, title: one.path,
      onclick: () => { open = one.id; drawList(); drawForm() }}, h("i", {style: `background:${one.colour || one.shown_colour || "var(--line)"}`}), h("span", {class: "name"}, sought ? one.path : one.name), one.key ? h("kbd", {}, one.key) : null,
    h("span", {class: "number"}, one.all ? (one.own === one.all ? count(one.all) : `${count(one.own)} of ${count(one.all)}`) : "")))
      : h("p", {class: "soft"}, now().vocabulary ? "No term matches" : "No terms yet. Type a new term at the right, add CATAMI, or import a table"))
  }

  function drawForm() {
    const {terms, target, targets, links, relations, version} = now()
    const term = terms.find((one) => one.id === open)
    const key = JSON.stringify([term, target, links?.[open], now().vocabulary])
    if (key === shown) return
    shown = key
    const add = (parent, words) => h("form", {class: "line", onsubmit: (event) => { event.preventDefault(); tell("add", {name: event.target.elements[0].value, parent}); event.target.reset() }},
      h("input", {placeholder: words, "aria-label": words, required: true}), h("button", {class: "button"}, "Add"))
    if (!term) return redraw(form, now().vocabulary ? h("p", {class: "soft"}, "Select a term to edit it") : null, add(null, "New term at the top level"))
    const field = (name, title, input) => h("label", {class: "field"}, h("span", {class: "label"}, title), input)
    const text = (name, title) => field(name, title, h("input", {name, value: term[name]}))
    const values = (form) => Object.fromEntries(["name", "code", "colour", "notes", "synonyms"].map((name) => [name, form.elements[name].value]).filter(([name, value]) => name !== "colour" || term.colour || value !== "#888888"))
    const linked = links?.[term.id] ?? [null, "same"]
    redraw(form, h("form", {class: "describe", onsubmit: (event) => { event.preventDefault(); tell("change", {term: term.id, values: values(event.target)}) }},
      h("h2", {}, term.path), text("name", "Name"), text("code", "Code"), field("colour", "Colour", h("input", {name: "colour", type: "color", value: term.colour || "#888888"})),
      field("notes", "Notes", h("textarea", {name: "notes", rows: 3}, term.notes)), text("synonyms", "Synonyms, separated by |"), h("button", {class: "button main"}, "Save")),
    h("label", {class: "field"}, h("span", {class: "label"}, "Your key"), h("select", {"data-key": "key", onchange: (event) => tell("key", {term: term.id, key: event.target.value})}, KEYS.map((one) => h("option", {value: one, selected: one === term.key}, one || "none")))),
    target ? h("div", {class: "field"}, h("span", {class: "label"}, "Term in the other vocabulary"), h("div", {class: "line"},
      h("select", {"aria-label": "Relation", "data-key": "relation"}, relations.map((one) => h("option", {value: one, selected: one === linked[1]}, one))),
      h("select", {"aria-label": "Term of the other vocabulary", "data-key": "link", onchange: (event) => event.target.value && tell("link", {term: term.id, target: event.target.value, relation: event.target.previousSibling.value})},
        h("option", {value: ""}, "not linked"), targets.map(([id, path]) => h("option", {value: id, selected: id === linked[0]}, path))))) : null,
    h("div", {class: "field"}, h("span", {class: "label"}, "Examples"), h("div", {class: "examples"}, term.examples.map((id) => h("img", {src: thumbnail(id, 128, version), alt: `Image ${id}`}))),
      h("button", {class: "button", onclick: () => tell("examples", {term: term.id})}, "Choose from labelled images")),
    add(term.id, "New term below this"), h("button", {class: "plain", onclick: () => { open = null; tell("remove", {term: term.id}) }}, icon("delete"), "Remove this term"))
  }

  return {element, draw}
}
