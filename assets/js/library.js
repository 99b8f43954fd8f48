// The library: numbers, the table of dives beside their map, what describes the images, what could not be used.

import {h, icon, whileShown} from "./dom.js"
import {typing} from "./shell/keyboard.js"
import {trackMap} from "./track_map.js"
import {count, moment} from "./told.js"

export function render({model}) {
  const root = h("div", {class: "library"})
  const closed = new Set() // collections folded away
  const send = (act, rest = {}) => model.send_msg({act, ...rest})

  function draw() {
    const found = model.content
    const any = found.collections.some((collection) => collection.groups.length)
    root.replaceChildren(head(found, any), ...missing(found), any ? main(found) : nothing(), ...(any ? [below(found)] : []))
  }

  function head(found, any) {
    const add = h("button", {class: any ? "button" : "button main", onclick: () => send("add")}, icon("add_photo_alternate"), "Add images")
    const described = found.features.length > 0
    const describe = h("button", {class: any && !described ? "button main" : "button", disabled: !any, onclick: () => send("describe")},
      icon("data_array"), "Describe")
    const cluster = h("button", {class: described ? "button main" : "button", disabled: !any, onclick: () => send("cluster"),
      title: described ? "" : "Describes the images first, then clusters them"}, icon("bubble_chart"), "Cluster")
    return h("header", {class: "head"}, h("h1", {}, "Library"),
      h("dl", {class: "stats"}, found.stats.map((one) => h("div", {}, h("dt", {}, one.label), h("dd", {}, one.value)))),
      h("div", {class: "acts"}, add, describe, cluster, any ? h("a", {class: "button", href: "/labels?part=files"}, icon("ios_share"), "Labels in and out") : null))
  }

  const missing = (found) => found.missing_roots.map((gone) => h("p", {class: "warning", role: "alert"}, icon("link_off"),
    `The folder ${gone.path} is not there now. Connect its disk, or say where it is: benthoscope relink NEW-FOLDER --root ${gone.id}`))

  const nothing = () => h("section", {class: "empty"}, icon("add_photo_alternate"), h("h2", {}, "No images yet"),
    h("p", {}, "Add a folder: each folder below it becomes a dive or album. Positions, depths and times are read from IMOS " +
      "tracks, iFDO files, tables and the images themselves."),
    h("button", {class: "button main", onclick: () => send("add")}, "Add images"))

  function main(found) {
    const map = trackMap(found)
    const body = h("div", {class: "table card"}, table(found, map))
    return h("div", {class: "overview"}, body, map.element)
  }

  function table(found, map) {
    const filter = h("input", {type: "search", placeholder: "Find a dive", "aria-label": "Find a dive", value: model.sought,
      oninput: (event) => { model.sought = event.target.value; fill() }})
    const body = h("tbody", {})
    const heads = [["Dive or album", ""], ["Images", "number"], ["First image (UTC)", ""], ["Hours", "number"],
      ["Depth (m)", "number"], ["Labelled", ""]]
    const fill = () => {
      const word = model.sought.toLowerCase()
      body.replaceChildren(...found.collections.flatMap((collection) => section(collection, word)))
    }

    function section(collection, word) {
      const shown = collection.groups.filter((group) => group.name.toLowerCase().includes(word))
      if (word && !shown.length) return []
      const folded = closed.has(collection.id) && !word
      const total = collection.groups.reduce((sum, group) => sum + group.images, 0)
      const done = collection.groups.reduce((sum, group) => sum + group.labelled, 0)
      const toggle = h("button", {class: "plain", "aria-expanded": String(!folded), onclick: () => {
        if (folded) closed.delete(collection.id)
        else closed.add(collection.id)
        fill()
      }}, icon(folded ? "chevron_right" : "expand_more"), h("b", {}, collection.name))
      const forget = h("button", {class: "plain forget", title: "Take this collection out of the workspace",
        "aria-label": `Take ${collection.name} out of the workspace`, onclick: () => send("forget", {name: collection.name})}, icon("remove_circle_outline"))
      const line = h("tr", {class: "collection"}, h("th", {scope: "rowgroup"}, toggle), h("td", {class: "number"}, count(total)),
        h("td", {colspan: "3", class: "soft"}, `${collection.groups.length} ${collection.kind === "campaign" ? "dives" : "albums"}`),
        h("td", {class: "last"}, share(done, total), forget))
      return [line, ...(folded ? [] : shown.map(row))]
    }

    function row(group) {
      const hours = group.first === null ? "" : ((group.last - group.first) / 3600).toFixed(1)
      const depth = group.depth ? `${group.depth[0].toFixed(0)} – ${group.depth[1].toFixed(0)}` : ""
      const mark = h("i", {class: "mark", style: `background: ${map.colour(group.id)}`})
      return h("tr", {"data-dive": group.id, onmouseenter: () => map.point(group.id), onmouseleave: () => map.point(null)},
        h("td", {class: "name"}, mark, h("a", {href: `/dive?dive=${group.id}`}, group.name)), h("td", {class: "number"}, count(group.images)),
        h("td", {}, moment(group.first)), h("td", {class: "number"}, hours), h("td", {class: "number"}, depth),
        h("td", {}, share(group.labelled, group.images)))
    }

    map.onpoint = (id) => body.querySelectorAll("tr").forEach((line) => line.classList.toggle("pointed", line.dataset.dive === String(id)))
    fill()
    return [h("div", {class: "tools"}, filter), h("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": "Dives"}, h("table", {},
      h("thead", {}, h("tr", {}, heads.map(([text, kind]) => h("th", {scope: "col", class: kind}, text)))), body))]
  }

  function share(labelled, images) {
    const part = images ? labelled / images : 0
    const shown = part > 0 && part < 0.01 ? "<1 %" : `${Math.round(part * 100)} %`
    return h("div", {class: "share", title: `${count(labelled)} of ${count(images)} labelled`},
      h("div", {class: "bar"}, h("i", {style: `width: ${part * 100}%`})), h("span", {class: "number"}, shown))
  }

  function below(found) {
    const sets = found.features.map((set) => h("li", {}, h("b", {}, set.name),
      h("span", {class: "soft"}, ` ${set.level === "segment" ? `${count(set.rows)} regions of ` : ""}${count(set.images)} images, ${set.width} numbers each`),
      set.lacks ? h("span", {class: "lacks"}, ` · ${count(set.lacks)} images not yet described`) : null))
    const none = h("p", {class: "soft"}, "Not described yet: describing turns images into numbers, so that they can be compared.")
    const problems = found.problem_count
      ? h("details", {}, h("summary", {}, `${count(found.problem_count)} files or rows could not be used`),
        h("ul", {class: "problems"}, found.problems.map((one) => h("li", {}, h("b", {}, one.where), ` ${one.what}`,
          one.remedy ? h("span", {class: "soft"}, ` — ${one.remedy}`) : null))),
        found.problem_count > found.problems.length ? h("p", {class: "soft"}, "All of them: benthoscope problems") : null)
      : h("p", {class: "soft"}, "Every file could be used.")
    const copies = found.duplicates ? h("p", {class: "soft"}, `${count(found.duplicates)} images are copies of others.`) : null
    return h("div", {class: "below"}, h("section", {class: "card"}, h("h2", {}, "Descriptions"), sets.length ? h("ul", {}, sets) : none),
      h("section", {class: "card"}, h("h2", {}, "Problems"), problems, copies))
  }

  whileShown(model, document, "keydown", (event) => {
    const act = {a: "add", d: "describe", c: "cluster"}[event.key]
    if (act && !typing(event) && !event.ctrlKey && !event.metaKey && !event.altKey) send(act)
  })
  model.on("content", draw)
  draw()
  return root
}
