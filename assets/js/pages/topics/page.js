// The Topics page: cards of topics, topics along dives, images by their mixture of topics, and the fit.

import {ask, h, icon, redraw, whileShown} from "../../core/element.js"
import {followJobs} from "../../core/job_list.js"
import {count, progress} from "../../core/format.js"
import {group, groups} from "../../core/group_words.js"
import {plotShelf} from "../../shared/plot_frame.js"
import {Viewer} from "../../shared/viewer.js"
import {typing} from "../../shell/keyboard.js"
import {cards, finder} from "./cards.js"
import {find} from "./find.js"

const KINDS = ["cluster", "chain", "extend topics"] // of jobs that may be about topics

export function render({model}) {
  const tell = (act, rest = {}) => model.send_msg({act, ...rest})
  const now = () => model.content
  const plots = plotShelf(model)
  const head = h("header", {class: "head"}), live = h("section", {class: "live", "aria-live": "off"}), notes = h("div", {class: "notes"})
  const tabs = h("div", {class: "tabs", role: "tablist", "aria-label": "Parts of the page"})
  const tools = h("div", {class: "tools"}), body = h("div", {class: "part", role: "tabpanel", id: "part"})
  const search = finder(now, tell)
  let steps = [], place = 0 // [image, patch or -1] of the opened group, and the index of the opened one
  const viewer = new Viewer({
    step: (by) => (steps[place + by] ? come(place + by) : null), version: () => now().version, shown: () => {}, colour: () => "transparent",
    pin: (id) => { viewer.close(); tell("like", {image: id}) }, run: () => now().run, accept: () => {},
    nameSegment: (id, number, word) => tell("segment", {id, number, word}),
    region: (image, box) => { viewer.close(); tell("region", {image, ...box}) },
  })
  const come = (at) => {
    place = at
    viewer.objects.first = steps[at][1]
    return steps[at][0]
  }
  // Opens the image at `at` of [image, patch] pairs; a patch of -1 opens the whole image.
  const open = (pairs, at) => {
    steps = pairs
    viewer.overlaid = true
    viewer.open(come(at))
  }
  const root = h("div", {class: "objectspage topicspage", "aria-busy": "true"}, head, live, notes, tabs, tools, body, viewer.element)
  const parts = {cards: () => cards(body, now(), tell, open), dives: () => dives(body, now(), tell, plots), find: () => find(body, now(), tell, open), fit: () => fit(body, now(), plots)}
  let adding = false // a job adds images
  follow(model, live, plotShelf(model), now, (jobs) => {
    const busy = jobs.some(isAddition)
    if (busy !== adding) { adding = busy; draw() }
  }, (job) => tell("finished", {job}))

  function draw() {
    const content = now()
    if (content.run === undefined) { body.replaceChildren(h("p", {class: "soft"}, "Reading the topics…")); return }
    root.setAttribute("aria-busy", "false")
    const ready = content.run !== null
    for (const element of [notes, tabs, tools]) element.hidden = !ready
    if (!ready) { delete root.dataset.part; redraw(head, h("h1", {}, "Topics")); body.replaceChildren(nothing(content, tell)); return }
    root.dataset.part = content.part
    redraw(head, h("h1", {}, "Topics"), h("p", {class: "soft"}, content.told), h("span", {class: "space"}), runs(content, tell), addButton(content, tell, adding),
      h("button", {class: "button", onclick: () => tell("start")}, icon("add"), "Find new topics"))
    redraw(notes, remarks(content))
    redraw(tabs, content.parts.map(([name, title], at) => h("button", {class: "tab", role: "tab", id: `tab-${name}`, "aria-controls": "part", "aria-selected": String(name === content.part), title: `${title} (${at + 1})`,
      onclick: () => tell("part", {name})}, title)))
    body.setAttribute("aria-labelledby", `tab-${content.part}`)
    tools.hidden = content.part !== "cards"
    if (!tools.hidden) chooseCards(content)
    parts[content.part]()
    plots.prune()
  }

  function chooseCards(content) {
    if (!tools.childElementCount) tools.append(chooser(content.shown, tell, "kind", "Which patches are shown"), chooser(content.shown, tell, "order", "Order of the topics"), search.element)
    for (const select of tools.querySelectorAll("select")) select.value = content.shown[select.name]
    search.show()
  }

  whileShown(model, document, "keydown", (event) => {
    if (typing(event) || event.ctrlKey || event.metaKey || event.altKey || !now().run || viewer.element.open) return
    const at = Number(event.key) - 1
    if (now().parts[at]) tell("part", {name: now().parts[at][0]})
    else if (event.key === "f" && now().part === "cards") { event.preventDefault(); search.focus() }
  })
  model.on("content", draw)
  model.on("remove", () => viewer.close())
  draw()
  return root
}

