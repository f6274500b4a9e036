// Pages work without this. With it they follow what happens: when the server says that something
// changed, the page is fetched again and its live parts are exchanged where they differ.
"use strict";

const ago = (moment, lasting) => {
  const seconds = Math.round((Date.now() - Date.parse(moment)) / 1000);
  const s = Math.abs(seconds);
  if (s < 5 && !lasting) return "now";
  const text =
    s < 90 ? `${s} s`
    : s < 5400 ? `${Math.floor(s / 60)} min`
    : s < 172800 ? `${Math.floor(s / 3600)} h`
    : `${Math.floor(s / 86400)} d`;
  if (lasting) return text;
  return seconds > 0 ? `${text} ago` : `in ${text}`;
};

const tick = () => {
  for (const time of document.querySelectorAll("time[data-ago]")) {
    const text = ago(time.dateTime, time.dataset.ago === "for");
    if (time.textContent !== text) time.textContent = text;
  }
};

// A part somebody fills something in, or has something open or marked in, is left alone until they
// are done. Somebody who merely stands on a link stands on it afterwards, too.
const busy = (part) => {
  const active = document.activeElement;
  const inside = part !== active && part.contains(active) && !active.closest("a");
  return inside || part.querySelector("details[open]") || !(getSelection()?.isCollapsed ?? true);
};

const exchange = (part, next) => {
  const active = document.activeElement;
  const href = part.contains(active) ? active.closest("a")?.getAttribute("href") : null;
  part.replaceChildren(...next.childNodes);
  if (!href) return;
  const again = [...part.querySelectorAll("a")].find((a) => a.getAttribute("href") === href);
  again?.focus({ preventScroll: true });
};

const plain = (part) => {
  const copy = part.cloneNode(true);
  for (const time of copy.querySelectorAll("time[data-ago]")) time.textContent = "";
  for (const cell of copy.querySelectorAll(RELATED)) cell.classList.remove(...MARKS);
  return copy.innerHTML;
};

// Whoever points at a task of a grid sees which ones it waits for, and which it superseded.
const MARKS = ["is-here", "is-after", "is-over"];
const RELATED = MARKS.map((mark) => `.grid .${mark}`).join(", ");

const relate = (event) => {
  for (const cell of document.querySelectorAll(RELATED)) cell.classList.remove(...MARKS);
  const cell = event.target.closest?.(".grid td[data-task]");
  if (!cell) return;
  const mark = (tasks, name) => {
    for (const task of (tasks ?? "").split(" ").filter(Boolean)) {
      document.querySelector(`.grid td[data-task="${task}"]`)?.classList.add(name);
    }
  };
  cell.classList.add("is-here");
  mark(cell.dataset.after, "is-after");
  mark(cell.dataset.over, "is-over");
};

let fetching = false;
let again = false;

const refresh = async () => {
  if (document.hidden || fetching) {
    again = true;
    return;
  }
  fetching = true;
  again = false;
  try {
    const answer = await fetch(location.href, { headers: { accept: "text/html" } });
    if (answer.redirected && new URL(answer.url).pathname === "/login") return location.reload();
    if (!answer.ok) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const part of document.querySelectorAll("[data-live]")) {
      const next = fresh.getElementById(part.id);
      if (next && plain(next) !== plain(part) && !busy(part)) exchange(part, next);
    }
    tick();
  } catch {
    // The feed notices when the server is gone, and comes back when it is.
  } finally {
    fetching = false;
    if (again && !document.hidden) setTimeout(refresh, 300);
  }
};

const follow = (address) => {
  const dot = document.getElementById("pulse");
  const say = (state, title) => {
    if (!dot) return;
    dot.dataset.state = state;
    dot.title = title;
  };
  const feed = new EventSource(address);
  feed.addEventListener("hello", () => {
    say("on", "live");
    refresh();
  });
  feed.addEventListener("pulse", refresh);
  feed.onerror = () => say("off", "the server does not answer; trying again");
  document.addEventListener("visibilitychange", () => again && refresh());
  addEventListener("pagehide", () => feed.close());
};

// Output grows at its end. When the stream ends it is asked for again from where it was, as long
// as the task runs.
const OUTPUT_CHARS_MAX = 1 << 20;

const output = (box) => {
  const pre = box.querySelector("pre");
  let attempt = 0;
  let next = 0;
  const open = () => {
    const wanted = attempt ? `?follow=true&attempt=${attempt}&from=${next}` : "?follow=true";
    const feed = new EventSource(box.dataset.output + wanted);
    feed.addEventListener("output", (event) => {
      const piece = JSON.parse(event.data);
      if (piece.attempt !== attempt) pre.textContent = "";
      [attempt, next] = [piece.attempt, piece.next];
      const stuck = pre.scrollTop + pre.clientHeight >= pre.scrollHeight - 8;
      if (piece.left_out) pre.append(`\n… ${piece.left_out} bytes left out …\n`);
      pre.append(piece.text);
      if (pre.textContent.length > OUTPUT_CHARS_MAX) {
        pre.textContent = "… the beginning is not shown …\n" + pre.textContent.slice(-OUTPUT_CHARS_MAX / 2);
      }
      box.hidden = false;
      if (stuck) pre.scrollTop = pre.scrollHeight;
    });
    feed.onerror = () => {
      feed.close();
      setTimeout(again, 1000);
    };
  };
  const again = () => {
    const runs = document.querySelector("#state .state.leased");
    if (!runs) return setTimeout(again, 2000);
    const now = Number(document.querySelector("#state [data-attempt]")?.dataset.attempt ?? 0);
    if (now > attempt) [attempt, next] = [now, 0];
    open();
  };
  open();
};

for (const box of document.querySelectorAll("[data-output]")) output(box);
for (const form of document.querySelectorAll("form[data-go]")) form.requestSubmit();
if (document.body.dataset.feed) follow(document.body.dataset.feed);
document.querySelector("nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
setInterval(tick, 5000);
// How fast it goes changes also when nothing happens.
if (document.body.dataset.feed) setInterval(refresh, 30000);
for (const kind of ["pointerover", "focusin"]) addEventListener(kind, relate);

addEventListener("keydown", (event) => {
  const typing = event.target.closest?.("input, textarea, select");
  if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
    document.querySelector(".search input")?.focus();
    event.preventDefault();
  }
});
