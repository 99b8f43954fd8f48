// The Live page: the watch of a dive, its newest images, alarms, clusters as they evolve, and the path so far.

import {h, icon, redraw, whileShown} from "../../core/element.js"
import {count, moment} from "../../core/format.js"
import {plotShelf} from "../../shared/plot_frame.js"
import {typing} from "../../shell/keyboard.js"

const SIGNS = {birth: "add_circle", split: "call_split", merge: "call_merge", death: "cancel"}
const NOT_KNOWN = "Not known yet: alarms begin when about 100 images have been learned that came after those that trained the features, usually after the second round."
const thumbnail = (sha, size) => `/thumbnails/${sha}/${size}.jpg` // an address that the browser may keep
const percent = (share) => `${(100 * share).toFixed(share < .1 ? 1 : 0)} %`
const clock = (seconds) => `${moment(seconds).slice(11)} UTC`

export function render({model}) {
  const send = (act, rest = {}) => model.send_msg({act, ...rest})
  const plots = plotShelf(model)
  const chosen = new Set() // keys of the clusters to merge
  let asksToFinish = false
  const large = h("dialog", {class: "large", "aria-label": "Image", onclick: () => large.close()})
  const body = h("div", {class: "runs"})
  const root = h("div", {class: "page"}, body, large)
  const tiles = new Map() // the element of each image, so that pictures do not flicker

  let isPressed = false, isWaiting = false // a button that is replaced while it is pressed would not be clicked
  root.addEventListener("pointerdown", () => { isPressed = true })
  for (const name of ["pointerup", "pointercancel"]) whileShown(model, document, name, () => setTimeout(() => { isPressed = false; if (isWaiting) draw() }))
  whileShown(model, document, "keydown", (event) => {
    if (!typing(event) && !event.ctrlKey && !event.metaKey && !event.altKey && event.key === "s") send("start")
  })

  function draw() {
    isWaiting = isPressed
    if (isWaiting) return
    const {shown} = model.content
    redraw(body, ...(shown ? whole(shown) : [head(null), nothingYet()]))
    plots.prune()
  }

  function nothingYet() {
    return h("section", {class: "empty"}, icon("sensors"), h("h2", {}, "Cluster a dive while the vehicle is in the water"),
      h("p", {}, "Choose the folder that the images are written to. Each image gets a cluster and a novelty score within seconds, and the clusters evolve with the dive."),
      h("p", {}, "To try it without a vehicle, run ", h("code", {}, "benthoscope simulate-dive FOLDER"), " and watch that folder."),
      h("button", {class: "button main", "data-key": "start", onclick: () => send("start")}, "Start a watch"))
  }

  function whole(shown) {
    for (const key of [...chosen]) if (!shown.clusters.some((cluster) => cluster.key === key)) chosen.delete(key)
    return [head(shown), status(shown), ...warnings(shown), images(shown), charts(shown), clusters(shown), history(shown), problems(shown)].filter(Boolean)
  }

  // --- the watch

  function head(shown) {
    const {dives} = model.content
    const choose = dives.length > 1 ? h("select", {"aria-label": "Dive", "data-key": "dive", onchange: (event) => send("select", {id: Number(event.target.value)})},
      dives.map((dive) => h("option", {value: dive.id, selected: dive.id === shown?.id}, `${dive.name} (${count(dive.images)} images${dive.state === "finished" ? ", finished" : ""})`))) : null
    return h("header", {class: "head"}, h("h1", {}, "Live"), choose, h("div", {class: "acts"}, shown && shown.state === "watching" ? running(shown) : null,
      shown ? h("button", {class: "button", "data-key": "start", onclick: () => send("start")}, icon("add"), "Watch another folder") : null))
  }

  function running(shown) {
    const button = (act, sign, words, title = "") => h("button", {class: "button", title, "data-key": act, disabled: shown.finishing, onclick: () => { asksToFinish = false; send(act) }}, icon(sign), words)
    return [shown.watching ? button("stop", "pause", "Stop", "Stop watching for now; nothing is lost") : button("resume", "play_arrow", "Resume"),
      shown.watching ? button("learn", "school", "Learn now", "Start a round with the images that wait") : null,
      button("settings", "tune", "Settings"), finishButton(shown)]
  }

  function finishButton(shown) {
    if (shown.finishing) return h("button", {class: "button", disabled: true}, "Finishing…")
    if (!asksToFinish) return h("button", {class: "button main", "data-key": "finish", onclick: () => { asksToFinish = true; draw() }}, icon("flag"), "Finish dive")
    return h("button", {class: "button main", "data-key": "finish", title: "Takes in the last images and stores the clusters as a run. The dive cannot be continued.",
      onclick: () => { asksToFinish = false; send("finish") }}, icon("flag"), "Really finish?")
  }

  function status(shown) {
    const memory = shown.memory
    const facts = [["Images", count(shown.images)], ["Clusters", count(shown.clusters.length)], ["Rounds", count(shown.rounds)], ["Waiting for a round", count(shown.waiting)],
      ["Images per minute", shown.per_minute === null ? "–" : count(shown.per_minute)], ["Delay (median)", shown.delay === null ? "–" : `${shown.delay.toFixed(1)} s`],
      ["Memory in use", memory ? `${percent(memory.share)} of ${memory.budget_size}` : "–"], ...(shown.agreement ? [["Same label in a cluster", shown.agreement]] : [])]
    const share = shown.planned ? Math.min(shown.images / shown.planned, 1) : null
    const isRunning = shown.watching && shown.state === "watching"
    return h("section", {class: "card details status", "aria-label": "State of the dive"}, h("header", {}, h("i", {class: `lamp ${isRunning ? "on" : ""}`, "aria-hidden": "true"}), h("h2", {}, shown.name), h("span", {class: "soft folder", title: shown.folder}, shown.folder),
      shown.run ? h("a", {class: "button", href: `/explore?run=${shown.run}`}, icon("explore"), "Open the run") : null),
    h("p", {role: "status"}, shown.message), share === null || shown.state !== "watching" ? null : h("div", {class: "bar", role: "progressbar", "aria-label": "Images of the planned number", "aria-valuenow": Math.round(100 * share)}, h("i", {style: `width: ${100 * share}%`})),
    h("dl", {class: "stats"}, facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))))
  }

  function warnings(shown) {
    const warning = (sign, text) => h("p", {class: "warning", role: "alert"}, icon(sign), text)
    return [shown.error ? warning("error", shown.error) : null, shown.notice ? warning("link_off", shown.notice) : null, shown.memory?.warning ? warning("memory", shown.memory.warning) : null]
  }

  // --- images

  function images(shown) {
    return h("div", {class: "halves"}, h("section", {class: "card details"}, h("h2", {}, "Newest images"), grid(shown.newest, "No image yet.")),
      h("section", {class: "card details alarms"}, h("h2", {}, "Novelty alarms", shown.alarm_count ? h("span", {class: "count"}, count(shown.alarm_count)) : null),
        h("p", {class: "soft"}, "Images that are unlike the recent ones, before they are learned."), grid(shown.alarms, shown.alarms_known ? "No alarm so far." : NOT_KNOWN, true)))
  }

  function grid(list, nothing, asAlarm = false) {
    if (!list.length) return h("p", {class: "soft"}, nothing)
    for (const id of [...tiles.keys()].slice(0, Math.max(tiles.size - 200, 0))) tiles.delete(id)
    return h("ul", {class: "tiles"}, list.map((image) => tile(image, asAlarm)))
  }

  function tile(image, asAlarm) {
    const place = asAlarm ? `alarm ${image.id}` : `${image.id}`
    const words = `${image.file}, ${image.cluster ?? "no cluster yet"}${image.novel ? ", novel" : ""}`
    if (!tiles.has(place)) tiles.set(place, h("img", {src: thumbnail(image.sha, 320), alt: "", loading: "lazy"}))
    const below = image.problem ? "cannot be described" : asAlarm ? alarmText(image) : image.cluster ?? "no cluster yet"
    return h("li", {class: image.novel ? "novel" : ""}, h("button", {class: "plain", title: image.problem ?? words, "aria-label": words, "data-key": place, onclick: () => look(image, words)},
      tiles.get(place), h("span", {}, h("i", {class: "mark", style: `background: ${image.colour ?? "transparent"}`}), below)))
  }

  function alarmText(image) {
    return image.new_cluster > .5 ? `new kind: ${percent(image.new_cluster)}` : `rarest ${percent(image.percentile)}`
  }

  function look(image, words) {
    enlarge(thumbnail(image.sha, 1024), `${words}, ${clock(image.at)}`)
  }

  function enlarge(src, words) {
    large.replaceChildren(h("img", {src, alt: words}), h("p", {}, words))
    large.showModal()
  }

  // --- plots

  function charts(shown) {
    if (!shown.images) return null
    const query = {live: shown.id}, live = shown.state === "watching"
    const plot = (name, label, height, more = {}) => plots.frame(name, {query, label, height, live, stamp: `${shown.state} ${shown.rounds ? "" : "first"}`, ...more})
    const learned = shown.rounds ? [plot("live-memory", "Memory of the learner", 200), plot("live-mixture", "Mixture of clusters over time", 260),
      plot("live-clusters", "Changes of the clusters", 240), ...(shown.fits ? [plot("live-fit", "Fit of new images", 200)] : [])] : []
    const path = () => plot("live-path", "The path so far", 360, {onpick: ({image, cluster}) => enlarge(`/thumbnails/image/${image}/1024.jpg`, `Image ${image}, ${cluster}`)})
    const noPath = shown.has_positions ? null : h("p", {class: "soft"}, "No image has a position yet. Write a table of positions beside the images to see the path.")
    return h("section", {class: "card details"}, noPath, h("div", {class: "plots"}, shown.has_positions ? path() : null, learned))
  }

  // --- clusters

  function clusters(shown) {
    if (!shown.clusters.length) return null
    const merge = h("button", {class: "button", "data-key": "merge", disabled: chosen.size < 2, onclick: () => { send("merge", {keys: [...chosen]}); chosen.clear() }}, icon("call_merge"), chosen.size < 2 ? "Merge: choose two" : `Merge ${chosen.size} clusters`)
    return h("section", {class: "card details"}, h("header", {class: "head"}, h("h2", {}, "Clusters now"), merge),
      h("p", {class: "soft"}, "Names, merges and splits change what you see, not what is learned. You can undo them."),
      h("div", {class: "scroll"}, h("table", {}, h("thead", {}, h("tr", {}, ["", "Cluster", "Images", "Share", "Newest images", "Most frequent label", ""].map((title, at) => h("th", {class: at === 2 || at === 3 ? "number" : ""}, title)))),
        h("tbody", {}, shown.clusters.map(row)))))
  }

  function row(cluster) {
    const choose = h("input", {type: "checkbox", "aria-label": `Choose ${cluster.name} to merge`, "data-key": `choose ${cluster.key}`, checked: chosen.has(cluster.key),
      onchange: (event) => { if (event.target.checked) chosen.add(cluster.key); else chosen.delete(cluster.key); draw() }})
    const act = (name, sign, words) => h("button", {class: "plain", title: words, "aria-label": `${words}: ${cluster.name}`, "data-key": `${name} ${cluster.key}`, onclick: () => send(name, {key: cluster.key})}, icon(sign))
    const merged = cluster.merged.length ? h("span", {class: "soft"}, ` with ${cluster.merged.join(", ")}`) : null
    const label = cluster.label ? `${cluster.label} (${percent(cluster.label_share)} of the labels)` : ""
    return h("tr", {"data-cluster": cluster.key}, h("td", {}, choose), h("td", {}, h("i", {class: "mark", style: `background: ${cluster.colour}`}), h("b", {}, cluster.name), merged),
      h("td", {class: "number"}, count(cluster.size)), h("td", {class: "number"}, percent(cluster.share)), h("td", {class: "examples"}, cluster.examples.map((sha) => h("img", {src: thumbnail(sha, 128), alt: ""}))),
      h("td", {class: "soft"}, label), h("td", {}, act("name", "edit", "Name"), act("split", "call_split", "Split in two")))
  }

  function history(shown) {
    if (!shown.events.length) return null
    const edits = shown.edits.length ? [h("h3", {}, "By people"), h("ul", {class: "lines"}, shown.edits.map((edit) => h("li", {}, h("span", {class: "soft"}, clock(edit.at)), `${edit.text} (${edit.person})`,
      h("button", {class: "button", "data-key": `undo ${edit.id}`, "aria-label": `Undo: ${edit.text}`, onclick: () => send("undo", {id: edit.id})}, "Undo"))))] : []
    return h("section", {class: "card details"}, h("h2", {}, "Changes"), ...edits, edits.length ? h("h3", {}, "Clusters") : null,
      h("ul", {class: "lines"}, shown.events.map((event) => h("li", {}, h("span", {class: "soft"}, clock(event.at)), h("i", {class: "mark", style: `background: ${event.colour}`}), icon(SIGNS[event.kind]), event.text))))
  }

  function problems(shown) {
    if (!shown.problems.length) return null
    return h("section", {class: "card details"}, h("h2", {}, "Problems"), h("ul", {class: "lines"}, shown.problems.map((text) => h("li", {}, text))))
  }

  model.on("content", draw)
  draw()
  return root
}
