// The list of jobs at the top: progress, and messages when jobs end. The server sends the list when it changes.

import {ask, h, icon} from "../core/element.js"
import {progress, time} from "../core/format.js"
import {followJobs, setJobs} from "../core/job_list.js"
import {popover} from "./popover.js"

const RECENT = 8

export function jobTray(model) {
  const button = h("button", {class: "plain badge", "aria-label": "Jobs", title: "Jobs"}, icon("autorenew"))
  const logText = h("pre", {class: "log", tabindex: "0"})
  const log = h("dialog", {"aria-label": "Log of a job"}, h("header", {}, h("h2", {}, "Log"),
    h("button", {class: "plain", "aria-label": "Close", onclick: () => log.close()}, icon("close"))), logText)
  const menu = popover(model, button, fill)
  let jobs = model.jobs

  const active = () => jobs.filter((job) => job.state === "running" || job.state === "queued")

  async function act(job, verb) {
    try { await ask(`/api/v1/jobs/${job.id}/${verb}`, {method: "POST"}) }
    catch (error) { model.send_msg({act: "tell", text: error.message, kind: "error"}) }
  }

  async function showLog(job) {
    const details = await ask(`/api/v1/jobs/${job.id}`)
    logText.textContent = [details.error, details.log, details.traceback].filter(Boolean).join("\n\n") || "The log is empty."
    log.showModal()
  }

  function row(job) {
    const {share, text} = progress(job)
    const running = job.state === "running"
    const verbs = [h("button", {class: "plain", onclick: () => showLog(job)}, "Log")]
    if (running || job.state === "queued") {
      verbs.unshift(h("button", {class: "plain", disabled: job.cancel_requested, onclick: () => act(job, "cancel"),
        "aria-label": `Cancel ${job.title}`}, job.cancel_requested ? "Stopping…" : "Cancel"))
    }
    if (job.state === "failed" || job.state === "cancelled") {
      verbs.unshift(h("button", {class: "plain", onclick: () => act(job, "retry")}, "Retry"))
    }
    const bar = h("div", {class: share === null ? "bar unknown" : "bar", role: "progressbar", "aria-label": job.title,
      "aria-valuenow": share === null ? null : Math.round(share * 100)},
      h("i", {style: share === null ? "" : `width: ${(share * 100).toFixed(1)}%`}))
    const states = {queued: "Queued: another job is running", done: `Done in ${time((job.finished_at ?? 0) - (job.started_at ?? 0))}`,
      failed: job.error, cancelled: "Cancelled. Finished work is kept."}
    return h("div", {class: `job ${job.state}`}, h("header", {}, h("b", {title: job.title}, job.title), ...verbs),
      running ? bar : null, h("p", {}, running ? [job.message, text].filter(Boolean).join(" · ") : states[job.state],
      job.next ? h("a", {class: "follow", href: job.next.href}, job.next.text) : null))
  }

  function fill(pop) {
    const shown = [...active(), ...jobs.filter((job) => !active().includes(job))].slice(0, RECENT)
    pop.append(h("h3", {}, "Jobs", h("a", {href: "/jobs"}, "All jobs")), ...shown.map(row))
    if (!shown.length) pop.append(h("p", {class: "nothing"}, "No jobs are running. Imports, feature computations and clusterings appear here."))
  }

  function notice(before) {
    const known = new Map(before.map((job) => [job.id, job.state]))
    const newest = Math.max(0, ...known.keys())
    const over = ["done", "failed", "cancelled"]
    for (const job of jobs) {
      const fresh = known.has(job.id) ? !over.includes(known.get(job.id)) : job.id > newest // began and ended between two lists
      if (!fresh || !over.includes(job.state)) continue
      if (job.state === "done") model.send_msg({act: "tell", text: `${job.title}: done`, kind: "success", link: job.next})
      if (job.state === "failed") model.send_msg({act: "tell", text: job.error, kind: "error"})
    }
  }

  function draw() {
    const running = active()
    if (running.length) button.dataset.count = running.length
    else delete button.dataset.count
    button.firstChild.classList.toggle("spin", running.some((job) => job.state === "running"))
    button.setAttribute("aria-label", running.length ? `Jobs: ${running.length} queued or running` : "Jobs")
    if (menu.isOpen()) {
      const focused = menu.holder.getRootNode().activeElement
      if (!menu.holder.querySelector(".pop")?.contains(focused)) menu.refill()
      else update(running)
    }
  }

  // While the focus is in the list, only the progress bars are updated, so that buttons are not replaced.
  function update(running) {
    const bars = menu.holder.querySelectorAll(".job.running .bar i")
    running.filter((job) => job.state === "running").forEach((job, at) => {
      const {share} = progress(job)
      if (bars[at] && share !== null) bars[at].style.width = `${(share * 100).toFixed(1)}%`
    })
  }

  followJobs(model, (newest, before) => {
    jobs = newest
    notice(before)
    draw()
  })
  model.on("jobs", () => setJobs(model.jobs))
  setJobs(model.jobs)
  return {element: menu.holder, log}
}