function runs(content, tell) {
  const select = h("select", {"aria-label": "Run", title: "Run", onchange: () => tell("run", {run: Number(select.value)})}, content.runs.map(([id, name]) => h("option", {value: id, selected: id === content.run}, name)))
  return h("label", {class: "pick"}, icon("hub"), select)
}

function chooser(shown, tell, name, title) {
  const select = h("select", {name, title, "aria-label": title, onchange: () => tell(name, {name: select.value})}, shown[`${name}s`].map(([value, word]) => h("option", {value, selected: value === shown[name]}, word)))
  return select
}

function addButton(content, tell, busy) {
  const {images} = content.addable
  if (!images) return null
  return h("button", {class: "button main", disabled: busy, title: busy ? "A job adds images already" : "Extends the topics instead of fitting them again", onclick: () => tell("add")}, icon("playlist_add"), `Add ${count(images)} ${images === 1 ? "image" : "images"}`)
}

// Notes on the run: the images added last, the limits that the fit reached, and why images cannot be added.
function remarks(content) {
  const {problem} = content.addable
  return [...content.added.map((text) => h("p", {class: "added"}, icon("playlist_add_check"), h("span", {}, text))), ...content.limits.map((text) => h("p", {class: "limit"}, icon("info"), h("span", {}, text))),
    problem ? h("p", {class: "limit"}, icon("info"), h("span", {}, `New images cannot be added: ${problem}`)) : null]
}

// The empty page: what topics are, how long they take, and the button that finds them.
function nothing(content, tell) {
  const text = "A topic is a set of kinds of patches that occur together, such as sand ripples and shell fragments. Every image is described by its proportions of topics: half one topic and half another is possible. You choose the number of topics. The number of kinds of patches is found automatically."
  if (!content.images) return h("section", {class: "empty"}, icon("donut_small"), h("h2", {}, "No topics yet"), h("p", {}, `${text} Add images of ${groups()} first.`), h("a", {class: "button main", href: "/library"}, "Go to Library"))
  return h("section", {class: "empty"}, icon("donut_small"), h("h2", {}, "No topics yet"), h("p", {}, text), h("p", {class: "soft"}, content.cost),
    h("button", {class: "button main", onclick: () => tell("start")}, "Find topics"), " ", h("a", {class: "button", href: "/help?topic=topics"}, "About topics"))
}

// --- running jobs

const isAddition = (job) => job.kind === "extend topics" || (job.parameters.steps ?? []).some((step) => step.kind === "extend topics")
const isOfTopics = (job, {models, finding}) => isAddition(job) || job.title.startsWith(finding) || models.includes(job.parameters.model) ||
  (job.parameters.steps ?? []).some((step) => models.includes(step.parameters?.model))

function follow(model, live, plots, now, busy, finished) {
  let latest = 0 // an answer that comes after a newer one is not drawn
  followJobs(model, async (jobs) => {
    const number = ++latest
    const unfinished = jobs.filter((job) => KINDS.includes(job.kind) && ["running", "queued"].includes(job.state))
    const details = await Promise.all(unfinished.map((job) => ask(`/api/v1/jobs/${job.id}`))).catch(() => null)
    if (number !== latest || !details || !now().models) return // without details the server is restarting
    busy(details)
    for (const job of jobs) if (job.state === "done" && now().started?.includes(job.id)) finished(job.id)
    const shown = details.filter((job) => isOfTopics(job, now()))
    if (!shown.length && !live.childElementCount) return
    redraw(live, shown.map((job) => running(job, plots)))
    plots.prune()
  })
}

