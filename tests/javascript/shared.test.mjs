import assert from "node:assert/strict"
import test from "node:test"

import {layout} from "../../assets/js/shared/grid_layout.js"
import {boxOf} from "../../assets/js/shared/image_region.js"
import {marksOf, nearestMark, textOf} from "../../assets/js/shared/plot_marks.js"

const list = [...Array(10).keys()]
const shape = {width: 330, size: 90, gap: 10}

test("tiles grow until a row is full", () => {
  const grid = layout(list, null, shape)
  assert.deepEqual([grid.columns, grid.size, grid.height], [3, 96, 10 + 4 * 106])
  assert.deepEqual([0, 2, 3, 9].map((at) => grid.place(at)), [[10, 10], [222, 10], [10, 116], [10, 328]])
})

test("a narrow view has one column", () => {
  assert.equal(layout(list, null, {...shape, width: 20}).columns, 1)
})

test("only the rows in view are in the range", () => {
  const grid = layout(list, null, shape)
  assert.deepEqual(grid.range(0, 100), [0, 3])
  assert.deepEqual(grid.range(120, 220), [3, 6])
  assert.deepEqual(grid.range(0, 10000), [0, 10])
})

test("every group begins with a heading on a row of its own", () => {
  const groups = [0, 0, 0, 0, 1, 1, 2, 2, 2, 2]
  const grid = layout(list, groups, shape)
  assert.deepEqual(grid.parts.map((part) => [part.code, part.from, part.to]), [[0, 0, 4], [1, 4, 6], [2, 6, 10]])
  assert.deepEqual(grid.place(4), [10, 10 + 30 + 2 * 106 + 30])
  assert.deepEqual(grid.headings(0, 10).map((heading) => heading.code), [])
  assert.deepEqual(grid.headings(0, 400).map(({code, count}) => [code, count]), [[0, 4], [1, 2], [2, 4]])
})

test("a box selects the tiles it touches", () => {
  const grid = layout(list, null, shape)
  assert.deepEqual(grid.inside(0, 0, 120, 120), [0, 1, 3, 4])
  assert.deepEqual(grid.inside(107, 0, 115, 400), [])
})

test("an empty list has no tiles", () => {
  const grid = layout([], null, shape)
  assert.deepEqual([grid.range(0, 100), grid.top(0), grid.inside(0, 0, 99, 99)], [[0, 0], 0, []])
})

test("marks of a plot are read from all of its sources, each once", () => {
  const source = (rows, indices) => ({data_source: {data: {row: rows.map(([row]) => row), column: rows.map(([, column]) => column)}, selected: {indices}}})
  const renderers = [source([[0, 1], [0, 2]], [1]), source([[0, 2], [3, 4]], [0, 1]), source([[5, 5]], [])]
  assert.deepEqual(marksOf(renderers, ["row", "column"]), [[0, 2], [3, 4]])
})

test("the mark nearest to a click is found along the x axis", () => {
  const marks = [{x: 0}, {x: 10}, {x: 14}]
  assert.deepEqual([-5, 4, 6, 13, 99].map((x) => nearestMark(marks, x).x), [0, 0, 10, 14, 14])
  assert.equal(nearestMark([], 3), null)
})

test("the values of a mark are read as one sentence", () => {
  const source = {data: {name: ["kelp"], share: [0.1234], depth: [12.34567], images: [1234567]}}
  const plot = {toolbar: {tools: [{}, {tooltips: [["Cluster", "@name"], ["Share", "@share{0.0%}"], ["Depth", "@depth{0.0} m"], ["Images", "@images{0,0}"]]}]}}
  assert.equal(textOf(plot, source, 0), "Cluster kelp, Share 12.34 %, Depth 12.35 m, Images 1234567")
})

test("a rectangle drawn from any corner is cut to the image", () => {
  assert.deepEqual(boxOf([0.75, 0.5], [0.25, -0.5]), {left: 0.25, top: 0, width: 0.5, height: 0.5})
  assert.deepEqual(boxOf([0.5, 0.5], [3, 3]), {left: 0.5, top: 0.5, width: 0.5, height: 0.5})
  assert.equal(boxOf([0.5, 0.5], [0.505, 0.9]), null)
})
