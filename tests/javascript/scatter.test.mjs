import assert from "node:assert/strict"
import test from "node:test"

import {Raster, palette} from "../../assets/js/shared/raster.js"
import {dragged, freePosition, hasPoint, how, toData, toPixel, transformOf, viewOfAll, zoomed} from "../../assets/js/shared/scatter_view.js"

const size = {width: 400, height: 200}
const close = (actual, expected) => actual.forEach((value, at) => assert.ok(Math.abs(value - expected[at]) < 1e-9, `${actual} is not ${expected}`))

test("the view of all points shows the extent inside the margins, north up", () => {
  const {view, least, most} = viewOfAll([0, 10, -5, 5], size, 20)
  assert.deepEqual(view, {x: 5, y: 0, zoom: 16}) // (200 - 2 * 20) pixels for 10 units
  assert.deepEqual([least, most], [4, 32000])
  const transform = transformOf(view, size)
  assert.deepEqual(toPixel(transform, [5, 0]), [200, 100])
  assert.deepEqual(toPixel(transform, [5, 5]), [200, 20])
  assert.deepEqual(toPixel(transform, [0, -5]), [120, 180])
})

test("a low pane keeps a third of its height for the points", () => {
  assert.equal(viewOfAll([0, 1, 0, 1], {width: 400, height: 60}, 30).view.zoom, 20)
})

test("an extent of one point has a finite zoom", () => {
  const {view} = viewOfAll([3, 3, 4, 4], size, 0)
  assert.ok(Number.isFinite(view.zoom) && view.x === 3 && view.y === 4)
})

test("a map zooms out to six thousand kilometres", () => {
  assert.equal(viewOfAll([0, 100, 0, 100], size, 0, true).least, 400 / 6e6)
})

test("pixels and data coordinates are inverse, also on dense screens", () => {
  const transform = transformOf({x: 3, y: -2, zoom: 7}, size, 2)
  assert.deepEqual(toPixel(transform, [3, -2]), [400, 200])
  close(toData(transform, toPixel(transform, [1.5, 8])), [1.5, 8])
})

test("a zoom keeps the point below the pointer and stays within its limits", () => {
  const view = {x: 0, y: 0, zoom: 10}, limits = {least: 5, most: 40}, pixel = [300, 50]
  const under = toData(transformOf(view, size), pixel)
  for (const [factor, zoom] of [[2, 20], [100, 40], [0.001, 5]]) {
    const next = zoomed(view, factor, pixel, size, limits)
    assert.equal(next.zoom, zoom)
    close(toData(transformOf(next, size), pixel), under)
  }
})

test("dragging moves the points with the pointer", () => {
  const view = {x: 1, y: 1, zoom: 4}
  const before = toPixel(transformOf(view, size), [0, 0]), after = toPixel(transformOf(dragged(view, 12, -8), size), [0, 0])
  assert.deepEqual([after[0] - before[0], after[1] - before[1]], [12, -8])
})

test("pies lie near their dive, inside the pane and apart from each other", () => {
  const pane = {width: 800, height: 600}, occupied = []
  for (let at = 0; at < 12; at++) occupied.push(freePosition([400, 300], occupied, true, pane))
  for (const [x, y] of occupied) assert.ok(x >= 60 && x <= 760 && y >= 21 && y <= 579)
  occupied.forEach(([x, y], at) => occupied.slice(at + 1).forEach(([a, b]) => assert.ok(Math.abs(a - x) >= 38 || Math.abs(b - y) >= 38)))
  assert.ok(Math.hypot(occupied[0][0] - 400, occupied[0][1] - 300) < 25)
})

test("a pie without a free position lies beside its dive", () => {
  assert.deepEqual(freePosition([10, 10], [], true, {width: 50, height: 20}), [34, -14])
})

test("modifier keys choose how a shape changes the selection", () => {
  assert.deepEqual([{}, {shiftKey: true}, {ctrlKey: true}, {altKey: true}, {shiftKey: true, metaKey: true}].map(how),
    ["replace", "add", "subtract", "subtract", "intersect"])
})

globalThis.ImageData ??= class { constructor(width, height) { this.data = new Uint8ClampedArray(width * height * 4) } }

function drawn(points, {shown = null, front = null} = {}) {
  const raster = new Raster(), xy = Float32Array.from(points.flat())
  raster.resize(40, 20)
  raster.draw({x: xy, y: xy, stride: 2, count: points.length, missing: (values, at) => values[at] !== values[at], shown, front,
    place: transformOf({x: 0, y: 0, zoom: 1}, {width: 40, height: 20}), codes: Uint16Array.from(points, (_, at) => at),
    table: palette(["#ff0000", "#00ff00"], "#808080"), back: [255, 255, 255]})
  return raster
}

test("a drawn point is found at its pixel and near it, and a point without coordinates nowhere", () => {
  const raster = drawn([[0, 0], [NaN, NaN], [12, 4]])
  assert.deepEqual([raster.at(20, 10), raster.at(32, 6), raster.at(2, 2)], [0, 2, -1])
  assert.equal(raster.at(20 - raster.radius - 4, 10), 0)
})

test("hidden points are not drawn", () => {
  assert.equal(drawn([[0, 0], [12, 4]], {shown: Uint8Array.from([0, 1])}).at(20, 10), -1)
})

test("points have the colour of their code, and are pale beside a selection", () => {
  const at = (10 * 40 + 20) * 4
  assert.deepEqual([...drawn([[0, 0]]).image.data.slice(at, at + 3)], [255, 0, 0])
  const pale = drawn([[0, 0], [12, 4]], {front: Uint8Array.from([0, 1])}).image.data.slice(at, at + 4)
  assert.ok(pale[1] > 150 && pale[3] < 128)
})

test("a box of pixels has a point only if one lies in it", () => {
  const transform = transformOf({x: 0, y: 0, zoom: 1}, {width: 100, height: 100})
  const xy = Float32Array.from([0, 0, NaN, NaN, 40, 30]) // at the pixels (50, 50) and (90, 20)
  assert.equal(hasPoint(xy, transform, {left: 80, top: 0, width: 20, height: 30}), true)
  assert.equal(hasPoint(xy, transform, {left: 0, top: 60, width: 30, height: 40}), false)
})