function running(job, plots) {
  const {text, share} = progress(job)
  const trace = job.figures.trace ?? []
  const plot = (name, label) => plots.frame(name, {query: {job: job.id}, label, height: 240, live: true})
  const bar = h("div", {class: share === null ? "bar unknown" : "bar"}, h("i", {style: share === null ? null : `width: ${100 * share}%`}))
  return h("div", {class: "card job"}, h("header", {}, icon("donut_small"), h("b", {}, job.title), h("span", {class: "soft"}, job.state === "queued" ? "waiting for another job" : [job.message, text].filter(Boolean).join(" · ")),
    h("button", {class: "button", disabled: job.cancel_requested, onclick: () => ask(`/api/v1/jobs/${job.id}/cancel`, {method: "POST"})}, job.cancel_requested ? "Cancelling…" : "Cancel")), bar,
  trace.length > 1 ? h("div", {class: "plots"}, plot("cluster-count", "Kinds of patches in use so far"), plot("lower-bound", "Lower bound so far")) : null)
}

// --- plots

function dives(body, content, tell, plots) {
  const {shown} = content
  const select = h("select", {"aria-label": `The ${group()} that is shown`, onchange: () => tell("dive", {dive: Number(select.value)})}, shown.dives.map(([id, name]) => h("option", {value: id, selected: id === shown.dive}, name)))
  const stamp = JSON.stringify(content.names)
  const along = plots.frame("topics-along", {query: {run: content.run, dive: shown.dive}, stamp, height: 300, label: `Topics along the ${group()}`})
  redraw(body, h("section", {class: "card pad"}, h("header", {class: "head"}, h("h2", {}, `Topics along the ${group()}`), select, h("a", {class: "button", href: `/dive?dive=${shown.dive}&run=${content.run}`}, icon("route"), `Open the ${group()}`)),
    h("p", {class: "soft"}, "The shares of the topics in the order in which the images were taken. A click on a part of a bar selects the images with this main topic; a click on the legend mutes a topic."), along),
  shown.several ? h("section", {class: "card pad"}, h("h2", {}, `Topics of all ${groups()}`), plots.frame("topic-mixtures", {query: {run: content.run}, stamp, label: `Mean shares of the topics in all ${groups()}`})) : null)
}

function fit(body, content, plots) {
  const {shown} = content
  const query = {run: content.run}
  const things = shown.joint ? "topics" : "kinds of patches"
  const text = shown.joint ? "Images are read ten at a time. Topics are created, divided and merged as images arrive."
    : "The fit begins with more kinds of patches than needed and drops those that nothing uses. When images are added, their kinds are joined with the earlier ones first, so the number jumps and then falls again."
  const facts = [shown.vocabulary === null ? "" : `${count(shown.vocabulary)} ${things}${shown.joint ? "" : shown.inferred ? " in use" : " in the fixed vocabulary"}`, shown.bound === null ? "" : `lower bound ${shown.bound.toFixed(2)} nats per ${content.part_words[0]}`,
    shown.inference ? `inference ${shown.inference}` : "", shown.seconds ? `${shown.seconds.toFixed(0)} s` : ""].filter(Boolean).join(" · ")
  redraw(body, h("section", {class: "card pad"}, h("h2", {}, shown.joint ? "Topics during the fit" : "Vocabulary during the fit"), h("p", {}, facts), h("p", {class: "soft"}, text),
    shown.noisy ? h("p", {class: "soft"}, "Each step reads a random batch of images, so its bound is an estimate and fluctuates. The bound above is exact.") : null,
    shown.has_trace ? h("div", {class: "plots"}, plots.frame("cluster-count", {query, label: `Number of ${things} during the fit of ${content.run_name}`, height: 240}), plots.frame("lower-bound", {query, label: `Lower bound during the fit of ${content.run_name}`, height: 240}))
      : h("p", {class: "soft nothing"}, "This run has no log of its fit.")))
}
