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

/** Returns how many of the keys `after` are not in `before`. */
export function countNew(before, after) {
  return after.filter((key) => !before.includes(key)).length;
}

/** Returns a function that says the newest text, once in `pause` milliseconds. */
export function announcer(say, pause, now = Date.now, later = setTimeout) {
  let last = -Infinity;
  let text = "";
  let isPlanned = false;
  const flush = () => {
    isPlanned = false;
    last = now();
    say(text);
  };
  return (newest) => {
    text = newest;
    const wait = last + pause - now();
    if (!isPlanned && wait > 0) later(flush, wait);
    isPlanned ||= wait > 0;
    if (!isPlanned) flush();
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

/** Uses a storage of the browser, which may be full or blocked. */
function stored(storage, call, ...values) {
  try {
    return globalThis[storage][call](...values);
  } catch {
    return null;
  }
}
const kept = (...call) => stored("sessionStorage", ...call);

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

/** Shows the buttons that need this module. */
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

/** Whether a person reads a part: its top is scrolled away, or it has the focus. */
function isRead(part) {
  const { top, bottom } = part.getBoundingClientRect();
  const isInside = (top < 0 && bottom > 0) || part.contains(document.activeElement);
  return isInside && part.closest("main");
}

function offer(part, next, count) {
  const button = offers.get(part) ?? makeButton("");
  button.textContent = count ? `${count} new` : "Changed: show";
  button.className = "offer";
  button.onclick = () => {
    const shown = replace(part, next);
    shown.tabIndex = -1;
    shown.focus({ preventScroll: true });
    shown.scrollIntoView({ block: "nearest" });
  };
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
  const headers = { Accept: "text/html", "X-Live": "1" };
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
  if (!navigator.locks) {
    setInterval(refresh, RETRY_MS);
    return;
  }
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
  channel.onmessage = (event) => receive(event.data);
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
      const hits = address.search && fresh.getElementById("hits");
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

// -- Typed text

function keepText() {
  for (const { dataset } of all("[data-saved]")) kept("removeItem", `keep:${dataset.saved}`);
  for (const box of all("textarea[data-keep]")) {
    const key = `keep:${box.dataset.keep}`;
    const text = kept("getItem", key);
    const button = makeButton("Bring back what you typed", () => {
      box.value = text;
      box.dispatchEvent(new Event("input", { bubbles: true }));
      box.focus();
      button.remove();
    });
    if (text !== null && text !== box.value) box.before(button);
    box.addEventListener("input", () => {
      if (box.value === box.defaultValue) kept("removeItem", key);
      else kept("setItem", key, box.value);
    });
  }
}

// -- Keys

let current = ""; // key of the item that `j` and `k` reached

function currentItem() {
  const item = document.activeElement?.closest("[data-item]");
  return item ?? all("[data-item]").find((other) => current && other.dataset.key === current);
}

/** Closes the menu around an element, or leaves its form. Returns whether there was one. */
function close({ form, parentElement }) {
  const menu = parentElement?.closest(".menu[open]");
  const cancel = form && first("a.cancel", form);
  if (menu) menu.open = false;
  if (menu) first("summary", menu).focus();
  else cancel?.click();
  return menu || cancel;
}

function step(distance) {
  const items = all("[data-item]");
  // After a decision, the next item is the one that came after the decided one.
  const after = current ? "" : kept("getItem", "after");
  const place = items.findIndex(({ dataset }) => dataset.key === after);
  const index = place > 0 ? place - 1 : items.indexOf(currentItem());
  const next = items[index < 0 && distance < 0 ? items.length - 1 : index + distance];
  if (!next) return;
  current = next.dataset.key ?? "";
  next.tabIndex = -1;
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
}

/** Returns the button of the current item, or the only one of the page. */
function buttonOf(action) {
  const item = currentItem();
  const buttons = all(`[data-key-action=${action}]`, item);
  return item || buttons.length === 1 ? buttons[0] : undefined;
}

async function undo() {
  const button = buttonOf("undo");
  const dialog = byId("confirm");
  if (!button || !dialog) return;
  byId("confirm-text").textContent = `${button.ariaLabel ?? button.textContent}?`;
  dialog.returnValue = "";
  dialog.showModal();
  await new Promise((done) => dialog.addEventListener("close", done, { once: true }));
  if (dialog.returnValue === "yes") button.click();
}

function act(action, target) {
  const [name, view] = action.split(" ");
  if (name === "next") step(1);
  else if (name === "previous") step(-1);
  else if (name === "undo") undo();
  else if (name === "go") location.assign(VIEWS[view]);
  else if (name === "help") byId("keys")?.showModal();
  else if (name === "search") byId("find")?.focus();
  else if (name === "open") target.matches("[data-item]") && first("a[href]", target)?.click();
  else if (name !== "back") buttonOf(name)?.click();
  else if (document.referrer.startsWith(`${location.origin}/`)) history.back();
}

function listenToKeys() {
  const read = keyReader();
  const isOff = () => stored("localStorage", "getItem", "keys") === "off";
  document.addEventListener("keydown", (event) => {
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
  });
  const off = byId("keys-off");
  if (!off) return;
  off.checked = isOff();
  off.onchange = () => stored("localStorage", "setItem", "keys", off.checked ? "off" : "on");
}

// -- Start

function start() {
  for (const part of all(LIVE)) served.set(part, part.outerHTML);
  showButtons(document);
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
    const items = all("[data-item]");
    const index = items.indexOf(event.target.closest("[data-item]"));
    kept("setItem", "after", items[index + 1]?.dataset.key ?? "");
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
