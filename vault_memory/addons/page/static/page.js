/* Keeps an open page up to date, and adds keys. Each view works without this module. */

const ACTIONS = {
  "/": "search", "?": "help", Enter: "open", Escape: "back", a: "approve", e: "edit",
  j: "next", k: "previous", r: "reject", u: "undo",
};
const VIEWS = {
  t: "/", m: "/about", i: "/inbox", l: "/log", p: "/prompt",
  s: "/search", n: "/notes", c: "/conflicts", f: "/facts",
};
const CHANNEL = "vault-memory";
const LIVE = "[data-live][id]";
const CHORD_MS = 1500;
const TYPING_MS = 120;
const GAP_MS = 300;
const RETRY_MS = 5000;

// -- Pure parts

export function countNew(before, after) {
  return after.filter((key) => !before.includes(key)).length;
}

/** Returns a function that says the newest text, once in `pause` milliseconds. */
export function announcer(say, pause, now = Date.now, later = setTimeout) {
  let last = -Infinity;
  let waiting = null;
  const flush = () => {
    last = now();
    say(waiting);
    waiting = null;
  };
  return (text) => {
    const isPlanned = waiting !== null;
    waiting = text;
    const wait = last + pause - now();
    if (isPlanned) return;
    if (wait > 0) later(flush, wait);
    else flush();
  };
}

/** Returns a reader of keys, which returns actions. `g` and a letter lead to a view. */
export function keyReader() {
  let goingSince = -Infinity;
  return (key, now) => {
    const isGoing = now - goingSince < CHORD_MS;
    goingSince = key === "g" && !isGoing ? now : -Infinity;
    if (isGoing) return Object.hasOwn(VIEWS, key) ? `go ${key}` : "";
    return Object.hasOwn(ACTIONS, key) ? ACTIONS[key] : "";
  };
}

/** Returns the address that a form leads to, without empty fields. */
export function addressOf(action, fields) {
  const address = new URL(action);
  address.search = new URLSearchParams([...fields].filter(([, value]) => value !== ""));
  return address;
}

// -- The page

const first = (selector, root = document) => root.querySelector(selector);
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const byId = (id) => document.getElementById(id);
const keysIn = (part) => all("[data-key]", part).map((item) => item.dataset.key);
const say = announcer((text) => byId("status") && (byId("status").textContent = text), 5000);

/** Reads or writes a text in a storage of the browser, which may be full or blocked. */
function stored(storage, key, text) {
  try {
    if (text !== undefined) globalThis[storage].setItem(key, text);
    return globalThis[storage].getItem(key);
  } catch {
    return "";
  }
}
const kept = (...keyAndText) => stored("sessionStorage", ...keyAndText);

function makeButton(textContent, onclick) {
  const button = document.createElement("button");
  return Object.assign(button, { type: "button", textContent, onclick });
}

// -- Live parts

const served = new WeakMap(); // part -> its HTML as the server sent it
const offers = new WeakMap(); // part -> the button that replaces it
const touched = new WeakSet(); // forms with typed text
let asOf = new Date();
let searches = 0;
let failures = 0;
let isOffline = false;
let isLeaving = false;
let isRefreshing = false;
let isDue = false;
let disabled = [];

function showButtons(root) {
  for (const button of all("[data-copy], [data-opens]", root))
    button.hidden = button.dataset.copy && !navigator.clipboard;
}

/** Names an element by its id or its place, to find it in a newer part. */
function nameOf(node, part) {
  if (node.id) return `#${node.id}`;
  const item = node.closest("[data-key]");
  const isInside = item && part.contains(item);
  const index = all(node.localName, isInside ? item : part).indexOf(node);
  return `${isInside ? item.dataset.key : ""}\n${index}`;
}

