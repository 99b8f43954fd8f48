// On Home: the newest job from a folder to clusters, with its progress bar and the next step.

import {ask, h, icon} from "../../core/element.js"
import {progress} from "../../core/format.js"
import {followJobs} from "../../core/job_list.js"

// `onRunning` gets the kinds of running jobs; for a chain the kind of its current step.
export function startJobs(model, onRunning) {
  const root = h("div", {class: "startjob", "aria-live": "polite"})
  let shown = ""

  async function act(job, verb) {
    try { await ask(`/api/v1/jobs/${job.id}/${verb}`, {method: "POST"}) } catch { /* the job has just ended: the next list shows its state */ }
  }

  function show(jobs) {
    draw(jobs.find((each) => each.kind === "start") ?? null)
    onRunning(jobs.filter((each) => each.state === "running").map((each) => each.step_kind ?? each.kind))
  }

  function draw(job) {
    const key = JSON.stringify(job)
    if (key === shown) return
    shown = key
    root.replaceChildren(...(job ? [card(job)] : []))
  }

  function card(job) {
    const {share} = progress(job)
    const running = job.state === "running"
    const verb = (name, words) => h("button", {class: "button", disabled: name === "cancel" && job.cancel_requested, onclick: () => act(job, name)}, words)
    const line = {queued: "Queued: another job is running", running: job.message || "Starting…", done: "Done", failed: job.error, cancelled: "Cancelled. Finished steps are kept."}[job.state]
    return h("section", {class: "card", "data-state": job.state, "aria-label": job.title}, h("header", {}, h("b", {}, job.title),
      running || job.state === "queued" ? verb("cancel", job.cancel_requested ? "Stopping…" : "Cancel") : null,
      job.state === "failed" || job.state === "cancelled" ? verb("retry", "Retry") : null,
      job.next ? h("a", {class: "button main", href: job.next.href}, job.next.text, icon("chevron_right")) : null),
    running ? h("div", {class: "bar", role: "progressbar", "aria-label": job.title, "aria-valuemin": 0, "aria-valuemax": 100, "aria-valuenow": Math.round((share ?? 0) * 100)},
      h("i", {style: `width: ${((share ?? 0) * 100).toFixed(1)}%`})) : null,
    h("p", {class: job.state === "failed" ? "wrong" : "soft"}, line))
  }

  followJobs(model, show)
  return root
}
