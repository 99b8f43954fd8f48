// Crowd: campaigns, a new one, and one in full: link, how it goes, and what came of it.

import {people, results} from "./crowd_results.js"
import {ask, h, icon, whileShown} from "./dom.js"
import {count, moment, progress, time} from "./told.js"

const LOOK = 2000 // milliseconds between two looks at answers and jobs
const STATES = {draft: "not open yet", open: "open", paused: "paused", closed: "closed"}
const WHOLE = ["count", "size", "views", "repeats", "most_tasks", "known"] // fields that are numbers
const AN_IMAGE = 3 // seconds people take for one

export function render({model}) {
  const send = (act, rest = {}) => model.send_msg({act, ...rest})
  const kept = {writing: model.content.chosen !== null, sent: null, form: null, closing: null, names: {}} // while the rest is drawn anew
  const side = h("aside", {}), live = h("section", {class: "live", "aria-label": "Clustering"}), main = h("div", {class: "runs"})
  const large = h("dialog", {class: "large", "aria-label": "Image", onclick: () => large.close()})
  const write = (on) => { Object.assign(kept, {writing: on, sent: null, form: on ? kept.form : null}); draw() }
  const root = h("div", {class: "page"}, h("header", {class: "head"}, h("h1", {}, "Crowd"),
    h("button", {class: "button main", onclick: () => write(true)}, icon("add"), "New campaign")), h("div", {class: "studio"}, side, h("div", {class: "runs"}, live, main)), large)
  const acts = {send, names: kept.names, look: (image, words) => { large.replaceChildren(h("img", {src: `/thumbnails/image/${image}/1024.jpg`, alt: words}), h("p", {}, words)); large.showModal() }}

  let pressed = false, waiting = false // a button that is replaced while it is pressed would not be clicked
  root.addEventListener("pointerdown", (event) => { pressed = true; if (!event.target.closest("[data-close]")) kept.closing = null })
  for (const name of ["pointerup", "pointercancel"]) whileShown(model, document, name, () => setTimeout(() => { pressed = false; if (waiting) draw() }))

  function draw() {
    waiting = pressed
    if (waiting) return
    const found = model.content, newest = found.campaigns[0]?.id ?? 0
    if (kept.sent !== null && newest > kept.sent) Object.assign(kept, {writing: false, sent: null}) // it was made; until then words typed stay
    kept.form = kept.writing ? kept.form ?? newCampaign(found) : null
    keepingPlace(() => {
      side.replaceChildren(list(found))
      main.replaceChildren(...(kept.form ? [kept.form] : found.shown ? whole(found.shown) : [nothingYet()]))
    })
  }

  // Who types goes on typing, and what was unfolded stays so.
  function keepingPlace(change) {
    const at = root.getRootNode().activeElement, place = main.contains(at) ? {label: at.getAttribute("aria-label"), from: at.selectionStart, to: at.selectionEnd} : null
    const open = new Set([...main.querySelectorAll("details[open]")].map((part) => part.dataset.part))
    change()
    for (const part of main.querySelectorAll("details")) part.open ||= open.has(part.dataset.part)
    const again = place?.label ? main.querySelector(`[aria-label="${CSS.escape(place.label)}"]`) : null
    again?.focus({preventScroll: true})
    if (again?.matches("input:not([type=number]), textarea")) again.setSelectionRange(place.from, place.to)
  }

  function list(found) {
    return h("nav", {class: "card campaigns", "aria-label": "Campaigns"}, found.campaigns.length ? found.campaigns.map((one) =>
      h("button", {class: "plain", "aria-current": one.id === found.shown?.id ? "true" : null, onclick: () => { write(false); send("select", {number: one.id}) }},
        h("b", {}, one.name), h("span", {class: "soft"}, `${STATES[one.state]} · ${count(one.images)} images`))) : h("p", {class: "soft"}, "No campaigns yet."))
  }

  function nothingYet() {
    return h("section", {class: "empty"}, icon("groups"), h("h2", {}, "Ask many people which images belong together"),
      h("p", {}, "Each sees a few images at a time behind a link, on a phone or a computer, without an account. From their answers come clusters, what each person goes by, and who does not look."),
      h("button", {class: "button main", onclick: () => write(true)}, "New campaign"))
  }

  const whole = (shown) => [head(shown), standing(shown), ...results(shown, acts), people(shown), refused(shown)].filter(Boolean)

  // --- a new campaign

  function newCampaign(found) {
    const own = found.defaults
    const field = (label, input, help) => {
      input.setAttribute("aria-label", help ? `${label}. ${help}` : label) // else the options of a choice would be read with it
      return h("label", {class: "field"}, h("span", {}, label), input, help ? h("small", {class: "soft"}, help) : null)
    }
    const number = (name, value, min, max) => h("input", {name, type: "number", value, min, max, required: true})
    const options = [h("option", {value: ""}, `All ${count(found.images)} images`), ...found.selections.map((one) =>
      h("option", {value: one.id, selected: one.id === found.chosen}, `${one.name} (${count(one.count)})`))]
    const told = h("p", {class: "soft", role: "status"})
    const element = h("form", {class: "card details", "aria-label": "New campaign"}, h("h2", {}, "New campaign"), h("div", {class: "fields"},
      field("Name", h("input", {name: "name", required: true, maxlength: 120})),
      field("Images", h("select", {name: "selection"}, options)),
      field("Of those, at random", number("count", found.chosen === null ? 200 : 0, 0, 100000), "0: all of them"),
      field("Images in a task", number("size", own.size, 2, 60)), field("Tasks each image is in", number("views", own.views, 1, 1000)),
      field("People for each task", number("repeats", own.repeats, 1, 1000)),
      field("Tasks one person does at most", number("most_tasks", own.most_tasks, 0, 100000), "0: as many as they like"),
      field("Known pairs", number("known", 0, 0, 200), "Drawn from labels; who misses them is asked no further"),
      field("Title people see", h("input", {name: "title", maxlength: 200})),
      field("What they are to do", h("textarea", {name: "instructions", rows: 3, value: own.instructions})),
      field("What they agree to", h("textarea", {name: "consent", rows: 3, value: own.consent}))), told,
    h("footer", {}, h("button", {type: "button", class: "button", onclick: () => write(false)}, "Cancel"), h("button", {class: "button main"}, "Make the campaign")))
    const said = () => {
      const values = Object.fromEntries(new FormData(element))
      for (const name of WHOLE) values[name] = Number(values[name])
      return {...values, selection: values.selection ? Number(values.selection) : null}
    }
    const weigh = () => { told.textContent = work(found, said()) }
    element.addEventListener("input", weigh)
    element.addEventListener("submit", (event) => {
      event.preventDefault()
      kept.sent = model.content.campaigns[0]?.id ?? 0
      send("create", {values: said()})
    })
    weigh()
    return element
  }

  function work(found, {selection, count: some, size, views, repeats}) {
    const all = found.selections.find((one) => one.id === selection)?.count ?? found.images, images = some ? Math.min(some, all) : all
    const tasks = Math.ceil((images * views) / Math.max(size, 1)), answers = tasks * repeats
    return `${count(images)} images in ${count(tasks)} tasks, ${count(answers)} answers: about ${time(answers * size * AN_IMAGE)} of people's time.`
  }

  // --- one campaign

  function head(shown) {
    const act = (name, words, symbol) => h("button", {class: "button", onclick: () => send(name)}, icon(symbol), words)
    const sure = kept.closing === shown.id
    const close = h("button", {class: "button", "data-close": true, onclick: () => { if (sure) send("close"); kept.closing = sure ? null : shown.id; draw() }},
      icon("stop"), sure ? "Close for good?" : "Close")
    const buttons = {draft: [act("open", "Open", "play_arrow")], open: [act("pause", "Pause", "pause"), close],
      paused: [act("open", "Go on", "play_arrow"), close], closed: []}[shown.state]
    return h("section", {class: "card details", "aria-label": "Campaign"}, h("header", {class: "head"}, h("div", {}, h("h2", {}, shown.name), h("p", {class: "soft"},
      `${STATES[shown.state]} · ${count(shown.images)} images, ${shown.settings.size} in a task`)), h("div", {class: "acts"}, buttons)), shown.code ? share(shown) : null)
  }

  function share(shown) {
    return h("div", {class: "share"}, h("img", {src: shown.code, alt: "The link as a QR code", class: "code"}),
      h("div", {}, h("h3", {}, "Send this link"), h("p", {}, h("a", {href: shown.link, target: "_blank", rel: "noopener"}, shown.link)),
        shown.here_only ? h("p", {class: "soft"}, "Only this machine can open it: start the server with --host 0.0.0.0 and open this page by the machine's name.") : null,
        h("p", {class: "soft"}, `Good until ${moment(shown.expires_at)} UTC. `, h("button", {class: "plain", onclick: () => send("renew")}, icon("autorenew"), "New link"))))
  }

  function standing({standing: now, agreement, state}) {
    const share = now.wanted ? now.answered / now.wanted : 0, left = now.wanted - now.answered
    const facts = [["Answers", `${count(now.answered)} of ${count(now.wanted)}`], ["Under way", count(now.under_way)], ["People", count(now.workers)],
      ["Asked no further", count(now.stopped)], ["Last hour", count(now.per_hour)],
      ["Left, at this rate", state === "open" && left > 0 && now.per_hour ? time(left / now.per_hour * 3600) : "–"],
      ["A task takes", now.median_seconds === null ? "–" : time(now.median_seconds)],
      ["Agreement", agreement === null ? "–" : agreement.toFixed(2), "How alike the groups of two people are who did the same task: 1 the same, 0 no more than by chance"]]
    return h("section", {class: "card details", "aria-label": "How it goes"},
      h("dl", {class: "stats"}, facts.map(([key, value, help]) => h("div", {title: help}, h("dt", {}, key), h("dd", {}, value)))),
      h("div", {class: "bar", role: "progressbar", "aria-label": "Answers", "aria-valuenow": Math.round(share * 100), "aria-valuemin": 0, "aria-valuemax": 100}, h("i", {style: `width: ${share * 100}%`})),
      now.answered ? h("div", {class: "acts after"},
        h("button", {class: "button main", onclick: () => send("aggregate")}, icon("bubble_chart"), "Cluster the answers"),
        state === "closed" ? null : h("button", {class: "button", onclick: () => send("aggregate", {more: 20}), title: "Clusters, then adds 20 tasks on what is least sure"}, icon("add_task"), "Cluster, and ask 20 more")) : null)
  }

  function refused(shown) {
    if (!shown.refusals.length) return null
    return h("details", {class: "card details", "data-part": "refused"}, h("summary", {}, h("h2", {}, `${count(shown.standing.refused)} refused`)), h("ul", {class: "refusals"}, shown.refusals.map((one) =>
      h("li", {}, `${moment(one.at)} · ${one.worker === null ? "somebody" : `person ${one.worker + 1}`} · ${one.what}`))))
  }

  // --- while it goes on

  function card(job) {
    const {share, text} = progress(job)
    return h("div", {class: "card job"}, h("header", {}, icon("bubble_chart"), h("b", {}, job.title), h("span", {class: "soft"}, [job.state === "queued" ? "waits" : job.message, text].filter(Boolean).join(" · ")),
      h("button", {class: "button", disabled: job.cancel_requested, onclick: () => ask(`/api/v1/jobs/${job.id}/cancel`, {method: "POST"})}, job.cancel_requested ? "Stopping…" : "Stop")),
    h("div", {class: share === null ? "bar unknown" : "bar", role: "progressbar", "aria-label": job.title, "aria-valuemin": 0, "aria-valuemax": 100, "aria-valuenow": share === null ? null : Math.round(share * 100)},
      h("i", {style: share === null ? null : `width: ${share * 100}%`})))
  }

  let over = false, timer = null
  async function look() {
    clearTimeout(timer)
    if (over) return
    if (!document.hidden) {
      if (model.content.shown?.state === "open") send("look")
      try {
        const {jobs} = await ask("/api/v1/jobs")
        live.replaceChildren(...jobs.filter((job) => ["crowd", "cluster"].includes(job.kind) && ["queued", "running"].includes(job.state)).map(card))
      } catch { /* the server is restarting: look again */ }
    }
    timer = setTimeout(look, LOOK)
  }
  model.on("remove", () => { over = true; clearTimeout(timer) })
  whileShown(model, document, "visibilitychange", () => { if (!document.hidden) look() })
  model.on("content", draw)
  draw()
  queueMicrotask(() => { send("address", {origin: location.origin}); look() })
  return root
}