/** Replaces a part, and keeps folds, typed text and focus. */
function replace(part, next) {
  served.set(next, next.outerHTML);
  const twinOf = (node) =>
    all(node.localName, next).find((other) => nameOf(other, next) === nameOf(node, part));
  const active = document.activeElement;
  const isFocused = part.contains(active) && active !== part;
  const focusTwin = isFocused && twinOf(active);
  for (const fold of all("details", part)) {
    const twin = twinOf(fold);
    if (twin) twin.open = fold.open;
  }
  for (const form of all("form", part).filter((form) => touched.has(form))) {
    const twin = twinOf(form);
    // Typed text stays, even when its item is gone.
    if (twin) twin.replaceWith(form);
    else next.prepend(form);
  }
  offers.get(part)?.remove();
  part.replaceWith(next);
  showButtons(next);
  // A form that was kept lost the focus when it moved.
  if (isFocused) (active.isConnected ? active : focusTwin)?.focus({ preventScroll: true });
  return next;
}

/** Whether a person reads a part: it is scrolled, or has the focus or the notice. */
function isRead(part) {
  const { top, bottom } = part.getBoundingClientRect();
  const isInside = (top < 0 && bottom > 0) || part.contains(document.activeElement);
  return (isInside || first("#notice", part)) && part.closest("main");
}

function reach(node) {
  node.tabIndex = -1;
  node.focus({ preventScroll: true });
  node.scrollIntoView({ block: "nearest" });
}

function offer(part, next, count) {
  const text = count ? `${count} new` : "Changed: show";
  const button = offers.get(part) ?? makeButton(text);
  button.className = "offer";
  button.textContent = text;
  button.onclick = () => reach(replace(part, next));
  if (!button.isConnected) part.before(button);
  offers.set(part, button);
}

function update(fresh) {
  let total = 0;
  for (const part of all(LIVE)) {
    const next = fresh.getElementById(part.id);
    if (!next || !part.isConnected || first("form[data-save]", part)) continue;
    if (next.outerHTML === served.get(part)) {
      offers.get(part)?.remove();
      continue;
    }
    const count = countNew(keysIn(part), keysIn(next));
    total += count;
    if (part.id !== "disk-change" && isRead(part)) offer(part, next, count);
    else replace(part, next);
  }
  if (total) say(`${total} new`);
}

/** Returns a view as the server shows it now; null when it cannot. */
async function load(address, isView = true) {
  const headers = { Accept: "text/html" };
  const base = first("form[data-save] [name=revision]");
  if (base) headers["X-Base"] = base.value;
  try {
    const response = await fetch(address, { headers });
    const view = new DOMParser().parseFromString(await response.text(), "text/html");
    failures = 0;
    setOffline(false);
    if (response.ok) {
      asOf = new Date();
      if (isView) document.title = view.title;
      return view;
    }
    say(first("h1", view)?.textContent ?? `error ${response.status}`);
    if (response.status >= 500) setTimeout(refresh, RETRY_MS);
  } catch {
    if (isLeaving) return null;
    // One failure may be the end of a kept connection.
    failures += 1;
    if (failures > 1) setOffline(true);
    setTimeout(refresh, failures > 1 ? RETRY_MS : GAP_MS);
  }
  return null;
}

async function refresh() {
  isDue = document.hidden || isRefreshing;
  if (isDue) return;
  isRefreshing = true;
  const earlier = searches;
  const fresh = await load(location.href);
  if (fresh && searches === earlier) update(fresh);
  isRefreshing = false;
  if (isDue) setTimeout(refresh, GAP_MS);
}

function setOffline(is) {
  if (is === isOffline) return;
  isOffline = is;
  if (byId("state")) byId("state").hidden = is;
  if (is) disabled = all("form:not([method=dialog]) button:enabled");
  for (const button of disabled) button.disabled = is;
  say(is ? `offline: as of ${asOf.toTimeString().slice(0, 5)}` : "");
}

// -- Events: one tab has the stream, and tells the others

