// The newest jobs, as the server sent them last. The top bar receives them; every part of a page that shows jobs follows
// this list.

let newest = null // unknown until the top bar is drawn
const followers = new Set()

export function setJobs(jobs) {
  const before = newest ?? jobs
  newest = jobs
  for (const show of [...followers]) show(jobs, before)
}

// Calls `show(jobs, before)` after every change until the component is removed, and once when the component is drawn.
export function followJobs(model, show) {
  followers.add(show)
  model.on("remove", () => followers.delete(show))
  queueMicrotask(() => { if (newest && followers.has(show)) show(newest, newest) })
}
