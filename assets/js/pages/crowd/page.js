// The Crowd page: the list of campaigns, the form for a new one, and one campaign with its link, progress and results.

import {personPlot, results, together} from "./results.js"
import {plotShelf} from "../../shared/plot_frame.js"
import {addLooks} from "../../shared/table.js"
import {ask, h, icon, whileShown} from "../../core/element.js"
import {count, moment, progress, time} from "../../core/format.js"
import {followJobs} from "../../core/job_list.js"

const STATES = {draft: "not open yet", open: "open", paused: "paused", closed: "closed"}
const WHOLE = ["count", "size", "views", "repeats", "most_tasks", "known"] // fields with numbers
const AN_IMAGE = 3 // seconds per image, for the estimate of work

export function render({model}) {
  const send = (act, rest = {}) => model.send_msg({act, ...rest})
  const memory = {writing: model.content.chosen !== null, sent: null, form: null, closing: null, names: {}, person: null} // state that survives a redraw
  const side = h("aside", {}), live = h("section", {class: "live", "aria-label": "Clustering"}), main = h("div", {class: "runs"})
  const plots = plotShelf(model)
  addLooks({together: (cell, options, row) => together(model.content.shown?.result, row, (id) => { memory.person = id; draw() })})
  const ofPerson = h("div") // the plot of the chosen person
  const peopleCount = h("h2", {}), people = h("details", {class: "card details", hidden: true}, h("summary", {}, peopleCount), model.get_child("people"), ofPerson)
  const large = h("dialog", {class: "large", "aria-label": "Image", onclick: () => large.close()})
  const write = (on) => { Object.assign(memory, {writing: on, sent: null, form: on ? memory.form : null}); draw() }
  const root = h("div", {class: "page"}, h("header", {class: "head"}, h("h1", {}, "Crowd"),
    h("button", {class: "button main", onclick: () => write(true)}, icon("add"), "New campaign")), h("div", {class: "studio"}, side, h("div", {class: "runs"}, live, main, people)), large)
  const acts = {send, plots, names: memory.names, look: (image, words) => { large.replaceChildren(h("img", {src: `/thumbnails/image/${image}/1024.jpg`, alt: words}), h("p", {}, words)); large.showModal() }}

  let pressed = false, waiting = false // a button that is replaced while it is pressed would not be clicked
  root.addEventListener("pointerdown", (event) => { pressed = true; if (!event.target.closest("[data-close]")) memory.closing = null })
  for (const name of ["pointerup", "pointercancel"]) whileShown(model, document, name, () => setTimeout(() => { pressed = false; if (waiting) draw() }))

  function draw() {
    waiting = pressed
    if (waiting) return
    const content = model.content, newest = content.campaigns[0]?.id ?? 0
    if (memory.sent !== null && newest > memory.sent) Object.assign(memory, {writing: false, sent: null}) // it was made; until then words typed stay
    memory.form = memory.writing ? memory.form ?? newCampaign(content) : null
    people.hidden = Boolean(memory.form) || !content.shown?.workers
    peopleCount.textContent = `${count(content.shown?.workers ?? 0)} ${content.shown?.workers === 1 ? "person" : "people"}`
    keepingPlace(() => {
      side.replaceChildren(list(content))
      main.replaceChildren(...(memory.form ? [memory.form] : content.shown ? whole(content.shown) : [nothingYet()]))
      ofPerson.replaceChildren(...(people.hidden ? [] : personPlot(content.shown, memory.person, plots)))
    })
    plots.prune()
  }

  // The focus, the text cursor and unfolded parts stay as they are.
  function keepingPlace(change) {
    const at = root.getRootNode().activeElement, place = main.contains(at) ? {label: at.getAttribute("aria-label"), from: at.selectionStart, to: at.selectionEnd} : null
    const open = new Set([...main.querySelectorAll("details[open]")].map((part) => part.dataset.part))
    change()
    for (const part of main.querySelectorAll("details")) part.open ||= open.has(part.dataset.part)
    const again = place?.label ? main.querySelector(`[aria-label="${CSS.escape(place.label)}"]`) : null
    again?.focus({preventScroll: true})
    if (again?.matches("input:not([type=number]), textarea")) again.setSelectionRange(place.from, place.to)
  }

  function list(content) {
    return h("nav", {class: "card campaigns", "aria-label": "Campaigns"}, content.campaigns.length ? content.campaigns.map((one) =>
      h("button", {class: "plain", "aria-current": one.id === content.shown?.id ? "true" : null, onclick: () => { write(false); send("select", {number: one.id}) }},
        h("b", {}, one.name), h("span", {class: "soft"}, `${STATES[one.state]} · ${count(one.images)} images`))) : h("p", {class: "soft"}, "No campaigns yet."))
  }

  function nothingYet() {
    return h("section", {class: "empty"}, icon("groups"), h("h2", {}, "Ask many people which images belong together"),
      h("p", {}, "People open a link on a phone or a computer, without an account, and sort a few images at a time. You get clusters, each person's criteria, and who answers carelessly."),
      h("button", {class: "button main", onclick: () => write(true)}, "New campaign"))
  }

  const whole = (shown) => [head(shown), standing(shown), ...results(shown, acts), refused(shown)].filter(Boolean)

  // --- a new campaign

  function newCampaign(content) {
    const own = content.defaults
    const field = (label, input, help) => {
      input.setAttribute("aria-label", help ? `${label}. ${help}` : label) // otherwise screen readers would read the options as part of the label
      return h("label", {class: "field"}, h("span", {}, label), input, help ? h("small", {class: "soft"}, help) : null)
    }
    const number = (name, value, min, max) => h("input", {name, type: "number", value, min, max, required: true})
    const options = [h("option", {value: ""}, `All ${count(content.images)} images`), ...content.selections.map((one) =>
      h("option", {value: one.id, selected: one.id === content.chosen}, `${one.name} (${count(one.count)})`))]
    const summary = h("p", {class: "soft", role: "status"})
    const element = h("form", {class: "card details", "aria-label": "New campaign"}, h("h2", {}, "New campaign"), h("div", {class: "fields"},
      field("Name", h("input", {name: "name", required: true, maxlength: 120})),
      field("Images", h("select", {name: "selection"}, options)),
      field("Number of images, drawn at random", number("count", content.chosen === null ? 200 : 0, 0, 100000), "0 means all"),
      field("Images per task", number("size", own.size, 2, 60)), field("Tasks per image", number("views", own.views, 1, 1000)),
      field("People per task", number("repeats", own.repeats, 1, 1000)),
      field("Maximum tasks per person", number("most_tasks", own.most_tasks, 0, 100000), "0 means no limit"),
      field("Known pairs", number("known", 0, 0, 200), "Drawn from labels. People who miss too many of them receive no more tasks"),
      field("Title for the people asked", h("input", {name: "title", maxlength: 200})),
      field("Instructions", h("textarea", {name: "instructions", rows: 3, value: own.instructions})),
      field("Terms that people agree to", h("textarea", {name: "consent", rows: 3, value: own.consent}))), summary,
    h("footer", {}, h("button", {type: "button", class: "button", onclick: () => write(false)}, "Cancel"), h("button", {class: "button main"}, "Create campaign")))
    const settings = () => {
      const values = Object.fromEntries(new FormData(element))
      for (const name of WHOLE) values[name] = Number(values[name])
      return {...values, selection: values.selection ? Number(values.selection) : null}
    }
    const weigh = () => { summary.textContent = work(content, settings()) }
    element.addEventListener("input", weigh)
    element.addEventListener("submit", (event) => {
      event.preventDefault()
      memory.sent = model.content.campaigns[0]?.id ?? 0
      send("create", {values: settings()})
    })
    weigh()
    return element
  }

  function work(content, {selection, count: some, size, views, repeats}) {
    const all = content.selections.find((one) => one.id === selection)?.count ?? content.images, images = some ? Math.min(some, all) : all
    const tasks = Math.ceil((images * views) / Math.max(size, 1)), answers = tasks * repeats
    return `${count(images)} images in ${count(tasks)} tasks, ${count(answers)} answers: about ${time(answers * size * AN_IMAGE)} of work for all people together.`
  }

  // --- one campaign

  function head(shown) {
    const act = (name, words, symbol) => h("button", {class: "button", onclick: () => send(name)}, icon(symbol), words)
    const sure = memory.closing === shown.id
    const close = h("button", {class: "button", "data-close": true, onclick: () => { if (sure) send("close"); memory.closing = sure ? null : shown.id; draw() }},
      icon("stop"), sure ? "Close permanently?" : "Close")
    const buttons = {draft: [act("open", "Open", "play_arrow")], open: [act("pause", "Pause", "pause"), close],
      paused: [act("open", "Resume", "play_arrow"), close], closed: []}[shown.state]
    return h("section", {class: "card details", "aria-label": "Campaign"}, h("header", {class: "head"}, h("div", {}, h("h2", {}, shown.name), h("p", {class: "soft"},
      `${STATES[shown.state]} · ${count(shown.images)} images, ${shown.settings.size} per task`)), h("div", {class: "acts"}, buttons)), shown.code ? share(shown) : null)
  }

  function share(shown) {
    return h("div", {class: "share"}, h("img", {src: shown.code, alt: "The link as a QR code", class: "code"}),
      h("div", {}, h("h3", {}, "Send this link"), h("p", {}, h("a", {href: shown.link, target: "_blank", rel: "noopener"}, shown.link)),
        shown.here_only ? h("p", {class: "soft"}, "Only this computer can open the link. For other computers, start the server with --host 0.0.0.0 and open this page by the computer's name.") : null,
        h("p", {class: "soft"}, `Valid until ${moment(shown.expires_at)} UTC. `, h("button", {class: "plain", onclick: () => send("renew")}, icon("autorenew"), "New link"))))
  }

  function standing({standing: now, agreement, state}) {
    const share = now.wanted ? now.answered / now.wanted : 0
    const facts = [["Answers", `${count(now.answered)} of ${count(now.wanted)}`], ["In progress", count(now.under_way)], ["People", count(now.workers)],
      ["Excluded", count(now.stopped)], ["Last hour", count(now.per_hour)],
      ["Time left", now.seconds_left === null ? "–" : time(now.seconds_left)],
      ["Time per task", now.median_seconds === null ? "–" : time(now.median_seconds)],
      ["Agreement", agreement === null ? "–" : agreement.toFixed(2), "Agreement of two people who did the same task: 1 means the same groups, 0 no more than by chance"]]
    return h("section", {class: "card details", "aria-label": "Progress"},
      h("dl", {class: "stats"}, facts.map(([key, value, help]) => h("div", {title: help}, h("dt", {}, key), h("dd", {}, value)))),
      h("div", {class: "bar", role: "progressbar", "aria-label": "Answers", "aria-valuenow": Math.round(share * 100), "aria-valuemin": 0, "aria-valuemax": 100}, h("i", {style: `width: ${share * 100}%`})),
      now.answered ? h("div", {class: "acts after"},
        h("button", {class: "button main", onclick: () => send("aggregate")}, icon("bubble_chart"), "Cluster the answers"),
        state === "closed" ? null : h("button", {class: "button", onclick: () => send("aggregate", {more: 20}), title: "Cluster the answers, then add 20 tasks about the least certain images"}, icon("add_task"), "Cluster, and ask 20 more")) : null)
  }

  function refused(shown) {
    if (!shown.refusals.length) return null
    return h("details", {class: "card details", "data-part": "refused"}, h("summary", {}, h("h2", {}, `${count(shown.standing.refused)} rejected answers`)), h("ul", {class: "refusals"}, shown.refusals.map((one) =>
      h("li", {}, `${moment(one.at)} · ${one.worker === null ? "unknown person" : `person ${one.worker + 1}`} · ${one.what}`))))
  }

  // --- running jobs

  function card(job) {
    const {share, text} = progress(job)
    return h("div", {class: "card job"}, h("header", {}, icon("bubble_chart"), h("b", {}, job.title), h("span", {class: "soft"}, [job.state === "queued" ? "queued" : job.message, text].filter(Boolean).join(" · ")),
      h("button", {class: "button", disabled: job.cancel_requested, onclick: () => ask(`/api/v1/jobs/${job.id}/cancel`, {method: "POST"})}, job.cancel_requested ? "Stopping…" : "Stop")),
    h("div", {class: share === null ? "bar unknown" : "bar", role: "progressbar", "aria-label": job.title, "aria-valuemin": 0, "aria-valuemax": 100, "aria-valuenow": share === null ? null : Math.round(share * 100)},
      h("i", {style: share === null ? null : `width: ${share * 100}%`})))
  }

  followJobs(model, (jobs) => live.replaceChildren(
    ...jobs.filter((job) => ["crowd", "cluster"].includes(job.kind) && ["queued", "running"].includes(job.state)).map(card)))
  model.on("content", draw)
  draw()
  queueMicrotask(() => send("address", {origin: location.origin}))
  return root
}
