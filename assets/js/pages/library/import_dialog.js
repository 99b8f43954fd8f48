// Adding images: a folder of the server's machine, what it was taken for, corrections, and the start.

import {h, icon} from "./dom.js"
import {dialogOf} from "./dialog.js"
import {count} from "./told.js"

const tell = (model, act, rest = {}) => model.send_msg({act, ...rest})

export function render({model}) {
  return dialogOf(model, (body, shown) => {
    const place = body.scrollTop
    body.replaceChildren(...(shown.preview ? preview(model, shown) : chooser(model, shown)))
    body.scrollTop = shown.preview ? place : 0
  }, {wide: true})
}

function chooser(model, shown) {
  const {folder, places, busy, error} = shown
  if (!folder) return [h("p", {}, error || "Looking…")]
  const path = h("input", {value: folder.path, "aria-label": "Folder", spellcheck: "false"})
  const go = (event) => { event.preventDefault(); tell(model, "browse", {path: path.value}) }
  const into = ([name, target]) => h("li", {}, h("button", {class: "plain", type: "button",
    onclick: () => tell(model, "browse", {path: target})}, icon("folder"), name))
  const crumbs = folder.parents.map(([name, target]) => h("button", {class: "plain crumb", type: "button",
    onclick: () => tell(model, "browse", {path: target})}, name))
  const here = folder.images ? `${count(folder.images)} images directly in this folder` : "No images directly in this folder"
  return [
    h("p", {class: "intro"}, "Choose the folder that holds the images, on the machine the server runs on. Folders " +
      "below it become dives or albums. Images stay where they are and are never changed."),
    h("form", {class: "path", onsubmit: go}, path, h("button", {class: "button"}, "Open")),
    h("div", {class: "picker"},
      h("ul", {class: "places", "aria-label": "Places"}, places.map(([name, target]) => h("li", {},
        h("button", {class: "plain", type: "button", onclick: () => tell(model, "browse", {path: target})}, icon("place"), name)))),
      h("div", {class: "folders"}, h("nav", {class: "crumbs", "aria-label": "Path"}, crumbs),
        h("ul", {}, folder.folders.map(into)),
        folder.folders.length ? null : h("p", {class: "nothing"}, "No folders in here."))),
    h("footer", {}, h("div", {class: "told"}, h("p", {class: "soft", role: "status"}, busy || here + (folder.more ? " (and more)" : "")),
      h("p", {class: "wrong", role: "alert"}, error || "")),
    h("button", {class: "button", type: "button", onclick: () => tell(model, "close")}, "Cancel"),
    h("button", {class: "button main", type: "button", disabled: Boolean(busy),
      onclick: () => tell(model, "look", {path: folder.path})}, busy ? "Looking…" : "Look through it")),
  ]
}

