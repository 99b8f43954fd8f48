// All jobs, the newest first, with what each is doing and, unfolded, its log. Asks the server itself.

import {ask, h, icon, whileShown} from "./dom.js"
import {moment, progress, time} from "./told.js"

const BUSY = 800
const QUIET = 2500 // milliseconds between two looks
const WORDS = {queued: "waits", running: "runs", done: "done", failed: "failed", cancelled: "cancelled"}

export function render({model}) {
  const body = h("div", {class: "jobs"})
  const trouble = h("p", {class: "wrong", role: "alert"})
  const open = new Map() // job id -> its unfolded log
  let timer = null
  let over = false

  async function act(job, verb) {
    try { await ask(`/api/v1/jobs/${job.id}/${verb}`, {method: "POST"}); trouble.textContent = "" }
    catch (error) { trouble.textContent = error.message }
    look()
  }

  async function unfold(job) {
    if (open.has(job.id)) open.delete(job.id)
    else open.set(job.id, await ask(`/api/v1/jobs/${job.id}`))
    look()
  }

  async function look() {
    clearTimeout(timer)
    if (over) return
    let busy = false
    try {
      const {jobs} = await ask("/api/v1/jobs")
      busy = jobs.some((job) => !job.finished_at)
      for (const job of jobs) if (open.has(job.id) && job.state === "running") open.set(job.id, await ask(`/api/v1/jobs/${job.id}`))
      draw(jobs)
    } catch { /* the server is restarting: look again */ }
    timer = setTimeout(look, busy ? BUSY : QUIET)
  }

  function draw(jobs) {
    const at = body.getRootNode().activeElement?.dataset.key
    body.replaceChildren(...(jobs.length ? jobs.map(card) : [h("section", {class: "empty"}, icon("pending_actions"), h("h2", {}, "No jobs yet"),
      h("p", {}, "Imports, descriptions and clusterings run here in the background and go on after a restart."), h("a", {class: "button main", href: "/library"}, "Library"))]))
    if (at) body.querySelector(`[data-key="${at}"]`)?.focus()
  }

  function card(job) {
    const {share, text} = progress(job)
    const running = job.state === "running"
    const verb = (name, words) => h("button", {class: "button", "data-key": `${name}-${job.id}`, disabled: name === "cancel" && job.cancel_requested,
      onclick: () => act(job, name)}, words)
    const verbs = [h("button", {class: "plain", "data-key": `log-${job.id}`, "aria-expanded": String(open.has(job.id)), onclick: () => unfold(job)}, icon("notes"), "Log")]
    if (!job.finished_at) verbs.unshift(verb("cancel", job.cancel_requested ? "Stopping…" : "Cancel"))
    if (job.state === "failed" || job.state === "cancelled") verbs.unshift(verb("retry", "Go on"))
    const took = job.finished_at && job.started_at ? `in ${time(job.finished_at - job.started_at)}` : ""
    const line = {queued: "Waits its turn", running: [job.message, text].filter(Boolean).join(" · "), done: [`Done ${took}`, job.message].filter(Boolean).join(" · "),
      failed: job.error, cancelled: "Cancelled; what was done is kept"}[job.state]
    const log = open.get(job.id)
    return h("article", {class: `card job ${job.state}`, "aria-label": job.title}, h("header", {}, h("span", {class: "state"}, WORDS[job.state]), h("b", {}, job.title),
      h("span", {class: "soft when"}, `${job.id} · ${moment(job.created_at)}`), ...verbs),
    running ? h("div", {class: share === null ? "bar unknown" : "bar", role: "progressbar", "aria-label": job.title, "aria-valuenow": share === null ? null : Math.round(share * 100)},
      h("i", {style: share === null ? "" : `width: ${share * 100}%`})) : null,
    h("p", {class: job.state === "failed" ? "wrong" : "soft"}, line),
    log ? h("pre", {tabindex: "0", "aria-label": `Log of ${job.title}`}, [log.log, log.traceback].filter(Boolean).join("\n") || "Nothing was written down.") : null)
  }

  model.on("remove", () => { over = true; clearTimeout(timer) })
  whileShown(model, document, "visibilitychange", () => { if (!document.hidden) look() })
  look()
  return h("div", {class: "page"}, h("h1", {}, "Jobs"), trouble, body)
}
