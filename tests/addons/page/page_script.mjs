/* Checks the pure parts of page.js, which node can run without a browser. */
import assert from "node:assert/strict";
import { test } from "node:test";

const { addressOf, announcer, countNew, keyReader } = await import(process.env.PAGE_SCRIPT);

/** A clock that only moves when the test says so. */
function clock() {
  const plans = [];
  let time = 0;
  const later = (call, wait) => plans.push([time + wait, call]);
  const move = (milliseconds) => {
    time += milliseconds;
    for (const plan of plans.filter(([due]) => due <= time)) {
      plans.splice(plans.indexOf(plan), 1);
      plan[1]();
    }
  };
  return { now: () => time, later, move };
}

test("only keys that were not shown before are new", () => {
  assert.equal(countNew(["a", "b"], ["c", "a", "b", "d"]), 2);
  assert.equal(countNew(["a", "b"], ["b"]), 0);
});

test("a screen reader hears one announcement in five seconds, and the newest one", () => {
  const { now, later, move } = clock();
  const spoken = [];
  const say = announcer((text) => spoken.push(text), 5000, now, later);
  say("1 new");
  say("2 new");
  move(3000);
  say("3 new");
  assert.deepEqual(spoken, ["1 new"]);
  move(2000);
  assert.deepEqual(spoken, ["1 new", "3 new"]);
  move(4000);
  say("4 new");
  assert.equal(spoken.length, 2);
  move(1000);
  assert.equal(spoken.at(-1), "4 new");
  move(9000);
  say("5 new");
  assert.equal(spoken.at(-1), "5 new");
});

test("g and a letter lead to a view", () => {
  const read = keyReader();
  assert.equal(read("g", 0), "");
  assert.equal(read("t", 100), "go t");
  assert.equal(read("t", 200), "");
});

test("a wrong letter after g does nothing, not even what it does alone", () => {
  const read = keyReader();
  read("g", 0);
  assert.equal(read("u", 100), "");
  assert.equal(read("u", 200), "undo");
});

test("g that was pressed long ago is forgotten", () => {
  const read = keyReader();
  read("g", 0);
  assert.equal(read("a", 5000), "approve");
});

test("a key without a meaning has none", () => {
  const read = keyReader();
  for (const key of ["x", "constructor", "__proto__", "Tab", ""]) assert.equal(read(key, 0), "");
});

test("the address of a search has no empty fields, and escapes the others", () => {
  const fields = [["q", "tea & <b>"], ["since", ""], ["kind", "note"]];
  const address = addressOf("http://localhost:1/search?old=1", fields);
  assert.equal(String(address), "http://localhost:1/search?q=tea+%26+%3Cb%3E&kind=note");
});
