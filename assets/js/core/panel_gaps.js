// Closes gaps of Panel 1.9.4 in the browser, as app/server/compat.py does in the server. Every page loads this module before
// its components are made.

// Panel has a library import modules: it fetches them as text, changes their imports and gives them to the browser as blobs,
// which the browser compiles again on every page. The browser imports our modules itself, because this module is its own.
window.importModule = (url) => import(url)

// For its own modules as well: the library reads 1.4 MB of Material's code on every page, which takes as long as drawing a
// plot. app/server/compat.py leaves the library out. Panel passes addresses that are relative to the page.
window.importShim = (url) => import(new URL(url, document.baseURI).href)

// A table whose size has changed is drawn again when its cells and styles are ready. Panel asks whether they are as often as
// it can, which keeps a core busy while a page opens. Once in a frame is enough.
const isReady = (table) => table.container !== null && !table._initializing && !table._is_scrolling && !table.is_drawing && !table._has_active_editor() && [...table._initialized_stylesheets.values()].every(Boolean)

function waitInFrames(view) {
  view._flush_resize_when_root_ready = async function () {
    await this.root.ready
    while (this.el.isConnected && !isReady(this)) await new Promise(requestAnimationFrame)
    this._resize_pending = false
    if (this.el.isConnected) this._resize_redraw()
  }
}

// New styles that arrive before a table is built make Panel scroll back a table that does not exist, which throws an error.
function scrollOnlyBuilt(view) {
  const restore = view.restore_scroll
  view.restore_scroll = function (...directions) {
    if (this.tabulator) restore.apply(this, directions)
  }
}

const table = window.Bokeh.Models.get("panel.models.tabulator.DataTabulator").prototype.default_view.prototype
waitInFrames(table)
scrollOnlyBuilt(table)
