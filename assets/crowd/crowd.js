// The page on which people sort images. Texts from the server are only set as text, never as markup.
import { Outbox, word } from "./outbox.js";
import { Sorting } from "./sorting.js";

const link = decodeURIComponent(location.pathname.split("/").pop());
const api = `/api/v1/crowd/work/${encodeURIComponent(link)}`;
const $ = (id) => document.getElementById(id);
const storage = usable();
const outbox = new Outbox(link, storage);
const storageKey = (name) => `crowd-${name}:${link}`;
const COLOURS = 10, RETRY = 4000, DRAG = 8;
let campaign = null, task = null, sorting = null, focused = 0, done = 0, sending = null, large = 0;

function usable() {
  try { localStorage.setItem("crowd-try", "1"); localStorage.removeItem("crowd-try"); return localStorage; } catch {
    const held = new Map(); // private windows: stored as long as the tab is open
    return { getItem: (k) => held.get(k) ?? null, setItem: (k, v) => held.set(k, v), removeItem: (k) => held.delete(k) };
  }
}

async function ask(path, body) {
  const headers = { "content-type": "application/json" };
  const secret = storage.getItem(storageKey("secret"));
  if (secret) headers.authorization = `Bearer ${secret}`;
  const init = body === undefined ? { headers } : { method: "POST", headers, body: JSON.stringify(body) };
  const answer = await fetch(api + path, init); // a lost connection throws; a rejection is a response
  const reply = await answer.json().catch(() => ({}));
  if (answer.ok) return reply;
  const problem = reply.error ?? { where: "server", what: "does not answer", remedy: "try again later" };
  throw Object.assign(new Error(`${problem.where} ${problem.what}; ${problem.remedy}`), { status: answer.status });
}

function show(name) {
  for (const id of ["message-view", "welcome", "sorting"]) $(id).hidden = id !== name;
}

function say(text, again = null) {
  $("message").textContent = text;
  $("retry").hidden = !again;
  $("retry").onclick = again;
  show("message-view");
}

function standing() {
  const waiting = outbox.waiting.length;
  $("standing").textContent = [done ? `${done} done` : "", waiting ? `${waiting} waiting to be sent` : ""]
    .filter(Boolean).join(" · ");
}

// --- instructions, joining, and one task after another

async function begin() {
  try {
    campaign = await ask("");
  } catch (error) {
    if (error.status) return say(sentence(error.message));
    return say("No connection to the server. Your answers are stored here and sent later.", begin);
  }
  document.title = campaign.title;
  $("title").textContent = campaign.title;
  $("instructions").textContent = $("task-words").textContent = campaign.instructions;
  $("consent").textContent = campaign.consent;
  if (!storage.getItem(storageKey("secret"))) return show("welcome");
  await work();
}

$("join").addEventListener("submit", async (event) => {
  event.preventDefault();
  try {
    const reply = await ask("/join", { consent: $("agree").checked, nickname: $("nickname").value });
    storage.setItem(storageKey("secret"), reply.secret);
    await work();
  } catch (error) {
    say(error.status ? sentence(error.message) : "No connection to the server.", begin);
  }
});

async function work() {
  await flush();
  if (outbox.waiting.length) {
    say("No connection. Your answer is stored here and sent as soon as the server is back.", work);
    return later();
  }
  let reply;
  try {
    reply = await ask("/tasks", {});
  } catch (error) {
    if (error.status === 401) { storage.removeItem(storageKey("secret")); return show("welcome"); }
    if (error.status) return say(sentence(error.message), work);
    say("No connection to the server. The page tries again automatically.", work);
    return later();
  }
  if (!reply.task) { storage.removeItem(storageKey("draft")); return say("Thank you! There are no more tasks for you."); }
  open(reply.task);
}

const later = () => setTimeout(() => { if (!$("message-view").hidden) work(); }, RETRY);

// Sends waiting answers, oldest first. Answers that the server rejects permanently are dropped.
function flush() {
  sending ??= (async () => {
    for (const answer of outbox.waiting) {
      try {
        const receipt = await ask("/answers", answer);
        done = receipt.done;
        outbox.drop(answer.submission);
      } catch (error) {
        if (!error.status || error.status === 429 || error.status >= 500) break; // again later
        outbox.drop(answer.submission);
        if (error.status === 401) storage.removeItem(storageKey("secret"));
      }
    }
    standing();
  })().finally(() => { sending = null; });
  return sending;
}

