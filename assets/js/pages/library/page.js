// The Library page: counts, the table of dives with a map, feature sets, import problems.

import {h, icon, redraw, whileShown} from "../../core/element.js"
import {groups, isAlbums} from "../../core/group_words.js"
import {addLooks, drawnRows} from "../../shared/table.js"
import {typing} from "../../shell/keyboard.js"
import {importing} from "./importing.js"
import {locator, placeName} from "../../shared/ground.js"
import {plotShelf} from "../../shared/plot_frame.js"
import {count} from "../../core/format.js"

const TAIL = 11 // letters at the end of a long name that stay visible: names of dives often begin with the same words

export function render({model}) {
  const root = h("div", {class: "library"})
  const send = (act, rest = {}) => model.send_msg({act, ...rest})

  const plots = plotShelf(model)
  const map = h("aside", {class: "map card"})
  addLooks({
    // A dive with the colour of its track; its row and its track point at each other.
    dive: (cell, options, {id, name, colour}) => {
      cell.getRow().getElement().dataset.dive = id
      return h("span", {class: "name"}, h("i", {class: "mark", style: `background: ${colour}`}), h("a", {class: "ends", href: `/dive?dive=${id}`, title: name}, h("span", {}, name.slice(0, -TAIL)), h("span", {}, name.slice(-TAIL))))
    },
  })
  const dives = model.get_child("dives"), collections = model.get_child("collections")
  // The tables stay in the page, hidden while they are empty: Tabulator fails where it is drawn outside of it.
  const tables = h("div", {class: "tables"}, dives, collections), overview = h("div", {class: "overview"}, tables)
  const above = h("div", {class: "block"}), under = h("div", {class: "block"})
  root.append(above, overview, under)
  const rowUnder = (event) => event.composedPath().find((node) => node.classList?.contains("tabulator-row"))
  dives.addEventListener("mouseover", (event) => show(Number(rowUnder(event)?.dataset.dive) || null))
  dives.addEventListener("mouseleave", () => show(null))
  let picked = [] // the dives selected on the map
  const show = (dive) => plots.select("map", dive === null ? picked : [[dive]])
  root.addEventListener("table-act", ({detail: {act, name}}) => send(act, {name}))

  const imports = importing(model, draw)

  function draw() {
    const content = model.content
    const any = content.collections.some((collection) => collection.groups.length)
    above.replaceChildren(head(content, any), imports.element, ...missing(content), ...(any ? [] : [imports.active() ? coming() : nothing()]))
    overview.hidden = !any
    if (any) drawMap(content)
    under.replaceChildren(...(any ? [below(content)] : []))
  }

  function head(content, any) {
    const add = h("button", {class: any ? "button" : "button main", onclick: () => send("add")}, icon("add_photo_alternate"), "Add images")
    const described = content.features.length > 0
    const describe = h("button", {class: any && !described ? "button main" : "button", disabled: !any, onclick: () => send("describe")},
      icon("data_array"), "Describe")
    const cluster = h("button", {class: described ? "button main" : "button", disabled: !any, onclick: () => send("cluster"),
      title: described ? "" : "Describes the images first, then clusters them"}, icon("bubble_chart"), "Cluster")
    return h("header", {class: "head"}, h("h1", {}, "Library"),
      h("dl", {class: "stats"}, content.stats.map((one) => h("div", {}, h("dt", {}, one.label), h("dd", {}, one.value)))),
      h("div", {class: "acts"}, add, describe, cluster, any ? h("a", {class: "button", href: "/labels?part=import"}, icon("ios_share"), "Import or export labels") : null))
  }

  const missing = (content) => [...content.notices.map((text) => h("p", {class: "warning", role: "alert"}, icon("warning"), text)), ...gone(content)]

  const gone = (content) => content.missing_roots.map((gone) => h("p", {class: "warning", role: "alert"}, icon("link_off"),
    `The folder ${gone.path} is missing. Connect its disk, or enter its new place: benthoscope relink NEW-FOLDER --root ${gone.id}`))

  const coming = () => h("section", {class: "empty"}, icon("hourglass_top"), h("h2", {}, "Images are being imported"),
    h("p", {}, "They are listed here when the import is done. You can leave this page in the meantime."))

  const nothing = () => h("section", {class: "empty"}, icon("add_photo_alternate"), h("h2", {}, "No images yet"),
    h("p", {}, "Add a folder: each of its subfolders becomes a dive or album. Positions, depths and times are read from IMOS " +
      "tracks, iFDO files, tables and the images themselves."),
    h("button", {class: "button main", onclick: () => send("add")}, "Add images"))

  function drawMap(content) {
    const {dives: placed, middle} = content.map
    overview.classList.toggle("wide", !placed) // without positions there is no map
    if (!placed) return map.remove()
    const point = (dive) => drawnRows(dives).forEach((row) => row.classList.toggle("pointed", row.dataset.dive === String(dive)))
    redraw(map, plots.frame("map", {id: "map", stamp: JSON.stringify([content.map, content.stats]), height: 480, label: `Map of ${placed} ${groups()}`, onhover: (mark) => point(mark?.row_number), onmarks: (marks) => { picked = marks }}),
      h("p", {class: "region"}, locator(middle), h("span", {}, "Around ", placeName(middle))))
    if (!map.isConnected) overview.append(map)
    plots.prune()
  }

  function below(content) {
    const sets = content.features.map((set) => h("li", {}, h("b", {}, set.name),
      h("span", {class: "soft"}, ` ${set.level === "segment" ? `${count(set.rows)} segments of ` : ""}${count(set.images)} images, ${set.width} feature dimensions`),
      set.lacks ? h("span", {class: "lacks"}, ` · ${count(set.lacks)} images not yet described`) : null,
      set.stale ? h("span", {class: "lacks"}, ` · ${count(set.stale)} images were replaced: press Describe again`) : null))
    const none = h("p", {class: "soft"}, "No image features yet. Press Describe to compute them; images can then be compared and clustered.")
    const problems = content.problem_count
      ? h("details", {}, h("summary", {}, `${count(content.problem_count)} files or rows could not be used`),
        h("ul", {class: "problems"}, content.problems.map((one) => h("li", {}, h("b", {}, one.where), ` ${one.what}`,
          one.remedy ? h("span", {class: "soft"}, ` — ${one.remedy}`) : null))),
        content.problem_count > content.problems.length ? h("p", {class: "soft"}, "Full list: benthoscope problems") : null)
      : h("p", {class: "soft"}, "No problems found.")
    const unplaced = content.map.dives || isAlbums() ? null : h("p", {class: "soft"}, `No image has a position. The map of the ${groups()} appears when images have latitude and longitude.`)
    const copies = content.duplicates ? h("p", {class: "soft"}, content.duplicates === 1 ? "1 image is a copy of another." : `${count(content.duplicates)} images are copies of others.`) : null
    return h("div", {class: "below"}, h("section", {class: "card"}, h("h2", {}, "Image features"), sets.length ? h("ul", {}, sets) : none),
      h("section", {class: "card"}, h("h2", {}, "Problems"), problems, copies, unplaced))
  }

  whileShown(model, document, "keydown", (event) => {
    const act = {a: "add", d: "describe", c: "cluster"}[event.key]
    if (act && !typing(event) && !event.ctrlKey && !event.metaKey && !event.altKey) send(act)
  })
  model.on("content", draw)
  draw()
  return root
}
