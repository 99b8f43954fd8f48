// Formats numbers, times and progress.

export const count = (number) => Math.round(number).toLocaleString("en-GB")

export function time(seconds) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return ""
  if (seconds < 90) return `${Math.round(seconds)} s`
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`
  return `${(seconds / 3600).toFixed(1)} h`
}

export function moment(seconds) {
  if (seconds === null || seconds === undefined) return ""
  return new Date(seconds * 1000).toISOString().slice(0, 16).replace("T", " ")
}

export function progress(job) {
  const known = job.total !== null && job.total > 0
  const share = known ? Math.min(job.done / job.total, 1) : null
  const chained = job.kind === "start" || job.kind === "chain" // these count the percentage of all steps
  const parts = !known ? [] : [chained ? `${Math.floor(share * 100)} %` : `${count(job.done)} of ${count(job.total)}`]
  if (job.rate) parts.push(`${job.rate < 10 ? job.rate.toFixed(1) : count(job.rate)}/s`)
  if (job.seconds_left !== null) parts.push(`${time(job.seconds_left)} left`)
  return {share, text: parts.join(" · ")}
}

// A number with five significant digits.
export const short = (value) => (Math.abs(value) >= 1e5 || (value !== 0 && Math.abs(value) < 1e-3)
  ? value.toExponential(2) : Number(value.toPrecision(5)).toLocaleString("en-GB", {maximumFractionDigits: 5}))