// --- one task

function open(newTask) {
  task = newTask;
  const draft = JSON.parse(storage.getItem(storageKey("draft")) ?? "null");
  const same = draft?.task === newTask.task && draft.groups.length === newTask.images.length;
  sorting = new Sorting(newTask.images.length, Math.min(campaign.groups, COLOURS), same ? draft.groups : null);
  focused = 0;
  $("task-title").textContent = newTask.practice ? "Practice: this task does not count" : "Which images belong together?";
  $("pictures").replaceChildren(...newTask.images.map(picture));
  draw();
  show("sorting");
  scrollTo(0, 0);
}

function picture(image, place) {
  const tile = element("li", { className: "picture", role: "option", tabIndex: place ? -1 : 0 });
  const shown = element("img", { src: image.small, alt: "", draggable: false, decoding: "async" });
  shown.addEventListener("error", () => { tile.dataset.missing = "1"; draw(); });
  const look = element("button", { className: "look", type: "button", textContent: "⤢", tabIndex: -1 });
  look.setAttribute("aria-label", `Enlarge image ${place + 1}`);
  look.addEventListener("click", (event) => { event.stopPropagation(); enlarge(place); });
  tile.append(shown, element("span", { className: "mark" }), look);
  tile.addEventListener("click", () => put(place, sorting.current));
  tile.addEventListener("focus", () => { focused = place; });
  tile.addEventListener("pointerdown", (event) => drag(event, place));
  return tile;
}

function put(place, group) {
  sorting.put(place, group);
  changed();
}

function changed() {
  storage.setItem(storageKey("draft"), JSON.stringify({ task: task.task, groups: sorting.groups }));
  draw();
}

function draw() {
  [...$("pictures").children].forEach((tile, place) => {
    const group = sorting.groups[place];
    tile.className = `picture${group === null ? "" : ` g${group}`}`;
    tile.tabIndex = place === focused ? 0 : -1;
    tile.querySelector(".mark").textContent = group === null ? "" : group + 1;
    tile.setAttribute("aria-selected", String(group !== null));
    const missing = tile.dataset.missing ? ", cannot be shown" : "";
    tile.setAttribute("aria-label", `Image ${place + 1} of ${sorting.groups.length}, `
      + (group === null ? "in no group" : `in group ${group + 1}`) + missing);
  });
  swatches($("groups"), sorting.current, (group) => { sorting.current = group; draw(); });
  $("undo").disabled = !sorting.before.length;
  $("add").disabled = sorting.shown >= sorting.mostGroups;
  const allowed = Math.floor(sorting.groups.length / 10); // answers with more ungrouped images are not used
  $("submit").disabled = sorting.left > allowed;
  $("submit").textContent = sorting.left > allowed ? `${sorting.left} left` : "Done";
  standing();
}

function swatches(box, chosen, act) {
  const focusedGroup = box.contains(document.activeElement) ? document.activeElement.dataset.group : null;
  box.replaceChildren(...Array.from({ length: sorting.shown }, (_, group) => {
    const count = sorting.groups.filter((other) => other === group).length;
    const swatch = element("button", { className: `swatch g${group}`, type: "button", role: "radio" });
    swatch.dataset.group = group;
    swatch.setAttribute("aria-checked", String(group === chosen));
    swatch.setAttribute("aria-label", `Group ${group + 1}, ${count} images`);
    swatch.append(element("i", {}), `${group + 1}`);
    swatch.addEventListener("click", () => act(group));
    return swatch;
  }));
  if (focusedGroup !== null) box.querySelector(`[data-group="${focusedGroup}"]`)?.focus();
}

$("undo").addEventListener("click", undo);
$("add").addEventListener("click", () => { sorting.add(); draw(); });
$("submit").addEventListener("click", submit);

function undo() {
  const place = sorting.undo();
  if (place !== null) changed();
}

async function submit() {
  if ($("submit").disabled) return;
  $("submit").disabled = true; // prevents a second answer by a double click
  outbox.put({ task: task.task, submission: word(), groups: sorting.groups });
  storage.removeItem(storageKey("draft"));
  await work();
}

// --- dragging an image to a group

