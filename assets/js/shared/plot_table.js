// The points of a scatter plot as CSV.

import {saveText, copyText} from "../core/hand_over.js"

const MOST_COPIED = 50_000 // rows; more rows are saved as a file, because a clipboard is too small for them
const FORMULA = /^[=+\-@\t\r]/ // a spreadsheet would run a text that begins like this

// A text for a cell: quoted where needed, and never a formula.
export function cell(value) {
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : ""
  const text = FORMULA.test(value) ? `'${value}` : value
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

// `rows` yields the values of one row after the other.
export function csv(columns, rows) {
  const lines = [columns.map(cell).join(",")]
  for (const row of rows) lines.push(row.map(cell).join(","))
  return `${lines.join("\r\n")}\r\n`
}

// Copies a small table and saves a large one. Returns what happened, for the person.
export function handOver(text, rows, name) {
  if (rows <= MOST_COPIED && copyText(text)) return "Copied"
  saveText(text, `${name}.csv`)
  return "Saved as CSV"
}
