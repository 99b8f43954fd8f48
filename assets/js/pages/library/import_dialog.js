// The import dialog: choose a folder of the server's computer, check and correct the preview, start the import.

import {h, icon} from "../../core/element.js"
import {dialogOf} from "../../shared/dialog.js"
import {navigationSection, skippedLinks} from "./import_navigation.js"
import {count} from "../../core/format.js"
import {WORDS} from "../../core/kind_words.js"

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
  if (!folder) return [h("p", {}, error || "Reading the folder…")]
  const path = h("input", {value: folder.path, "aria-label": "Folder", spellcheck: "false"})
  const go = (event) => { event.preventDefault(); tell(model, "browse", {path: path.value}) }
  const into = ([name, target]) => h("li", {}, h("button", {class: "plain", type: "button",
    onclick: () => tell(model, "browse", {path: target})}, icon("folder"), name))
  const crumbs = folder.parents.map(([name, target]) => h("button", {class: "plain crumb", type: "button",
    onclick: () => tell(model, "browse", {path: target})}, name))
  const here = folder.images ? `${count(folder.images)} images directly in this folder` : "No images directly in this folder"
  return [
    h("p", {class: "intro"}, "Choose the folder with the images, on the computer where the server runs. Its subfolders become dives or " +
      "albums. Images stay where they are and are never changed."),
    h("form", {class: "path", onsubmit: go}, path, h("button", {class: "button"}, "Open")),
    h("div", {class: "picker"},
      h("ul", {class: "places", "aria-label": "Places"}, places.map(([name, target]) => h("li", {},
        h("button", {class: "plain", type: "button", onclick: () => tell(model, "browse", {path: target})}, icon("place"), name)))),
      h("div", {class: "folders"}, h("nav", {class: "crumbs", "aria-label": "Path"}, crumbs),
        h("ul", {}, folder.folders.map(into)),
        folder.folders.length ? null : h("p", {class: "nothing"}, "No subfolders."))),
    h("footer", {}, h("div", {class: "told"}, h("p", {class: "soft", role: "status"}, busy || here + (folder.more ? " (and more)" : "")),
      h("p", {class: "wrong", role: "alert"}, error || "")),
    h("button", {class: "button", type: "button", onclick: () => tell(model, "close")}, "Cancel"),
    h("button", {class: "button main", type: "button", disabled: Boolean(busy),
      onclick: () => tell(model, "look", {path: folder.path})}, busy ? "Scanning…" : "Scan folder")),
  ]
}

function preview(model, shown) {
  const {preview: plan, busy, error} = shown
  const words = WORDS[plan.kind]
  const groups = plan.groups.map((group) => h("li", {}, h("span", {}, group.name), h("span", {class: "number soft"}, count(group.images))))
  const more = plan.group_count - plan.groups.length
  const name = h("input", {id: "collection", value: plan.collection})
  const kind = h("select", {id: "kind"}, plan.kinds.map(([word, words]) => h("option", {value: word, selected: word === plan.kind}, words)))
  // The name is sent with the next command: an answer that redraws the dialog would remove the button during a click.
  const named = () => ({collection: name.value, kind: kind.value})
  const keep = () => { if (name.value.trim() !== plan.collection || kind.value !== plan.kind) tell(model, "call", named()) }
  kind.addEventListener("change", keep)
  const level = h("select", {id: "level", onchange: (event) => { keep(); tell(model, "level", {level: Number(event.target.value)}) }},
    [...Array(Math.max(plan.levels, plan.level) + 1).keys()].map((number) =>
      h("option", {value: number, selected: number === plan.level}, levelName(number))))
  const ignored = Object.entries(plan.ignored).map(([ending, number]) => `${count(number)} ${ending}`).join(", ")
  return [
    h("div", {class: "facts"}, h("b", {}, `${count(plan.images)} images`), ` in ${count(plan.group_count)} `,
      plan.group_count === 1 ? words.one : words.many, ignored ? h("span", {class: "soft"}, ` · ignored: ${ignored}`) : null),
    h("div", {class: "grid"}, labelled("collection", "Collection", name), labelled("kind", "Kind", kind),
      labelled("level", `Split into ${words.many} by`, level)),
    h("div", {class: "halves"},
      h("section", {}, h("h3", {}, words.Many), h("ul", {class: "groups"}, groups,
        more > 0 ? h("li", {class: "soft"}, `and ${count(more)} more`) : null)),
      h("section", {}, h("h3", {}, "First images"), rows(plan.rows))),
    ...plan.sources.map((source) => columns(model, source, shown.meanings, keep)),
    navigationSection(model, plan, keep),
    ...skippedLinks(model, plan),
    ...problems(plan),
    h("footer", {}, h("div", {class: "told"}, h("p", {class: "soft", role: "status"}, busy || shown.cost || ""), h("p", {class: "wrong", role: "alert"}, error || "")),
      h("button", {class: "button", type: "button", onclick: () => tell(model, "back")}, "Another folder"),
      h("button", {class: "button main", type: "button", disabled: !plan.images, onclick: () => tell(model, "start", named())},
        `${shown.action} ${count(plan.images)} images`)),
  ]
}