function drag(event, place) {
  if (event.button || event.target.closest(".look")) return;
  const tile = event.currentTarget, start = [event.clientX, event.clientY], touch = event.pointerType === "touch";
  let ghost = null;
  const move = (next) => {
    const [x, y] = [next.clientX - start[0], next.clientY - start[1]];
    if (!ghost && Math.hypot(x, y) < DRAG) return;
    if (!ghost && touch && Math.abs(y) > 2 * Math.abs(x)) return end(next, false); // a vertical movement scrolls
    if (!ghost) {
      ghost = element("img", { className: "ghost", src: task.images[place].small, alt: "" });
      document.body.append(ghost);
      tile.classList.add("dragged");
      try { tile.setPointerCapture(next.pointerId); } catch { /* the pointer was released already */ }
    }
    Object.assign(ghost.style, { left: `${next.clientX}px`, top: `${next.clientY}px` });
    for (const swatch of $("groups").children) swatch.classList.toggle("over", swatch === over(next));
  };
  const end = (next, dropped = true) => {
    for (const [name, act] of handlers) document.removeEventListener(name, act);
    if (!ghost) return;
    ghost.remove();
    tile.classList.remove("dragged");
    const target = dropped && next.type === "pointerup" ? over(next) : null;
    document.addEventListener("click", swallow, { capture: true, once: true });
    setTimeout(() => document.removeEventListener("click", swallow, { capture: true }), 50);
    if (target && sorting.groups[place] !== Number(target.dataset.group)) put(place, Number(target.dataset.group));
    else draw();
  };
  const handlers = [["pointermove", move], ["pointerup", end], ["pointercancel", end]];
  for (const [name, act] of handlers) document.addEventListener(name, act);
}

const over = (event) => document.elementFromPoint(event.clientX, event.clientY)?.closest("#groups .swatch");
const swallow = (event) => { event.stopPropagation(); event.preventDefault(); };

// --- keys

document.addEventListener("keydown", (event) => {
  if ($("sorting").hidden || event.ctrlKey || event.metaKey || event.altKey) return;
  const place = $("large").open ? large : focused;
  if (/^[0-9]$/.test(event.key)) {
    const group = (Number(event.key) + 9) % 10;
    if (group < sorting.mostGroups) { put(place, group); if ($("large").open) look(); event.preventDefault(); }
  } else if (event.key === "u" || event.key === "U") {
    undo();
  } else if (!$("large").open && event.target.closest?.(".picture")) {
    steer(event, place);
  } else if ($("large").open && (event.key === "ArrowLeft" || event.key === "ArrowRight")) {
    step(event.key === "ArrowLeft" ? -1 : 1);
  }
});

function steer(event, place) {
  const columns = getComputedStyle($("pictures")).gridTemplateColumns.split(" ").length;
  const far = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns }[event.key];
  if (far) {
    const next = Math.min(Math.max(place + far, 0), sorting.groups.length - 1);
    focused = next;
    draw();
    $("pictures").children[next].focus();
    event.preventDefault();
  } else if (event.key === "Enter") {
    enlarge(place);
    event.preventDefault();
  } else if (event.key === " ") {
    put(place, sorting.current);
    event.preventDefault();
  }
}

// --- an enlarged image

function enlarge(place) {
  large = place;
  look();
  if (!$("large").open) $("large").showModal();
}

function look() {
  const image = $("large-image");
  image.src = task.images[large].large;
  image.alt = `Image ${large + 1} of ${task.images.length}`;
  swatches($("large-groups"), sorting.groups[large], (group) => { put(large, group); look(); });
}

function step(by) {
  large = (large + by + task.images.length) % task.images.length;
  look();
}

$("previous").addEventListener("click", () => step(-1));
$("next").addEventListener("click", () => step(1));
$("close").addEventListener("click", () => $("large").close());
$("large").addEventListener("close", () => { focused = large; draw(); $("pictures").children[large]?.focus(); });
addEventListener("online", () => { if (outbox.waiting.length) flush().then(() => { if (!$("message-view").hidden) work(); }); });

function element(name, values) { return Object.assign(document.createElement(name), values); }
function sentence(text) { return text.charAt(0).toUpperCase() + text.slice(1).replace("; ", ". ") + "."; }

standing();
begin();