function preview(model, shown) {
  const {preview: found, busy, error} = shown
  const groups = found.groups.map((group) => h("li", {}, h("span", {}, group.name), h("span", {class: "number soft"}, count(group.images))))
  const more = found.group_count - found.groups.length
  const name = h("input", {id: "collection", value: found.collection})
  const kind = h("select", {id: "kind"}, found.kinds.map(([word, words]) => h("option", {value: word, selected: word === found.kind}, words)))
  // The name travels with the next act: an answer that redrew the dialog would take the button from under a click.
  const named = () => ({collection: name.value, kind: kind.value})
  const keep = () => { if (name.value.trim() !== found.collection || kind.value !== found.kind) tell(model, "call", named()) }
  kind.addEventListener("change", keep)
  const level = h("select", {id: "level", onchange: (event) => { keep(); tell(model, "level", {level: Number(event.target.value)}) }},
    [...Array(Math.max(found.levels, found.level) + 1).keys()].map((number) =>
      h("option", {value: number, selected: number === found.level}, levelName(number))))
  const ignored = Object.entries(found.ignored).map(([ending, number]) => `${count(number)} ${ending}`).join(", ")
  return [
    h("div", {class: "facts"}, h("b", {}, `${count(found.images)} images`), ` in ${count(found.group_count)} `,
      found.kind === "campaign" ? "dives" : "albums", ignored ? h("span", {class: "soft"}, ` · passed over: ${ignored}`) : null),
    h("div", {class: "grid"}, labelled("collection", "Collection", name), labelled("kind", "Kind", kind),
      labelled("level", "A dive or album is", level)),
    h("div", {class: "halves"},
      h("section", {}, h("h3", {}, found.kind === "campaign" ? "Dives" : "Albums"), h("ul", {class: "groups"}, groups,
        more > 0 ? h("li", {class: "soft"}, `and ${count(more)} more`) : null)),
      h("section", {}, h("h3", {}, "First images"), rows(found.rows))),
    ...found.sources.map((source) => columns(model, source, shown.meanings, keep)),
    problems(found),
    h("footer", {}, h("div", {class: "told"}, h("p", {class: "soft", role: "status"}, busy || ""), h("p", {class: "wrong", role: "alert"}, error || "")),
      h("button", {class: "button", type: "button", onclick: () => tell(model, "back")}, "Another folder"),
      h("button", {class: "button main", type: "button", disabled: !found.images, onclick: () => tell(model, "start", named())},
        `Import ${count(found.images)} images`)),
  ]
}

const levelName = (number) => ["the whole folder", "each folder directly in it", "each folder two levels down",
  "each folder three levels down"][number] ?? `each folder ${number} levels down`
const labelled = (id, text, input) => h("div", {class: "field"}, h("label", {for: id, class: "label"}, text), input)
const degrees = (value) => (value === null ? "" : value.toFixed(5))
const metres = (value) => (value === null ? "" : `${value.toFixed(1)} m`)

function rows(found) {
  const heads = ["Image", "Time (UTC)", "Latitude", "Longitude", "Depth", "Altitude"]
  return h("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": "First images"}, h("table", {},
    h("thead", {}, h("tr", {}, heads.map((head) => h("th", {scope: "col"}, head)))),
    h("tbody", {}, found.map((row) => h("tr", {}, h("td", {title: row.path}, row.path.split("/").pop()),
      h("td", {}, row.taken_at.replace(" UTC", "")), h("td", {class: "number"}, degrees(row.latitude)),
      h("td", {class: "number"}, degrees(row.longitude)), h("td", {class: "number"}, metres(row.depth)),
      h("td", {class: "number"}, metres(row.altitude)))))))
}

function columns(model, source, meanings, keep) {
  const choice = (column) => h("select", {"aria-label": `Meaning of ${column.name}`,
    onchange: (event) => { keep(); tell(model, "mean", {column: column.name, meaning: event.target.value}) }},
  Object.entries(meanings).map(([word, words]) => h("option", {value: word, selected: word === column.meaning}, words)))
  const table = h("table", {}, h("thead", {}, h("tr", {}, ["Column", "First values", "Meaning"].map((head) => h("th", {scope: "col"}, head)))),
    h("tbody", {}, source.columns.map((column) => h("tr", {}, h("th", {scope: "row"}, column.name),
      h("td", {class: "soft"}, column.samples.join(" · ")), h("td", {}, choice(column))))))
  return h("details", {class: "source"}, h("summary", {}, icon("description"), h("b", {}, source.file),
    h("span", {class: "soft"}, ` ${source.kind}, speaks of ${count(source.images)} images`)),
  source.columns.length ? h("div", {class: "scroll"}, table) : h("p", {class: "soft"}, "Its fields have fixed meanings."))
}

function problems(found) {
  if (!found.problem_count) return null
  return h("details", {class: "source problems"}, h("summary", {}, icon("report_problem"),
    h("b", {}, `${count(found.problem_count)} things could not be used`)),
  h("ul", {}, found.problems.map((line) => h("li", {}, line))))
}