function follow() {
  if (!navigator.locks) return setInterval(refresh, RETRY_MS);
  const channel = new BroadcastChannel(CHANNEL);
  const ofPage = document.body.dataset.eventId ?? "";
  let lastId = ofPage;
  let state;
  let source;
  const receive = ({ type, id, data }) => {
    if (type === "hello" && source) channel.postMessage({ type: "at", id: lastId });
    lastId = id || lastId;
    const earlier = state;
    if (type === "state") state = data.state;
    const isOld = {
      hello: true,
      at: !ofPage || ofPage === id,
      state: earlier ? earlier === state : ofPage || state !== "live",
    };
    if (!isOld[type]) refresh();
  };
  const tell = (message) => {
    channel.postMessage(message);
    receive(message);
  };
  const connect = () => {
    source = new EventSource(`/events?since=${encodeURIComponent(lastId)}`);
    const pass = ({ type, data, lastEventId }) =>
      tell({ type, id: lastEventId, data: JSON.parse(data) });
    for (const type of ["changed", "reload", "state"]) source.addEventListener(type, pass);
    source.onopen = () => isOffline && tell({ type: "back" });
    source.onerror = () => {
      if (!isLeaving) tell({ type: "broken" });
      // The server refused the stream: until it takes one, the tabs load again.
      if (source.readyState === EventSource.CLOSED) setTimeout(connect, RETRY_MS);
    };
  };
  channel.onmessage = ({ data }) => receive(data);
  channel.postMessage({ type: "hello" });
  navigator.locks.request(CHANNEL, () => {
    connect();
    return new Promise(() => {}); // until the tab is closed
  });
}

// -- Search while typing

function searchAsTyped() {
  const form = byId("search");
  if (!form) return;
  const action = new URL(form.getAttribute("action"), location.href);
  const isView = action.pathname === location.pathname;
  let timer;
  const search = async () => {
    const mine = ++searches;
    const address = addressOf(action, new FormData(form));
    const fresh = await load(address, isView);
    // A newer question has been asked meanwhile.
    if (!fresh || mine !== searches) return;
    if (!isView) {
      // Late hits would cover what is read now.
      const isHere = document.activeElement?.closest("#search");
      const hits = isHere && address.search && fresh.getElementById("hits");
      byId("found").replaceChildren(...(hits?.childNodes ?? []));
      return;
    }
    history.replaceState(null, "", address);
    for (const part of all(LIVE)) {
      const next = fresh.getElementById(part.id);
      if (next && part.isConnected && !part.contains(form)) replace(part, next);
    }
  };
  const plan = (event) => {
    if (event.isComposing) return;
    clearTimeout(timer);
    timer = setTimeout(search, TYPING_MS);
  };
  // The filters of the view belong to the form, and are not within it.
  for (const field of form.elements) {
    field.addEventListener("input", plan);
    field.addEventListener("compositionend", plan);
  }
}

/** Puts the notice where its item was. */
function showNotice() {
  const [id, place] = (kept("acted") ?? "").split(" ");
  const notice = byId("notice");
  const items = byId(id) ? all("[data-item]", byId(id)) : [];
  const near = items[place] ?? items.at(-1);
  if (!notice || !near) return;
  const row = document.createElement(near.localName === "li" ? "li" : "div");
  row.append(notice);
  near[items[place] ? "before" : "after"](row);
  notice.focus();
}

// -- Typed text

function keepText() {
  for (const { dataset } of all("[data-saved]")) kept(`keep:${dataset.saved}`, "");
  for (const box of all("textarea[data-keep]")) {
    const key = `keep:${box.dataset.keep}`;
    const text = kept(key);
    const button = makeButton("Bring back what you typed", () => {
      box.value = text;
      box.dispatchEvent(new Event("input", { bubbles: true }));
      box.focus();
      button.remove();
    });
    if (text && text !== box.value) box.before(button);
    box.oninput = () => kept(key, box.value === box.defaultValue ? "" : box.value);
  }
}

// -- Keys

const currentItem = () => document.activeElement.closest("[data-item], #notice") ?? undefined;

/** Closes the menu around an element, or leaves its form; returns whether there is one. */
function close({ form, parentElement }) {
  if (form?.id === "search") byId("found")?.replaceChildren();
  const menu = parentElement?.closest(".menu[open]");
  const cancel = form && first("a.cancel", form);
  if (menu) menu.open = false;
  if (menu) first("summary", menu).focus();
  else cancel?.click();
  return menu || cancel;
}

