import assert from "node:assert/strict"
import test from "node:test"

import {count, moment, progress, time} from "../../assets/js/core/format.js"
import {packed, packedPositions, unpacked} from "../../assets/js/core/image_set_codec.js"
import {inOrder} from "../../assets/js/core/ordered_messages.js"
import {unconfirmed} from "../../assets/js/core/unconfirmed.js"

test("numbers are rounded and grouped by thousands", () => {
  assert.equal(count(1234567.6), "1,234,568")
})

test("a duration has one unit, and none where it is unknown", () => {
  assert.deepEqual([0, 89, 90, 5399, 5400, 36000].map(time), ["0 s", "89 s", "2 min", "90 min", "1.5 h", "10.0 h"])
  assert.deepEqual([null, undefined, NaN, Infinity].map(time), ["", "", "", ""])
})

test("a moment is written in UTC", () => {
  assert.equal(moment(0), "1970-01-01 00:00")
  assert.equal(moment(null), "")
})

test("progress names what is done, the rate and the time left", () => {
  const job = {kind: "features", done: 50, total: 200, rate: 4.26, seconds_left: 35}
  assert.deepEqual(progress(job), {share: 0.25, text: "50 of 200 · 4.3/s · 35 s left"})
  assert.deepEqual(progress({...job, kind: "chain", rate: null, seconds_left: null}), {share: 0.25, text: "25 %"})
  assert.deepEqual(progress({...job, total: null, rate: 20, seconds_left: null}), {share: null, text: "20/s"})
  assert.equal(progress({...job, done: 300}).share, 1)
})

for (const size of [1, 8, 9, 100, 10007]) {
  for (const share of [0, 0.001, 0.5, 1]) {
    test(`a set with ${share} of ${size} images survives packing`, () => {
      const mask = Uint8Array.from({length: size}, (_, at) => ((at * 7919) % 1000) / 1000 < share)
      const content = packed(mask)
      assert.deepEqual(unpacked(content, size), mask)
      const selected = mask.reduce((sum, bit) => sum + bit, 0)
      assert.ok(content.byteLength <= 4 + Math.min(4 * selected + 4, Math.ceil(size / 8)))
    })
  }
}

test("positions are packed as the server reads them", () => {
  assert.deepEqual([...new Int32Array(packedPositions([5, 9]))], [1, 5, 9])
  assert.deepEqual([...unpacked(packedPositions([1, 3]), 5)], [0, 1, 0, 1, 0])
})

test("too short content means no image", () => {
  assert.deepEqual([...unpacked(null, 3)], [0, 0, 0])
  assert.deepEqual([...unpacked(new ArrayBuffer(2), 3)], [0, 0, 0])
})

function fakeModel() {
  const listeners = {}
  return {
    heard: 3,
    sent: [],
    send_msg(message) { this.sent.push(message) },
    on(event, listener) { (listeners[event] ??= []).push(listener) },
    fire(event) { for (const listener of listeners[event] ?? []) listener() },
    hear(number) { this.heard = number; this.fire("change:heard") },
  }
}

test("messages are numbered from the last one the server has done", () => {
  const model = fakeModel(), messages = inOrder(model)
  messages.tell("choose", {term: 4})
  messages.tell("undo")
  assert.deepEqual(model.sent, [{act: "choose", term: 4, nth: 4}, {act: "undo", nth: 5}])
  model.fire("remove")
})

test("while other images are on their way, looking is ignored and the rest waits", () => {
  const model = fakeModel(), messages = inOrder(model), done = []
  messages.turn("next")
  messages.seen(() => done.push("seen"))()
  messages.after(() => done.push("after"))()
  assert.deepEqual(done, [])
  model.hear(4)
  assert.deepEqual(done, ["after"])
  messages.seen(() => done.push("seen"))()
  assert.deepEqual(done, ["after", "seen"])
  model.fire("remove")
})

test("messages the server has not confirmed are counted until the component is removed", () => {
  const model = fakeModel(), messages = inOrder(model), before = unconfirmed()
  messages.tell("undo")
  assert.equal(unconfirmed(), before + 1)
  model.hear(4)
  assert.equal(unconfirmed(), before)
  messages.tell("undo")
  model.fire("remove")
  assert.equal(unconfirmed(), before)
})