const levelName = (number) => (number ? `subfolders, level ${number}` : "none: the whole folder is one")
const labelled = (id, text, input) => h("div", {class: "field"}, h("label", {for: id, class: "label"}, text), input)
const degrees = (value) => (value === null ? "" : value.toFixed(5))
const metres = (value) => (value === null ? "" : `${value.toFixed(1)} m`)

function rows(images) {
  const place = [["Latitude", "latitude", degrees], ["Longitude", "longitude", degrees], ["Depth", "depth", metres], ["Altitude", "altitude", metres]]
    .filter(([, name]) => images.some((row) => row[name] !== null)) // albums have no depth
  const timed = images.some((row) => row.taken_at)
  const heads = ["Image", ...(timed ? ["Time (UTC)"] : []), ...place.map(([title]) => title)]
  return h("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": "First images"}, h("table", {},
    h("thead", {}, h("tr", {}, heads.map((head) => h("th", {scope: "col"}, head)))),
    h("tbody", {}, images.map((row) => h("tr", {}, h("td", {title: row.path}, row.path.split("/").pop()),
      timed ? h("td", {}, row.taken_at.replace(" UTC", "")) : null, place.map(([, name, shown]) => h("td", {class: "number"}, shown(row[name]))))))))
}

function columns(model, source, meanings, keep) {
  const choice = (column) => h("select", {"aria-label": `Meaning of ${column.name}`,
    onchange: (event) => { keep(); tell(model, "mean", {column: column.name, meaning: event.target.value}) }},
  Object.entries(meanings).map(([word, words]) => h("option", {value: word, selected: word === column.meaning}, words)))
  const table = h("table", {}, h("thead", {}, h("tr", {}, ["Column", "First values", "Meaning"].map((head) => h("th", {scope: "col"}, head)))),
    h("tbody", {}, source.columns.map((column) => h("tr", {}, h("th", {scope: "row"}, column.name),
      h("td", {class: "soft"}, column.samples.join(" · ")), h("td", {}, choice(column))))))
  return h("details", {class: "source"}, h("summary", {}, icon("description"), h("b", {}, source.file),
    h("span", {class: "soft"}, ` ${source.kind}, matches ${count(source.images)} images`)),
  source.columns.length ? h("div", {class: "scroll"}, table) : h("p", {class: "soft"}, "The meanings of its fields are fixed."))
}

function problems(plan) {
  if (!plan.problem_count) return []
  return [h("details", {class: "source problems"}, h("summary", {}, icon("report_problem"),
    h("b", {}, `${count(plan.problem_count)} problems`)),
  h("ul", {}, plan.problems.map((line) => h("li", {}, line))))]
}