function step(distance) {
  const from = currentItem() ?? document.activeElement;
  const side = 16 + (distance > 0 ? 4 : 2);
  const near = all("[data-item]").filter((item) => from.compareDocumentPosition(item) & side);
  if (near[0]) reach(near.at(distance > 0 ? 0 : -1));
}

/** Returns the button of the current item, or the only one of the page. */
function buttonOf(action) {
  const item = currentItem();
  const buttons = all(`[data-key-action=${action}]`, item);
  return item || buttons.length === 1 ? buttons[0] : undefined;
}

function undo() {
  const button = buttonOf("undo");
  const dialog = byId("confirm");
  if (!button || !dialog) return;
  byId("confirm-text").textContent = `${button.ariaLabel ?? button.textContent}?`;
  dialog.returnValue = "";
  dialog.onclose = () => dialog.returnValue === "yes" && button.click();
  dialog.showModal();
}

function act(action, target) {
  const [name, view] = action.split(" ");
  const acts = {
    next: () => step(1),
    previous: () => step(-1),
    undo,
    go: () => location.assign(VIEWS[view]),
    help: () => byId("keys")?.showModal(),
    search: () => byId("find")?.focus(),
    open: () => target.matches("[data-item]") && first("a[href]", target)?.click(),
    back: () => document.referrer.startsWith(`${location.origin}/`) && history.back(),
  };
  (acts[name] ?? (() => buttonOf(name)?.click()))();
}

function listenToKeys() {
  const read = keyReader();
  const isOff = () => stored("localStorage", "keys") === "off";
  document.onkeydown = (event) => {
    const { key, target } = event;
    const isCommand = event.ctrlKey || event.metaKey || event.altKey;
    const form = first("form[data-save]");
    if (isCommand && !event.altKey && key === "s" && form) {
      event.preventDefault();
      form.requestSubmit();
    }
    if (key === "Escape" && close(target)) return;
    // A line ends with Enter, as in a field.
    if (key === "Enter" && !event.shiftKey && !event.isComposing && target.matches("textarea.short")) {
      event.preventDefault();
      target.form.requestSubmit();
    }
    const isElsewhere = target.closest("input, textarea, select, dialog[open]");
    if (isCommand || isElsewhere || event.isComposing || isOff()) return;
    const action = read(key, Date.now());
    if (action === "search") event.preventDefault(); // the box would get the key
    if (action) act(action, target);
  };
  const off = byId("keys-off");
  if (!off) return;
  off.checked = isOff();
  off.onchange = () => stored("localStorage", "keys", off.checked ? "off" : "on");
}

// -- Start

function start() {
  for (const part of all(LIVE)) served.set(part, part.outerHTML);
  showButtons(document);
  showNotice();
  const on = (type, listen) => document.addEventListener(type, listen);
  on("input", ({ target }) => target.form && touched.add(target.form));
  on("click", ({ target }) => {
    for (const menu of all(".menu[open]")) menu.open = menu.contains(target);
    if (!target.closest("#search")) byId("found")?.replaceChildren();
    const button = target.closest("[data-copy], [data-opens]");
    if (button?.dataset.opens) byId(button.dataset.opens)?.showModal();
    else if (button)
      navigator.clipboard.writeText(button.dataset.copy).then(
        () => say("copied"),
        () => say("not copied: select the text"),
      );
  });
  // The browser would leave the page, and its typed text.
  on("submit", (event) => {
    if (isOffline && event.target.method !== "dialog") event.preventDefault();
    const item = (event.submitter ?? event.target).closest("[data-item], #notice");
    const part = item?.closest(LIVE);
    const isBefore = (other) => other.compareDocumentPosition(item) === 4;
    kept("acted", part ? `${part.id} ${all("[data-item]", part).filter(isBefore).length}` : "");
  });
  on("visibilitychange", () => isDue && refresh());
  addEventListener("pagehide", () => (isLeaving = true));
  addEventListener("pageshow", (event) => {
    isLeaving = false;
    if (event.persisted) refresh();
  });
  keepText();
  searchAsTyped();
  listenToKeys();
  follow();
  document.body.dataset.script = "";
}

if (globalThis.document) start();
