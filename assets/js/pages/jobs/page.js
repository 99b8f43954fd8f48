// The Jobs page: cards of waiting and running jobs, a table of finished ones, and logs. The list of jobs is that of the
// top bar; the server fills the table; logs are fetched.

import {ask, h, icon} from "../../core/element.js"
import {moment, progress} from "../../core/format.js"
import {followJobs} from "../../core/job_list.js"
import {addLooks} from "../../shared/table.js"

export function render({model}) {
  addLooks({state: (cell) => h("span", {class: `state ${cell.getValue()}`}, cell.getValue())})
  const cards = h("div", {class: "jobs"})
  const tableHolder = h("div", {}, model.get_child("table")) // it stays in the page: Tabulator fails where it is drawn outside of it
  const logHolder = h("div", {class: "log"})
  const trouble = h("p", {class: "wrong", role: "alert"})
  const open = new Map() // shown logs of unfinished jobs by job id
  let jobs = []
  let finished = null // the finished job whose log is shown

  async function act(id, verb) {
    try { await ask(`/api/v1/jobs/${id}/${verb}`, {method: "POST"}); trouble.textContent = "" }
    catch (error) { trouble.textContent = error.message }
  }

  async function unfold(job) {
    if (open.has(job.id)) open.delete(job.id)
    else open.set(job.id, await ask(`/api/v1/jobs/${job.id}`))
    draw()
  }

  async function toggleLog(id) {
    finished = finished?.id === id ? null : await ask(`/api/v1/jobs/${id}`)
    drawLog()
    logHolder.scrollIntoView({block: "nearest"})
  }

  // A log grows while its job runs; when the job ends, its log stays on the page.
  async function show(newest) {
    jobs = newest
    const ended = jobs.find((job) => open.has(job.id) && job.finished_at)
    if (ended) {
      open.delete(ended.id)
      finished = await ask(`/api/v1/jobs/${ended.id}`).catch(() => finished)
      drawLog()
    }
    draw()
    const growing = jobs.filter((job) => open.has(job.id) && job.state === "running")
    for (const job of growing) {
      const details = await ask(`/api/v1/jobs/${job.id}`).catch(() => null) // the server may be restarting
      if (details && open.has(job.id)) open.set(job.id, details)
    }
    if (growing.length) draw()
  }

  function draw() {
    const at = cards.getRootNode().activeElement?.dataset.key
    cards.replaceChildren(...(jobs.length || model.finished ? jobs.filter((job) => !job.finished_at).map(card) : [empty()]))
    if (at) cards.querySelector(`[data-key="${at}"]`)?.focus()
    tableHolder.hidden = !model.finished
  }

  function drawLog() {
    const close = () => { finished = null; drawLog() }
    logHolder.replaceChildren(finished ? h("section", {class: "card job"}, h("header", {}, h("b", {}, `Log of ${finished.title}`),
      h("span", {class: "soft when"}, `${finished.id} · ${moment(finished.created_at)}`), h("button", {class: "plain", onclick: close}, icon("close"), "Close")), log(finished)) : "")
  }

  function card(job) {
    const {share, text} = progress(job)
    const running = job.state === "running"
    const details = open.get(job.id)
    return h("article", {class: `card job ${job.state}`, "aria-label": job.title}, h("header", {}, h("span", {class: "state"}, job.state), h("b", {}, job.title),
      h("span", {class: "soft when"}, `${job.id} · ${moment(job.created_at)}`),
      h("button", {class: "button", "data-key": `cancel-${job.id}`, disabled: job.cancel_requested, onclick: () => act(job.id, "cancel")}, job.cancel_requested ? "Stopping…" : "Cancel"),
      h("button", {class: "plain", "data-key": `log-${job.id}`, "aria-expanded": String(open.has(job.id)), onclick: () => unfold(job)}, icon("notes"), "Log")),
    running ? h("div", {class: share === null ? "bar unknown" : "bar", role: "progressbar", "aria-label": job.title, "aria-valuenow": share === null ? null : Math.round(share * 100)},
      h("i", {style: share === null ? "" : `width: ${share * 100}%`})) : null,
    h("p", {class: "soft"}, running ? [job.message, text].filter(Boolean).join(" · ") : "Another job is running"),
    details ? log(details) : null)
  }

  tableHolder.addEventListener("table-act", ({detail: {act: verb, number}}) => (verb === "log" ? toggleLog(number) : act(number, verb)))
  model.on("finished", draw)
  followJobs(model, show)
  tableHolder.hidden = !model.finished
  return h("div", {class: "page"}, h("h1", {}, "Jobs"), trouble, cards, tableHolder, logHolder)
}

const log = (job) => h("pre", {tabindex: "0", "aria-label": `Log of ${job.title}`}, [job.log, job.traceback].filter(Boolean).join("\n") || "The log is empty.")

const empty = () => h("section", {class: "empty"}, icon("pending_actions"), h("h2", {}, "No jobs yet"),
  h("p", {}, "Imports, feature computations and clusterings run in the background and resume after a restart."), h("a", {class: "button main", href: "/library"}, "Go to Library"))
