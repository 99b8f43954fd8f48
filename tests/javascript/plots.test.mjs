import assert from "node:assert/strict"
import test from "node:test"

import {cardPlace} from "../../assets/js/shared/hover_card.js"
import {pieText} from "../../assets/js/shared/pies.js"
import {tickText, ticks} from "../../assets/js/shared/plot_axes.js"
import {keyTarget, nextFilter} from "../../assets/js/shared/plot_legend.js"
import {marksWithPlaces, nextMark, sameMark} from "../../assets/js/shared/plot_marks.js"
import {cell, csv} from "../../assets/js/shared/plot_table.js"
import {walkLines} from "../../assets/js/shared/track_lines.js"

const laptop = {width: 1366, height: 768}

test("a click on the legend shows one entry, a second click shows all again", () => {
  assert.deepEqual(nextFilter([], 4, false), [4])
  assert.deepEqual(nextFilter([4], 4, false), [])
  assert.deepEqual(nextFilter([2, 4], 4, false), [4])
})

test("with the shift key an entry of the legend is added and removed", () => {
  assert.deepEqual(nextFilter([12], 4, true), [4, 12])
  assert.deepEqual(nextFilter([4, 12], 12, true), [4])
  assert.deepEqual(nextFilter([4], 4, true), [])
})

test("keys move through two hundred entries and stop at both ends", () => {
  assert.deepEqual(["ArrowDown", "ArrowUp", "End", "Home", "PageDown", "a"].map((key) => keyTarget(key, 0, 200)), [1, 0, 199, 0, 8, null])
  assert.equal(keyTarget("ArrowDown", 199, 200), 199)
  assert.equal(keyTarget("ArrowDown", 0, 0), null)
})

test("a card is wholly in the window and never below the pointer", () => {
  for (const card of [{width: 232, height: 340}, {width: 232, height: 700}]) {
    for (let x = 0; x <= laptop.width; x += 13) {
      for (let y = 0; y <= laptop.height; y += 13) {
        const {left, top} = cardPlace([x, y], card, laptop)
        assert.ok(left >= 6 && left + card.width <= laptop.width - 6 && top >= 6 && top + card.height <= laptop.height - 6, `${[x, y, left, top]}`)
        assert.ok(x < left || x > left + card.width || y < top || y > top + card.height, `under the pointer at ${[x, y]}`)
      }
    }
  }
})

test("values of an axis are round, inside the axis, and no more than there is room for", () => {
  const close = (low, high, most, expected) => assert.deepEqual(ticks(low, high, most).values.map((value) => Number(value.toFixed(9))), expected)
  close(-1.1, 2.3, 4, [-1, 0, 1, 2])
  close(0.013, 0.024, 5, [0.015, 0.02])
  close(-250, 900, 3, [0, 500])
  close(-5.3, 2.83, 4, [-4, -2, 0, 2])
  assert.deepEqual([ticks(1, 1, 5).values, ticks(0, 1, 0).values], [[], []])
  for (let most = 1; most < 12; most++) assert.ok(ticks(-3.7, 41.2, most).values.length <= most)
})

test("the text of a value has the digits of the step", () => {
  assert.deepEqual([[0.5, 0.5], [-2, 1], [1e-17, 0.1], [12, 2], [0.015, 0.005], [300, 100]].map(([value, step]) => tickText(value, step)),
    ["0.5", "-2", "0", "12", "0.015", "300"])
  assert.equal(tickText(250000, 50000), "2.5e+5")
})

test("a pie states its values", () => {
  const dive = {name: "dive 7", shares: [0.42, 0.575, 0.004, 0], names: ["Cluster 3", "5 Kelp", "Cluster 1", "Other clusters"], colours: ["a", "b", "c", "d"]}
  assert.equal(pieText(dive), "dive 7: Cluster 3 42 %, 5 Kelp 57 %, Cluster 1 < 1 %")
})

test("a table has no formulas and quotes what would break it", () => {
  assert.deepEqual(["=1+1", "a,b", 'say "x"', -2.5, NaN, "Cluster 3"].map(cell), ["'=1+1", '"a,b"', '"say ""x"""', "-2.5", "", "Cluster 3"])
  assert.equal(csv(["image_id", "PC 1"], [[3, 0.25]]), "image_id,PC 1\r\n3,0.25\r\n")
})

function segments(lines, points, shown = null) {
  const xy = Float32Array.from(points.flat()), drawn = []
  let from = null
  const frame = {x: xy, missing: (values, at) => values[at] !== values[at], shown, place: {sx: 1, ox: 0, sy: 1, oy: 0}, width: 100, height: 100}
  const total = walkLines(Int32Array.from(lines), frame, (x, y) => { from = [x, y] }, (x, y) => { drawn.push([from, [x, y]]); from = [x, y] })
  assert.equal(total, drawn.length)
  return drawn
}

test("the images of a dive are joined in order, with gaps where positions are missing", () => {
  const points = [[10, 10], [20, 10], [NaN, NaN], [40, 10], [50, 10]]
  assert.deepEqual(segments([0, 1, 2, 3, 4], points), [[[10, 10], [20, 10]], [[40, 10], [50, 10]]])
  assert.deepEqual(segments([1, 0, -1, 4, 3], points), [[[20, 10], [10, 10]], [[50, 10], [40, 10]]])
  assert.deepEqual(segments([0, 1, 3, 4], points, [1, 1, 1, 0, 1]), [[[10, 10], [20, 10]]])
})

test("lines leave out points in one pixel and parts outside of the frame", () => {
  assert.deepEqual(segments([0, 1, 2], [[10, 10], [10.4, 10.2], [30, 10]]), [[[10, 10], [30, 10]]])
  assert.deepEqual(segments([0, 1, 2, 3], [[-50, 10], [-20, 10], [10, 10], [20, 10]]), [[[-20, 10], [10, 10]], [[10, 10], [20, 10]]])
})

const scale = {compute: (value) => 10 * value}
const panel = (rows) => ({frame: {x_scale: scale, y_scale: {compute: (value) => -10 * value}}, model: {renderers: [{
  data_source: {data: {cluster: rows.map(([cluster]) => cluster), x: rows.map(([, x]) => x), y: rows.map(([, , y]) => y)}}, glyph: {type: "Scatter", x: {field: "x"}, y: {field: "y"}}}]}})

test("an arrow key leads to the nearest mark in its direction and stays in the panel", () => {
  const marks = marksWithPlaces([panel([[7, 0, 0], [8, 1, 0], [9, 2, 0], [5, 0, 3], [4, 0.2, 0.2]]), panel([[7, 0.5, 0]])], ["cluster"])
  const step = (from, direction) => nextMark(marks, from, direction).key
  assert.equal(nextMark(marks, null, [1, 0]), marks[0])
  assert.equal(nextMark([], null, [1, 0]), null)
  assert.deepEqual([step(marks[0], [1, 0]), step(marks[0], [0, 1]), step(marks[2], [1, 0]), step(marks[2], [-1, 0]), step(marks[1], [0, 1])], ["8", "5", "9", "8", "4"])
})

test("a plot that is drawn again has the same mark, at its place if several are equal", () => {
  const before = marksWithPlaces([panel([[7, 0, 0], [7, 5, 0], [8, 1, 0]]), panel([[7, 5, 0]])], ["cluster"])
  const after = marksWithPlaces([panel([[9, 0, 0], [7, 5.2, 0.1], [7, 0.1, 0]]), panel([[7, 5, 0]])], ["cluster"])
  assert.deepEqual(before.map((mark) => after.indexOf(sameMark(after, mark))), [2, 1, -1, 3])
})
