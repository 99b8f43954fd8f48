// Numbers and times in the words of people.

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
  const parts = known ? [`${count(job.done)} of ${count(job.total)}`] : []
  if (job.rate) parts.push(`${job.rate < 10 ? job.rate.toFixed(1) : count(job.rate)}/s`)
  if (job.seconds_left !== null) parts.push(`${time(job.seconds_left)} left`)
  return {share, text: parts.join(" · ")}
}
